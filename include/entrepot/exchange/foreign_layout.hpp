// Foreign descriptions: shapes, strides and addresses as other libraries write them down, believed or refused in the protocol's
// name.
#pragma once
#include <entrepot/core/dtype.hpp>
#include <entrepot/core/error.hpp>
#include <entrepot/core/layout.hpp>

#include <cstddef>
#include <cstdint>

namespace entrepot::exchange {

// Whose description it is: the word that begins a refusal, and what kind of error it is.
struct Speaker {
    const char *protocol;
    ErrorKind kind;

    template <class... Parts> Error refusal(const Parts &...parts) const { return Error(kind, protocol, ": ", parts...); }
};

// Throws what Layout threw again, as the speaker's refusal.
[[noreturn]] void refuse_as(const Speaker &speaker, const Error &error);

// `strides` are as many as the shape has extents; nullptr: C-contiguous. Each throws the speaker's refusal for what Layout
// refuses; of strides in bytes those, too, that the item size does not divide where there is more than one element to step over.
inline Layout layout_of_elements(const Speaker &speaker, Extents shape, const std::int64_t *strides) {
    try {
        return strides ? Layout(shape, {strides, shape.size()}) : Layout(shape);
    } catch (const Error &error) {
        refuse_as(speaker, error);
    }
}
Layout layout_of_strided_bytes(const Speaker &speaker, Extents shape, const std::int64_t *strides, std::int64_t itemsize);
inline Layout layout_of_bytes(const Speaker &speaker, Extents shape, const std::int64_t *strides, std::int64_t itemsize) {
    return strides ? layout_of_strided_bytes(speaker, shape, strides, itemsize) : layout_of_elements(speaker, shape, nullptr);
}

// Where the layout's bytes lie when its first element is at `first`.
struct Reach {
    void *lowest;
    std::size_t bytes;
};
Reach reach_of_strided(const Speaker &speaker, const Layout &layout, void *first, std::int64_t itemsize);

// Throws the speaker's refusal where the elements would wrap around the address space.
inline Reach reach_of(const Speaker &speaker, const Layout &layout, void *first, std::int64_t itemsize) {
    std::int64_t bytes = 0;
    std::uintptr_t end = 0;
    if (!layout.is_packed() || __builtin_mul_overflow(layout.size(), itemsize, &bytes) ||
        __builtin_add_overflow(reinterpret_cast<std::uintptr_t>(first), static_cast<std::uintptr_t>(bytes), &end)) [[unlikely]]
        return reach_of_strided(speaker, layout, first, itemsize);
    return {first, static_cast<std::size_t>(bytes)};
}

// Whether all of it lies in the `bytes` bytes from `begin`.
inline bool is_inside(const Reach &reach, const void *begin, std::int64_t bytes) noexcept {
    const auto lowest = reinterpret_cast<std::uintptr_t>(reach.lowest), first = reinterpret_cast<std::uintptr_t>(begin);
    const auto available = static_cast<std::uintptr_t>(bytes);
    return lowest >= first && reach.bytes <= available && lowest - first <= available - reach.bytes;
}

[[noreturn]] void refuse_alignment(const Speaker &speaker, const void *first, Dtype dtype);

// Throws the speaker's refusal where the address is no multiple of the type's alignment. The strides of a Layout keep it.
inline void check_alignment(const Speaker &speaker, const void *first, Dtype dtype) {
    if (reinterpret_cast<std::uintptr_t>(first) & static_cast<std::uintptr_t>(dtype.alignment() - 1)) [[unlikely]]
        refuse_alignment(speaker, first, dtype);
}

// The address `elements` items behind `base`; throws the speaker's refusal where there is none.
void *offset_by(const Speaker &speaker, void *base, std::int64_t elements, std::int64_t itemsize);

}  // namespace entrepot::exchange
