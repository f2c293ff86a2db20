// DLPack 1.3: managed tensors made into Arrays, and Arrays into managed tensors; no Python.
//
// python/bind/exchange/dlpack.cpp adds capsules, keywords and streams. Nothing here synchronizes:
// the caller orders imports and exports (exchange/stream.hpp; Memory::wait_for_host for the host).
#pragma once
#include <entrepot/array/array.hpp>
#include <entrepot/exchange/dlpack_abi.hpp>
#include <entrepot/exchange/dlpack_device.hpp>
#include <entrepot/exchange/foreign_layout.hpp>

#pragma GCC visibility push(default)
namespace entrepot::dlpack {

// Readers of a tensor's fields. Dtypes of 4 or 6 bits need flag_subbyte_type_padded, or lanes that
// fill whole bytes. Packed elements have no addresses and are refused.
//
// Throws: ExchangeError for any of
// - a dtype without a row in dtype_table, or packed elements,
// - an invalid number of dimensions, or a layout or an address that overflows,
// - NULL data with elements, or misaligned data.
void check_subbyte(Dtype dtype, std::uint64_t flags);
inline Dtype dtype_of(DLDataType type, std::uint64_t flags) {
    const Dtype dtype{static_cast<TypeCode>(type.code), type.bits, type.lanes};
    if (!is_of_whole_bytes(dtype)) [[unlikely]]
        check_subbyte(dtype, flags);
    return dtype;
}

[[noreturn]] void refuse_shape(const DLTensor &tensor);
inline Extents shape_of(const DLTensor &tensor) {
    if ((!tensor.shape || static_cast<std::uint32_t>(tensor.ndim) > Layout::max_ndim) &&
        tensor.ndim != 0) [[unlikely]]
        refuse_shape(tensor);
    return {tensor.shape, static_cast<std::size_t>(tensor.ndim)};
}
inline Layout layout_of(const DLTensor &tensor) {
    return exchange::layout_of_elements(speaker, shape_of(tensor), tensor.strides);
}

[[noreturn]] void refuse_address(const DLTensor &tensor);
inline void *first_element(const DLTensor &tensor) {
    std::uintptr_t address;
    if (__builtin_add_overflow(reinterpret_cast<std::uintptr_t>(tensor.data), tensor.byte_offset,
                               &address)) [[unlikely]]
        refuse_address(tensor);
    return reinterpret_cast<void *>(address);
}

[[noreturn]] void refuse_null(const Layout &layout);
inline exchange::Reach reach_of(const DLTensor &tensor, const Layout &layout, void *first,
                                Dtype dtype) {
    if (layout.size() != 0) [[likely]] {
        if (!tensor.data) [[unlikely]]
            refuse_null(layout);
        exchange::check_alignment(speaker, first, dtype);
    }
    return exchange::reach_of(speaker, layout, first, dtype.itemsize());
}

// The Array described by the tensor, in the memory that `find_memory(reach)` returns. The flags are
// those of a versioned tensor; 0 for a legacy or borrowed one.
template <class FindMemory>
Array read(const DLTensor &tensor, std::uint64_t flags, FindMemory &&find_memory) {
    void *const first = first_element(tensor);
    const Dtype dtype = dtype_of(tensor.dtype, flags);
    Layout layout = layout_of(tensor);
    Memory memory = find_memory(reach_of(tensor, layout, first, dtype));
    return Array(std::move(memory), first, dtype, std::move(layout), (flags & flag_read_only) != 0);
}

// The described memory, with `owner` as its owner. The runtime is asked about the pointer, except
// for kDLCPU.
//
// Ownership: if borrow throws ExchangeError, the caller still holds `owner`. If the host is out of
//            memory in the last step, `owner` has been released.
Memory borrow(exchange::Reach reach, DLDevice device, Owner &&owner);
// The Array in memory from `borrow`.
// Throws: as read and borrow do.
Array verify(const DLTensor &tensor, std::uint64_t flags, Owner &&owner);

// Imports a managed tensor and checks its version. A tensor that Entrepot exported yields the
// Memory of its export, so both views share their ordering, and `owner` is released at once.
Array take(const DLManagedTensorVersioned &managed, Owner &&owner);
Array take(const DLManagedTensor &managed, Owner &&owner);

// Takes ownership of the tensor. Its deleter, if any, is called once: before from_managed throws,
// or after the last view is gone, on the thread that releases it.
Array from_managed(DLManagedTensorVersioned *managed);
Array from_managed(DLManagedTensor *managed);

// A tensor for a consumer, which releases it by its deleter on any thread. `minor` caps the version
// that is written.
//
// Requires: `device` is device_of(array), or kDLCPU for memory that the host can reach.
DLManagedTensorVersioned *to_managed(const Array &array, DLDevice device, std::uint64_t flags = 0,
                                     std::uint32_t minor = version.minor);
inline DLManagedTensorVersioned *to_managed(const Array &array) {
    return to_managed(array, device_of(array));
}
// Throws: ExchangeError for properties that need a flag: read-only, padded elements of 4 or 6 bits.
DLManagedTensor *to_legacy(const Array &array, DLDevice device);

// New uninitialized memory from `get`, of the prototype's dtype, shape and device; its other fields
// are ignored. The memory is device memory unless the device type names another kind.
//
// Throws: ExchangeError as dtype_of and device_at do, and the errors of `get`.
Array allocate(const DLTensor &prototype, Memory::Allocate get = Memory::allocate);

// A borrowed tensor: its shape and strides are those of `array`.
//
// Lifetime: `array` must outlive the tensor, unchanged.
// Throws: as to_legacy, because a DLTensor has no flags either.
DLTensor unowned_tensor(const Array &array, DLDevice device);

}  // namespace entrepot::dlpack
#pragma GCC visibility pop
