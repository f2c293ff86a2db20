// Which resource serves an allocation that names none: the innermost scope of the thread, then the
// device's, then the default.
#pragma once
#include <entrepot/memory/resource.hpp>

#pragma GCC visibility push(default)
namespace entrepot {

// A pool over the driver. Made at the first call, and never destroyed.
Resource *default_resource();

// Sets the resource for allocations of the device on every thread. nullptr: the default resource.
void set_resource(const Device &device, Resource *resource);

ResourceRef current_resource(const Device &device);

// Sets the resource for every device on this thread until it is popped. Scopes nest.
// Throws (pop_resource): ValueError if that resource is not the innermost of the thread.
void push_resource(Resource *resource);
void pop_resource(const Resource *resource);

// push_resource() and pop_resource() as a scope.
// Requires: destroyed on the thread that made it, the innermost first. Otherwise std::terminate()
//           is called.
class UseResource {
public:
    explicit UseResource(Resource *resource) : resource_(resource) { push_resource(resource); }
    UseResource(const UseResource &) = delete;
    UseResource &operator=(const UseResource &) = delete;
    ~UseResource() { pop_resource(resource_); }

private:
    const Resource *resource_;
};

}  // namespace entrepot
#pragma GCC visibility pop
