// DLPack: checks the fields of a tensor, asks the runtime about its memory, and exports in pooled
// blocks that are freed without Python.
#include "core/free_list.hpp"
#include <entrepot/exchange/dlpack.hpp>

#include <algorithm>
#include <cstdint>
#include <new>

namespace entrepot::dlpack {
namespace {

// ---------------------------------------------------------------- reading

[[noreturn]] void refuse_packed(Dtype dtype) {
    throw speaker.refusal(
        "elements of ", dtype,
        " are packed, several to a byte, and have no addresses of their own; ask the producer for "
        "whole bytes (",
        "a view as uint8), or for padded elements (DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED)");
}

void require_version(DLPackVersion found) {
    if (found.major != version.major)
        throw speaker.refusal("the tensor is of version ", found.major, ".", found.minor,
                              ", whose layout is unknown here; Entrepot understands ",
                              version.major, ".x: ask the producer for max_version=(",
                              version.major, ", ", version.minor, ")");
}

// ---------------------------------------------------------------- exporting

// An exported tensor with all that it points to, in one block: the deleter needs neither the GIL
// nor the Array.
struct Exported {
    union {
        DLManagedTensorVersioned versioned;
        DLManagedTensor legacy;
    };
    Memory memory;
    Layout layout;

    explicit Exported(const Array &array) : memory(array.memory()), layout(array.layout()) {}
};

template <class Managed> void delete_exported(Managed *self) {
    auto *const exported = static_cast<Exported *>(self->manager_ctx);
    exported->~Exported();
    ThreadBlocks<Exported>::put(exported);
}

// Bytes that negative strides reach below the first element. dpnp assumes that memory begins at
// `data`, so `data` has to be the lowest element.
std::int64_t bytes_below_first(const Array &array) noexcept {
    const Extents strides = array.strides();
    const bool reaches_below =
        std::ranges::any_of(strides, [](std::int64_t stride) { return stride < 0; });
    return reaches_below ? -array.layout().byte_range(array.itemsize()).begin : 0;
}

// The tensor points to the shape and strides of `layout`. DLPack's pointers are not const, but the
// specification forbids writing through them.
DLTensor describe(const Array &array, DLDevice device, const Layout &layout) noexcept {
    const Dtype dtype = array.dtype();
    const std::int64_t below = device.device_type == kDLOneAPI ? bytes_below_first(array) : 0;
    // An empty array exports its address too: dpnp fails on NULL, which DLPack allows.
    return {.data = static_cast<std::byte *>(array.data()) - below,
            .device = device,
            .ndim = static_cast<std::int32_t>(layout.ndim()),
            .dtype = {static_cast<std::uint8_t>(dtype.code), dtype.bits, dtype.lanes},
            .shape = const_cast<std::int64_t *>(layout.shape().data()),
            .strides = const_cast<std::int64_t *>(layout.strides().data()),
            .byte_offset = static_cast<std::uint64_t>(below)};
}

// Elements of 4 or 6 bits, one to a byte.
bool is_padded(const Array &array) noexcept {
    return array.dtype().is_subbyte() && array.dtype().lanes == 1;
}

void require_no_flags(const Array &array, const char *kind) {
    if (array.read_only())
        throw speaker.refusal("a read-only array cannot be exported as ", kind,
                              ": that has no flag to say so, and the consumer would write; ",
                              "ask for a versioned tensor, or copy the array");
    if (is_padded(array))
        throw speaker.refusal("elements of ", array.dtype(), " cannot be exported as ", kind,
                              ": that has no flag to say that each takes a byte; ",
                              "ask for a versioned tensor, or export a view as uint8");
}

// Returns the block to the pool if the constructor throws.
Exported *new_exported(const Array &array) {
    void *const block = ThreadBlocks<Exported>::take();
    try {
        return new (block) Exported(array);
    } catch (...) {
        ThreadBlocks<Exported>::put(block);
        throw;
    }
}

// The Memory of a tensor that Entrepot exported; nullptr for tensors of other libraries.
template <class Managed> const Memory *own_memory(const Managed &managed) noexcept {
    return managed.deleter == delete_exported<Managed>
               ? &static_cast<const Exported *>(managed.manager_ctx)->memory
               : nullptr;
}

template <class Managed>
Array take_own(const Managed &managed, std::uint64_t flags, const Memory &memory) {
    Array array = read(managed.dl_tensor, flags, [&](const exchange::Reach &) { return memory; });
    if (managed.dl_tensor.device.device_type == kDLCPU && memory.device() != registry::host())
        array = array.host();
    return array;
}

template <class Managed>
Array take_read(const Managed &managed, std::uint64_t flags, Owner &&owner) {
    if (const Memory *own = own_memory(managed)) {
        Array array = take_own(managed, flags, *own);
        const Owner released = std::move(owner);
        return array;
    }
    return verify(managed.dl_tensor, flags, std::move(owner));
}

template <class Managed> void call_deleter(void *handle) {
    auto *const managed = static_cast<Managed *>(handle);
    if (managed->deleter)
        managed->deleter(managed);
}

template <class Managed> Array adopt(Managed *managed) {
    Owner owner(managed, call_deleter<Managed>);
    return take(*managed, std::move(owner));
}

}  // namespace

void check_subbyte(Dtype dtype, std::uint64_t flags) {
    if (!find_dtype({dtype.code, dtype.bits}) || dtype.lanes == 0)
        throw speaker.refusal("a dtype of ", dtype,
                              " is not supported; ask the producer for a view as a supported one "
                              "of the same size, such as uint8");
    const bool padded = (flags & flag_subbyte_type_padded) != 0,
               fills_bytes = dtype.bits * dtype.lanes % 8 == 0;
    if (padded ? dtype.lanes != 1 : !fills_bytes)
        refuse_packed(dtype);
}

void refuse_shape(const DLTensor &tensor) {
    if (tensor.ndim < 0 || static_cast<std::size_t>(tensor.ndim) > Layout::max_ndim)
        throw speaker.refusal("the tensor has ", tensor.ndim, " dimensions; 0 to ",
                              Layout::max_ndim, " are possible");
    throw speaker.refusal("the tensor has ", tensor.ndim,
                          " dimensions and no shape (a null pointer)");
}

void refuse_address(const DLTensor &tensor) {
    throw speaker.refusal("data ", Hex(tensor.data), " + byte_offset ", tensor.byte_offset,
                          " is no address");
}

void refuse_null(const Layout &layout) {
    throw speaker.refusal("the tensor has ", layout.size(),
                          " elements and no data (a null pointer)");
}

Memory borrow(exchange::Reach reach, DLDevice named, Owner &&owner) {
    if (named.device_type == kDLCPU) [[likely]]
        return Memory::borrow_host(reach.lowest, reach.bytes, std::move(owner));
    if (reach.bytes == 0) {  // an empty tensor may have any pointer, so it is not looked up
        const Device device = device_at(named);
        const UsmKind kind = kind_of(named) == UsmKind::unknown ? UsmKind::device : kind_of(named);
        return Memory::borrow(reach.lowest, 0, kind, device, device.default_context(),
                              std::move(owner));
    }
    const Place place = locate(reach, named);
    return Memory::borrow(reach.lowest, reach.bytes, place.kind, place.device, place.context,
                          std::move(owner));
}

Array verify(const DLTensor &tensor, std::uint64_t flags, Owner &&owner) {
    return read(tensor, flags, [&](const exchange::Reach &reach) {
        return borrow(reach, tensor.device, std::move(owner));
    });
}

Array take(const DLManagedTensorVersioned &managed, Owner &&owner) {
    require_version(managed.version);
    return take_read(managed, managed.flags, std::move(owner));
}

Array take(const DLManagedTensor &managed, Owner &&owner) {
    return take_read(managed, 0, std::move(owner));
}

Array from_managed(DLManagedTensorVersioned *managed) { return adopt(managed); }
Array from_managed(DLManagedTensor *managed) { return adopt(managed); }

DLManagedTensorVersioned *to_managed(const Array &array, DLDevice device, std::uint64_t flags,
                                     std::uint32_t minor) {
    flags |= array.read_only() ? flag_read_only : 0;
    flags |= is_padded(array) ? flag_subbyte_type_padded : 0;
    Exported *const exported = new_exported(array);
    exported->versioned = {.version = {version.major, std::min(minor, version.minor)},
                           .manager_ctx = exported,
                           .deleter = delete_exported<DLManagedTensorVersioned>,
                           .flags = flags,
                           .dl_tensor = describe(array, device, exported->layout)};
    return &exported->versioned;
}

DLManagedTensor *to_legacy(const Array &array, DLDevice device) {
    require_no_flags(
        array,
        "a legacy tensor, which is what a consumer gets that does not say max_version=(1, 0)");
    Exported *const exported = new_exported(array);
    exported->legacy = {.dl_tensor = describe(array, device, exported->layout),
                        .manager_ctx = exported,
                        .deleter = delete_exported<DLManagedTensor>};
    return &exported->legacy;
}

Array allocate(const DLTensor &prototype, Memory::Allocate get) {
    const Dtype dtype = dtype_of(prototype.dtype, flag_subbyte_type_padded);
    const bool on_host = prototype.device.device_type == kDLCPU;
    const Device device = on_host ? registry::host() : device_at(prototype.device);
    const UsmKind named = kind_of(prototype.device);
    const UsmKind kind = on_host                     ? UsmKind::host
                         : named == UsmKind::unknown ? UsmKind::device
                                                     : named;
    try {
        return Array::empty(shape_of(prototype), dtype, kind, device.default_queue(), 0, get);
    } catch (const Error &error) {
        if (error.kind() == ErrorKind::allocation)
            throw;
        throw speaker.refusal("a tensor of shape ", tuple_text(shape_of(prototype)),
                              " cannot be made: ", error.what());
    }
}

DLTensor unowned_tensor(const Array &array, DLDevice device) {
    require_no_flags(array, "an unowned tensor of the C exchange API");
    return describe(array, device, array.layout());
}

}  // namespace entrepot::dlpack
