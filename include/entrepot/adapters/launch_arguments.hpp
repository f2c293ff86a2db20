// Launch arguments: the block of bytes that hipModuleLaunchKernel takes as `extra`, laid out as C passes a struct
// of the arguments.
#pragma once
#include <cstddef>

namespace entrepot::adapters {

// Where each argument lies: at the next multiple of its own alignment. The whole is padded to a multiple of the largest.
class LaunchLayout {
public:
    // The offset of an argument of `size` bytes. Throws ValueError where the alignment is no power of two, OverflowError where
    // the block would be too large.
    std::size_t add(std::size_t size, std::size_t alignment);

    std::size_t size() const noexcept { return (end_ + alignment_ - 1) & ~(alignment_ - 1); }
    std::size_t alignment() const noexcept { return alignment_; }
    std::size_t end() const noexcept { return end_; }  // of the last argument

private:
    std::size_t end_ = 0, alignment_ = 1;
};

// What `extra` points to: pairs of a tag and its value, ended by a tag. The arguments follow in the same block.
struct LaunchBlock {
    static constexpr std::size_t buffer_pointer = 1, buffer_size = 2, end = 3;  // HIP_LAUNCH_PARAM_…

    void *extra[5];
    std::size_t size;

    // Of a whole block; it begins at a multiple of alignment_for.
    static std::size_t bytes_for(const LaunchLayout &layout) noexcept { return offset_for(layout) + layout.size(); }
    static std::size_t alignment_for(const LaunchLayout &layout) noexcept {
        return layout.alignment() < alignof(LaunchBlock) ? alignof(LaunchBlock) : layout.alignment();
    }
    // Fills in what is at the beginning of such a block; the arguments are to be written to the address returned.
    static std::byte *begin(void *block, const LaunchLayout &layout) noexcept;

private:
    static std::size_t offset_for(const LaunchLayout &layout) noexcept;
};

}  // namespace entrepot::adapters
