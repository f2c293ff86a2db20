// Validation of shapes, strides and addresses from other libraries. Errors name the protocol.
#pragma once
#include <entrepot/core/dtype.hpp>
#include <entrepot/core/error.hpp>
#include <entrepot/core/layout.hpp>

#include <cstddef>
#include <cstdint>

#pragma GCC visibility push(default)
namespace entrepot::exchange {

// The protocol of a description: prefix and kind of its errors.
struct Speaker {
    const char *protocol;
    ErrorKind kind;

    template <class... Parts> Error refusal(const Parts &...parts) const {
        return Error(kind, protocol, ": ", parts...);
    }
};

// Rethrows an error of Layout as an error of the protocol.
[[noreturn]] void refuse_as(const Speaker &speaker, const Error &error);

// `strides` has as many elements as the shape; nullptr means C-contiguous.
//
// Throws: the protocol's error for what Layout refuses. Strides in bytes that are no multiple of
//         the item size are refused too, unless their axis has at most one element.
inline Layout layout_of_elements(const Speaker &speaker, Extents shape,
                                 const std::int64_t *strides) {
    try {
        return strides ? Layout(shape, {strides, shape.size()}) : Layout(shape);
    } catch (const Error &error) {
        refuse_as(speaker, error);
    }
}
Layout layout_of_strided_bytes(const Speaker &speaker, Extents shape, const std::int64_t *strides,
                               std::int64_t itemsize);
inline Layout layout_of_bytes(const Speaker &speaker, Extents shape, const std::int64_t *strides,
                              std::int64_t itemsize) {
    return strides ? layout_of_strided_bytes(speaker, shape, strides, itemsize)
                   : layout_of_elements(speaker, shape, nullptr);
}

// The bytes that a layout touches if its first element is at `first`.
struct Reach {
    void *lowest;
    std::size_t bytes;
};
Reach reach_of_strided(const Speaker &speaker, const Layout &layout, void *first,
                       std::int64_t itemsize);

// Throws: the protocol's error if the elements would wrap around the address space.
inline Reach reach_of(const Speaker &speaker, const Layout &layout, void *first,
                      std::int64_t itemsize) {
    std::int64_t bytes = 0;
    std::uintptr_t end = 0;
    if (!layout.is_packed() || __builtin_mul_overflow(layout.size(), itemsize, &bytes) ||
        __builtin_add_overflow(reinterpret_cast<std::uintptr_t>(first),
                               static_cast<std::uintptr_t>(bytes), &end)) [[unlikely]]
        return reach_of_strided(speaker, layout, first, itemsize);
    return {first, static_cast<std::size_t>(bytes)};
}

// True if `reach` lies within the `bytes` bytes from `begin`.
inline bool is_inside(const Reach &reach, const void *begin, std::int64_t bytes) noexcept {
    const auto lowest = reinterpret_cast<std::uintptr_t>(reach.lowest),
               first = reinterpret_cast<std::uintptr_t>(begin);
    const auto available = static_cast<std::uintptr_t>(bytes);
    return lowest >= first && reach.bytes <= available && lowest - first <= available - reach.bytes;
}

[[noreturn]] void refuse_alignment(const Speaker &speaker, const void *first, Dtype dtype);

// Checks the first element alone: strides of a Layout are whole elements and keep the alignment.
//
// Throws: the protocol's error if the address is not aligned for the dtype.
inline void check_alignment(const Speaker &speaker, const void *first, Dtype dtype) {
    if (reinterpret_cast<std::uintptr_t>(first) &
        static_cast<std::uintptr_t>(dtype.alignment() - 1)) [[unlikely]]
        refuse_alignment(speaker, first, dtype);
}

// The address `elements` items after `base`.
// Throws: the protocol's error on overflow.
void *offset_by(const Speaker &speaker, void *base, std::int64_t elements, std::int64_t itemsize);

}  // namespace entrepot::exchange
#pragma GCC visibility pop
