// Foreign allocator: Entrepot's resources as the allocator of another library, which names blocks
// by address and streams by handle.
//
// Overview
//   allocate_on_stream() allocates a block for a CUDA stream. deallocate_on_stream() returns it:
//   its next use waits for the stream's work so far. On a per-thread default stream only its own
//   thread can record an event. A block of it that another thread returns is parked until that
//   thread allocates, returns a block or ends.
//
// Lock order
//   The table of blocks and the parked blocks are guarded by leaf mutexes. The caller holds no
//   mutex.
//
// Lifetime
//   Tables are never destroyed, because blocks return until process exit. In a marked child of
//   fork() and at process exit, returned blocks leak.
#pragma once
#include <entrepot/memory/memory.hpp>

#include <cstddef>

#pragma GCC visibility push(default)
namespace entrepot {

// The stream of another library in whose order a block is used.
struct AllocatorStream {
    Queue queue;
    // the per-thread default stream: only its own thread can record an event in it
    bool is_of_thread = false;
};

// Wraps a stream: 0 and 1 are the legacy default stream, 2 is the per-thread one, others are a
// cudaStream_t.
//
// Throws: Error(device) if the device does not exist, Error(value) if the stream belongs to another
//         device.
// Lifetime: the stream must live as long as its blocks are in use or cached. Streams of PyTorch do,
//           and those that the queue keeps alive (Queue::keep_alive).
AllocatorStream cuda_stream(int device, void *stream);

// Returns: device memory of the device's current resource, ready for work of the stream; nullptr
//          for 0 bytes.
// Throws: what `allocate` throws.
void *allocate_on_stream(std::size_t bytes, const AllocatorStream &stream,
                         Memory::Allocate allocate = Memory::allocate);

// Returns a block to its resource. Its next use waits for all work that the stream of
// allocate_on_stream() holds now. Work on the block in another stream must be waited for by the
// stream of allocate_on_stream(), as for the pools of CuPy and PyTorch. Never waits for work of a
// device. An address that was not allocated here is ignored.
void deallocate_on_stream(void *pointer) noexcept;

}  // namespace entrepot
#pragma GCC visibility pop
