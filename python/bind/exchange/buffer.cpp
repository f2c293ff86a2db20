// The buffer protocol: object → Descriptor by a held Py_buffer, Array → Py_buffer with every flag of the request honoured.
#include <entrepot/exchange/buffer.hpp>
#include <entrepot/exchange/host_view.hpp>

#include "../array/array.hpp"
#include "../errors.hpp"
#include "../owner.hpp"
#include "exports.hpp"
#include "held_buffer.hpp"
#include "host_turn.hpp"
#include "protocol.hpp"

#include <cstdint>
#include <string>

namespace entrepot::python {
namespace {

static_assert(sizeof(Py_ssize_t) == sizeof(std::int64_t), "extents are read and lent in place");

// ------------------------------------------------------------------ import

bool probe(PyTypeObject *type) { return type->tp_as_buffer && type->tp_as_buffer->bf_getbuffer; }

const std::int64_t *numbers(const Py_ssize_t *values) { return reinterpret_cast<const std::int64_t *>(values); }

buffer::Descriptor describe(const Py_buffer &view) {
    if (view.ndim < 0 || (view.ndim > 0 && !view.shape))
        throw buffer::speaker.refusal("the buffer has ", view.ndim, " dimensions and ", view.shape ? "a" : "no",
                                      " shape; its exporter contradicts itself");
    buffer::Descriptor descriptor;
    descriptor.data = view.buf;
    descriptor.bytes = view.len;
    descriptor.read_only = view.readonly != 0;
    descriptor.format = view.format;
    descriptor.itemsize = view.itemsize;
    descriptor.shape = {numbers(view.shape), static_cast<std::size_t>(view.ndim)};
    descriptor.strides = numbers(view.strides);
    descriptor.suboffsets = numbers(view.suboffsets);
    return descriptor;
}

// bytes never move nor change: a reference holds them as well as a buffer does, in half the time.
Array read_bytes(PyObject *object, const ImportRequest &request) {
    const std::int64_t length = PyBytes_GET_SIZE(object);
    return exchange::view_host(buffer::speaker, PyBytes_AS_STRING(object), dtypes::uint8, Layout(Extents(&length, 1)), true,
                               keep(object), request.queue, true);
}

// One request tells whether the memory may be written as well: an exporter must give the same answer to all who do not insist.
std::optional<Array> read(PyObject *object, const ImportRequest &request) {
    if (PyBytes_CheckExact(object))
        return read_bytes(object, request);
    HeldBuffer held = hold_buffer(buffer::speaker, object, PyBUF_FULL_RO);
    const buffer::Descriptor descriptor = describe(*held.view);
    return buffer::verify(descriptor, std::move(held.owner), request.queue);
}

// ------------------------------------------------------------------ export

bool asks(int flags, int what) { return (flags & what) == what; }

// What is wrong with giving this array to a consumer that asked so; nullptr if nothing is.
const char *reason_against(const Array &array, int flags) {
    if (asks(flags, PyBUF_WRITABLE) && array.read_only())
        return "writing was asked for and the array is read-only";
    constexpr int contiguity = (PyBUF_C_CONTIGUOUS | PyBUF_F_CONTIGUOUS | PyBUF_ANY_CONTIGUOUS) & ~PyBUF_STRIDES;
    if (asks(flags, PyBUF_STRIDES) && !(flags & contiguity)) [[likely]]
        return nullptr;
    const bool c = array.layout().is_c_contiguous(), f = array.layout().is_f_contiguous();
    if (asks(flags, PyBUF_C_CONTIGUOUS) && !c)
        return "C-contiguous memory was asked for and the array is strided; copy it first: array.to(array.device)";
    if (asks(flags, PyBUF_F_CONTIGUOUS) && !f)
        return "Fortran-contiguous memory was asked for and the array is not";
    if (asks(flags, PyBUF_ANY_CONTIGUOUS) && !c && !f)
        return "contiguous memory was asked for and the array is strided; copy it first: array.to(array.device)";
    if (!asks(flags, PyBUF_STRIDES) && !c)
        return "the consumer did not ask for strides and the array is strided; copy it first: array.to(array.device)";
    return nullptr;
}

[[noreturn, gnu::noinline]] void refuse_without_format(const Array &array) {
    throw buffer::speaker.refusal(array.dtype(),
                                  " has no format; use DLPack, array.numpy(), or view the array as an unsigned integer of ",
                                  "the same size first");
}

[[noreturn, gnu::noinline]] void refuse_unreachable(const Array &array) {
    throw buffer::speaker.refusal("this is ", array.kind(), " memory of ", array.device(),
                                  ", which the host cannot reach; copy it with array.copy_to_host()");
}

const char *format_for(const Array &array, int flags) {
    if (!asks(flags, PyBUF_FORMAT))
        return nullptr;
    const std::optional<std::string_view> format = format_of(array.dtype());
    if (!format) [[unlikely]]
        refuse_without_format(array);
    return format->data();  // a literal of dtype_table, so it ends with NUL
}

Py_ssize_t *lent(Extents numbers) { return const_cast<Py_ssize_t *>(reinterpret_cast<const Py_ssize_t *>(numbers.data())); }

// Shape and strides stay where they are, in the array, which does not change and which `view.obj` keeps.
void fill_layout(PyObject *self, const Array &array, Py_buffer &view, int flags) {
    view.ndim = 1;
    view.shape = view.strides = view.suboffsets = nullptr;
    view.internal = nullptr;
    if (!asks(flags, PyBUF_ND))
        return;
    view.ndim = static_cast<int>(array.ndim());
    if (array.ndim() == 0)
        return;
    view.shape = lent(array.shape());
    if (!asks(flags, PyBUF_STRIDES))
        return;
    if (array.itemsize() == 1)
        view.strides = lent(array.strides());
    else if (array.ndim() == 1 && array.strides()[0] == 1)
        view.strides = &view.itemsize;
    else
        view.strides = const_cast<Py_ssize_t *>(byte_strides_of(self));
}

void write(PyObject *self, Py_buffer &view, int flags) {
    const Array &array = array_of(self);
    if (!array.is_host_accessible()) [[unlikely]]
        refuse_unreachable(array);
    if (const char *const reason = reason_against(array, flags)) [[unlikely]]
        throw buffer::speaker.refusal(reason);
    view.format = const_cast<char *>(format_for(array, flags));
    view.buf = array.data();
    view.len = array.nbytes();
    view.itemsize = array.itemsize();
    view.readonly = array.read_only();
    give_host_its_turn(array);
    fill_layout(self, array, view, flags);
    view.obj = Py_NewRef(self);  // keeps the memory until the consumer releases the buffer
}

}  // namespace

const Protocol buffer_protocol{"buffer", nullptr, probe, read};

int buffer_export(PyObject *self, Py_buffer *view, int flags) {
    view->obj = nullptr;  // says, where we refuse, that nothing was given
    try {
        write(self, *view, flags);
        return 0;
    } catch (...) {
        raise_current();
        return -1;
    }
}

}  // namespace entrepot::python
