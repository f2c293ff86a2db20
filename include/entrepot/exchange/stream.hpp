// Streams: queues as protocols write them down, and who waits for whom at a hand-over; one implementation for every protocol.
//
// Nothing here waits on the host, save for events of another backend. Somebody's stream is known for the length of the call that
// names it: its owner may destroy it next, and the driver may give its handle to another. So it is asked for an event at once,
// and the event is what is kept. Queues of ours, streams whose owner is kept and the default streams stay; they are asked when
// there is need.
#pragma once
#include <entrepot/array/array.hpp>
#include <entrepot/device/stream.hpp>
#include <entrepot/device/stream_library.hpp>

#include <cstdint>

namespace entrepot::exchange {

struct FarQueue {
    Queue queue;
    bool stays;  // may be touched after the call
};

// A stream as protocols write it: the address of a `sycl::queue`, which is copied; a CUstream or hipStream_t, or one of CUDA's
// small numbers, where 0 is the legacy default stream as 1 is: protocols that refuse it have done so.
FarQueue queue_of_stream(const Device &device, std::uintptr_t stream);
std::uintptr_t stream_of(const Queue &queue);

// The libraries in whose current streams an unknown consumer of an export may work.
LibrarySet possible_consumers(const Array &array, Memory::Consumer holder) noexcept;
// Orders an export: the consumer's queue waits for the work on the array. Later work on the array waits for what the queue holds
// then, if it stays, and for the current streams of `libraries`.
void hand_to(const Array &array, const FarQueue &consumer, Memory::Consumer holder = Memory::Consumer::holds_object,
             LibrarySet libraries = 0);
// The same for a stream that need not be looked at where nothing is there to be waited for, of a consumer who holds the memory.
void hand_to_stream(const Array &array, std::uintptr_t stream);
// Records an export that needs no ordering, or whose consumer asked for none (stream -1).
void hand_over_unordered(const Array &array, Memory::Consumer holder);

// Of an import: accesses of ours come behind what the producer's queue holds now.
void come_behind(const Array &array, const FarQueue &producer);
inline void come_behind_stream(const Array &array, std::uintptr_t stream) {
    const Memory &memory = array.memory();
    const Device &device = memory.device();
    if (stream > legacy_stream || memory.is_shared()) [[unlikely]]
        return come_behind(array, queue_of_stream(device, stream));
    memory.mark_escaped();
    memory.after_producer(legacy_stream_of(device));
}

}  // namespace entrepot::exchange
