// The fork guard: in a child of a process that had used a device, every device entry is an error instead of a hang.
//
// After fork the vendors' runtimes report nothing: polling an event waits for ever, inherited work never finishes. The
// mark is set by a handler of pthread_atfork, so reading it costs one load. A child that calls exit() ends without the exit
// handlers and destructors of the process's libraries that were registered before the first device was used: the runtimes'
// own would wait for inherited work, too.
#pragma once
#include <atomic>
#include <string_view>

namespace entrepot {

class Backend;

namespace fork_guard {

// Set in the child of a process that had loaded a backend other than the host's, or was about to.
inline std::atomic<bool> in_child{false};

inline bool is_child() noexcept { return in_child.load(std::memory_order_relaxed); }

// Whether calls into the backend still mean anything: always, except in such a child; the host's always do.
bool is_usable(const Backend &backend) noexcept;

[[noreturn]] void refuse(const Backend &backend);
// Of a backend that has not been loaded, and may have no runtime on this machine.
[[noreturn]] void refuse_to_load(std::string_view backend);

// Throws DeviceError where the backend cannot be used in this process any more.
inline void require_usable(const Backend &backend) {
    if (is_child() && !is_usable(backend)) [[unlikely]]
        refuse(backend);
}

// From now on a fork marks its child. Called before the first backend other than the host's is loaded: a child that is forked
// meanwhile is as badly off.
void arm();

// From now on a marked child that exits leaves out the handlers that are there by now, and in any other process no thread is
// inside a driver when they run. Called when libraries of such a backend have been loaded.
void guard_the_end();

// Locks that the child will need are taken before the fork and let go on both sides; otherwise a lock that another thread
// holds at that moment would stay locked in the child for ever. `take` must not block for long.
struct Hold {
    void (*take)() noexcept;
    void (*let_go)() noexcept;
};
void hold_over_fork(Hold hold);

}  // namespace fork_guard
}  // namespace entrepot
