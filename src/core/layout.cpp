// Layout: errors, contiguity, byte range, and views.
#include <entrepot/core/layout.hpp>

#include <array>
#include <limits>
#include <ostream>

#include <entrepot/core/error.hpp>

namespace entrepot {

namespace {

// In a layout that is not empty, only the unused stride of an extent of 1 can overflow.
std::int64_t scaled_stride(std::int64_t stride, std::int64_t factor) noexcept {
    std::int64_t scaled = 0;
    return __builtin_mul_overflow(stride, factor, &scaled) ? stride : scaled;
}

struct Slice {
    std::int64_t start;
    std::int64_t step;
    std::int64_t length;
};

// Python's rules, as in PySlice_AdjustIndices: bounds may be anything, including the sentinels of
// PySlice_Unpack.
Slice clipped(const IndexEntry &entry, std::int64_t extent) noexcept {
    // so that it can be negated
    const std::int64_t step = std::max(entry.step, -std::numeric_limits<std::int64_t>::max());
    const std::int64_t lowest = step < 0 ? -1 : 0, highest = step < 0 ? extent - 1 : extent;
    const auto clip = [&](std::int64_t bound) {
        return std::clamp(bound < 0 ? bound + extent : bound, lowest, highest);
    };
    const std::int64_t start = clip(entry.start), stop = clip(entry.stop);
    if (step < 0)
        return {start, step, stop < start ? (start - stop - 1) / -step + 1 : 0};
    return {start, step, start < stop ? (stop - start - 1) / step + 1 : 0};
}

std::int64_t checked_position(std::int64_t index, std::int64_t extent, std::size_t axis) {
    const std::int64_t position = index < 0 ? index + extent : index;
    if (position < 0 || position >= extent)
        throw Error(ErrorKind::index, "index ", index, " is out of bounds for axis ", axis,
                    " of extent ", extent);
    return position;
}

// Numbers of axes that an index consumes and produces. Throws if it does not fit a layout of `ndim`
// axes.
struct IndexCount {
    std::size_t taken = 0;
    std::size_t made = 0;
};

IndexCount count_axes(std::span<const IndexEntry> index, std::size_t ndim) {
    std::size_t integers = 0, slices = 0, new_axes = 0, ellipses = 0;
    for (const IndexEntry &entry : index) {
        switch (entry.kind) {
        case IndexEntry::Kind::integer:
            ++integers;
            break;
        case IndexEntry::Kind::slice:
            ++slices;
            break;
        case IndexEntry::Kind::newaxis:
            ++new_axes;
            break;
        case IndexEntry::Kind::ellipsis:
            ++ellipses;
            break;
        }
        if (entry.kind == IndexEntry::Kind::slice && entry.step == 0)
            throw Error(ErrorKind::value, "slice step cannot be zero");
    }
    if (ellipses > 1)
        throw Error(ErrorKind::index,
                    "an index can have only a single ellipsis ('...'), this one has ", ellipses);
    if (integers + slices > ndim)
        throw Error(ErrorKind::index, "too many indices: the array is ", ndim, "-dimensional, but ",
                    integers + slices, " were given");
    const std::size_t made = ndim - integers + new_axes;
    if (made > Layout::max_ndim)
        throw Error(ErrorKind::index, "the index makes ", made, " dimensions; at most ",
                    Layout::max_ndim, " are supported");
    return {integers + slices, made};
}

// Merged axes: `extent` elements, `stride` apart.
struct Run {
    std::int64_t extent;
    std::int64_t stride;
};

struct Runs {
    // Innermost first, merged as far as possible; no extents of 1.
    std::array<Run, Layout::max_ndim> run;
    std::size_t count = 0;
};

Runs joined_axes(const Layout &layout) noexcept {
    Runs runs;
    for (std::size_t axis = layout.ndim(); axis-- > 0;) {
        const std::int64_t extent = layout.shape()[axis], stride = layout.strides()[axis];
        if (extent == 1)
            continue;
        if (runs.count > 0) {
            Run &inner = runs.run[runs.count - 1];
            std::int64_t next = 0;
            if (!__builtin_mul_overflow(inner.extent, inner.stride, &next) && next == stride) {
                inner.extent *= extent;
                continue;
            }
        }
        runs.run[runs.count++] = {extent, stride};
    }
    return runs;
}

using ShapeBuffer = std::array<std::int64_t, Layout::max_ndim>;

// The new shape with its -1 resolved. Throws if the size differs.
Extents resolved_shape(const Layout &layout, Extents shape, ShapeBuffer &buffer) {
    const auto refusal = [&](const auto &...why) {
        return Error(ErrorKind::value, "cannot reshape an array of shape ",
                     tuple_text(layout.shape()), " into ", tuple_text(shape), ": ", why...);
    };
    if (shape.size() > Layout::max_ndim)
        throw refusal("at most ", Layout::max_ndim, " dimensions are supported");

    std::optional<std::size_t> unknown;
    std::int64_t known = 1;
    bool empty = false, too_many = false;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        buffer[axis] = shape[axis];
        if (shape[axis] == -1) {
            if (unknown)
                throw refusal("only one extent can be -1");
            unknown = axis;
        } else if (shape[axis] < 0) {
            throw refusal("an extent cannot be negative");
        } else if (shape[axis] == 0) {
            empty = true;
        } else {
            too_many |= __builtin_mul_overflow(known, shape[axis], &known);
        }
    }
    if (empty)
        known = 0;
    else if (too_many)
        throw refusal("it has ", layout.size(), " elements");

    if (unknown) {
        if (known == 0)
            throw refusal("-1 can be any extent beside an extent of 0");
        if (layout.size() % known != 0)
            throw refusal("its ", layout.size(), " elements are not a multiple of ", known);
        buffer[*unknown] = layout.size() / known;
    } else if (known != layout.size()) {
        throw refusal("it has ", layout.size(), " elements, not ", known);
    }
    return {buffer.data(), shape.size()};
}

// True if the distance between the outermost elements fits 64 bits.
bool can_reach(Extents shape, Extents strides) noexcept {
    std::uint64_t reach = 0;
    bool overflow = false;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        const auto steps = static_cast<std::uint64_t>(shape[axis]) - 1,
                   step = static_cast<std::uint64_t>(strides[axis]);
        std::uint64_t span = 0;
        overflow |= __builtin_mul_overflow(strides[axis] < 0 ? 0 - step : step, steps, &span);
        overflow |= __builtin_add_overflow(reach, span, &reach);
    }
    return !overflow &&
           reach <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
}

}  // namespace

void Layout::make(Extents shape, Extents strides) {
    if (shape.size() != strides.size() || shape.size() > max_ndim) [[unlikely]]
        refuse(shape, strides);
    reserve(shape.size());
    std::int64_t *const own_extents = mutable_shape(), *const own_strides = mutable_strides();
    std::int64_t elements = 1;
    bool empty = false, refused = false, packed = true;
    for (std::size_t axis = shape.size(); axis-- > 0;) {
        const std::int64_t extent = shape[axis], stride = strides[axis];
        own_extents[axis] = extent;
        own_strides[axis] = stride;
        packed &= stride == elements;
        empty |= extent == 0;
        refused |= extent < 0;
        refused |= __builtin_mul_overflow(elements, extent == 0 ? 1 : extent, &elements);
    }
    if (refused || (!packed && !empty && !can_reach(shape, strides))) [[unlikely]]
        refuse(shape, strides);
    is_packed_ = packed;
    size_ = empty ? 0 : elements;
}

void Layout::refuse(Extents shape, Extents strides) {
    if (shape.size() > max_ndim)
        throw Error(ErrorKind::value, "an array of ", shape.size(),
                    " dimensions was asked for; at most ", max_ndim, " are supported");
    for (std::size_t axis = 0; axis < shape.size(); ++axis)
        if (shape[axis] < 0)
            throw Error(ErrorKind::value, "extents cannot be negative: axis ", axis, " of shape ",
                        tuple_text(shape), " is");
    std::int64_t elements = 1;
    for (const std::int64_t extent : shape)
        if (extent != 0 && __builtin_mul_overflow(elements, extent, &elements))
            throw Error(ErrorKind::overflow, "shape ", tuple_text(shape),
                        " has too many elements: their number must fit 64 bits");
    if (shape.size() != strides.size())
        throw Error(ErrorKind::value, "shape ", tuple_text(shape), " and strides ",
                    tuple_text(strides), " differ in length");
    throw Error(ErrorKind::overflow, "strides ", tuple_text(strides), " (elements) with shape ",
                tuple_text(shape), " reach further than 64 bits can count");
}

void Layout::refuse_bytes(std::int64_t itemsize) const {
    throw Error(ErrorKind::overflow, size_, " elements of ", itemsize,
                " bytes are more bytes than 64 bits can count");
}

bool Layout::is_c_contiguous() const noexcept {
    if (size_ == 0 || is_packed_)
        return true;
    const std::int64_t *const extents = data(), *const steps = extents + ndim_;
    std::int64_t expected = 1;
    for (std::size_t axis = ndim_; axis-- > 0;) {
        if (extents[axis] == 1)
            continue;
        if (steps[axis] != expected)
            return false;
        expected *= extents[axis];
    }
    return true;
}

bool Layout::is_f_contiguous() const noexcept {
    if (size_ == 0)
        return true;
    const std::int64_t *const extents = data(), *const steps = extents + ndim_;
    std::int64_t expected = 1;
    for (std::size_t axis = 0; axis < ndim_; ++axis) {
        if (extents[axis] == 1)
            continue;
        if (steps[axis] != expected)
            return false;
        expected *= extents[axis];
    }
    return true;
}

// In order of strides, each axis must step over the full range of the axes before it.
bool Layout::may_overlap_itself() const noexcept {
    if (size_ <= 1)
        return false;
    std::array<Run, max_ndim> axes;
    std::size_t count = 0;
    for (std::size_t axis = 0; axis < ndim_; ++axis)
        if (shape()[axis] > 1)
            axes[count++] = {shape()[axis],
                             strides()[axis] < 0 ? -strides()[axis] : strides()[axis]};
    std::sort(axes.begin(), axes.begin() + count,
              [](const Run &left, const Run &right) { return left.stride < right.stride; });

    std::int64_t reach = 0;
    for (std::size_t axis = 0; axis < count; ++axis) {
        if (axes[axis].stride <= reach)
            return true;
        reach += axes[axis].stride * (axes[axis].extent - 1);
    }
    return false;
}

void Layout::refuse_reach(std::int64_t itemsize) const {
    throw Error(ErrorKind::overflow, "an array of ", *this, " and items of ", itemsize,
                " bytes reaches further than 64 bits can count");
}

Layout::View Layout::select(std::span<const IndexEntry> index) const {
    const IndexCount count = count_axes(index, ndim_);
    View view;
    view.layout.reserve(count.made);
    const std::int64_t *const extents = data(), *const steps = extents + ndim_;
    std::int64_t *const new_extents = view.layout.mutable_shape(), *const new_steps =
                                                                       view.layout
                                                                           .mutable_strides();
    std::size_t from = 0, to = 0;
    const auto make = [&](std::int64_t extent, std::int64_t step) {
        new_extents[to] = extent;
        new_steps[to] = step;
        view.layout.size_ *= extent;
        ++to;
    };
    const auto make_whole = [&](std::size_t axes) {
        for (; axes > 0; --axes, ++from)
            make(extents[from], steps[from]);
    };
    // Overflows only if the view is empty and the offset unused: the range of a layout that is not
    // empty fits 64 bits.
    const auto move_to = [&](std::int64_t position) {
        std::int64_t distance = 0;
        __builtin_mul_overflow(position, steps[from], &distance);
        __builtin_add_overflow(view.offset, distance, &view.offset);
    };

    for (const IndexEntry &entry : index) {
        switch (entry.kind) {
        case IndexEntry::Kind::integer:
            move_to(checked_position(entry.start, extents[from], from));
            ++from;
            break;
        case IndexEntry::Kind::slice: {
            const Slice slice = clipped(entry, extents[from]);
            move_to(slice.start);
            make(slice.length, scaled_stride(steps[from], slice.step));
            ++from;
            break;
        }
        case IndexEntry::Kind::newaxis:
            make(1, 0);
            break;
        case IndexEntry::Kind::ellipsis:
            make_whole(ndim_ - count.taken);
            break;
        }
    }
    make_whole(ndim_ - from);
    if (view.layout.size_ == 0)
        view.offset = 0;
    return view;
}

Layout Layout::transposed(std::span<const std::int64_t> axes) const {
    const auto refusal = [&](const auto &...why) {
        return Error(ErrorKind::value, "axes ", tuple_text(axes), " are no order of ", ndim_,
                     " axes: ", why...);
    };
    if (!axes.empty() && axes.size() != ndim_)
        throw refusal("each must be named once");
    Layout result;
    result.reserve(ndim_);
    result.size_ = size_;
    std::uint64_t seen = 0;
    static_assert(max_ndim <= 64, "one bit an axis");
    for (std::size_t to = 0; to < ndim_; ++to) {
        std::size_t from = ndim_ - 1 - to;
        if (!axes.empty()) {
            const std::int64_t ndim = ndim_, axis = axes[to] < 0 ? axes[to] + ndim : axes[to];
            if (axis < 0 || axis >= ndim)
                throw refusal(axes[to], " is out of range");
            from = static_cast<std::size_t>(axis);
            if (seen >> from & 1)
                throw refusal(axes[to], " is there twice");
            seen |= std::uint64_t{1} << from;
        }
        result.mutable_shape()[to] = shape()[from];
        result.mutable_strides()[to] = strides()[from];
    }
    return result;
}

// Each new axis must divide the rest of its run of old axes. Runs are merged as far as possible, so
// an axis across two of them would need two strides.
std::optional<Layout> Layout::reshaped(Extents shape) const {
    ShapeBuffer buffer;
    Layout result(resolved_shape(*this, shape, buffer));
    if (std::equal(result.shape().begin(), result.shape().end(), this->shape().begin(),
                   this->shape().end()))
        return *this;
    if (is_c_contiguous())
        return result;

    const Runs runs = joined_axes(*this);
    std::size_t next = 0;
    Run left{1, 1};
    for (std::size_t axis = result.ndim(); axis-- > 0;) {
        const std::int64_t extent = result.shape()[axis];
        if (extent > 1 && left.extent == 1)
            left = runs.run[next++];
        if (left.extent % extent != 0)
            return std::nullopt;
        result.mutable_strides()[axis] = left.stride;
        left = {left.extent / extent, scaled_stride(left.stride, extent)};
    }
    return result;
}

Layout Layout::viewed_as(std::int64_t old_itemsize, std::int64_t new_itemsize) const {
    if (old_itemsize == new_itemsize)
        return *this;
    const auto refusal = [&](const auto &...why) {
        return Error(ErrorKind::value, "cannot view items of ", old_itemsize, " bytes as items of ",
                     new_itemsize, " bytes: ", why...);
    };
    if (ndim_ == 0)
        throw refusal("a 0-dimensional array has no axis to change; reshape it to (1,) first");
    const std::size_t last = ndim_ - 1;
    const std::int64_t extent = shape()[last];
    if (extent > 1 && strides()[last] != 1)
        throw refusal("the last axis must be contiguous, its stride is ", strides()[last],
                      "; copy the array first");
    if (new_itemsize < old_itemsize && old_itemsize % new_itemsize != 0)
        throw refusal("the old size must be a multiple of the new one");
    std::int64_t bytes = 0;
    if (__builtin_mul_overflow(extent, old_itemsize, &bytes))
        throw Error(ErrorKind::overflow, "an axis of ", extent, " items of ", old_itemsize,
                    " bytes is longer than 64 bits can count");
    if (bytes % new_itemsize != 0)
        throw refusal("the ", bytes, " bytes of the last axis are no multiple of that");

    Layout wanted(*this);
    wanted.mutable_shape()[last] = bytes / new_itemsize;
    wanted.mutable_strides()[last] = 1;
    for (std::size_t axis = 0; axis < last; ++axis) {
        const std::int64_t stride = strides()[axis];
        const bool stepped = size_ != 0 && shape()[axis] > 1;
        std::int64_t step = 0;
        const bool overflow = __builtin_mul_overflow(stride, old_itemsize, &step);
        if (stepped && overflow)
            throw Error(ErrorKind::overflow, "axis ", axis, " steps ", stride, " items of ",
                        old_itemsize, " bytes, which is further than 64 bits can count");
        if (stepped && step % new_itemsize != 0)
            throw refusal("axis ", axis, " steps ", step,
                          " bytes, which is no multiple of that; copy the array first");
        wanted.mutable_strides()[axis] = overflow ? stride : step / new_itemsize;
    }
    return Layout(wanted.shape(), wanted.strides());
}

Layout Layout::broadcast_to(Extents shape) const {
    const auto refusal = [&](const auto &...why) {
        return Error(ErrorKind::value, "cannot broadcast an array of shape ",
                     tuple_text(this->shape()), " to ", tuple_text(shape), ": ", why...);
    };
    if (shape.size() < ndim_)
        throw refusal("that has fewer dimensions");
    Layout result(shape);
    const std::size_t added = shape.size() - ndim_;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        const std::int64_t own = axis < added ? 1 : this->shape()[axis - added];
        if (own != shape[axis] && own != 1)
            throw refusal("axis ", axis - added, " has extent ", own, ", which is neither 1 nor ",
                          shape[axis]);
        result.mutable_strides()[axis] =
            axis < added || own != shape[axis] ? 0 : strides()[axis - added];
    }
    return result;
}

std::string tuple_text(Extents extents) {
    std::string text = "(";
    for (std::size_t axis = 0; axis < extents.size(); ++axis)
        text += (axis > 0 ? ", " : "") + std::to_string(extents[axis]);
    return text + (extents.size() == 1 ? ",)" : ")");
}

std::ostream &operator<<(std::ostream &out, const Layout &layout) {
    return out << "shape " << tuple_text(layout.shape()) << " and strides "
               << tuple_text(layout.strides());
}

}  // namespace entrepot
