// The registry of stream libraries, and the queues of their current streams.
#include <entrepot/device/stream_library.hpp>

#include <entrepot/device/stream.hpp>

#include <array>
#include <atomic>
#include <mutex>

namespace entrepot {
namespace {

bool legacy_current_stream(const StreamLibrary &, const Device &device, std::uintptr_t &stream) {
    stream = legacy_stream;
    return !device.backend().is_host() && !device.backend().is_sycl();
}
constexpr StreamLibrary legacy{.name = "the legacy default stream", .current_stream = legacy_current_stream};

// Append-only. A slot is written once, before `count` covers it; readers load `count` with acquire order first.
std::mutex registering;
std::array<const StreamLibrary *, max_stream_libraries> libraries{&legacy};
std::atomic<unsigned> count{1};

// Queues of side streams that their library keeps, so that an operation does not wrap the stream again.
//
// The cache owns one reference to each queue. It does not keep the native stream alive, which its library might destroy all the
// same (torch.cuda.ExternalStream). So live_queues() skips queues that only the cache owns (Queue::mark_cached), and a queue is
// handed out only while the library says that its stream is current.
class WrappedStreams {
public:
    Queue find(const Device &device, std::uintptr_t stream) {
        Slot &slot = slots_[(stream / 64 ^ stream >> 16) % slots_.size()];
        {
            const std::lock_guard locked(mutex_);
            if (slot.stream == stream && slot.device == device) [[likely]]
                return slot.queue;
        }
        Queue wrapped = wrap_stream(device, stream);  // without the lock: the driver may block
        wrapped.mark_cached();
        Queue displaced;  // released after the lock
        const std::lock_guard locked(mutex_);
        displaced = std::exchange(slot.queue, wrapped);
        slot.stream = stream;
        slot.device = device;
        return wrapped;
    }

private:
    struct Slot {
        std::uintptr_t stream = 0;
        Device device;
        Queue queue;
    };

    std::mutex mutex_;  // guards all slots
    std::array<Slot, 64> slots_;
};

}  // namespace

unsigned register_stream_library(const StreamLibrary &library) noexcept {
    const std::lock_guard locked(registering);
    const unsigned known = count.load(std::memory_order_relaxed);
    for (unsigned number = 0; number < known; ++number)
        if (libraries[number] == &library)
            return number;
    if (known == max_stream_libraries)
        return legacy_library;
    libraries[known] = &library;
    count.store(known + 1, std::memory_order_release);
    return known;
}

const StreamLibrary &stream_library(unsigned number) noexcept { return *libraries[number]; }

LibrarySet registered_stream_libraries() noexcept {
    return static_cast<LibrarySet>((1u << count.load(std::memory_order_acquire)) - 1);
}

namespace {

CurrentStream wrap_current(const StreamLibrary &library, const Device &device, std::uintptr_t stream) {
    if (device.backend().is_sycl())
        return {Queue::from_native(device.backend(), reinterpret_cast<void *>(stream)), true};
    if (stream == thread_stream)
        return {wrap_stream(device, stream), true};
    if (!library.keeps_streams)
        return {wrap_stream(device, stream), false};
    static auto *const wrapped = new WrappedStreams;  // never destroyed: the driver may be gone at process exit
    return {wrapped->find(device, stream), false};
}

}  // namespace

[[gnu::hot]] std::optional<CurrentStream> current_stream_of(unsigned library, const Device &device) {
    const StreamLibrary &asked = stream_library(library);
    std::uintptr_t stream = 0;
    if (!asked.current_stream(asked, device, stream))
        return std::nullopt;
    if (stream <= legacy_stream && !device.backend().is_sycl()) [[likely]]
        return CurrentStream{legacy_stream_of(device), true};
    try {
        return wrap_current(asked, device, stream);
    } catch (const Error &) {
        // The stream was destroyed while it was current, so that nothing can be submitted to it.
        return std::nullopt;
    }
}

}  // namespace entrepot
