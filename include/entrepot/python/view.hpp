// View<T, N>: the elements of an array, by N indices.
//
//     const auto a = array.view<float, 2>();
//     a(i, j) *= 2;
#pragma once
#include <entrepot/core/assert.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <utility>
#include <version>

#ifdef __cpp_lib_mdspan
#include <mdspan>
#endif

#pragma GCC visibility push(hidden)
namespace entrepot {
inline namespace extension {

// With `is_contiguous`, the stride of the last index is 1 at compile time, so compilers
// vectorize loops over it.
//
// Lifetime: the array outlives its views.
// Thread safety: that of a pointer to the elements.
template <class T, std::size_t N, bool is_contiguous = false> class View {
public:
    using element_type = T;

    // Requires: N extents, and N strides in elements. With `is_contiguous`, the strides are
    // those of
    //           C order.
    View(T *data, const std::int64_t *extents, const std::int64_t *strides) noexcept : data_(data) {
        std::copy_n(extents, N, extents_.begin());
        std::copy_n(strides, N, strides_.begin());
    }
    // Converts to a view of const elements, and to one whose strides are not known.
    template <class Other, bool other_is_contiguous>
        requires(std::convertible_to<Other (*)[], T (*)[]> &&
                 (other_is_contiguous || !is_contiguous))
    View(const View<Other, N, other_is_contiguous> &other) noexcept
        : data_(other.data()), extents_(other.extents()), strides_(other.strides()) {}

    T *data() const noexcept { return data_; }  // the element whose indices are 0
    static constexpr std::size_t rank() noexcept { return N; }
    std::int64_t extent(std::size_t axis) const noexcept { return extents_[axis]; }
    std::int64_t stride(std::size_t axis) const noexcept {  // in elements
        return is_contiguous && axis + 1 == N ? 1 : strides_[axis];
    }
    const std::array<std::int64_t, N> &extents() const noexcept { return extents_; }
    const std::array<std::int64_t, N> &strides() const noexcept { return strides_; }
    std::int64_t size() const noexcept {  // in elements
        std::int64_t product = 1;
        for (const std::int64_t extent : extents_)
            product *= extent;
        return product;
    }

    // Requires: 0 ≤ index < extent, for each index; asserted with ENTREPOT_ASSERTIONS.
    template <std::convertible_to<std::int64_t>... Indices>
        requires(sizeof...(Indices) == N)
    T &operator()(Indices... indices) const noexcept {
        std::int64_t offset = 0;
        std::size_t axis = 0;
        (
            [&](std::int64_t index) {
                ENTREPOT_ASSERT(index >= 0 && index < extents_[axis]);
                offset += index * stride(axis++);
            }(static_cast<std::int64_t>(indices)),
            ...);
        return data_[offset];
    }
    T &operator[](std::int64_t index) const noexcept
        requires(N == 1)
    {
        return (*this)(index);
    }

#ifdef __cpp_lib_mdspan
    // The elements as a std::mdspan, whose layout is layout_right with `is_contiguous`, else
    // layout_stride.
    //
    // Throws: std::invalid_argument for reversed, broadcast and overlapping axes, which
    //         layout_stride cannot describe ([mdspan.layout.stride.cons]).
    auto mdspan() const {
        using Extents = std::dextents<std::int64_t, N>;
        if constexpr (is_contiguous) {
            return std::mdspan<T, Extents>(data_, Extents(extents_));
        } else {
            std::array<std::int64_t, N> strides = strides_;
            std::array<std::pair<std::int64_t, std::int64_t>, N> axes;  // stride and extent
            for (std::size_t axis = 0; axis < N; ++axis) {
                if (extents_[axis] < 2)
                    strides[axis] = 1;  // unused, but it has to be positive
                axes[axis] = {strides[axis], std::max<std::int64_t>(extents_[axis], 1)};
            }
            std::ranges::sort(axes);
            std::int64_t least = 1;  // stride of an axis whose elements are apart
            for (const auto &[stride, extent] : axes) {
                if (extent > 1 && stride < least)
                    throw std::invalid_argument("an axis is reversed or broadcast, or elements "
                                                "overlap, which std::mdspan cannot describe: copy "
                                                "the array first");
                least = std::max(least, stride * extent);
            }
            return std::mdspan<T, Extents, std::layout_stride>(data_, {Extents(extents_), strides});
        }
    }
#endif

private:
    T *data_;
    std::array<std::int64_t, N> extents_{}, strides_{};
};

namespace detail {

// The axes of an array for loops in C order. Axes of one element are dropped, and neighbors
// whose elements are evenly spaced are one axis.
class FoldedAxes {
public:
    FoldedAxes(std::span<const std::int64_t> extents,
               std::span<const std::int64_t> strides) noexcept {
        ENTREPOT_ASSERT(extents.size() <= most_axes && extents.size() == strides.size());
        is_empty_ = std::find(extents.begin(), extents.end(), 0) != extents.end();
        if (is_empty_)
            return;
        for (std::size_t i = 0; i < extents.size(); ++i) {
            if (extents[i] == 1)
                continue;
            if (count_ != 0 && axes_[count_ - 1].stride == extents[i] * strides[i])
                axes_[count_ - 1] = {axes_[count_ - 1].extent * extents[i], strides[i]};
            else
                axes_[count_++] = {extents[i], strides[i]};
        }
    }

    // Calls `visit` with each element. The innermost loop is a plain one.
    template <class T, class Visit> void for_each(T *item, Visit &visit) const {
        if (is_empty_)
            return;
        const Axis inner = count_ == 0 ? Axis{1, 1} : axes_[count_ - 1];
        const std::size_t outer = count_ == 0 ? 0 : count_ - 1;
        std::array<std::int64_t, most_axes> index;
        std::fill_n(index.begin(), outer, 0);
        for (;;) {
            if (inner.stride == 1)
                for (std::int64_t i = 0; i < inner.extent; ++i)
                    visit(item[i]);
            else
                for (std::int64_t i = 0; i < inner.extent; ++i)
                    visit(item[i * inner.stride]);
            std::size_t axis = outer;
            for (;;) {
                if (axis == 0)
                    return;
                --axis;
                item += axes_[axis].stride;
                if (++index[axis] < axes_[axis].extent)
                    break;
                item -= axes_[axis].extent * axes_[axis].stride;
                index[axis] = 0;
            }
        }
    }

private:
    struct Axis {
        std::int64_t extent, stride;  // in elements
    };
    static constexpr std::size_t most_axes = 64;  // of an entrepot_view

    std::array<Axis, most_axes> axes_;
    std::size_t count_ = 0;
    bool is_empty_;
};

}  // namespace detail

}  // namespace extension
}  // namespace entrepot

#pragma GCC visibility pop
