// HandleTable: the handles of native objects, so that an object that is wrapped again has the same
// handle.
//
// A handle without references stays in the table until the thread that released it forgets it.
#pragma once
#include <entrepot/core/checked_mutex.hpp>
#include <entrepot/core/counted.hpp>

#include <algorithm>
#include <memory>
#include <unordered_map>

namespace entrepot::backends {

template <class Key, class Object, class Map = std::unordered_map<Key, Object *>>
class HandleTable {
public:
    // Returns: the handle of the native object. `make` returns a new one as a std::unique_ptr. If
    //          two threads make one, both return the first entered.
    // Lock order: `make` may call the driver. It is called without the mutex.
    template <class Make> IntrusivePtr<Object> intern(const Key &key, const Make &make) {
        {
            const MutexLock lock(mutex_);
            if (auto known = find(key))
                return known;
        }
        std::unique_ptr<Object> made = make();
        const MutexLock lock(mutex_);
        if (auto known = find(key))
            return known;
        handles_.insert_or_assign(key, made.get());
        return IntrusivePtr<Object>::adopt(made.release());
    }

    void enter(const Key &key, Object &object) {
        const MutexLock lock(mutex_);
        handles_.insert_or_assign(key, &object);
    }

    void forget(const Key &key, const Object &object) noexcept {
        const MutexLock lock(mutex_);
        const auto found = handles_.find(key);
        if (found != handles_.end() && found->second == &object)  // else another thread replaced it
            handles_.erase(found);
    }

    // True if `test(object)` is true for a handle. It is called with the mutex: it may query the
    // driver, and must neither use this table nor drop a reference.
    template <class Test> bool any_of(const Test &test) {
        const MutexLock lock(mutex_);
        return std::any_of(handles_.begin(), handles_.end(),
                           [&](const auto &entry) { return test(*entry.second); });
    }

private:
    // Returns: empty if there is no handle.
    IntrusivePtr<Object> find(const Key &key) ENTREPOT_REQUIRES(mutex_) {
        const auto found = handles_.find(key);
        return found != handles_.end() && found->second->retain_if_alive()
                   ? IntrusivePtr<Object>::adopt(found->second)
                   : IntrusivePtr<Object>();
    }

    CheckedMutex mutex_;
    Map handles_ ENTREPOT_GUARDED_BY(mutex_);
};

}  // namespace entrepot::backends
