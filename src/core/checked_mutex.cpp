// The list of the mutexes that a thread holds.
#include <entrepot/core/checked_mutex.hpp>

#ifdef ENTREPOT_ASSERTIONS

namespace entrepot {

constinit thread_local HeldMutexes::List HeldMutexes::list{};

bool HeldMutexes::is_empty() noexcept { return list.count == 0; }
bool HeldMutexes::has_leaf() noexcept { return list.leaf != nullptr; }

bool HeldMutexes::has(const std::mutex &mutex) noexcept {
    for (unsigned i = 0; i < list.count; ++i)
        if (list.all[i] == &mutex)
            return true;
    return false;
}

void HeldMutexes::add(const std::mutex &mutex, bool is_leaf) noexcept {
    ENTREPOT_ASSERT(!has(mutex));  // else: deadlock
    ENTREPOT_ASSERT(!list.leaf);   // no mutex is locked while a leaf is held
    ENTREPOT_ASSERT(list.count < most);
    list.all[list.count++] = &mutex;
    if (is_leaf)
        list.leaf = &mutex;
}

void HeldMutexes::remove(const std::mutex &mutex) noexcept {
    ENTREPOT_ASSERT(has(mutex));  // a mutex is unlocked by the thread that locked it
    unsigned i = 0;
    while (list.all[i] != &mutex)
        ++i;
    list.all[i] = list.all[--list.count];
    if (list.leaf == &mutex)
        list.leaf = nullptr;
}

}  // namespace entrepot

#endif
