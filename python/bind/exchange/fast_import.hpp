// Fast imports: memory borrowed and released without a call into the library, and tensors borrowed
// instead of managed.
//
// Overview
//   Memory::Records come from a free list that the GIL guards. Memory::borrow takes them from a
//   thread-local list instead, which costs more, and its release checks whether the thread holds
//   the GIL. Imports of NumPy arrays, bytes and PyTorch tensors use the list, and so does the
//   release of every Array.
//
//   A DLTensor borrowed from PyTorch has no flags and no deleter. Entrepot trusts its device and
//   holds a reference to the tensor object (c_exchange_api.cpp).
//
//   A build with ENTREPOT_FAST_IMPORT=0 calls Memory::borrow and asks PyTorch for managed tensors.
//   That is slower, and gives the same Arrays, whose owner is then not the tensor object. The tests
//   run such a build as well (python/CMakeLists.txt).
//
// Rows of benchmarks/exchange.py that pay for the list. They get slower without it:
//   - "asarray(NumPy), against memoryview" and "asarray(bytes), in empty calls" by more than 30 %,
//   - "asarray(torch CPU), against np.asarray" by more than 10 %.
#pragma once
#include "../memory/owner.hpp"
#include "../support/gil.hpp"

#include <core/free_list.hpp>
#include <entrepot/device/registry.hpp>
#include <entrepot/exchange/dlpack.hpp>
#include <memory/release.hpp>

#include <utility>

#ifndef ENTREPOT_FAST_IMPORT
#define ENTREPOT_FAST_IMPORT 1
#endif

namespace entrepot::python::fast_import {

inline constexpr bool is_on = ENTREPOT_FAST_IMPORT != 0;

#if ENTREPOT_FAST_IMPORT

// Protected by the GIL. Without a GIL it is always empty.
inline FreeList<Memory::Record, has_gil ? 64 : 0> free_records;

// Does what Memory::borrow does, with a record of the list if there is one.
[[gnu::always_inline]] inline Memory borrow(void *data, std::size_t bytes, UsmKind kind,
                                            const Device &device, const Context &context,
                                            Owner &&owner) {
    Memory::Record *const record = free_records.take();
    if (!record) [[unlikely]]
        return Memory::borrow(data, bytes, kind, device, context, std::move(owner));
    record->reuse();
    release_finished_owners();
    record->set_borrowed(data, bytes, kind, device, context, std::move(owner));
    return Memory::attach(record);
}

// Releases what ~Memory releases.
// Requires: this thread holds the GIL and no mutex. Python code may run.
inline void release(Memory &&memory) noexcept {
    Memory::Record *const record = memory.record();
    if (!has_gil || !record || memory.is_shared() || !memory.is_borrowed() || record->has_uses() ||
        record->pinned.load(std::memory_order_relaxed) ||
        record->exported.load(std::memory_order_relaxed)) [[unlikely]] {
        const Memory last = std::move(memory);
        return;
    }
    (void)memory.detach();
    release_finished_owners();
    Memory::Record::Contents contents = record->take_contents();
    if (!free_records.put(record)) [[unlikely]]
        Memory::recycle(record);
    release_here(std::move(contents.owner));
}

#else

inline Memory borrow(void *data, std::size_t bytes, UsmKind kind, const Device &device,
                     const Context &context, Owner &&owner) {
    return Memory::borrow(data, bytes, kind, device, context, std::move(owner));
}
inline void release(Memory &&memory) noexcept { const Memory last = std::move(memory); }

#endif

// Does what Memory::borrow_host does.
[[gnu::always_inline]] inline Memory borrow_host(void *data, std::size_t bytes, Owner &&owner) {
    const registry::HostPlace &host = registry::host_place();
    return borrow(data, bytes, UsmKind::host, host.device, host.context, std::move(owner));
}

// Does what dlpack::borrow does, for a known producer whose device is trusted. The runtime is asked
// only if the device does not name the kind of memory (kDLOneAPI).
//
// Ownership: takes `owner`, which is released if this throws.
[[gnu::always_inline]] inline Memory borrow_unverified(exchange::Reach reach,
                                                       dlpack::DLDevice device, Owner &&owner) {
    if (device.device_type == dlpack::kDLCPU)
        return borrow_host(reach.lowest, reach.bytes, std::move(owner));
    const dlpack::NamedDevice &named = dlpack::named_device(device);
    if (named.kind == UsmKind::unknown || reach.bytes == 0) [[unlikely]] {
        // its own address is taken nowhere, so that it may stay in registers
        Owner moved = std::move(owner);
        return dlpack::borrow(reach, device, std::move(moved));
    }
    return borrow(reach.lowest, reach.bytes, named.kind, named.device,
                  named.device.default_context(), std::move(owner));
}

}  // namespace entrepot::python::fast_import
