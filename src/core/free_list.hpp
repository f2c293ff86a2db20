// FreeList and ThreadFreeList: objects kept for reuse, so that making one costs no allocation.
#pragma once
#include <entrepot/core/assert.hpp>

#include <array>
#include <cstddef>
#include <new>

namespace entrepot {

// Up to `capacity` objects, the latest first.
//
// Thread safety: not thread-safe.
// Lifetime: trivially destructible. The objects in the list are not destroyed with it.
template <class T, std::size_t capacity> class FreeList {
public:
    // Returns: nullptr if the list is empty.
    T *take() noexcept { return count_ ? objects_[--count_] : nullptr; }
    // Returns: true if the list took the object; otherwise the caller frees it.
    bool put(T *object) noexcept {
        if (count_ == capacity)
            return false;
        objects_[count_++] = object;
        return true;
    }

private:
    std::size_t count_ = 0;
    std::array<T *, capacity> objects_{};
};

// The free list of one thread. Declare it as `constinit thread_local`.
//
// Lifetime: when the thread ends, `destroy` is called for each object in the list, and for each one
//           that is put into it later. There is no destructor, so the list stays valid for them.
template <class T, void (*destroy)(T *) noexcept, std::size_t capacity = 64> class ThreadFreeList {
public:
    // Returns: nullptr if the list is empty.
    T *take() noexcept { return list_.take(); }
    void put(T *object) noexcept {
        if (state_ != State::open || !list_.put(object)) [[unlikely]]
            put_slowly(object);
    }

private:
    enum class State : unsigned char { unused, open, closed };

    [[gnu::noinline]] void put_slowly(T *object) noexcept {
        if (state_ == State::unused)
            close_with_thread();
        if (state_ == State::closed || !list_.put(object))
            destroy(object);
    }

    void close_with_thread() noexcept {
        struct Closer {
            ThreadFreeList *list;
            ~Closer() { list->close(); }
        };
        thread_local Closer closer{this};
        ENTREPOT_ASSERT(closer.list == this);  // one list of this type in each thread
        state_ = State::open;
    }

    void close() noexcept {
        state_ = State::closed;
        while (T *const object = list_.take())
            destroy(object);
    }

    FreeList<T, capacity> list_;
    State state_ = State::unused;
};

// Blocks of memory of the size of T, reused by the thread that frees them.
template <class T> class ThreadBlocks {
    static_assert(alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);

public:
    static void *take() {
        void *const block = blocks_.take();
        return block ? block : ::operator new(sizeof(T));
    }
    static void put(void *block) noexcept { blocks_.put(static_cast<std::byte *>(block)); }

private:
    static void free_block(std::byte *block) noexcept { ::operator delete(block); }
    // T names the list: each type has its own.
    struct Blocks : ThreadFreeList<std::byte, free_block> {};

    static constinit inline thread_local Blocks blocks_;
};

// Allocator for std::allocate_shared, of single objects.
template <class T> struct ThreadBlockAllocator {
    using value_type = T;

    ThreadBlockAllocator() noexcept = default;
    template <class Other> ThreadBlockAllocator(const ThreadBlockAllocator<Other> &) noexcept {}

    T *allocate([[maybe_unused]] std::size_t count) {
        ENTREPOT_ASSERT(count == 1);
        return static_cast<T *>(ThreadBlocks<T>::take());
    }
    void deallocate(T *block, std::size_t) noexcept { ThreadBlocks<T>::put(block); }
    bool operator==(const ThreadBlockAllocator &) const noexcept = default;
};

}  // namespace entrepot
