// Launch arguments: the block of bytes that hipModuleLaunchKernel takes as `extra`, laid out as a C
// struct of the arguments.
#pragma once
#include <cstddef>

namespace entrepot::adapters {

// Offsets of arguments: the next multiple of each argument's alignment. The size is padded to a
// multiple of the largest alignment.
class LaunchLayout {
public:
    // Returns: the offset of an argument of `size` bytes.
    // Throws: ValueError if the alignment is not a power of two, OverflowError if the block would
    //         be too large.
    std::size_t add(std::size_t size, std::size_t alignment);

    std::size_t size() const noexcept { return (end_ + alignment_ - 1) & ~(alignment_ - 1); }
    std::size_t alignment() const noexcept { return alignment_; }
    std::size_t end() const noexcept { return end_; }  // of the last argument

private:
    std::size_t end_ = 0, alignment_ = 1;
};

// The array that `extra` points to: pairs of a tag and its value, ended by a tag. The arguments
// follow in the same block.
struct LaunchBlock {
    // HIP_LAUNCH_PARAM_…
    static constexpr std::size_t buffer_pointer = 1, buffer_size = 2, end = 3;

    void *extra[5];
    std::size_t size;

    // Size and alignment of the whole block.
    static std::size_t bytes_for(const LaunchLayout &layout) noexcept {
        return offset_for(layout) + layout.size();
    }
    static std::size_t alignment_for(const LaunchLayout &layout) noexcept {
        return layout.alignment() < alignof(LaunchBlock) ? alignof(LaunchBlock)
                                                         : layout.alignment();
    }
    // Initializes the start of such a block. Returns the address for the arguments.
    static std::byte *begin(void *block, const LaunchLayout &layout) noexcept;

private:
    static std::size_t offset_for(const LaunchLayout &layout) noexcept;
};

}  // namespace entrepot::adapters
