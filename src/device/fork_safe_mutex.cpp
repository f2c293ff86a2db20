// ForkSafeMutex: the list of all, and the fork handlers.
#include <device/fork_safe_mutex.hpp>

#include <entrepot/core/publish.hpp>
#include <entrepot/device/fork_guard.hpp>

#include <algorithm>
#include <vector>

namespace entrepot {
namespace {

struct Mutexes {
    std::mutex mutex;
    // guarded by mutex; as std::mutex, because HeldMutexes has room for a few
    std::vector<std::mutex *> all;
};

// Never destroyed: threads may release memory until the process exits.
Mutexes &mutexes() {
    static constinit FirstUse<Mutexes> made;
    return made.get();
}

void lock_all() noexcept {
    mutexes().mutex.lock();
    for (std::mutex *mutex : mutexes().all)
        mutex->lock();
}

void unlock_all() noexcept {
    for (auto mutex = mutexes().all.rbegin(); mutex != mutexes().all.rend(); ++mutex)
        (*mutex)->unlock();
    mutexes().mutex.unlock();
}

[[maybe_unused]] const bool mutexes_are_locked =
    fork_guard::lock_over_fork(fork_guard::ForkRow::mutexes, {lock_all, unlock_all});

}  // namespace

ForkSafeMutex::ForkSafeMutex() {
    ENTREPOT_ASSERT(!HeldMutexes::has_leaf());  // a fork locks the list first, then all in it
    const std::lock_guard lock(mutexes().mutex);
    mutexes().all.push_back(this);
}

ForkSafeMutex::~ForkSafeMutex() {
    ENTREPOT_ASSERT(!held() && !HeldMutexes::has_leaf());
    const std::lock_guard lock(mutexes().mutex);
    std::erase(mutexes().all, this);
}

}  // namespace entrepot
