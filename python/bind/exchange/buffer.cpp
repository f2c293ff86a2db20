// The buffer protocol: imports through a held Py_buffer, and exports that
// honor every request flag.
#include <entrepot/exchange/buffer.hpp>
#include <entrepot/exchange/host_view.hpp>

#include "../array_object/array_object.hpp"
#include "../memory/held_buffer.hpp"
#include "../memory/owner.hpp"
#include "../support/errors.hpp"
#include "../support/guarded.hpp"
#include "exports.hpp"
#include "fast_import.hpp"
#include "host_sync.hpp"
#include "protocol.hpp"

#include <cstdint>
#include <string>

namespace entrepot::python {
namespace {

static_assert(sizeof(Py_ssize_t) == sizeof(std::int64_t), "extents are read and exported in place");

// ------------------------------------------------------------------ import

bool probe(PyTypeObject *type) { return type->tp_as_buffer && type->tp_as_buffer->bf_getbuffer; }

const std::int64_t *numbers(const Py_ssize_t *values) {
    return reinterpret_cast<const std::int64_t *>(values);
}

buffer::Descriptor describe(const Py_buffer &view) {
    if (view.ndim < 0 || (view.ndim > 0 && !view.shape))
        throw buffer::speaker.refusal("the buffer has ", view.ndim, " dimensions and ",
                                      view.shape ? "a" : "no",
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

// A bytes object never moves or changes, so a reference suffices, which takes
// half the time of a buffer.
Array read_bytes(PyObject *object, const ImportRequest &request) {
    const std::int64_t length = PyBytes_GET_SIZE(object);
    return exchange::view_host(buffer::speaker, PyBytes_AS_STRING(object), dtypes::uint8,
                               Layout(Extents(&length, 1)), true, keep(object), request.queue,
                               fast_import::borrow_host);
}

// One request also tells whether the memory is writable: an exporter must report the same to all
// requests without PyBUF_WRITABLE.
std::optional<Array> read(PyObject *object, const ImportRequest &request) {
    if (PyBytes_CheckExact(object))
        return read_bytes(object, request);
    HeldBuffer held = hold_buffer(buffer::speaker, object, PyBUF_FULL_RO);
    const buffer::Descriptor descriptor = describe(*held.view);
    return buffer::verify(descriptor, std::move(held.owner), request.queue);
}

// Exporters without a format for their elements (NumPy's dates) refuse requests for a format, but
// export the memory without one.
std::optional<HeldBuffer> hold_with_format(PyObject *object) {
    try {
        return hold_buffer(buffer::speaker, object, PyBUF_FULL_RO);
    } catch (const Error &) {
        return std::nullopt;
    }
}

// ------------------------------------------------------------------ export

bool asks(int flags, int what) { return (flags & what) == what; }

// The bits of the contiguity flags that are not in PyBUF_STRIDES.
constexpr int contiguity =
    (PyBUF_C_CONTIGUOUS | PyBUF_F_CONTIGUOUS | PyBUF_ANY_CONTIGUOUS) & ~PyBUF_STRIDES;

// The reason to refuse this request; nullptr if it can be served.
const char *reason_against(const Array &array, int flags) {
    if (asks(flags, PyBUF_WRITABLE) && array.read_only())
        return "writing was asked for and the array is read-only";
    if (asks(flags, PyBUF_STRIDES) && !(flags & contiguity))
        return nullptr;
    const bool c = array.layout().is_c_contiguous(), f = array.layout().is_f_contiguous();
    if (asks(flags, PyBUF_C_CONTIGUOUS) && !c)
        return "C-contiguous memory was asked for and the array is strided; copy it first: "
               "array.to(array.device)";
    if (asks(flags, PyBUF_F_CONTIGUOUS) && !f)
        return "Fortran-contiguous memory was asked for and the array is not";
    if (asks(flags, PyBUF_ANY_CONTIGUOUS) && !c && !f)
        return "contiguous memory was asked for and the array is strided; copy it first: "
               "array.to(array.device)";
    if (!asks(flags, PyBUF_STRIDES) && !c)
        return "the consumer did not ask for strides and the array is strided; copy it first: "
               "array.to(array.device)";
    return nullptr;
}

[[noreturn]] void refuse_without_format(const Array &array) {
    throw buffer::speaker.refusal(
        array.dtype(),
        " has no format; use DLPack, array.numpy(), or view the array as an unsigned integer of ",
        "the same size first");
}

[[noreturn]] void refuse_unreachable(const Array &array) {
    throw buffer::speaker.refusal(
        "this is ", array.kind(), " memory of ", array.device(),
        ", which the host cannot reach; copy it with array.copy_to_host()");
}

// Terminated by NUL, because dtype_formats is; nullptr if the dtype has no format.
const char *format_for(Dtype dtype) {
    const std::optional<std::string_view> format = format_of(dtype);
    return format ? format->data() : nullptr;
}

// True if a few loads prove that the host may access the memory now. Its kind must be known, and no
// work of Entrepot or another library may be pending.
bool is_immediately_accessible(const Memory &memory) {
    return is_host_accessible(memory.record()->kind.load(std::memory_order_relaxed)) &&
           memory.has_no_pending_access() && !memory.has_peers();
}

Py_ssize_t *without_const(const Py_ssize_t *numbers) { return const_cast<Py_ssize_t *>(numbers); }
Py_ssize_t *without_const(Extents numbers) {
    return without_const(reinterpret_cast<const Py_ssize_t *>(numbers.data()));
}

// The strides in bytes if they already exist in memory; otherwise nullptr.
// nullptr also without axes.
Py_ssize_t *strides_at_hand(PyObject *self, const Array &array, Py_buffer &view) {
    if (array.ndim() == 1 && array.strides()[0] == 1) [[likely]]
        return &view.itemsize;
    if (array.itemsize() == 1 && array.ndim() > 0)
        return without_const(array.strides());
    return reinterpret_cast<ArrayObject *>(self)->byte_strides.load(std::memory_order_acquire);
}

// Shape and strides point into the array, which is immutable and kept alive by `view.obj`. Call
// before `fill`: PyMemoryView reads `ndim` next, and a wider store merged with its neighbor would
// stall store forwarding.
void fill_axes(Py_buffer &view, std::size_t ndim, Py_ssize_t *shape, Py_ssize_t *strides) noexcept {
    view.ndim = static_cast<int>(ndim);
    view.shape = shape;
    view.strides = strides;
}

void fill(PyObject *self, const Array &array, Py_buffer &view, Py_ssize_t itemsize,
          Py_ssize_t bytes, const char *format) noexcept {
    array.memory().mark_escaped();
    const int read_only = array.read_only();
    void *const data = array.data();
    Py_INCREF(self);  // keeps the memory until the consumer releases the buffer
    view.buf = data;
    view.obj = self;
    view.len = bytes;
    view.itemsize = itemsize;
    view.readonly = read_only;
    view.format = const_cast<char *>(format);
    view.suboffsets = nullptr;
    view.internal = nullptr;
}

// Fast path: a request for format and strides, which most consumers make, of
// an array that is ready. Returns false if something must be refused, waited
// for or computed. Calls no other functions.
bool fill_fast(PyObject *self, Py_buffer &view, int flags) noexcept {
    const Array &array = array_of(self);
    if ((flags & (PyBUF_STRIDES | PyBUF_FORMAT | contiguity)) != (PyBUF_STRIDES | PyBUF_FORMAT) ||
        (asks(flags, PyBUF_WRITABLE) && array.read_only()) ||
        !is_immediately_accessible(array.memory()))
        return false;
    const Dtype dtype = array.dtype();
    const char *const format = format_for(dtype);
    if (!format)
        return false;
    Py_ssize_t *const strides = strides_at_hand(self, array, view);
    const Py_ssize_t itemsize = dtype.bits / 8;  // a format implies one lane of whole bytes
    Py_ssize_t bytes = 0;
    if (!strides || __builtin_mul_overflow(array.size(), itemsize, &bytes))
        return false;
    fill_axes(view, array.ndim(), without_const(array.shape()), strides);
    fill(self, array, view, itemsize, bytes, format);
    return true;
}

void export_buffer(PyObject *self, Py_buffer &view, int flags) {
    const Array &array = array_of(self);
    if (!array.is_host_accessible())
        refuse_unreachable(array);
    if (const char *const reason = reason_against(array, flags))
        throw buffer::speaker.refusal(reason);
    const char *const format = asks(flags, PyBUF_FORMAT) ? format_for(array.dtype()) : nullptr;
    if (asks(flags, PyBUF_FORMAT) && !format)
        refuse_without_format(array);
    const Py_ssize_t bytes = array.nbytes();
    const bool has_shape = asks(flags, PyBUF_ND) && array.ndim() > 0,
               has_strides = has_shape && asks(flags, PyBUF_STRIDES);
    Py_ssize_t *strides = has_strides ? strides_at_hand(self, array, view) : nullptr;
    if (has_strides && !strides)
        strides = without_const(byte_strides_of(self));
    synchronize_for_host(array);
    fill_axes(view, asks(flags, PyBUF_ND) ? array.ndim() : 1,
              has_shape ? without_const(array.shape()) : nullptr, strides);
    fill(self, array, view, array.itemsize(), bytes, format);
}

[[gnu::noinline]] int fill_or_raise(PyObject *self, Py_buffer &view, int flags) noexcept {
    view.obj = nullptr;  // required by PEP 3118 if the request is refused
    return guarded([&] { export_buffer(self, view, flags); });
}

}  // namespace

const Protocol buffer_protocol{"buffer", nullptr, probe, read};

std::optional<Array> elements_in_buffer(PyObject *object) {
    std::optional<HeldBuffer> held = hold_with_format(object);
    if (!held || !is_format_of_ours(held->view->format))
        return std::nullopt;
    const buffer::Descriptor descriptor = describe(*held->view);
    return buffer::verify(descriptor, std::move(held->owner));
}

int buffer_export(PyObject *self, Py_buffer *view, int flags) {
    return fill_fast(self, *view, flags) ? 0 : fill_or_raise(self, *view, flags);
}

}  // namespace entrepot::python
