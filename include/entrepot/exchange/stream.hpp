// Stream handles of the protocols as queues, and the ordering of exports and imports. Shared by all
// protocols.
//
// Overview
//   An import logs the producer's pending work as a write of the memory. An export makes the
//   consumer's stream wait for the pending accesses. The consumer becomes a peer of the memory:
//   later operations are ordered with it (memory/operation.hpp).
//
// Lock order
//   The caller holds no mutex. A call blocks on events of another backend, and inside the driver
//   (device/queue.hpp). It does so without the GIL.
//
// Fast paths
//   Import on the legacy default stream of memory without other references: its queue exists
//   already, and no driver is called.
//
//   Export by synchronize_consumer_stream() to an ordinary stream of CUDA or HIP. The stream is not
//   wrapped if no access is pending and the owner of the memory has no stream.
//
// Lifetime
//   A raw stream handle is valid only during the call. Its owner may destroy it afterwards
//   (Queue::may_be_destroyed), and the driver may reuse its value. So an event is recorded at once,
//   and the event is kept. The stream that the object of a CAI import names is wrapped again for
//   each operation on the memory, while the object is alive (Memory::set_owner_stream).
//
//   Queues of Entrepot, streams whose owner is kept alive and the default streams persist. Events
//   are recorded in them when needed.
#pragma once
#include <entrepot/array/array.hpp>
#include <entrepot/device/stream.hpp>
#include <entrepot/device/stream_library.hpp>

#include <cstdint>

#pragma GCC visibility push(default)
namespace entrepot::exchange {

// Wraps a stream handle of a protocol: the address of a `sycl::queue` (which is copied), a
// CUstream, a hipStream_t, or one of CUDA's small numbers. Both 0 and 1 are the legacy default
// stream; protocols that forbid 0 check it before.
Queue queue_of_stream(const Device &device, std::uintptr_t stream);
std::uintptr_t stream_of(const Queue &queue);

// The libraries in whose current streams an unknown consumer of an export may work.
LibrarySet possible_consumers(const Array &array, Memory::Consumer holder) noexcept;
// Orders an export: the consumer's queue waits for the work on the array. Later work on the array
// waits for all that the queue holds when that work is submitted, unless its stream may be
// destroyed. It also waits for the current streams of `libraries`.
void synchronize_consumer(const Array &array, const Queue &consumer,
                          Memory::Consumer holder = Memory::Consumer::holds_object,
                          LibrarySet libraries = 0);
// Calls synchronize_consumer() for a consumer that holds the memory, or record_unordered_export()
// if nothing is pending (Fast paths). Later work waits for a queue of SYCL and for a default
// stream. For another stream it waits only if that is known never to be destroyed and something was
// pending.
void synchronize_consumer_stream(const Array &array, std::uintptr_t stream);
// Records an export that needs no ordering, or whose consumer asked for none (stream -1).
void record_unordered_export(const Array &array, Memory::Consumer holder);

// Orders an import: later accesses to the array wait for the current work of the producer's queue.
void wait_for_producer(const Array &array, const Queue &producer);
inline void wait_for_producer_stream(const Array &array, std::uintptr_t stream) {
    const Memory &memory = array.memory();
    const Device &device = memory.device();
    if (stream > legacy_stream || memory.is_shared()) [[unlikely]]
        return wait_for_producer(array, queue_of_stream(device, stream));
    ENTREPOT_ASSERT(!device.backend().is_sycl());  // it has no legacy default stream
    memory.mark_escaped();
    memory.record_producer(legacy_stream_of(device));
}

}  // namespace entrepot::exchange
#pragma GCC visibility pop
