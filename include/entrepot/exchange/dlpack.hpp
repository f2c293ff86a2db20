// DLPack 1.3: managed tensors made into Arrays, and Arrays into managed tensors; no Python.
//
// python/bind/exchange/dlpack.cpp puts capsules, keywords and streams on top. Nothing here synchronises: whoever hands a
// tensor over orders its consumer behind the array's memory (Memory::before, Memory::wait_for_host).
#pragma once
#include <entrepot/array/array.hpp>
#include <entrepot/exchange/dlpack_abi.hpp>
#include <entrepot/exchange/dlpack_device.hpp>
#include <entrepot/exchange/foreign_layout.hpp>
#include <entrepot/memory/records.hpp>

namespace entrepot::dlpack {

// What a tensor says, word by word. Each throws ExchangeError: a dtype that no row of dtype_table describes, packed elements of 4
// or 6 bits (they have no addresses; one with flag_subbyte_type_padded, or lanes that fill bytes, are taken), impossible
// dimensions, a layout or an address that overflows, NULL data of a tensor with elements, misaligned data.
void check_subbyte(Dtype dtype, std::uint64_t flags);
inline Dtype dtype_of(DLDataType type, std::uint64_t flags) {
    const Dtype dtype{static_cast<TypeCode>(type.code), type.bits, type.lanes};
    if (!is_of_whole_bytes(dtype)) [[unlikely]]
        check_subbyte(dtype, flags);
    return dtype;
}

[[noreturn]] void refuse_shape(const DLTensor &tensor);
inline Extents shape_of(const DLTensor &tensor) {
    if ((!tensor.shape || static_cast<std::uint32_t>(tensor.ndim) > Layout::max_ndim) && tensor.ndim != 0) [[unlikely]]
        refuse_shape(tensor);
    return {tensor.shape, static_cast<std::size_t>(tensor.ndim)};
}
inline Layout layout_of(const DLTensor &tensor) {
    return exchange::layout_of_elements(speaker, shape_of(tensor), tensor.strides);
}

[[noreturn]] void refuse_address(const DLTensor &tensor);
inline void *first_element(const DLTensor &tensor) {
    std::uintptr_t address;
    if (__builtin_add_overflow(reinterpret_cast<std::uintptr_t>(tensor.data), tensor.byte_offset, &address)) [[unlikely]]
        refuse_address(tensor);
    return reinterpret_cast<void *>(address);
}

[[noreturn]] void refuse_null(const Layout &layout);
inline exchange::Reach reach_of(const DLTensor &tensor, const Layout &layout, void *first, Dtype dtype) {
    if (layout.size() != 0) [[likely]] {
        if (!tensor.data) [[unlikely]]
            refuse_null(layout);
        exchange::check_alignment(speaker, first, dtype);
    }
    return exchange::reach_of(speaker, layout, first, dtype.itemsize());
}

// The Array of all that, in the memory that `find_memory(reach)` gives; `flags` are the versioned tensor's, 0 of a legacy or lent
// one. Made is Array, or a std::optional of it, for which `in_place` is std::in_place.
template <class Made = Array, class FindMemory, class... InPlace>
Made read(const DLTensor &tensor, std::uint64_t flags, FindMemory &&find_memory, InPlace... in_place) {
    void *const first = first_element(tensor);
    const Dtype dtype = dtype_of(tensor.dtype, flags);
    return Made(
        in_place..., [&] { return layout_of(tensor); },
        [&](const Layout &layout) { return find_memory(reach_of(tensor, layout, first, dtype)); }, first, dtype,
        (flags & flag_read_only) != 0);
}

// The described memory, kept alive by `owner`: the runtime is asked what it is, save for kDLCPU. Throws ExchangeError; `owner`
// still holds then, unless it ran out of memory in the last step.
Memory borrow(exchange::Reach reach, DLDevice device, Owner &&owner);
// The Array on it. Throws as read and borrow do.
Array verify(const DLTensor &tensor, std::uint64_t flags, Owner &&owner);

// The same with a record of the list's, of a producer that is known and believed: the runtime is asked only where the device's
// name does not say it all (kDLOneAPI).
template <std::uint32_t capacity>
[[gnu::always_inline]] inline Memory borrow_believed(RecordList<capacity> &records, exchange::Reach reach, DLDevice device,
                                                     Owner &&owner) {
    if (device.device_type == kDLCPU)
        return borrow_host(records, reach.lowest, reach.bytes, std::move(owner));
    const NamedDevice &named = named_device(device);
    if (named.kind == UsmKind::unknown || reach.bytes == 0) [[unlikely]] {
        Owner moved = std::move(owner);  // its own address is taken nowhere, so that it may stay in registers
        return borrow(reach, device, std::move(moved));
    }
    return entrepot::borrow(records, reach.lowest, reach.bytes, named.kind, named.device, named.device.default_context(),
                            std::move(owner));
}

// The same for a whole managed tensor, version included. A tensor that we exported gives its own Memory back, so that both
// views share their ordering; `owner` is then let go at once.
Array take(const DLManagedTensorVersioned &managed, Owner &&owner);
Array take(const DLManagedTensor &managed, Owner &&owner);

// Takes the tensor over: its deleter, if it has one, has been called when this throws; otherwise it is called once after the
// last view is gone, on the thread that lets go of it.
Array from_managed(DLManagedTensorVersioned *managed);
Array from_managed(DLManagedTensor *managed);

// A tensor for somebody else, to be given back by its deleter, which may be called on any thread. `device` is device_of(array),
// or kDLCPU for memory that the host can reach: the caller has checked it. `minor` caps the version that is written.
DLManagedTensorVersioned *to_managed(const Array &array, DLDevice device, std::uint64_t flags = 0,
                                     std::uint32_t minor = version.minor);
inline DLManagedTensorVersioned *to_managed(const Array &array) { return to_managed(array, device_of(array)); }
// Throws ExchangeError for what a legacy tensor cannot say: read-only, padded elements of 4 or 6 bits.
DLManagedTensor *to_legacy(const Array &array, DLDevice device);

// New memory, not initialised, of the prototype's dtype, shape and device; nothing else of it is read. It is device memory unless
// the name of the device says another kind. Throws ExchangeError as dtype_of and device_at do, and what `get` does, which gets
// it.
Array allocate(const DLTensor &prototype, Memory::Allocate get = Memory::allocate);

// A tensor that is lent: its shape and strides are those of `array`, which outlives it unchanged. Throws as to_legacy does,
// because it has no flags either.
DLTensor lend(const Array &array, DLDevice device);

}  // namespace entrepot::dlpack
