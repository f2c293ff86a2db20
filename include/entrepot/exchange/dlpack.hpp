// DLPack 1.3: managed tensors made into Arrays, and Arrays into managed tensors; no Python.
//
// python/bind/exchange/dlpack.cpp puts capsules, keywords and streams on top. Nothing here synchronises: whoever hands a
// tensor over orders its consumer behind the array's memory (Memory::before, Memory::wait_for_host).
#pragma once
#include <entrepot/array/array.hpp>
#include <entrepot/exchange/dlpack_abi.hpp>
#include <entrepot/exchange/dlpack_device.hpp>
#include <entrepot/exchange/foreign_layout.hpp>

namespace entrepot::dlpack {

// What a tensor said, before anyone believed it.
struct Descriptor {
    void *data;  // the first element: byte_offset is in
    DLDevice device;
    Dtype dtype;
    Layout layout;
    bool read_only;
    exchange::Reach reach;

    // `flags` of the versioned tensor; 0 of a legacy or lent one. Throws ExchangeError: a dtype that no row of dtype_table
    // describes, packed elements of 4 or 6 bits (they have no addresses; one with flag_subbyte_type_padded, or lanes that fill
    // bytes, are taken), impossible dimensions, a layout or an address that overflows, NULL data of a tensor with elements,
    // misaligned data.
    Descriptor(const DLTensor &tensor, std::uint64_t flags);
};

// Whether the runtime is asked what a pointer is, or a producer that is known believed (`believe`).
enum class Trust { asked, believed };

// The described memory, kept alive by `owner`. kDLCPU is always believed. Throws ExchangeError; `owner` still holds then, unless
// it ran out of memory in the last step.
Memory borrow(const Descriptor &descriptor, Owner &&owner, Trust trust = Trust::asked);
// The Array on it, which has the descriptor's layout from then on. Throws as borrow does.
inline Array verify(Descriptor &&descriptor, Owner &&owner, Trust trust = Trust::asked) {
    return Array(borrow(descriptor, std::move(owner), trust), descriptor.data, descriptor.dtype, std::move(descriptor.layout),
                 descriptor.read_only);
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
// the name of the device says another kind. Throws ExchangeError as Descriptor and device_at do, and what `get` does, which gets
// it.
Array allocate(const DLTensor &prototype, Memory::Allocate get = Memory::allocate);

// A tensor that is lent: its shape and strides are those of `array`, which outlives it unchanged. Throws as to_legacy does,
// because it has no flags either.
DLTensor lend(const Array &array, DLDevice device);

}  // namespace entrepot::dlpack
