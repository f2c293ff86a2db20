#include <entrepot/core/publish.hpp>
#include <entrepot/device/backend.hpp>

#include <pthread.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <mutex>

namespace entrepot::fork_guard {

constinit std::atomic<bool> in_child{false};

namespace {

std::atomic<bool> armed{false};

// Never destroyed, because a fork may come at any time.
struct ForkLocks {
    std::mutex mutex;
    // by ForkRow; guarded by mutex. A program may be linked without some.
    std::array<ForkLock, static_cast<std::size_t>(ForkRow::mutexes) + 1> rows{};
};
constinit FirstUse<ForkLocks> all;

void before_fork() {
    // a mutex that this thread holds could not be taken again
    ENTREPOT_ASSERT(HeldMutexes::is_empty());
    ForkLocks &locks = all.get();
    locks.mutex.lock();
    for (const ForkLock &hold : locks.rows)
        if (hold.lock)
            hold.lock();
}

// Runs on the thread that forked, in the parent and in the child.
void after_fork() {
    ForkLocks &locks = all.get();
    for (auto hold = locks.rows.rbegin(); hold != locks.rows.rend(); ++hold)
        if (hold->unlock)
            hold->unlock();
    locks.mutex.unlock();
}

void after_fork_in_child() {
    after_fork();
    if (armed.load(std::memory_order_relaxed))
        in_child.store(true, std::memory_order_relaxed);
}

// Runs before the runtimes' own exit handlers, which are destructors of libraries. In a child those
// would wait for inherited work that never finishes, so the child exits without them.
[[maybe_unused]] void end_process(int status, void *) {
    if (!is_child())
        return DriverCall::end_all();
    std::fflush(nullptr);
    _exit(status);
}

constexpr std::string_view advice =
    ": use the 'spawn' or 'forkserver' start method "
    "(multiprocessing.set_start_method(\"spawn\")); host memory keeps working here";

[[maybe_unused]] const int watching_forks =
    pthread_atfork(before_fork, after_fork, after_fork_in_child);

}  // namespace

void refuse(const Backend &backend) {
    throw Error(ErrorKind::device, "this process was forked after a device was used, and the ",
                backend.name(), " runtime does not survive a fork", advice);
}

void refuse_to_load(std::string_view backend) {
    throw Error(ErrorKind::device,
                "this process was forked after devices were used or looked for, and no runtime is "
                "loaded in "
                "such a process, so whether there are devices of ",
                backend, " is not known here", advice);
}

void arm() { armed.store(true, std::memory_order_relaxed); }

void install_exit_handler() {
#ifdef __GLIBC__
    on_exit(end_process, nullptr);
#endif
}

bool lock_over_fork(ForkRow row, ForkLock hold) {
    ENTREPOT_ASSERT(HeldMutexes::is_empty());  // a fork locks the list first, then those in it
    const std::lock_guard locked(all.get().mutex);
    ForkLock &place = all.get().rows[static_cast<std::size_t>(row)];
    ENTREPOT_ASSERT(!place.lock);
    place = hold;
    return true;
}

}  // namespace entrepot::fork_guard
