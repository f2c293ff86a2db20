// The fork guard: in the child of a process that has used a device, device calls raise DeviceError
// instead of hanging.
//
// Overview
//   After fork() the vendors' runtimes do not work in the child: polling an event never ends, and
//   inherited work never finishes. A pthread_atfork handler marks the child, so the check costs one
//   load. The host backend keeps working.
//
// States
//   A process is armed before the first backend other than the host's is loaded (arm). A child of
//   an armed process is marked (in_child) for good. Handles of devices leak in a marked child.
//
// Lock order
//   Before the fork, the handler takes the locks of all rows in the order of ForkRow. It releases
//   them in reverse order, in parent and child. The thread that forks holds none of them before.
//   The handler and the rows are registered when the library is loaded, after the handlers of the
//   host backend (backends/host/queues.cpp).
//
//   The rows are:
//   - the registry: the host's Row::loading, then the registry's mutex;
//   - the table of live contexts;
//   - the table of live queues, and the mutexes of the host's queues;
//   - the file server;
//   - all ForkSafeMutexes.
//
//   ForkSafeMutexes are last, because a thread may lock one while it holds a mutex of another row
//   or a lock of the driver. Otherwise no thread locks a mutex of one row while it holds one of
//   another. Within a row, the handler locks in the order of the other threads.
//
//   The mutexes of the queues of devices are in no row. A thread that holds one may lock the table
//   of contexts. With the mutex of a host's queue it does not, because the host's context is
//   immortal. It may then call the host's driver, whose locks a fork takes last.
//
// Lifetime
//   A marked child that calls exit() skips the exit handlers and destructors registered before
//   install_exit_handler(). They belong to the runtimes and would wait for inherited work. Any
//   other process exits in this order:
//   1. Python's atexit handlers run. The module's handler calls leak_from_now_on()
//      (memory/release.hpp).
//   2. Python ends. A thread that then acquires the GIL never returns (core/interpreter_lock.hpp).
//   3. The handler of install_exit_handler() stops new driver calls. Threads inside a driver get
//      200 ms to leave (driver_call.hpp).
//   4. The destructors of the runtimes' libraries run.
#pragma once

#include <atomic>
#include <string_view>

#pragma GCC visibility push(default)
namespace entrepot {

class Backend;

namespace fork_guard {

// Set by the pthread_atfork handler of an armed process, before the child has a second thread.
extern std::atomic<bool> in_child;

inline bool is_child() noexcept { return in_child.load(std::memory_order_relaxed); }

// True if the backend may be called: always outside of a marked child, and always for the host's.
// Releases ask may_call() (memory/release.hpp), which is also false at process exit.
bool is_usable(const Backend &backend) noexcept;

[[noreturn]] void refuse(const Backend &backend);
// For a backend that has not been loaded, and may have no runtime on this machine.
[[noreturn]] void refuse_to_load(std::string_view backend);

// Throws: DeviceError if the backend cannot be used in this process any more.
inline void require_usable(const Backend &backend) {
    if (is_child() && !is_usable(backend)) [[unlikely]]
        refuse(backend);
}

// Makes forks mark their child from now on. Called before the first backend other than the host's
// is loaded, because a child that is forked during the load cannot use the runtime either.
void arm();

// Installs the exit handler described under Lifetime. Called when the libraries of such a backend
// have been loaded. Without glibc nothing is installed.
void install_exit_handler();

// A lock that the child needs. It is taken before the fork and released on both sides, so that no
// other thread of the parent leaves it locked in the child. If nothing has used the mutex before,
// `lock` makes it (core/publish.hpp).
//
// Requires: `lock` blocks for moments only. A thread that holds a mutex of the row locks none of
//           another row, except for those of ForkRow::mutexes, which come last.
struct ForkLock {
    void (*lock)() noexcept;
    void (*unlock)() noexcept;
};
enum class ForkRow { registry, contexts, queues, file_server, mutexes };
// Called when the library is loaded, to initialize a constant. Returns: true.
bool lock_over_fork(ForkRow row, ForkLock hold);

}  // namespace fork_guard
}  // namespace entrepot
#pragma GCC visibility pop
