// References to what stands behind a handle of the contract: counted in the object itself.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <utility>

namespace entrepot::backends {

// Lives until its last reference is released. `Self::end` may say how it goes, else it is deleted.
template <class Self> class Counted {
public:
    void retain() noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
    // As `retain`, unless the last reference has gone already and whoever released it only waits for a lock to say so.
    bool retain_if_alive() noexcept {
        std::uint32_t references = references_.load(std::memory_order_relaxed);
        while (references != 0)
            if (references_.compare_exchange_weak(references, references + 1, std::memory_order_acq_rel))
                return true;
        return false;
    }
    // The first reference of one that was kept after its last.
    void revive() noexcept { references_.store(1, std::memory_order_relaxed); }
    void release() noexcept {
        if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1)
            Self::end(static_cast<Self *>(this));
    }
    static void end(Self *self) noexcept { delete self; }

private:
    std::atomic<std::uint32_t> references_{1};
};

// One reference to a counted object.
template <class Object> class Reference {
public:
    explicit Reference(Object &object) noexcept : object_(&object) { object.retain(); }
    // Takes over a reference that the caller has.
    static Reference adopt(Object &object) noexcept { return Reference(&object); }
    // Gives the reference to the caller.
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

// Of a handle whose runtime has no word of its own for hash tables.
template <class Handle> std::uint64_t hash_of(Handle handle) noexcept { return std::hash<Handle>{}(handle); }

}  // namespace entrepot::backends
