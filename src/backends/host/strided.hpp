// A planned copy between two strided boxes: dimensions are merged where possible and sorted by the
// target's strides.
#pragma once
#include <entrepot/device/backend.h>

#include <cstddef>
#include <cstdint>

namespace entrepot::backends::host {

class StridedCopy {
public:
    // Refuses boxes too large for any memory. A fill is a copy whose source strides are zero.
    StridedCopy(const ep_box &box, void *to, const std::int64_t *to_strides, const void *from,
                const std::int64_t *from_strides);

    bool is_empty() const noexcept { return rows_ == 0; }
    std::uint64_t bytes() const noexcept { return bytes_; }
    // Extent of the slowest dimension. Any part of [0, rows) can be copied by itself, on any
    // thread.
    std::uint64_t rows() const noexcept { return rows_; }
    void copy_rows(std::uint64_t first, std::uint64_t last) const noexcept;

private:
    struct Dimension {
        std::int64_t extent, to, from;  // strides in bytes
    };

    void normalize(const ep_box &box, const std::int64_t *to_strides,
                   const std::int64_t *from_strides);
    void order() noexcept;
    void join() noexcept;

    std::byte *to_;
    const std::byte *from_;
    std::size_t itemsize_;  // after merging items that are contiguous on both sides
    std::size_t ndim_ = 0;
    std::uint64_t rows_ = 1, bytes_;
    Dimension dimensions_[EP_MAX_NDIM];
};

// Writes `count` copies of the item, one after the other.
void repeat(std::byte *to, const std::byte *item, std::size_t itemsize,
            std::uint64_t count) noexcept;

}  // namespace entrepot::backends::host
