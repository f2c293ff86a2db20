// Memory: allocation, pointer queries, copies and fills.
#include "backends/gpu/staging.hpp"
#include "backends/gpu/strided.hpp"
#include "core/no_destructor.hpp"

#include <algorithm>
#include <bit>
#include <unordered_map>

namespace entrepot::backends::gpu {
namespace {

// --------------------------------------------------------------- allocation

struct KindWords {
    ep_usm_kind kind;
    ep_aspect aspect;
    const char *words;
};
constexpr KindWords kinds[] = {{EP_USM_HOST, EP_USM_HOST_ALLOCATIONS, "host (pinned)"},
                               {EP_USM_DEVICE, EP_USM_DEVICE_ALLOCATIONS, "device"},
                               {EP_USM_SHARED, EP_USM_SHARED_ALLOCATIONS, "shared (managed)"}};

const KindWords &words_of(ep_usm_kind kind) {
    for (const KindWords &known : kinds)
        if (known.kind == kind)
            return known;
    refuse(EP_INVALID, "memory of kind ", static_cast<int>(kind),
           " was asked for: it is host, device or shared");
}

CUresult allocate_pinned(std::size_t bytes, void **pointer) {
    return driver().cuMemHostAlloc(pointer, bytes,
                                   CU_MEMHOSTALLOC_PORTABLE);  // a context may be destroyed
}

CUresult allocate_managed(std::size_t bytes, void **pointer) {
    return driver().cuMemAllocManaged(reinterpret_cast<CUdeviceptr *>(pointer), bytes,
                                      CU_MEM_ATTACH_GLOBAL);
}

CUresult allocate_on_device(Device &device, std::size_t bytes, Queue *queue, void **pointer) {
    auto *const found = reinterpret_cast<CUdeviceptr *>(pointer);
    return device.has_pools
               ? driver().cuMemAllocFromPoolAsync(found, bytes, device.pool(), queue->native)
               : driver().cuMemAlloc(found, bytes);
}

[[noreturn]] void refuse_bytes(const Device &device, ep_usm_kind kind, std::size_t bytes,
                               const std::string &why) {
    refuse(EP_OUT_OF_MEMORY, bytes, " bytes of ", words_of(kind).words,
           " memory were asked for, and ", device.selector(), " ", why);
}

// The device's free memory, which other libraries and processes use too. Requires: its context is
// current.
std::string what_is_left(ep_usm_kind kind) {
    std::size_t free = 0, all = 0;
    if (kind == EP_USM_HOST || driver().cuMemGetInfo(&free, &all) != CUDA_SUCCESS)
        return {};
    return "; " + std::to_string(free) + " of its " + std::to_string(all) +
           " bytes are free, the rest is taken, by us or others";
}

void *allocate(Context &context, ep_usm_kind kind, std::size_t bytes, Queue *queue) {
    Device &device = context.device;
    // The driver allows more managed memory than the device has, but kernels would wait for pages.
    if (kind != EP_USM_HOST && bytes > device.info.max_allocation)
        refuse_bytes(device, kind, bytes,
                     "has " + std::to_string(device.info.max_allocation) + " in all");
    if (queue != nullptr && queue->capture() != 0)
        refuse(EP_UNSUPPORTED, "memory was to be allocated in the order of a queue that is being "
                               "captured into a graph: it would "
                               "belong to the graph; allocate it in another queue");
    const Current current(context.native);
    const RelaxedCaptureMode relaxed;
    void *pointer = nullptr;
    const CUresult code = kind == EP_USM_HOST ? allocate_pinned(bytes, &pointer)
                          : kind == EP_USM_SHARED
                              ? allocate_managed(bytes, &pointer)
                              : allocate_on_device(device, bytes, queue, &pointer);
    // The driver returns CUDA_ERROR_INVALID_VALUE if the size is out of range.
    if (code == CUDA_ERROR_OUT_OF_MEMORY || code == CUDA_ERROR_INVALID_VALUE)
        refuse_bytes(device, kind, bytes,
                     "has no such block left: " + text_of(code) + what_is_left(kind));
    check(code, "the allocation");
    return pointer;
}

void free_block(Context &context, void *pointer, Queue *queue) {
    const PointerAttributes found = attributes_of(pointer);
    // Not in a capture: each run of the graph would free it.
    const bool in_order = queue != nullptr && queue->capture() == 0;
    const Current current(context.native);
    const RelaxedCaptureMode relaxed;
    if (found.type == CU_MEMORYTYPE_HOST && !found.is_managed)
        check(driver().cuMemFreeHost(pointer), "cuMemFreeHost");
    else if (found.is_of_device() && in_order)
        check(driver().cuMemFreeAsync(address(pointer), queue->native), "cuMemFreeAsync");
    else
        check(driver().cuMemFree(address(pointer)), "cuMemFree");
}

// Aligned addresses inside larger blocks, for alignments that the driver does not have.
class AlignedBlocks {
public:
    static AlignedBlocks &only() {
        static NoDestructor<AlignedBlocks> all;
        return *all;
    }
    void enter(void *aligned, void *block) {
        const MutexLock lock(mutex_);
        blocks_[aligned] = block;
        is_empty_.store(false, std::memory_order_release);
    }
    // The block to free for this pointer.
    void *take(void *pointer) {
        if (is_empty_.load(std::memory_order_acquire))
            return pointer;
        const MutexLock lock(mutex_);
        const auto found = blocks_.find(pointer);
        if (found == blocks_.end())
            return pointer;
        void *const block = found->second;
        blocks_.erase(found);
        is_empty_.store(blocks_.empty(), std::memory_order_release);
        return block;
    }

private:
    LeafMutex mutex_;
    std::unordered_map<void *, void *> blocks_ ENTREPOT_GUARDED_BY(mutex_);
    std::atomic<bool> is_empty_{true};
};

bool is_aligned(const void *pointer, std::size_t alignment) {
    return alignment == 0 || reinterpret_cast<std::uintptr_t>(pointer) % alignment == 0;
}

void *allocate_aligned(Context &context, ep_usm_kind kind, std::size_t bytes, std::size_t alignment,
                       Queue *queue) {
    void *const block = allocate(context, kind, bytes, queue);
    if (is_aligned(block, alignment))
        return block;
    free_block(context, block, queue);
    void *const larger = allocate(context, kind, bytes + alignment, queue);
    const std::uintptr_t past = reinterpret_cast<std::uintptr_t>(larger) + alignment;
    void *const aligned = reinterpret_cast<void *>(past - past % alignment);
    try {
        AlignedBlocks::only().enter(aligned, larger);
    } catch (...) {
        free_block(context, larger, queue);
        throw;
    }
    return aligned;
}

ep_status memory_allocate(ep_context context, ep_device device, ep_usm_kind kind, std::size_t bytes,
                          std::size_t alignment, ep_queue queue, void **pointer) {
    return guarded([&] {
        const KindWords &words = words_of(kind);
        const Device &on = object(device);
        if (alignment != 0 && !std::has_single_bit(alignment))
            refuse(EP_INVALID, "an alignment of ", alignment,
                   " bytes was asked for: it must be a power of two");
        if (bytes > SIZE_MAX / 2 - alignment)
            refuse_bytes(on, kind, bytes,
                         "has " + std::to_string(on.info.max_allocation) + " in all");
        if ((on.info.aspects & words.aspect) == 0)
            refuse(EP_UNSUPPORTED, on.selector(), " has no ", words.words,
                   " memory that the host may use while kernels run");
        if (queue == nullptr && on.has_pools && kind == EP_USM_DEVICE)
            refuse(EP_INVALID, "device memory of ", on.selector(),
                   " is allocated in the order of a queue, and none was given");
        *pointer = allocate_aligned(object(context), kind, std::max<std::size_t>(bytes, 1),
                                    alignment, queue == nullptr ? nullptr : &object(queue));
    });
}

ep_status memory_free(ep_context context, void *pointer, ep_queue queue) {
    return guarded([&] {
        if (pointer != nullptr)
            free_block(object(context), AlignedBlocks::only().take(pointer),
                       queue == nullptr ? nullptr : &object(queue));
    });
}

// -------------------------------------------------------------------- query

ep_usm_kind kind_of(const PointerAttributes &found) {
    if (found.is_managed)
        return EP_USM_SHARED;
    switch (found.type) {
    case CU_MEMORYTYPE_HOST:
        return EP_USM_HOST;
    case CU_MEMORYTYPE_DEVICE:
        return EP_USM_DEVICE;
    default:
        return EP_USM_UNKNOWN;
    }
}

// True if mappings of one device follow each other from `first` to `end`, as in PyTorch's
// expandable segments. The driver tells the range of one of them, `found`. Its pools map memory as
// well, but their allocations are separate.
bool is_mapped_up_to(CUdeviceptr first, CUdeviceptr end, PointerAttributes found) {
    if (!found.is_of_device() || pool_of(first) != nullptr || !RetainedBlock(first))
        return false;
    const int ordinal = found.ordinal;
    while (found.base + found.size < end) {
        const CUdeviceptr next = found.base + found.size;
        if (!RetainedBlock(next) || pool_of(next) != nullptr)
            return false;
        found = attributes_of(reinterpret_cast<const void *>(next));
        if (found.ordinal != ordinal || found.base != next || found.size == 0)
            return false;
    }
    return true;
}

// The driver has one address space for all devices, and memory of pools and virtual memory belongs
// to no context, so the context is ignored.
ep_status memory_query(ep_context, const void *pointer, std::size_t bytes, std::uint32_t flags,
                       ep_allocation *found) {
    return guarded([&] {
        *found = {};
        const PointerAttributes attributes = attributes_of(pointer);
        found->kind = kind_of(attributes);
        if (found->kind == EP_USM_UNKNOWN)
            return;
        if ((flags & EP_QUERY_DEVICE) != 0 && attributes.ordinal >= 0)
            found->device = handle(&device_of(attributes.ordinal));
        const CUdeviceptr first = address(pointer), end = first + std::max<std::size_t>(bytes, 1);
        found->base = reinterpret_cast<void *>(attributes.base);
        found->size = attributes.size;
        if (attributes.size == 0)
            found->contained = -1;
        else
            found->contained = end > first && (end <= attributes.base + attributes.size ||
                                               is_mapped_up_to(first, end, attributes));
    });
}

// ------------------------------------------------------------------- copies

// Lets a copy access memory of another device's pool. Without peer access, the driver copies
// through the host.
void open_way(const Device &here, const PointerAttributes &there) {
    if (!there.is_of_device() || there.ordinal == here.native)
        return;
    Device &owner = device_of(there.ordinal);
    int can = 0;
    check(driver().cuDeviceCanAccessPeer(&can, here.native, owner.native), "cuDeviceCanAccessPeer");
    if (can != 0)
        owner.share_pool_with(here);
}

void copy_between_devices(Queue &queue, void *to, const PointerAttributes &of_to, const void *from,
                          const PointerAttributes &of_from, std::size_t bytes) {
    queue.require_running("a copy between two devices by");  // which cannot be captured
    open_way(queue.device(), of_to);
    open_way(queue.device(), of_from);
    const IntrusivePtr<Context> in_to = primary_context(device_of(of_to.ordinal));
    const IntrusivePtr<Context> in_from = primary_context(device_of(of_from.ordinal));
    queue.submit([&](CUstream stream) {
        check(driver().cuMemcpyPeerAsync(address(to), in_to->native, address(from), in_from->native,
                                         bytes, stream),
              "cuMemcpyPeerAsync");
    });
}

// True for copies that the driver does synchronously, after blocking until earlier work is done.
bool is_synchronous(const PointerAttributes &to, const PointerAttributes &from) {
    return to.is_pageable() || from.is_pageable() || (to.is_of_host() && from.is_of_host());
}

void copy_bytes(Queue &queue, void *to, const void *from, std::size_t bytes) {
    const PointerAttributes of_to = attributes_of(to), of_from = attributes_of(from);
    if (of_to.is_of_device() && of_from.is_of_device() && of_to.ordinal != of_from.ordinal)
        return copy_between_devices(queue, to, of_to, from, of_from, bytes);
    const RelaxedCaptureMode relaxed;
    if (is_synchronous(of_to, of_from) && queue.capture() == 0 && !queue.is_idle())
        return copy_in_order(queue, to, of_to, from, of_from, bytes);
    queue.submit([&](CUstream stream) {
        check(driver().cuMemcpyAsync(address(to), address(from), bytes, stream), "cuMemcpyAsync");
    });
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
        if (nest.is_contiguous())
            return copy_bytes(object(queue), nest.to, nest.from, nest.bytes());
        object(queue).submit([&](CUstream stream) { submit_copy(object(queue), stream, nest); });
    });
}

// -------------------------------------------------------------------- fills

void submit(Queue &queue, const Fill &fill) {
    queue.submit([&](CUstream stream) {
        for (std::size_t i = 0; i < fill.nests.size(); ++i)
            submit_fill(queue, stream, fill.nests[i], fill.values[i]);
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

std::string bytes_from(const void *pointer, std::size_t bytes) {
    return sentence_of("the ", bytes, " bytes from ", pointer);
}

// Memory that the driver knows is pinned or managed already, by this process's other libraries.
void require_pageable(const void *at, const std::string &wanted) {
    const PointerAttributes found = attributes_of(at);
    if (!found.is_pageable())
        refuse(EP_INVALID, wanted, " are to be pinned, and the driver knows ",
               bytes_from(reinterpret_cast<const void *>(found.base), found.size), " as ",
               found.is_managed                   ? "shared (managed)"
               : found.type == CU_MEMORYTYPE_HOST ? "host (pinned)"
                                                  : "device",
               " memory: another library has allocated or registered them, as pin_memory() of "
               "PyTorch and cudaHostRegister do. Use them by ep.from_address(address, shape, "
               "dtype, device=…, owner=x), or unregister them there");
}

[[noreturn]] void refuse_pinning(CUresult code, const std::string &wanted) {
    switch (code) {
    case CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED:
        refuse(EP_INVALID, wanted,
               " are to be pinned, and a part of them is registered with the driver already: "
               "unregister it in the library that has registered it");
    case CUDA_ERROR_OUT_OF_MEMORY:
        refuse(EP_OUT_OF_MEMORY, wanted,
               " are to be pinned, and the system locks no more pages: ", text_of(code),
               "; `ulimit -l` shows the limit of a process");
    case CUDA_ERROR_INVALID_VALUE:
    case CUDA_ERROR_NOT_PERMITTED:
    case CUDA_ERROR_NOT_SUPPORTED:
        refuse(EP_UNSUPPORTED, wanted, " cannot be pinned, says the driver: ", text_of(code),
               "; memory that is mapped read-only is pinned as a read-only object, and a file on "
               "some file systems not at all: copy it");
    default:
        fail(code, "cuMemHostRegister");
    }
}

// The driver gives another address to the memory if one of its devices cannot use the host's.
void require_same_address(void *pointer, const std::string &wanted) {
    CUdeviceptr seen = 0;
    const CUresult code = driver().cuMemHostGetDevicePointer(&seen, pointer, 0);
    if (code == CUDA_SUCCESS && seen == address(pointer))
        return;
    driver().cuMemHostUnregister(pointer);
    check(code, "cuMemHostGetDevicePointer");
    refuse(EP_UNSUPPORTED, wanted, " are at ", reinterpret_cast<const void *>(seen),
           " for the devices, and arrays have one address: copy the memory");
}

// Registers the exact bytes: the driver tells ranges on one page apart. It does so even if the
// device reads pageable memory, because copies of registered memory are direct.
ep_status memory_pin(ep_context context, void *pointer, std::size_t bytes, std::int32_t read_only,
                     std::int32_t *pinned) {
    return guarded([&] {
        const Context &in = object(context);
        const std::string wanted = bytes_from(pointer, bytes);
        if (read_only != 0 &&
            in.device.attribute(CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED) == 0)
            refuse(EP_UNSUPPORTED, wanted, " are read-only, and ", in.device.selector(),
                   " pins writable memory only: pin a writable object, or copy it");
        require_pageable(pointer, wanted);
        require_pageable(static_cast<const std::byte *>(pointer) + bytes - 1, wanted);
        const Current current(in.native);
        const RelaxedCaptureMode relaxed;
        const unsigned flags = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP |
                               (read_only != 0 ? unsigned{CU_MEMHOSTREGISTER_READ_ONLY} : 0u);
        const CUresult code = driver().cuMemHostRegister(pointer, bytes, flags);
        if (code != CUDA_SUCCESS)
            refuse_pinning(code, wanted);
        require_same_address(pointer, wanted);
        *pinned = 1;
    });
}

ep_status memory_unpin(ep_context context, void *pointer, std::size_t) {
    return guarded([&] {
        const Current current(object(context).native);
        const RelaxedCaptureMode relaxed;
        check(driver().cuMemHostUnregister(pointer), "cuMemHostUnregister");
    });
}

// --------------------------------------------------------------------- trim

// The pool keeps blocks that were freed in stream order, even after the stream has passed that
// point.
ep_status memory_trim(ep_device device) {
    return guarded([&] {
        const RelaxedCaptureMode relaxed;
        if (object(device).has_pools)
            check(driver().cuMemPoolTrimTo(object(device).pool(), 0), "cuMemPoolTrimTo");
    });
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

}  // namespace entrepot::backends::gpu
