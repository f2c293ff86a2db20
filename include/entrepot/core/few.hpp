// Few: elements whose number the caller knows beforehand, without an allocation where they are few.
#pragma once
#include <cstddef>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

namespace entrepot {

// Up to `most` elements are added, in place; `N` of them lie in the object itself.
template <class T, std::size_t N> class Few {
    static_assert(std::is_trivially_destructible_v<T>);

public:
    explicit Few(std::size_t most) : many_(most > N ? new std::byte[most * sizeof(T)] : nullptr) {}
    Few(const Few &) = delete;
    Few &operator=(const Few &) = delete;

    template <class... Parts> T &add(Parts &&...parts) { return *new (data() + size_++) T{std::forward<Parts>(parts)...}; }

    T *data() noexcept { return reinterpret_cast<T *>(many_ ? many_.get() : few_); }
    const T *data() const noexcept { return reinterpret_cast<const T *>(many_ ? many_.get() : few_); }
    std::size_t size() const noexcept { return size_; }
    T *begin() noexcept { return data(); }
    T *end() noexcept { return data() + size_; }
    const T *begin() const noexcept { return data(); }
    const T *end() const noexcept { return data() + size_; }
    T &operator[](std::size_t i) noexcept { return data()[i]; }
    const T &operator[](std::size_t i) const noexcept { return data()[i]; }

private:
    std::unique_ptr<std::byte[]> many_;
    std::size_t size_ = 0;
    alignas(T) std::byte few_[N * sizeof(T)];
};

}  // namespace entrepot
