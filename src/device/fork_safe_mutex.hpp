// ForkSafeMutex: a leaf mutex that no thread of the parent can leave locked in a forked child
// (fork_guard.hpp).
//
// Lock order
//   A fork locks all of them in the order in which they were made. While one is held, no other
//   mutex is locked and no driver is called, because a fork may lock the drivers' mutexes in
//   another order.
//
// Lifetime
//   Those of static objects are never destroyed, because threads may release memory until the
//   process exits. Such objects are made with FirstUse (core/publish.hpp), so that a child can make
//   them where a thread of its parent was making them.
#pragma once
#include <entrepot/core/checked_mutex.hpp>

namespace entrepot {

class ForkSafeMutex : public LeafMutex {
public:
    // Requires: the thread holds no ForkSafeMutex, here and in the destructor.
    ForkSafeMutex();
    ~ForkSafeMutex();
};

}  // namespace entrepot
