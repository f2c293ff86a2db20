// Buffers: verifies the contents of a Py_buffer, and returns an Array.
#include <entrepot/exchange/buffer.hpp>
#include <entrepot/exchange/host_view.hpp>

#include <array>

namespace entrepot::buffer {
namespace {

constexpr Dtype none{TypeCode::opaque, 0, 0};

// Dtypes of one-character formats, indexed by the character. Almost every buffer has one.
constexpr std::array<Dtype, 128> dtype_of_character = [] {
    std::array<Dtype, 128> found;
    found.fill(none);
    for (const DtypeRow &row : dtype_table)
        if (row.format.size() == 1)
            found[static_cast<unsigned char>(row.format[0])] = row.dtype;
    return found;
}();

Dtype dtype_of(const char *format, std::int64_t itemsize) {
    if (!format && itemsize == 1)
        return dtypes::uint8;
    if (format && format[0] > 0 && format[1] == '\0') {
        const Dtype dtype = dtype_of_character[static_cast<unsigned char>(format[0])];
        if (dtype != none && dtype.itemsize() == itemsize)
            return dtype;
    }
    return dtype_from_format(format, itemsize);
}

void check_suboffsets(const Descriptor &descriptor) {
    for (std::size_t axis = 0; axis < descriptor.shape.size(); ++axis)
        if (descriptor.suboffsets[axis] >= 0)
            throw speaker.refusal(
                "axis ", axis, " is reached through pointers (suboffset ",
                descriptor.suboffsets[axis],
                "), so the elements are not in one piece of memory; copy the object first");
}

// Quick check that covers almost every buffer; false for some contiguous buffers.
bool is_contiguous(const Descriptor &descriptor) noexcept {
    return !descriptor.strides ||
           (descriptor.shape.size() == 1 && descriptor.strides[0] == descriptor.itemsize);
}

void check_bytes(const Descriptor &descriptor, const Layout &layout) {
    std::int64_t bytes = 0;
    if (__builtin_mul_overflow(layout.size(), descriptor.itemsize, &bytes) ||
        bytes != descriptor.bytes)
        throw speaker.refusal(
            layout, " of items of ", descriptor.itemsize, " bytes does not have the ",
            descriptor.bytes,
            " bytes that the buffer says it has; its exporter contradicts itself");
}

}  // namespace

Array verify(const Descriptor &descriptor, Owner owner, const Queue &queue) {
    // More dimensions are refused below, unread.
    if (descriptor.suboffsets && descriptor.shape.size() <= Layout::max_ndim)
        check_suboffsets(descriptor);
    const Dtype dtype = dtype_of(descriptor.format, descriptor.itemsize);
    const std::int64_t *const strides = is_contiguous(descriptor) ? nullptr : descriptor.strides;
    Layout layout = exchange::layout_of_bytes(speaker, descriptor.shape, strides, dtype.itemsize());
    check_bytes(descriptor, layout);
    return exchange::view_host(speaker, descriptor.data, dtype, std::move(layout),
                               descriptor.read_only, std::move(owner), queue);
}

}  // namespace entrepot::buffer
