// Lending: our resources as the allocator of another library, which knows blocks by their address and the streams of CUDA.
#pragma once
#include <entrepot/memory/memory.hpp>

#include <cstddef>

namespace entrepot {

// A stream of another library's, in whose order a block is used.
struct LentStream {
    Queue queue;
    bool is_of_thread = false;  // another one in each thread: only its own can mark it
};

// `stream` as the runtime has it: 0 and 1 legacy, 2 per-thread, else a cudaStream_t, which lasts as long as blocks of it are out
// or kept: as the streams of PyTorch do, and others that the queue keeps alive (Queue::keep_alive). Throws Error(device) where
// the device is not there, Error(value) where the stream is another device's.
LentStream cuda_stream(int device, void *stream);

// Device memory of the resource that is current for the device, ready for work of the stream; nullptr for 0 bytes. Throws as
// `allocate` does, which gets it.
void *lend(std::size_t bytes, const LentStream &stream, Memory::Allocate allocate = Memory::allocate);

// All that the stream of `lend` has been given so far comes before the next user. Whoever works with the block on another
// stream has made that one wait, as for the pools of CuPy and PyTorch. Never blocks; an address that was not lent is ignored.
void take_back(void *pointer) noexcept;

}  // namespace entrepot
