// Validation of layouts from other libraries: errors of Layout get the protocol's name; byte
// strides become element strides.
#include <entrepot/exchange/foreign_layout.hpp>

#include <array>

namespace entrepot::exchange {
namespace {

ByteRange byte_range_of(const Speaker &speaker, const Layout &layout, std::int64_t itemsize) {
    try {
        return layout.byte_range(itemsize);
    } catch (const Error &error) {
        refuse_as(speaker, error);
    }
}

}  // namespace

void refuse_as(const Speaker &speaker, const Error &error) { throw speaker.refusal(error.what()); }

Layout layout_of_strided_bytes(const Speaker &speaker, Extents shape, const std::int64_t *strides,
                               std::int64_t itemsize) {
    if (shape.size() > Layout::max_ndim)
        return layout_of_elements(speaker, shape, nullptr);  // refuses

    std::array<std::int64_t, Layout::max_ndim> elements;
    bool empty = false;
    for (const std::int64_t extent : shape)
        empty |= extent == 0;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        elements[axis] = strides[axis] / itemsize;
        // The stride of an axis with one element is unused, and NumPy leaves any number there.
        if (strides[axis] % itemsize != 0 && shape[axis] > 1 && !empty)
            throw speaker.refusal("the stride of axis ", axis, " is ", strides[axis],
                                  " bytes, which is no multiple of the item size, ", itemsize,
                                  " bytes; a view cannot express it: copy the object to contiguous "
                                  "memory with its own library first");
    }
    return layout_of_elements(speaker, shape, elements.data());
}

Reach reach_of_strided(const Speaker &speaker, const Layout &layout, void *first,
                       std::int64_t itemsize) {
    const ByteRange touched = byte_range_of(speaker, layout, itemsize);
    const auto address = reinterpret_cast<std::uintptr_t>(first);
    std::uintptr_t lowest = 0, end = 0;
    bool wraps = __builtin_add_overflow(address, touched.begin, &lowest);
    wraps |= __builtin_add_overflow(address, touched.end, &end);
    if (wraps)
        throw speaker.refusal("an array of ", layout, " with its first element at ", Hex(first),
                              " leaves the address space");
    return {reinterpret_cast<void *>(lowest), static_cast<std::size_t>(touched.size())};
}

void refuse_alignment(const Speaker &speaker, const void *first, Dtype dtype) {
    throw speaker.refusal(
        "the first element, at ", Hex(first), ", is not aligned to the ", dtype.alignment(),
        " bytes of ", dtype,
        "; copy it to aligned memory with the object's own library, or view it as uint8");
}

void *offset_by(const Speaker &speaker, void *base, std::int64_t elements, std::int64_t itemsize) {
    std::int64_t bytes = 0;
    std::uintptr_t address = 0;
    if (__builtin_mul_overflow(elements, itemsize, &bytes) ||
        __builtin_add_overflow(reinterpret_cast<std::uintptr_t>(base), bytes, &address))
        throw speaker.refusal("an offset of ", elements, " items of ", itemsize, " bytes from ",
                              Hex(base), " leaves the address space");
    return reinterpret_cast<void *>(address);
}

}  // namespace entrepot::exchange
