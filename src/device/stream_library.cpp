// The registry of stream libraries, and the queues of their current streams.
#include <entrepot/device/stream_library.hpp>

#include "device/fork_safe_mutex.hpp"
#include <entrepot/core/assert.hpp>
#include <entrepot/core/publish.hpp>
#include <entrepot/device/stream.hpp>

#include <array>
#include <atomic>

namespace entrepot {
namespace {

bool legacy_current_stream(const StreamLibrary &, const Device &device,
                           std::uintptr_t &stream) noexcept {
    stream = legacy_stream;
    return device.backend().has_streams();
}
constexpr StreamLibrary legacy{.name = "the legacy default stream",
                               .current_stream = legacy_current_stream};

// Append-only, in two parts: those that take exports come first. A slot is written once, before the
// count of its part covers it; readers load the count with acquire order first.
struct Part {
    const unsigned first, end;
    std::atomic<unsigned> next;
};
// Guards writes to what follows.
ForkSafeMutex &registration_mutex() {
    static constinit FirstUse<ForkSafeMutex> made;
    return made.get();
}
std::array<const StreamLibrary *, max_stream_libraries> libraries{&legacy};
Part consumers{0, max_consumer_libraries, 1},
    others{max_consumer_libraries, max_stream_libraries, max_consumer_libraries};

}  // namespace

unsigned register_stream_library(const StreamLibrary &library) noexcept {
    const MutexLock lock(registration_mutex());
    Part &part = library.takes_exports ? consumers : others;
    const unsigned next = part.next.load(std::memory_order_relaxed);
    for (unsigned number = part.first; number < next; ++number)
        if (libraries[number] == &library)
            return number;
    if (next == part.end)
        return legacy_library;
    ENTREPOT_ASSERT(!libraries[next] && library.current_stream);
    libraries[next] = &library;
    part.next.store(next + 1, std::memory_order_release);
    return next;
}

// The slot was written before its number was returned. It is read without a lock or an acquire
// load, because threads synchronize when one of them gets a number from another.
const StreamLibrary &stream_library(unsigned number) noexcept {
    ENTREPOT_ASSERT(
        number <
        (number < consumers.end ? consumers : others).next.load(std::memory_order_acquire));
    return *libraries[number];
}

LibrarySet consumer_libraries() noexcept {
    return static_cast<LibrarySet>((1u << consumers.next.load(std::memory_order_acquire)) - 1);
}

[[gnu::hot]] Queue current_stream_of(unsigned library, const Device &device) {
    const StreamLibrary &asked = stream_library(library);
    std::uintptr_t stream = 0;
    ENTREPOT_ASSERT(HeldMutexes::is_empty());  // the library may acquire the GIL
    if (!asked.current_stream(asked, device, stream))
        return {};
    if (stream <= legacy_stream && !device.backend().is_sycl()) [[likely]]
        return legacy_stream_of(device);
    try {
        return device.backend().is_sycl()
                   ? Queue::from_native(device.backend(), reinterpret_cast<void *>(stream))
                   : wrap_stream(device, stream);
    } catch (const Error &error) {
        if (error.kind() != ErrorKind::device)
            throw;
        // The stream was destroyed while it was current, so nothing can be submitted to it. A
        // sticky error of the driver looks the same: the operation's own submission meets it again.
        return {};
    }
}

}  // namespace entrepot
