// LiveResources: the resources of one class that have not been destroyed.
#pragma once
#include <device/fork_safe_mutex.hpp>
#include <entrepot/memory/resource.hpp>

#include <utility>
#include <vector>

namespace entrepot {

// Thread safety: thread-safe. The caller does not hold the mutex.
template <class Class> class LiveResources {
public:
    void add(Class *resource) {
        const MutexLock lock(mutex_);
        resources_.push_back(resource);
    }

    // Call it first in the resource's destructor.
    void remove(Class *resource) noexcept {
        const MutexLock lock(mutex_);
        std::erase(resources_, resource);
    }

    // Returns: references to the resources for which `wanted(resource)` is true. It is called with
    //          the mutex held. A resource whose last reference has been dropped is omitted.
    template <class Wanted> std::vector<ResourceRef> references_to(Wanted &&wanted) {
        std::vector<ResourceRef> found;
        const MutexLock lock(mutex_);
        // If a later push_back() threw, it would drop references with the mutex held. The last one
        // destroys a resource, which locks the mutex.
        found.reserve(resources_.size());
        for (Class *resource : resources_)
            if (wanted(std::as_const(*resource)) && resource->retain_if_alive())
                found.push_back(ResourceRef::adopt(resource));
        return found;
    }

private:
    ForkSafeMutex mutex_;
    std::vector<Class *> resources_ ENTREPOT_GUARDED_BY(mutex_);  // holds no references
};

}  // namespace entrepot
