// Layout: the shape of an array and its strides, in elements, and the views that can be made without a copy.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <optional>
#include <span>
#include <vector>

#include <entrepot/core/dtype.hpp>

namespace entrepot {

using Extents = std::span<const std::int64_t>;

// The bytes that a layout touches, relative to its first element; negative strides reach below it.
struct ByteRange {
    std::int64_t begin = 0;
    std::int64_t end = 0;  // one past the last byte

    std::int64_t size() const noexcept { return end - begin; }
};

// One entry of a basic index. A slice has Python's meaning, bounds already unpacked (PySlice_Unpack) but not yet clipped.
struct IndexEntry {
    enum class Kind : std::uint8_t { integer, slice, newaxis, ellipsis } kind;
    std::int64_t start = 0;  // of a slice, or the integer
    std::int64_t stop = 0;
    std::int64_t step = 1;
};

class Layout {
  public:
    static constexpr std::size_t inline_ndim = 4;  // up to here no heap is used
    static constexpr std::size_t max_ndim = 64;    // as NumPy 2

    Layout() noexcept = default;  // 0-d: one element
    // C-contiguous. Throws ValueError for a negative extent or too many dimensions, OverflowError for too many elements.
    explicit Layout(Extents shape);
    // As above. Strides are in elements and may be zero or negative; the reach of the whole must fit 64 bits.
    Layout(Extents shape, Extents strides);
    Layout(std::initializer_list<std::int64_t> shape) : Layout(Extents(shape.begin(), shape.size())) {}

    Layout(const Layout &other);
    Layout(Layout &&other) noexcept;
    Layout &operator=(const Layout &other);
    Layout &operator=(Layout &&other) noexcept;
    ~Layout() { release(); }

    std::size_t ndim() const noexcept { return ndim_; }
    Extents shape() const noexcept { return {data(), ndim_}; }
    Extents strides() const noexcept { return {data() + ndim_, ndim_}; }
    std::int64_t size() const noexcept { return size_; }  // elements
    std::int64_t nbytes(std::int64_t itemsize) const;     // of the elements, each counted once; throws OverflowError

    // NumPy's rules: extents of 1 have any stride, empty arrays are contiguous both ways.
    bool is_c_contiguous() const noexcept;
    bool is_f_contiguous() const noexcept;
    // Whether two index tuples can name the same element (a stride of 0, or overlapping ones). Errs towards true.
    bool may_overlap_itself() const;

    // Empty for an empty layout. Throws OverflowError.
    ByteRange byte_range(std::int64_t itemsize) const;

    struct View;
    // Basic indexing. Throws IndexError naming the axis, its extent and the index.
    View select(std::span<const IndexEntry> index) const;
    // Axes in their new order; empty: reversed. Throws ValueError unless a permutation.
    Layout transposed(std::span<const std::int64_t> axes) const;
    // One extent may be -1. nullopt where only a copy could do it; throws ValueError where the sizes do not agree.
    std::optional<Layout> reshaped(Extents shape) const;
    // The same bytes as items of another size; throws ValueError where the last axis does not allow it.
    Layout viewed_as(std::int64_t old_itemsize, std::int64_t new_itemsize) const;
    // `shape` with stride 0 where an extent of 1 is stretched. Throws ValueError where they do not broadcast.
    Layout broadcast_to(Extents shape) const;

    bool operator==(const Layout &other) const noexcept;

  private:
    const std::int64_t *data() const noexcept { return ndim_ <= inline_ndim ? inline_ : heap_; }
    std::int64_t *data() noexcept { return ndim_ <= inline_ndim ? inline_ : heap_; }
    void reserve(std::size_t ndim);
    void release() noexcept;
    void count_elements();
    void check_reach() const;

    std::uint32_t ndim_ = 0;
    std::int64_t size_ = 1;
    union {
        std::int64_t inline_[2 * inline_ndim];  // shape, then strides
        std::int64_t *heap_;
    };
};

struct Layout::View {
    Layout layout;
    std::int64_t offset = 0;  // elements, from the first element of the layout that was viewed
};

// `(4, 3)`, as Python prints a tuple.
std::string tuple_text(Extents extents);

std::ostream &operator<<(std::ostream &out, const Layout &layout);

}  // namespace entrepot
