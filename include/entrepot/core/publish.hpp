// Objects that are made at the first request, without a lock. FirstUse never destroys its object.
#pragma once

#include <atomic>
#include <memory>
#include <utility>

#pragma GCC visibility push(default)
namespace entrepot {

// Publishes `made`, unless another thread was faster: then `made` is destroyed. Returns: what is
// published.
// Lifetime: a published object is destroyed only once no other thread can read the slot.
template <class Made> Made &publish(std::atomic<Made *> &slot, std::unique_ptr<Made> made) {
    Made *earlier = nullptr;
    return *(slot.compare_exchange_strong(earlier, made.get(), std::memory_order_acq_rel)
                 ? made.release()
                 : earlier);
}
template <class Made> const Made &publish(std::atomic<const Made *> &slot, Made made) {
    return publish(slot, std::unique_ptr<const Made>(std::make_unique<Made>(std::move(made))));
}

// An object with static storage that a forked child may use, and so may need to make:
//
//     static constinit FirstUse<Table> table;
//     return table.get();
//
// If a process forks while another thread makes a static local variable, the variable's guard stays
// locked in the child. The child's first use would hang. Here the child makes an object of its own.
//
// Requires: an object that no thread has seen can be destroyed.
template <class Object> class FirstUse {
public:
    // Makes the object from the arguments if this is the first use.
    template <class... Arguments> Object &get(Arguments &&...arguments) {
        if (Object *const made = slot_.load(std::memory_order_acquire)) [[likely]]
            return *made;
        return publish(slot_, std::make_unique<Object>(std::forward<Arguments>(arguments)...));
    }

private:
    std::atomic<Object *> slot_{nullptr};
};

}  // namespace entrepot
#pragma GCC visibility pop
