// NoDestructor: an object with static storage that is never destroyed, because other threads and
// destructors use it until process exit.
#pragma once
#include <new>
#include <utility>

namespace entrepot {

// Construct it as a static local variable. An object that the child of a fork may use is made with
// FirstUse instead (publish.hpp).
//
//     static NoDestructor<Table> table;
//     return *table;
template <class Object> class NoDestructor {
public:
    template <class... Arguments> explicit NoDestructor(Arguments &&...arguments) {
        ::new (static_cast<void *>(storage_)) Object(std::forward<Arguments>(arguments)...);
    }
    NoDestructor(const NoDestructor &) = delete;
    NoDestructor &operator=(const NoDestructor &) = delete;

    Object &operator*() noexcept { return *std::launder(reinterpret_cast<Object *>(storage_)); }
    Object *operator->() noexcept { return &**this; }

private:
    alignas(Object) unsigned char storage_[sizeof(Object)];
};

}  // namespace entrepot
