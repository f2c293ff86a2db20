// SmallVector: a vector with a maximum size that is set before its first element. Small ones need
// no allocation.
#pragma once
#include <cassert>
#include <cstddef>
#include <memory>
#include <new>
#include <utility>

namespace entrepot {

// Holds up to `most` elements, of which `N` fit in the object itself.
template <class T, std::size_t N> class SmallVector {
    static_assert(alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);

public:
    SmallVector() noexcept : most_(N) {}
    explicit SmallVector(std::size_t most)
        : heap_(most > N ? new std::byte[most * sizeof(T)] : nullptr), most_(most) {}
    SmallVector(const SmallVector &) = delete;
    SmallVector &operator=(const SmallVector &) = delete;
    ~SmallVector() { std::destroy_n(data(), size_); }

    // Sets the maximum size. Requires: the vector is empty.
    void reserve(std::size_t most) {
        assert(size_ == 0);
        if (most <= most_)
            return;
        heap_.reset(new std::byte[most * sizeof(T)]);
        most_ = most;
    }
    template <class... Parts> T &emplace_back(Parts &&...parts) {
        assert(size_ < most_);
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
    std::unique_ptr<std::byte[]> heap_;
    std::size_t most_, size_ = 0;
    alignas(T) std::byte inline_[N * sizeof(T)];
};

}  // namespace entrepot
