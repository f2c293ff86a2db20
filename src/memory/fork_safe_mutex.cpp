// ForkSafeMutex: the list of all, and the fork handlers.
#include <memory/fork_safe_mutex.hpp>

#include <entrepot/device/fork_guard.hpp>

#include <algorithm>
#include <vector>

namespace entrepot {
namespace {

struct Registry {
    std::mutex mutex;
    // guarded by mutex; as std::mutex, because HeldMutexes has room for a few
    std::vector<std::mutex *> all;
};

void lock_all() noexcept;
void unlock_all() noexcept;

// Never destroyed: threads may release memory until the process exits.
Registry &registry() {
    static Registry *const made = [] {
        fork_guard::hold_over_fork({lock_all, unlock_all});
        return new Registry;
    }();
    return *made;
}

void lock_all() noexcept {
    registry().mutex.lock();
    for (std::mutex *mutex : registry().all)
        mutex->lock();
}

void unlock_all() noexcept {
    for (auto mutex = registry().all.rbegin(); mutex != registry().all.rend(); ++mutex)
        (*mutex)->unlock();
    registry().mutex.unlock();
}

}  // namespace

ForkSafeMutex::ForkSafeMutex() {
    ENTREPOT_ASSERT(!HeldMutexes::has_leaf());  // a fork locks the registry first, then all in it
    const std::lock_guard lock(registry().mutex);
    registry().all.push_back(this);
}

ForkSafeMutex::~ForkSafeMutex() {
    ENTREPOT_ASSERT(!held() && !HeldMutexes::has_leaf());
    const std::lock_guard lock(registry().mutex);
    std::erase(registry().all, this);
}

}  // namespace entrepot
