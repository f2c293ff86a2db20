// Layout: the shape and strides of an array, in elements, and its views without a copy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>

#pragma GCC visibility push(default)
namespace entrepot {

using Extents = std::span<const std::int64_t>;

// Bytes that a layout touches, relative to its first element; negative strides reach below it.
struct ByteRange {
    std::int64_t begin = 0;
    std::int64_t end = 0;  // one past the last byte

    std::int64_t size() const noexcept { return end - begin; }
};

// One entry of a basic index. A slice has Python's meaning, and its bounds may lie outside of the
// axis. An omitted bound is INT64_MIN or INT64_MAX, whichever lies in its direction: [6:] is
// {slice, 6, INT64_MAX, 1}, and [::-2] is {slice, INT64_MAX, INT64_MIN, -2}.
struct IndexEntry {
    enum class Kind : std::uint8_t { integer, slice, newaxis, ellipsis } kind;
    std::int64_t start = 0;  // of a slice, or the integer
    std::int64_t stop = 0;
    std::int64_t step = 1;
};

class Layout {
public:
    static constexpr std::size_t inline_ndim = 4;  // more need the heap
    static constexpr std::size_t max_ndim = 64;    // as NumPy 2

    Layout() noexcept {}  // 0-d: one element
    // C-contiguous.
    // Throws: ValueError for a negative extent or too many dimensions, OverflowError for too many
    //         elements.
    explicit Layout(Extents shape);
    // With strides in elements, which may be zero or negative. The byte range must fit 64 bits,
    // unless the layout is empty.
    // Throws: as above, and ValueError if shape and strides differ in length.
    Layout(Extents shape, Extents strides);
    Layout(std::initializer_list<std::int64_t> shape)
        : Layout(Extents(shape.begin(), shape.size())) {}

    Layout(const Layout &other);
    Layout(Layout &&other) noexcept;
    Layout &operator=(const Layout &other);
    Layout &operator=(Layout &&other) noexcept;
    ~Layout() { release(); }

    std::size_t ndim() const noexcept { return ndim_; }
    Extents shape() const noexcept { return {data(), ndim_}; }
    Extents strides() const noexcept { return {data() + ndim_, ndim_}; }
    std::int64_t size() const noexcept { return size_; }  // elements
    // Bytes of the elements, each counted once.
    // Throws: OverflowError.
    std::int64_t nbytes(std::int64_t itemsize) const;

    // True if the strides are known to be C-contiguous, without a look at each axis.
    bool is_packed() const noexcept { return is_packed_; }
    // NumPy's rules: the stride of an extent of 1 is ignored, and empty arrays are contiguous both
    // ways.
    bool is_c_contiguous() const noexcept;
    bool is_f_contiguous() const noexcept;
    // True if two indices may name the same element (a stride of 0, or overlapping ones).
    // Conservative.
    bool may_overlap_itself() const noexcept;

    // Empty for an empty layout.
    // Throws: OverflowError.
    ByteRange byte_range(std::int64_t itemsize) const;

    struct View;
    // Basic indexing; axes without an entry are taken whole.
    //
    // Throws: IndexError, naming axis, extent and index; also for too many indices, dimensions or
    //         ellipses. ValueError for a step of 0.
    View select(std::span<const IndexEntry> index) const;
    // Axes in their new order, negative ones from the end; empty: reversed.
    // Throws: ValueError unless it is a permutation.
    Layout transposed(std::span<const std::int64_t> axes) const;
    // One extent may be -1. Returns nullopt if a copy is necessary.
    // Throws: ValueError if the sizes differ.
    std::optional<Layout> reshaped(Extents shape) const;
    // Reinterprets the bytes as items of another size.
    // Throws: ValueError if the last axis, or a stride, does not allow it.
    Layout viewed_as(std::int64_t old_itemsize, std::int64_t new_itemsize) const;
    // Stretches extents of 1 to `shape` by a stride of 0.
    // Throws: ValueError if the shapes do not broadcast.
    Layout broadcast_to(Extents shape) const;

    // Compares shapes and strides, including the strides of extents of 1.
    bool operator==(const Layout &other) const noexcept;

private:
    const std::int64_t *data() const noexcept { return ndim_ <= inline_ndim ? inline_ : heap_; }
    std::int64_t *data() noexcept { return ndim_ <= inline_ndim ? inline_ : heap_; }
    std::int64_t *mutable_shape() noexcept { return data(); }
    std::int64_t *mutable_strides() noexcept {
        is_packed_ = false;
        return data() + ndim_;
    }

    // Allocates uninitialized shape and strides. Requires: the layout holds no heap memory.
    void reserve(std::size_t ndim);
    void release() noexcept;
    void take(Layout &other) noexcept;
    // Throws: the error for the rule that the shape, or the strides if given, break.
    [[noreturn]] static void refuse(Extents shape, Extents strides);
    [[noreturn]] void refuse_bytes(std::int64_t itemsize) const;
    [[noreturn]] void refuse_reach(std::int64_t itemsize) const;
    // Fast path: few axes, no extent of 0, and C-contiguous. Returns false, and leaves this 0-d,
    // for other layouts.
    bool try_plain(Extents shape, const std::int64_t *strides) noexcept;
    // Slow path for all layouts. Requires: this is 0-d.
    void make(Extents shape, Extents strides);

    std::uint32_t ndim_ = 0;
    bool is_packed_ = true;
    std::int64_t size_ = 1;
    union {
        std::int64_t inline_[2 * inline_ndim];  // shape, then strides
        std::int64_t *heap_;
    };
};

struct Layout::View {
    Layout layout;
    // In elements, from the first element of the viewed layout; 0 for an empty view.
    std::int64_t offset = 0;
};

// Formats as a Python tuple: `(4, 3)`.
std::string tuple_text(Extents extents);

std::ostream &operator<<(std::ostream &out, const Layout &layout);

// Inline functions for imports and exports, where a call would cost as much as the work.

// Constructors delegate, so that the destructor runs if a check throws.
inline Layout::Layout(Extents shape) : Layout() {
    if (shape.size() > max_ndim) [[unlikely]]
        refuse(shape, {});
    reserve(shape.size());
    std::int64_t *const extents = mutable_shape(), *const strides = mutable_strides();
    std::int64_t elements = 1;  // zeros count as ones: strides of empty arrays are NumPy's
    bool empty = false, refused = false;
    for (std::size_t axis = shape.size(); axis-- > 0;) {
        const std::int64_t extent = shape[axis];
        extents[axis] = extent;
        strides[axis] = elements;
        empty |= extent == 0;
        refused |= extent < 0;
        refused |= __builtin_mul_overflow(elements, extent == 0 ? 1 : extent, &elements);
    }
    if (refused) [[unlikely]]
        refuse(shape, {});
    is_packed_ = true;
    size_ = empty ? 0 : elements;
}

inline Layout::Layout(Extents shape, Extents strides) : Layout() {
    if (shape.size() != strides.size() || !try_plain(shape, strides.data())) [[unlikely]]
        make(shape, strides);
}

inline bool Layout::try_plain(Extents shape, const std::int64_t *strides) noexcept {
    if (shape.size() > inline_ndim) [[unlikely]]
        return false;
    std::int64_t elements = 1;
    bool other = false;
    for (std::size_t axis = shape.size(); axis-- > 0;) {
        const std::int64_t extent = shape[axis];
        inline_[axis] = extent;
        inline_[shape.size() + axis] = elements;
        other |= strides[axis] != elements;
        other |= extent <= 0;
        other |= __builtin_mul_overflow(elements, extent, &elements);
    }
    if (other) [[unlikely]]
        return false;
    ndim_ = static_cast<std::uint32_t>(shape.size());
    size_ = elements;
    return true;
}

inline std::int64_t Layout::nbytes(std::int64_t itemsize) const {
    std::int64_t bytes = 0;
    if (__builtin_mul_overflow(size_, itemsize, &bytes)) [[unlikely]]
        refuse_bytes(itemsize);
    return bytes;
}

inline ByteRange Layout::byte_range(std::int64_t itemsize) const {
    if (size_ == 0)
        return {};
    ByteRange range;
    if (is_packed_) {
        if (__builtin_mul_overflow(size_, itemsize, &range.end)) [[unlikely]]
            refuse_reach(itemsize);
        return range;
    }
    const std::int64_t *const extents = data(), *const steps = extents + ndim_;
    std::int64_t lowest = 0, highest = 0;
    for (std::size_t axis = 0; axis < ndim_; ++axis) {
        const std::int64_t span = steps[axis] * (extents[axis] - 1);
        (span < 0 ? lowest : highest) += span;
    }
    std::int64_t last = 0, size = 0;
    bool overflow = __builtin_mul_overflow(lowest, itemsize, &range.begin);
    overflow |= __builtin_mul_overflow(highest, itemsize, &last);
    overflow |= __builtin_add_overflow(last, itemsize, &range.end);
    overflow |= __builtin_sub_overflow(range.end, range.begin, &size);
    if (overflow) [[unlikely]]
        refuse_reach(itemsize);
    return range;
}

inline Layout::Layout(const Layout &other) : Layout() {
    reserve(other.ndim_);
    is_packed_ = other.is_packed_;
    size_ = other.size_;
    if (ndim_ <= inline_ndim)
        std::memcpy(inline_, other.inline_, sizeof inline_);  // all of it: a fixed size is faster
    else
        std::memcpy(heap_, other.heap_, 2 * ndim_ * sizeof *heap_);
}

inline Layout::Layout(Layout &&other) noexcept : Layout() { take(other); }

inline Layout &Layout::operator=(const Layout &other) {
    if (this != &other)
        *this = Layout(other);
    return *this;
}

inline Layout &Layout::operator=(Layout &&other) noexcept {
    if (this != &other) {
        release();
        take(other);
    }
    return *this;
}

inline void Layout::reserve(std::size_t ndim) {
    const auto narrowed = static_cast<std::uint32_t>(ndim);
    if (narrowed > inline_ndim) [[unlikely]]
        heap_ = new std::int64_t[2 * ndim];
    ndim_ = narrowed;  // last, because the destructor uses it if `new` throws
}

inline void Layout::release() noexcept {
    if (ndim_ > inline_ndim) [[unlikely]]
        delete[] heap_;
}

// Moves heap memory, if any: `other` is left 0-d.
inline void Layout::take(Layout &other) noexcept {
    // Always one copy of the same size: loads of another size than the stores would stall store
    // forwarding.
    std::memcpy(static_cast<void *>(this), static_cast<const void *>(&other), sizeof *this);
    other.ndim_ = 0;
    other.is_packed_ = true;
    other.size_ = 1;
}

inline bool Layout::operator==(const Layout &other) const noexcept {
    if (ndim_ != other.ndim_ || size_ != other.size_)
        return false;
    const std::int64_t *const own = data(), *const others = other.data();
    // A loop is faster than memcmp for so few elements.
    for (std::size_t i = 0; i < 2 * static_cast<std::size_t>(ndim_); ++i)
        if (own[i] != others[i])
            return false;
    return true;
}

}  // namespace entrepot
#pragma GCC visibility pop
