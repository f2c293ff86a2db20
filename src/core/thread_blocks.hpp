// ThreadBlocks: per-thread pool of freed blocks of one type.
#pragma once
#include <cassert>
#include <cstddef>
#include <memory>
#include <new>

namespace entrepot {

// Declare as `constinit thread_local`, once per type. It closes when its thread ends, but has no
// destructor, so that later frees find it closed and still valid.
template <class T> class ThreadBlocks {
    static_assert(alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);

public:
    void *take() {
        if (count_ == 0) [[unlikely]]
            return ::operator new(sizeof(T));
        return blocks_[--count_];
    }

    void give(void *block) noexcept {
        if (count_ == capacity || closed_) [[unlikely]]
            return ::operator delete(block);
        if (!will_close_) [[unlikely]]
            close_with_thread();
        blocks_[count_++] = block;
    }

private:
    void close_with_thread() noexcept {
        struct Closer {
            ThreadBlocks *blocks;
            ~Closer() { blocks->close(); }
        };
        thread_local Closer closer{this};
        will_close_ = true;
    }

    void close() noexcept {
        closed_ = true;
        while (count_ != 0)
            ::operator delete(blocks_[--count_]);
    }

    static constexpr std::size_t capacity = 64;
    std::size_t count_ = 0;
    bool will_close_ = false, closed_ = false;
    void *blocks_[capacity]{};
};

// Allocator for std::allocate_shared, of single objects.
template <class T> struct ThreadBlockAllocator {
    using value_type = T;

    ThreadBlockAllocator() noexcept = default;
    template <class Other> ThreadBlockAllocator(const ThreadBlockAllocator<Other> &) noexcept {}

    T *allocate([[maybe_unused]] std::size_t count) {
        assert(count == 1);
        return static_cast<T *>(blocks.take());
    }
    void deallocate(T *block, std::size_t) noexcept { blocks.give(block); }
    bool operator==(const ThreadBlockAllocator &) const noexcept = default;

private:
    static constinit inline thread_local ThreadBlocks<T> blocks;
};

}  // namespace entrepot
