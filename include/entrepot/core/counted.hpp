// Reference counts inside the objects that they count, and IntrusivePtr, which owns one reference.
#pragma once
#include <entrepot/core/assert.hpp>

#include <atomic>
#include <cstdint>
#include <utility>

#pragma GCC visibility push(default)
namespace entrepot {

// Base class with a reference count, which begins with the reference of the object's creator. The
// last release calls `Self::end`, which deletes the object by default.
//
// Thread safety: thread-safe.
template <class Self> class Counted {
public:
    void retain() noexcept {
        if (!is_immortal())
            count_.fetch_add(1, std::memory_order_relaxed);
    }
    // For tables that hold no reference to the objects in them.
    // Returns: false if the last reference is gone, and the thread that dropped it is about to
    //          remove the object from the table.
    bool retain_if_alive() noexcept {
        std::uint32_t count = this->count();
        while (count != 0)
            if (count >= immortal ||
                count_.compare_exchange_weak(count, count + 1, std::memory_order_acq_rel))
                return true;
        return false;
    }
    void release() noexcept {
        if (drop())
            Self::end(static_cast<Self *>(this));
    }
    // Drops a reference like release(), without ending the object.
    // Returns: true if that was the last reference.
    bool drop() noexcept {
        return !is_immortal() && count_.fetch_sub(1, std::memory_order_acq_rel) == 1;
    }
    // Like drop(), for objects that no table finds. Their only reference needs no atomic
    // subtraction, and leaves the count at 1.
    bool drop_unlisted() noexcept { return count() == 1 || drop(); }
    std::uint32_t count() const noexcept { return count_.load(std::memory_order_acquire); }
    // Sets the count to 1, for an object that `Self::end` has kept for further use.
    void revive() noexcept {
        ENTREPOT_ASSERT(count() <= 1);
        count_.store(1, std::memory_order_relaxed);
    }

    // The object lives until process exit, and its references are not counted any more.
    // Requires: the caller holds a reference, which it never drops.
    void make_immortal() noexcept {
        ENTREPOT_ASSERT(count() != 0);
        count_.fetch_or(immortal, std::memory_order_relaxed);
    }
    bool is_immortal() const noexcept { return count_.load(std::memory_order_relaxed) >= immortal; }

    static void end(Self *self) noexcept { delete self; }

private:
    static constexpr std::uint32_t immortal = 1u << 31;

    std::atomic<std::uint32_t> count_{1};
};

// Owns a reference to a counted object, or is empty.
template <class Object> class IntrusivePtr {
public:
    IntrusivePtr() noexcept = default;
    // Takes a further reference.
    explicit IntrusivePtr(Object *object) noexcept : object_(object) {
        if (object_)
            object_->retain();
    }
    // Ownership: takes over the caller's reference.
    static IntrusivePtr adopt(Object *object) noexcept {
        IntrusivePtr adopted;
        adopted.object_ = object;
        return adopted;
    }
    IntrusivePtr(const IntrusivePtr &other) noexcept : IntrusivePtr(other.object_) {}
    IntrusivePtr(IntrusivePtr &&other) noexcept : object_(other.detach()) {}
    IntrusivePtr &operator=(IntrusivePtr other) noexcept {
        std::swap(object_, other.object_);
        return *this;
    }
    ~IntrusivePtr() {
        if (object_)
            object_->release();
    }

    Object *get() const noexcept { return object_; }
    Object *operator->() const noexcept {
        ENTREPOT_ASSERT(object_);
        return object_;
    }
    Object &operator*() const noexcept {
        ENTREPOT_ASSERT(object_);
        return *object_;
    }
    explicit operator bool() const noexcept { return object_ != nullptr; }
    bool operator==(const IntrusivePtr &) const noexcept = default;  // the same object
    // Ownership: passes the reference to the caller.
    Object *detach() noexcept { return std::exchange(object_, nullptr); }

private:
    Object *object_ = nullptr;
};

}  // namespace entrepot
#pragma GCC visibility pop
