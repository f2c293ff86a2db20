// SmallVector: a vector whose first elements need no allocation.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#pragma GCC visibility push(default)
namespace entrepot {

// The first `N` elements are in the object itself. Elements move when the vector grows beyond its
// capacity.
template <class T, std::size_t N> class SmallVector {
    static_assert(alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);
    static_assert(std::is_nothrow_move_constructible_v<T>);

public:
    SmallVector() noexcept = default;
    explicit SmallVector(std::size_t capacity) { reserve(capacity); }
    SmallVector(const SmallVector &) = delete;
    SmallVector &operator=(const SmallVector &) = delete;
    ~SmallVector() { std::destroy_n(data(), size_); }

    // Elements up to `capacity` do not move.
    void reserve(std::size_t capacity) {
        if (capacity > capacity_)
            grow_to(capacity);
    }
    // Requires: no part refers to an element of the vector.
    template <class... Parts> T &emplace_back(Parts &&...parts) {
        if (size_ == capacity_) [[unlikely]]
            grow_to(2 * capacity_);
        T &added = *new (data() + size_) T{std::forward<Parts>(parts)...};
        ++size_;
        return added;
    }

    T *data() noexcept { return reinterpret_cast<T *>(heap_ ? heap_.get() : inline_); }
    const T *data() const noexcept {
        return reinterpret_cast<const T *>(heap_ ? heap_.get() : inline_);
    }
    std::size_t size() const noexcept { return size_; }
    T *begin() noexcept { return data(); }
    T *end() noexcept { return data() + size_; }
    const T *begin() const noexcept { return data(); }
    const T *end() const noexcept { return data() + size_; }
    T &operator[](std::size_t i) noexcept { return data()[i]; }
    const T &operator[](std::size_t i) const noexcept { return data()[i]; }

private:
    [[gnu::noinline]] void grow_to(std::size_t capacity) {
        std::unique_ptr<std::byte[]> larger(new std::byte[capacity * sizeof(T)]);
        std::uninitialized_move_n(data(), size_, reinterpret_cast<T *>(larger.get()));
        std::destroy_n(data(), size_);
        heap_ = std::move(larger);
        capacity_ = capacity;
    }

    std::unique_ptr<std::byte[]> heap_;
    std::size_t capacity_ = N, size_ = 0;
    alignas(T) std::byte inline_[N * sizeof(T)];
};

}  // namespace entrepot
#pragma GCC visibility pop
