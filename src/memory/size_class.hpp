// Size classes: multiples of 64 bytes, four to each doubling, so that rounding wastes a fifth at
// most from 320 bytes on.
#pragma once
#include <bit>
#include <cstddef>

namespace entrepot::size_class {

inline constexpr std::size_t granule = 64;  // every block is at least aligned to it
inline constexpr std::size_t longest = std::size_t{1} << 20;
inline constexpr std::size_t page = 4096;  // no class promises more

// 64, 128, 192, 256, 320, 384, 448, 512, 640 … 1 MiB
constexpr std::size_t bytes_of(std::size_t index) noexcept {
    return index < 4 ? granule * (index + 1) : (5 + (index - 4) % 4) << (6 + (index - 4) / 4);
}

// The lowest class that holds so many bytes, of which there are 1 to `longest`.
constexpr std::size_t holding(std::size_t bytes) noexcept {
    if (bytes <= 4 * granule)
        return (bytes - 1) / granule;
    const auto doubling = static_cast<std::size_t>(std::bit_width(bytes - 1));
    return 4 + 4 * (doubling - 9) + ((bytes - 1) >> (doubling - 3)) - 4;
}

inline constexpr std::size_t count = holding(longest) + 1;
inline constexpr std::size_t none = count;

// The alignment of every block of the class.
constexpr std::size_t alignment_of(std::size_t index) noexcept {
    const std::size_t natural = bytes_of(index) & -bytes_of(index);
    return natural < page ? natural : page;
}

// The class for a request, or `none` where it is too long or too strictly aligned for any.
constexpr std::size_t serving(std::size_t bytes, std::size_t alignment) noexcept {
    if (alignment <= granule)
        return bytes <= longest ? holding(bytes) : none;
    if (alignment > page || bytes > longest)
        return none;
    std::size_t index = holding((bytes + alignment - 1) & -alignment);
    while (index < count && alignment_of(index) < alignment)
        ++index;
    return index;
}

static_assert(bytes_of(0) == 64 && bytes_of(4) == 320 && bytes_of(count - 1) == longest);
static_assert(holding(257) == 4 && holding(320) == 4 && holding(321) == 5 && holding(512) == 7 &&
              holding(513) == 8);

}  // namespace entrepot::size_class
