// Intrusive reference counts for the objects behind handles.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <utility>

namespace entrepot::backends {

// Base class with a reference count. Releasing the last reference calls `Self::end`, which deletes
// the object by default.
template <class Self> class Counted {
public:
    void retain() noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
    // Retains the object; false if the last reference is gone and the releasing thread is about to
    // unregister it.
    bool retain_if_alive() noexcept {
        std::uint32_t references = references_.load(std::memory_order_relaxed);
        while (references != 0)
            if (references_.compare_exchange_weak(references, references + 1,
                                                  std::memory_order_acq_rel))
                return true;
        return false;
    }
    // Sets the count to 1 for an object that was pooled by `Self::end`.
    void revive() noexcept { references_.store(1, std::memory_order_relaxed); }
    void release() noexcept {
        if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1)
            Self::end(static_cast<Self *>(this));
    }
    static void end(Self *self) noexcept { delete self; }

private:
    std::atomic<std::uint32_t> references_{1};
};

// Owns one reference to a counted object.
template <class Object> class Reference {
public:
    explicit Reference(Object &object) noexcept : object_(&object) { object.retain(); }
    // Ownership: takes a reference from the caller.
    static Reference adopt(Object &object) noexcept { return Reference(&object); }
    // Ownership: passes the reference to the caller.
    Object *detach() noexcept { return std::exchange(object_, nullptr); }
    Reference(Reference &&other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
    Reference &operator=(Reference &&) = delete;
    ~Reference() {
        if (object_ != nullptr)
            object_->release();
    }
    Object *operator->() const noexcept { return object_; }
    Object &operator*() const noexcept { return *object_; }

private:
    explicit Reference(Object *object) noexcept : object_(object) {}

    Object *object_;
};

// Hash of a handle, for runtimes without their own hash function.
template <class Handle> std::uint64_t hash_of(Handle handle) noexcept {
    return std::hash<Handle>{}(handle);
}

}  // namespace entrepot::backends
