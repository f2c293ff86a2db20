// Streams of CUDA as queues: by the numbers that its default ones have, or by handle.
#pragma once
#include <entrepot/device/queue.hpp>

#include <cstdint>

#pragma GCC visibility push(default)
namespace entrepot {

// The numbers below the addresses: the legacy default stream and that of the thread. Entrepot takes
// 0 for the legacy one.
inline constexpr std::uintptr_t legacy_stream = 1, thread_stream = 2, lowest_handle = 4096;
constexpr bool may_be_stream(std::uintptr_t number) noexcept {
    return number >= lowest_handle || number == legacy_stream || number == thread_stream;
}

// CUDA's legacy default stream of the device. Blocking streams wait for it, and it for them; those
// made with CU_STREAM_NON_BLOCKING do not. Made once.
const Queue &make_legacy_stream_of(const Device &device);
inline const Queue &legacy_stream_of(const Device &device) {
    const Queue *const made = device.record()->legacy_stream.load(std::memory_order_acquire);
    return made ? *made : make_legacy_stream_of(device);
}

// The stream as a queue; the default ones are those of the device, whichever is the current one.
Queue wrap_stream(const Device &device, std::uintptr_t stream);

}  // namespace entrepot
#pragma GCC visibility pop
