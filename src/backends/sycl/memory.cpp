// Memory: allocation, pointer queries, copies and fills.
#include "backends/sycl/contiguous.hpp"
#include "backends/sycl/extensions.hpp"
#include "backends/sycl/strided.hpp"

#include <CL/cl_ext.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace entrepot::backends::sycl {
namespace {

struct KindWords {
    ep_aspect aspect;
    ::sycl::usm::alloc native;
    const char *words;
};

const KindWords &words_of(ep_usm_kind kind) {
    static constexpr KindWords host = {EP_USM_HOST_ALLOCATIONS, ::sycl::usm::alloc::host, "host"};
    static constexpr KindWords device = {EP_USM_DEVICE_ALLOCATIONS, ::sycl::usm::alloc::device,
                                         "device"};
    static constexpr KindWords shared = {EP_USM_SHARED_ALLOCATIONS, ::sycl::usm::alloc::shared,
                                         "shared"};
    switch (kind) {
    case EP_USM_HOST:
        return host;
    case EP_USM_DEVICE:
        return device;
    case EP_USM_SHARED:
        return shared;
    default:
        refuse(EP_INVALID, "memory of kind ", static_cast<int>(kind),
               " was asked for: it is host, device or shared");
    }
}

// --------------------------------------------------------------- allocation

void *allocate(const Context &context, const Device &device, ep_usm_kind kind, std::size_t bytes,
               std::size_t alignment) {
    switch (kind) {
    case EP_USM_HOST:
        return alignment ? ::sycl::aligned_alloc_host(alignment, bytes, context.native)
                         : ::sycl::malloc_host(bytes, context.native);
    case EP_USM_DEVICE:
        return alignment
                   ? ::sycl::aligned_alloc_device(alignment, bytes, device.native, context.native)
                   : ::sycl::malloc_device(bytes, device.native, context.native);
    default:
        return alignment
                   ? ::sycl::aligned_alloc_shared(alignment, bytes, device.native, context.native)
                   : ::sycl::malloc_shared(bytes, device.native, context.native);
    }
}

// Reports why an allocation failed, which the runtime does not.
[[noreturn]] void explain(const Context &context, const Device &device, ep_usm_kind kind,
                          std::size_t bytes, std::size_t alignment) {
    const KindWords &words = words_of(kind);
    if (!(device.info.aspects & words.aspect))
        refuse(EP_UNSUPPORTED, device.selector(), " has no ", words.words, " memory (USM)");
    if (alignment) {
        if (void *const loose = allocate(context, device, kind, bytes, 0)) {
            ::sycl::free(loose, context.native);
            refuse(EP_UNSUPPORTED, device.selector(), " cannot align ", words.words, " memory to ",
                   alignment, " bytes: ask for a smaller alignment");
        }
    }
    if (bytes > device.info.max_allocation)
        refuse(EP_OUT_OF_MEMORY, bytes, " bytes of ", words.words, " memory were asked for, and ",
               device.selector(), " allows ", device.info.max_allocation, " in one allocation");
    refuse(EP_OUT_OF_MEMORY, device.selector(), " has no ", bytes, " bytes of ", words.words,
           " memory left");
}

ep_status memory_allocate(ep_context context, ep_device device, ep_usm_kind kind, std::size_t bytes,
                          std::size_t alignment, ep_queue, void **pointer) {
    return guarded([&] {
        const Context &in = object(context);
        const Device &on = object(device);
        words_of(kind);
        if (alignment & (alignment - 1))
            refuse(EP_INVALID, "alignment ", alignment, " is not a power of two");
        // The runtime returns NULL for zero bytes; callers need a pointer that they can free.
        void *const block = allocate(in, on, kind, std::max<std::size_t>(bytes, 1), alignment);
        if (block == nullptr)
            explain(in, on, kind, bytes, alignment);
        *pointer = block;
    });
}

ep_status memory_free(ep_context context, void *pointer, ep_queue) {
    return guarded([&] { ::sycl::free(pointer, object(context).native); });
}

// -------------------------------------------------------------------- query

template <class Answer> Answer ask(const Context &context, const void *pointer, cl_uint what) {
    Answer answer{};
    check(context.query(context.cl, pointer, what, sizeof answer, &answer, nullptr),
          "clGetMemAllocInfoINTEL");
    return answer;
}

ep_usm_kind kind_of(cl_unified_shared_memory_type_intel type) {
    switch (type) {
    case CL_MEM_TYPE_HOST_INTEL:
        return EP_USM_HOST;
    case CL_MEM_TYPE_DEVICE_INTEL:
        return EP_USM_DEVICE;
    case CL_MEM_TYPE_SHARED_INTEL:
        return EP_USM_SHARED;
    default:
        return EP_USM_UNKNOWN;
    }
}

ep_usm_kind kind_of(::sycl::usm::alloc type) {
    switch (type) {
    case ::sycl::usm::alloc::host:
        return EP_USM_HOST;
    case ::sycl::usm::alloc::device:
        return EP_USM_DEVICE;
    case ::sycl::usm::alloc::shared:
        return EP_USM_SHARED;
    default:
        return EP_USM_UNKNOWN;
    }
}

ep_device member_of(const Context &context, cl_device_id cl) {
    for (Device *const device : context.devices)
        if (device->cl == cl)
            return handle(device);
    return nullptr;
}

// Lies before `first` if the extent wraps around. Numbers, because such a sum of a pointer is
// undefined behavior.
const char *last_byte(const char *first, std::size_t bytes) {
    const auto address = reinterpret_cast<std::uintptr_t>(first);
    return reinterpret_cast<const char *>(address + std::max<std::size_t>(bytes, 1) - 1);
}

// Two questions usually suffice: the kind of the first byte, and the base of the last byte's
// allocation. Both bytes are in one allocation if that base is not after the first byte. The byte
// past the end is often in a neighboring allocation, so it is not asked about. If the kind is
// asked for later (EP_QUERY_KIND_LATER), the second question suffices: memory without a base is not
// the context's.
ep_allocation query_opencl(const Context &context, const char *first, std::size_t bytes,
                           std::uint32_t flags) {
    ep_allocation found{};
    const char *const last = last_byte(first, bytes);
    const auto base_of_last = [&] {
        return last < first ? nullptr : ask<char *>(context, last, CL_MEM_ALLOC_BASE_PTR_INTEL);
    };
    if (flags == EP_QUERY_KIND_LATER) {
        found.base = base_of_last();
        found.contained = found.base && found.base <= first;
        found.kind = EP_USM_UNASKED;
        if (found.contained) [[likely]]
            return found;
        found = {};
    }
    found.kind =
        kind_of(ask<cl_unified_shared_memory_type_intel>(context, first, CL_MEM_ALLOC_TYPE_INTEL));
    if (found.kind == EP_USM_UNKNOWN || flags == EP_QUERY_KIND_ALONE)
        return found;
    found.base = base_of_last();
    found.contained = found.base && found.base <= first;
    if (!found.contained)
        found.base = ask<char *>(context, first, CL_MEM_ALLOC_BASE_PTR_INTEL);
    if (flags & EP_QUERY_SIZE)
        found.size = ask<std::size_t>(context, first, CL_MEM_ALLOC_SIZE_INTEL);
    if (flags & EP_QUERY_DEVICE && found.kind != EP_USM_HOST)
        found.device =
            member_of(context, ask<cl_device_id>(context, first, CL_MEM_ALLOC_DEVICE_INTEL));
    return found;
}

// SYCL itself reports kind and device, but not the extent.
ep_allocation query_runtime(const Context &context, const char *first, std::size_t bytes,
                            std::uint32_t flags) {
    ep_allocation found{};
    found.kind = kind_of(::sycl::get_pointer_type(first, context.native));
    if (found.kind == EP_USM_UNKNOWN)
        return found;
    found.contained = bytes <= 1 ? 1 : -1;
    if (bytes > 1 &&
        kind_of(::sycl::get_pointer_type(last_byte(first, bytes), context.native)) != found.kind)
        found.contained = 0;
    if (flags & EP_QUERY_DEVICE && found.kind != EP_USM_HOST) {
        const ::sycl::device device = ::sycl::get_pointer_device(first, context.native);
        found.device = handle(&device_of(device));
    }
    return found;
}

ep_status memory_query(ep_context context, const void *pointer, std::size_t bytes,
                       std::uint32_t flags, ep_allocation *found) {
    return guarded([&] {
        const auto first = static_cast<const char *>(pointer);
        const Context &in = object(context);
        *found = in.query != nullptr ? query_opencl(in, first, bytes, flags)
                                     : query_runtime(in, first, bytes, flags);
    });
}

// ------------------------------------------------------------------- copies

void copy_bytes(Queue &queue, void *to, const void *from, std::size_t bytes) {
    if (const auto kernel = block_copy(queue))
        queue.submit(
            [&](::sycl::queue &native) { submit_block_copy(native, *kernel, to, from, bytes); });
    else
        queue.submit_with_event(
            [&](::sycl::queue &native) { return native.memcpy(to, from, bytes); });
}

ep_status memory_copy(ep_queue queue, void *to, const void *from, std::size_t bytes) {
    return guarded([&] {
        if (bytes != 0)
            copy_bytes(object(queue), to, from, bytes);
    });
}

ep_status memory_copy_strided(ep_queue queue, const ep_box *box, void *to,
                              const std::int64_t *to_strides, const void *from,
                              const std::int64_t *from_strides) {
    return guarded([&] {
        const LoopNest nest = plan_copy(*box, to, to_strides, from, from_strides);
        if (nest.is_empty)
            return;
        Queue &in = object(queue);
        const auto kernel = nest.is_contiguous() ? block_copy(in) : std::nullopt;
        in.submit([&](::sycl::queue &native) {
            if (!nest.is_contiguous())
                submit_copy(in, native, nest);
            else if (kernel)
                submit_block_copy(native, *kernel, nest.to, nest.from, nest.bytes());
            else
                syclex::memcpy(native, nest.to, nest.from, nest.bytes());
        });
    });
}

// -------------------------------------------------------------------- fills

template <std::size_t Bytes>
void fill_units(::sycl::queue &native, const LoopNest &nest, const Fill::Value &value) {
    std::array<unsigned char, Bytes> unit;
    std::memcpy(unit.data(), value.data(), Bytes);
    syclex::fill(native, reinterpret_cast<std::array<unsigned char, Bytes> *>(nest.to), unit,
                 nest.bytes() / Bytes);
}

void fill_contiguous(::sycl::queue &native, const LoopNest &nest, const Fill::Value &value) {
    if (std::all_of(value.begin(), value.end(),
                    [&](unsigned char byte) { return byte == value[0]; }))
        return syclex::memset(native, nest.to, value[0], nest.bytes());
    switch (nest.unit) {
    case 2:
        return fill_units<2>(native, nest, value);
    case 4:
        return fill_units<4>(native, nest, value);
    case 8:
        return fill_units<8>(native, nest, value);
    default:
        return fill_units<16>(native, nest, value);
    }
}

void submit(Queue &queue, const Fill &fill) {
    const auto kernel = std::ranges::any_of(fill.nests, &LoopNest::is_contiguous)
                            ? block_fill(queue)
                            : std::nullopt;
    queue.submit([&](::sycl::queue &native) {
        for (std::size_t i = 0; i < fill.nests.size(); ++i) {
            const LoopNest &nest = fill.nests[i];
            if (!nest.is_contiguous())
                submit_fill(queue, native, nest, fill.values[i]);
            else if (kernel)
                submit_block_fill(native, *kernel, nest.to, fill.values[i], nest.bytes());
            else
                fill_contiguous(native, nest, fill.values[i]);
        }
    });
}

ep_status memory_fill(ep_queue queue, void *to, const void *item, std::size_t itemsize,
                      std::size_t count) {
    return guarded([&] {
        const auto extent = static_cast<std::int64_t>(count),
                   step = static_cast<std::int64_t>(itemsize);
        const Fill fill = plan_fill({1, itemsize, &extent}, to, &step, item);
        if (count != 0)
            submit(object(queue), fill);
    });
}

ep_status memory_fill_strided(ep_queue queue, const ep_box *box, void *to,
                              const std::int64_t *to_strides, const void *item) {
    return guarded([&] {
        const Fill fill = plan_fill(*box, to, to_strides, item);
        if (!fill.nests.front().is_empty)
            submit(object(queue), fill);
    });
}

// ---------------------------------------------------------------------- pin

void require_registration(const Context &context) {
    for (const Device *const device : context.devices)
        if (!registers_host_memory(device->native))
            refuse(EP_UNSUPPORTED, device->selector(),
                   " has neither the aspect usm_system_allocations nor "
                   "ext_oneapi_register_host_memory, so it uses no memory of the process in "
                   "place: copy it with .to(device)");
}

ep_status memory_pin(ep_context context, void *pointer, std::size_t bytes, std::int32_t read_only,
                     std::int32_t *pinned) {
    return guarded([&] {
        const Context &in = object(context);
        const auto reads_host_memory = [](const Device *device) {
            return (device->info.aspects & EP_READS_HOST_MEMORY) != 0;
        };
        const bool is_needed = !std::ranges::all_of(in.devices, reads_host_memory);
        if (is_needed) {
            require_registration(in);
            register_host_memory(pointer, bytes, in.native, read_only != 0);
        }
        *pinned = is_needed;
    });
}

ep_status memory_unpin(ep_context context, void *pointer, std::size_t) {
    return guarded([&] { unregister_host_memory(pointer, object(context).native); });
}

// --------------------------------------------------------------------- trim

// A no-op: the runtime caches no memory.
ep_status memory_trim(ep_device) {
    return guarded([] {});
}

}  // namespace

void fill_memory_functions(ep_backend &table) {
    table.memory_allocate = memory_allocate;
    table.memory_free = memory_free;
    table.memory_query = memory_query;
    table.memory_copy = memory_copy;
    table.memory_copy_strided = memory_copy_strided;
    table.memory_fill = memory_fill;
    table.memory_fill_strided = memory_fill_strided;
    table.memory_pin = memory_pin;
    table.memory_unpin = memory_unpin;
    table.memory_trim = memory_trim;
}

}  // namespace entrepot::backends::sycl
