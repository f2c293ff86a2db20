// Strided copies: planning, and loops for each item size that fits a register and each case of
// contiguity in the innermost dimension.
#include "backends/host/strided.hpp"

#include "backends/host/native.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>

namespace entrepot::backends::host {

// ---------------------------------------------------------------- the plan

StridedCopy::StridedCopy(const ep_box &box, void *to, const std::int64_t *to_strides,
                         const void *from, const std::int64_t *from_strides)
    : to_(static_cast<std::byte *>(to)), from_(static_cast<const std::byte *>(from)),
      itemsize_(box.itemsize), bytes_(box.itemsize) {
    if (box.ndim > EP_MAX_NDIM)
        refuse(EP_INVALID, "a box of ", box.ndim, " dimensions was asked for: at most ",
               EP_MAX_NDIM, " can be copied or filled");
    if (box.itemsize == 0)
        refuse(EP_INVALID, "items of 0 bytes cannot be copied or filled");
    normalize(box, to_strides, from_strides);
    order();
    join();
    if (ndim_ != 0 && rows_ != 0)
        rows_ = static_cast<std::uint64_t>(dimensions_[0].extent);
}

// Drops dimensions of extent 1, and reverses those that run backwards in the target.
void StridedCopy::normalize(const ep_box &box, const std::int64_t *to_strides,
                            const std::int64_t *from_strides) {
    for (std::size_t i = 0; i < box.ndim; ++i) {
        const std::int64_t extent = box.shape[i];
        if (extent < 0)
            refuse(EP_INVALID, "dimension ", i, " of a box has the extent ", extent,
                   ": an extent is 0 or more");
        if (extent == 0)
            rows_ = 0;
        if (extent <= 1)
            continue;
        if (__builtin_mul_overflow(bytes_, static_cast<std::uint64_t>(extent), &bytes_))
            bytes_ = std::numeric_limits<std::uint64_t>::max();  // broadcast: valid, and long
                                                                 // enough to be split
        Dimension dimension{extent, to_strides[i], from_strides[i]};
        if (dimension.to < 0) {
            to_ += (extent - 1) * dimension.to;
            from_ += (extent - 1) * dimension.from;
            dimension.to = -dimension.to;
            dimension.from = -dimension.from;
        }
        dimensions_[ndim_++] = dimension;
    }
}

// The target is written from beginning to end, which suits caches and prefetchers.
void StridedCopy::order() noexcept {
    const auto before = [](const Dimension &a, const Dimension &b) {
        return a.to != b.to ? a.to > b.to : std::abs(a.from) > std::abs(b.from);
    };
    for (std::size_t i = 1; i < ndim_; ++i)  // insertion sort: few dimensions, usually in order
        for (std::size_t j = i; j > 0 && before(dimensions_[j], dimensions_[j - 1]); --j)
            std::swap(dimensions_[j], dimensions_[j - 1]);
}

void StridedCopy::join() noexcept {
    std::size_t joined = 0;
    for (std::size_t i = 0; i < ndim_; ++i) {
        const Dimension inner = dimensions_[i];
        if (joined > 0) {
            Dimension &outer = dimensions_[joined - 1];
            if (outer.to == inner.extent * inner.to && outer.from == inner.extent * inner.from) {
                outer = {outer.extent * inner.extent, inner.to, inner.from};
                continue;
            }
        }
        dimensions_[joined++] = inner;
    }
    ndim_ = joined;
    const auto item = static_cast<std::int64_t>(itemsize_);
    // A single long run stays a dimension, so that it can be split.
    if (ndim_ > 1 && dimensions_[ndim_ - 1].to == item && dimensions_[ndim_ - 1].from == item)
        itemsize_ *= static_cast<std::size_t>(dimensions_[--ndim_].extent);
}

// ---------------------------------------------------------------- the loops

namespace {

// The widest item that a loop moves through registers; memcpy moves wider ones.
constexpr std::size_t widest = 16;
// Items of a row that a transposition moves at a time: that many cache lines of the source fit the
// L1 cache.
constexpr std::int64_t tile = 32;

// One row of items. Constant strides (contiguous) let the compiler vectorize.
using Row = void (*)(std::byte *to, std::int64_t to_stride, const std::byte *from,
                     std::int64_t from_stride, std::int64_t count, std::size_t itemsize);

template <std::size_t size, bool to_contiguous, bool from_contiguous>
void copy_row(std::byte *to, std::int64_t to_stride, const std::byte *from,
              std::int64_t from_stride, std::int64_t count, std::size_t) {
    if constexpr (to_contiguous)
        to_stride = size;
    if constexpr (from_contiguous)
        from_stride = size;
    for (std::int64_t i = 0; i < count; ++i) {
        std::byte item[size];  // items need not be aligned
        std::memcpy(item, from + i * from_stride, size);
        std::memcpy(to + i * to_stride, item, size);
    }
}

void copy_wide_row(std::byte *to, std::int64_t to_stride, const std::byte *from,
                   std::int64_t from_stride, std::int64_t count, std::size_t itemsize) {
    for (std::int64_t i = 0; i < count; ++i)
        std::memcpy(to + i * to_stride, from + i * from_stride, itemsize);
}

void copy_contiguous_row(std::byte *to, std::int64_t, const std::byte *from, std::int64_t,
                         std::int64_t count, std::size_t itemsize) {
    std::memmove(to, from, static_cast<std::size_t>(count) * itemsize);
}

void repeat_row(std::byte *to, std::int64_t, const std::byte *from, std::int64_t,
                std::int64_t count, std::size_t itemsize) {
    repeat(to, from, itemsize, static_cast<std::uint64_t>(count));
}

template <std::size_t size> Row row_of_size(bool to_contiguous, bool from_contiguous) {
    if (to_contiguous)
        return copy_row<size, true, false>;
    return from_contiguous ? copy_row<size, false, true> : copy_row<size, false, false>;
}

Row row_for(std::size_t itemsize, std::int64_t to_stride, std::int64_t from_stride) {
    const bool to_contiguous = to_stride == static_cast<std::int64_t>(itemsize);
    const bool from_contiguous = from_stride == static_cast<std::int64_t>(itemsize);
    if (to_contiguous && from_contiguous)
        return copy_contiguous_row;
    if (to_contiguous && from_stride == 0)
        return repeat_row;
    switch (itemsize) {
    case 1:
        return row_of_size<1>(to_contiguous, from_contiguous);
    case 2:
        return row_of_size<2>(to_contiguous, from_contiguous);
    case 4:
        return row_of_size<4>(to_contiguous, from_contiguous);
    case 8:
        return row_of_size<8>(to_contiguous, from_contiguous);
    case widest:
        return row_of_size<widest>(to_contiguous, from_contiguous);
    default:
        return copy_wide_row;
    }
}

}  // namespace

void StridedCopy::copy_rows(std::uint64_t first, std::uint64_t last) const noexcept {
    if (ndim_ == 0) {
        std::memmove(to_, from_, itemsize_);
        return;
    }
    Dimension box[EP_MAX_NDIM];
    std::copy_n(dimensions_, ndim_, box);
    std::byte *to = to_ + static_cast<std::int64_t>(first) * box[0].to;
    const std::byte *from = from_ + static_cast<std::int64_t>(first) * box[0].from;
    box[0].extent = static_cast<std::int64_t>(last - first);

    const Dimension inner = box[ndim_ - 1];
    const Row row = row_for(itemsize_, inner.to, inner.from);
    if (ndim_ == 1) {
        row(to, inner.to, from, inner.from, inner.extent, itemsize_);
        return;
    }
    const Dimension outer = box[ndim_ - 2];
    // If the source is contiguous along the outer dimension, whole rows would touch each of its
    // cache lines once per item.
    const bool transposed =
        itemsize_ <= widest && std::abs(inner.from) > std::abs(outer.from) && outer.from != 0;
    const std::int64_t width = transposed ? tile : inner.extent;
    const auto plane = [&] {
        for (std::int64_t column = 0; column < inner.extent; column += width)
            for (std::int64_t i = 0; i < outer.extent; ++i)
                row(to + i * outer.to + column * inner.to, inner.to,
                    from + i * outer.from + column * inner.from, inner.from,
                    std::min(width, inner.extent - column), itemsize_);
    };

    std::int64_t index[EP_MAX_NDIM] = {};
    const std::size_t slower = ndim_ - 2;
    while (true) {
        plane();
        std::size_t d = slower;
        for (; d > 0; --d) {
            to += box[d - 1].to;
            from += box[d - 1].from;
            if (++index[d - 1] < box[d - 1].extent)
                break;
            to -= box[d - 1].extent * box[d - 1].to;
            from -= box[d - 1].extent * box[d - 1].from;
            index[d - 1] = 0;
        }
        if (d == 0)
            return;
    }
}

void repeat(std::byte *to, const std::byte *item, std::size_t itemsize,
            std::uint64_t count) noexcept {
    const auto same = [&](std::byte byte) { return byte == item[0]; };
    if (std::all_of(item, item + itemsize, same)) {
        std::memset(to, std::to_integer<int>(item[0]), itemsize * count);
        return;
    }
    // Writes a block of many items, then copies it: one loop for all item sizes, at the speed of
    // memcpy.
    constexpr std::size_t block_bytes = 4096;
    const std::uint64_t bytes = itemsize * count;
    if (bytes == 0)
        return;
    std::memcpy(to, item, itemsize);
    std::uint64_t done = itemsize;
    while (done < bytes) {
        const std::uint64_t block = std::max<std::uint64_t>(block_bytes / itemsize, 1) * itemsize;
        const std::uint64_t next = std::min({done, block, bytes - done});
        std::memcpy(to + done, to, next);
        done += next;
    }
}

}  // namespace entrepot::backends::host
