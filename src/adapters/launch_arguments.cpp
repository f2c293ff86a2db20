// Launch arguments: offsets by the rules of the C ABI, and the enclosing block.
#include "adapters/launch_arguments.hpp"

#include <entrepot/core/error.hpp>

#include <algorithm>
#include <bit>
#include <limits>
#include <new>

namespace entrepot::adapters {
namespace {

constexpr std::size_t largest = std::numeric_limits<std::size_t>::max() / 2;

std::size_t round_up(std::size_t offset, std::size_t alignment) noexcept {
    return (offset + alignment - 1) & ~(alignment - 1);
}

}  // namespace

std::size_t LaunchLayout::add(std::size_t size, std::size_t alignment) {
    if (!std::has_single_bit(alignment) || alignment > largest / 2)
        throw Error(ErrorKind::value, "an alignment of ", alignment, " bytes is no power of two");
    const std::size_t offset = round_up(end_, alignment);
    if (size > largest - std::min(offset, largest))
        throw Error(ErrorKind::overflow, "arguments of ", size, " bytes behind ", offset,
                    " do not fit the address space");
    end_ = offset + size;
    alignment_ = std::max(alignment_, alignment);
    return offset;
}

std::size_t LaunchBlock::offset_for(const LaunchLayout &layout) noexcept {
    return round_up(sizeof(LaunchBlock), layout.alignment());
}

std::byte *LaunchBlock::begin(void *block, const LaunchLayout &layout) noexcept {
    std::byte *const arguments = static_cast<std::byte *>(block) + offset_for(layout);
    auto *const head = new (block) LaunchBlock;
    const auto tag = [](std::size_t number) { return reinterpret_cast<void *>(number); };
    head->extra[0] = tag(buffer_pointer);
    head->extra[1] = arguments;
    head->extra[2] = tag(buffer_size);
    head->extra[3] = &head->size;
    head->extra[4] = tag(end);
    head->size = layout.size();
    return arguments;
}

}  // namespace entrepot::adapters
