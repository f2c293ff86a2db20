// The array interface: verifies the contents of dict and struct, and returns an Array.
#include <entrepot/exchange/array_interface.hpp>
#include <entrepot/exchange/host_view.hpp>

#include <charconv>
#include <iterator>

namespace entrepot::array_interface {
namespace {

static_assert(sizeof(std::intptr_t) == sizeof(std::int64_t), "the struct's shape is read in place");

void check_offset(const Descriptor &descriptor) {
    if (descriptor.offset == 0 || descriptor.buffer_bytes >= 0)
        return;
    throw speaker.refusal(
        "'offset' is ", descriptor.offset,
        ", but 'data' is a pointer, which includes it already; offsets belong to buffers only");
}

void check_inside_buffer(const Descriptor &descriptor, const Layout &layout, void *first,
                         std::int64_t itemsize) {
    if (descriptor.buffer_bytes < 0 || layout.size() == 0)
        return;
    if (!exchange::is_inside(exchange::reach_of(speaker, layout, first, itemsize), descriptor.data,
                             descriptor.buffer_bytes))
        throw speaker.refusal("elements of ", layout, " of ", itemsize, " bytes each, ",
                              descriptor.offset, " bytes behind the start of a buffer of ",
                              descriptor.buffer_bytes, " bytes, leave it");
}

}  // namespace

Array verify(const Descriptor &descriptor, Owner owner, const Queue &queue) {
    const Dtype dtype = dtype_from_typestr(descriptor.typestr);
    Layout layout =
        exchange::layout_of_bytes(speaker, descriptor.shape, descriptor.strides, dtype.itemsize());
    check_offset(descriptor);
    void *const first = exchange::offset_by(speaker, descriptor.data, descriptor.offset, 1);
    check_inside_buffer(descriptor, layout, first, dtype.itemsize());
    return exchange::view_host(speaker, first, dtype, std::move(layout), descriptor.read_only,
                               std::move(owner), queue);
}

Descriptor describe(const PyArrayInterface &interface, char (&typestr)[16]) {
    if (interface.two != 2)
        throw speaker.refusal("the capsule of __array_struct__ begins with ", interface.two,
                              " instead of 2, so it holds something else");
    if (interface.nd < 0 || static_cast<std::size_t>(interface.nd) > Layout::max_ndim)
        throw speaker.refusal("__array_struct__ has ", interface.nd, " dimensions; 0 to ",
                              Layout::max_ndim, " are supported");
    if (interface.nd > 0 && !interface.shape)
        throw speaker.refusal("__array_struct__ has ", interface.nd, " dimensions and no shape");

    // The struct has a flag for byte order; a typestr has a character, whose check words the error.
    typestr[0] = interface.flags & not_swapped ? '=' : '>';
    typestr[1] = interface.typekind;
    const auto written = std::to_chars(typestr + 2, std::end(typestr), interface.itemsize);

    Descriptor descriptor;
    descriptor.data = interface.data;
    descriptor.read_only = !(interface.flags & writeable);
    descriptor.typestr = {typestr, static_cast<std::size_t>(written.ptr - typestr)};
    descriptor.shape = {reinterpret_cast<const std::int64_t *>(interface.shape),
                        static_cast<std::size_t>(interface.nd)};
    descriptor.strides = reinterpret_cast<const std::int64_t *>(interface.strides);
    return descriptor;
}

int flags_of(const Array &array) noexcept {
    int flags = aligned | not_swapped;
    flags |= array.layout().is_c_contiguous() ? c_contiguous : 0;
    flags |= array.layout().is_f_contiguous() ? f_contiguous : 0;
    flags |= array.read_only() ? 0 : writeable;
    return flags;
}

}  // namespace entrepot::array_interface
