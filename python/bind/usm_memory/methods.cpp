// Attributes and methods of entrepot.memory.Memory, with the names of dpctl.memory.
#include "usm_memory.hpp"

#include "../array/array_handle.hpp"
#include "../array/methods.hpp"
#include "../array_object/array_object.hpp"
#include "../device/convert.hpp"
#include "../device/device.hpp"
#include "../exchange/exports.hpp"
#include "../exchange/protocol.hpp"
#include "../memory/held_buffer.hpp"
#include "../memory/owner.hpp"
#include "../support/errors.hpp"
#include "../support/gil.hpp"
#include "../support/guarded.hpp"
#include "../support/parameters.hpp"

#include <entrepot/array/copy.hpp>

#include <cstdint>
#include <memory>
#include <optional>

namespace entrepot::python {
namespace {

// Runs a body on the memory of `self` and converts C++ exceptions into Python ones.
template <class Body> PyObject *method(PyObject *self, Body body) noexcept {
    return guarded([&] { return body(usm_memory_of(self)); });
}

template <auto get> PyObject *getter(PyObject *self, void *) { return method(self, get); }

// ------------------------------------------------------- queue and context

// Cached, so that it is the same object each time.
PyObject *queue_object_of(UsmMemory &memory) {
    PyObject *const kept = memory.queue_object.get();
    return kept ? kept : memory.queue_object.keep(checked(wrap_queue(memory.queue)));
}

// An attribute of the caller's queue, whose value has a type of the queue's library.
PyObject *ask_queue(const UsmMemory &memory, const char *attribute) {
    return PyObject_GetAttrString(memory.queue_object.get(), attribute);
}

PyObject *get_queue(UsmMemory &memory) { return Py_NewRef(queue_object_of(memory)); }

PyObject *get_context(UsmMemory &memory) {
    return memory.queue_object ? ask_queue(memory, "sycl_context")
                               : wrap_context(memory.memory.context());
}

PyObject *get_device(UsmMemory &memory) {
    return memory.queue_object ? ask_queue(memory, "sycl_device")
                               : wrap_device(memory.memory.device());
}

// -------------------------------------------------------------- attributes

PyObject *get_nbytes(UsmMemory &memory) { return PyLong_FromSize_t(memory.bytes); }

// The address may be used by work that Entrepot does not track. So the memory is not reused before
// the queue has finished the work submitted so far.
PyObject *get_pointer(UsmMemory &memory) {
    memory.memory.record_submitted(memory.read_only ? Access::read : Access::write, memory.queue);
    memory.memory.mark_escaped();
    return PyLong_FromVoidPtr(memory.data);
}

PyObject *get_reference(UsmMemory &memory) {
    const Owner &owner = memory.memory.owner();
    const Py_buffer *const held = held_view(owner);
    PyObject *const object = held ? held->obj : kept_object(owner);
    return Py_NewRef(object ? object : Py_None);
}

// The consumer is ordered by the queue, which is in the memory's context and
// waits for all work on it.
PyObject *get_interface(UsmMemory &memory) {
    return suai_export_of(bytes_of(memory), queue_object_of(memory));
}

// -------------------------------------------------------------------- kind

bool is_context_or_queue(PyObject *object) {
    return !PyUnicode_Check(object) && !PyCapsule_CheckExact(object) &&
           PyObject_HasAttrString(object, "_get_capsule");
}

UsmKind kind_in(const UsmMemory &memory, PyObject *object) {
    if (!object || object == Py_None)
        return memory.kind;
    if (!is_context_or_queue(object))
        throw Error(ErrorKind::type,
                    "syclobj: a context or a queue was expected, or None for the memory's own "
                    "context, not a ",
                    Py_TYPE(object)->tp_name);
    const Context context = context_from(object);
    if (context == memory.memory.context())
        return memory.kind;
    return static_cast<UsmKind>(context.query(memory.data, 1).kind);
}

const Parameters of_get_usm_type("get_usm_type", 1, 0, {"syclobj"});

PyObject *get_usm_type(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    return method(self, [&](const UsmMemory &memory) {
        const auto [object] = of_get_usm_type.read(args, nargs, kwnames);
        const std::string_view name = name_of(kind_in(memory, object));
        return PyUnicode_FromStringAndSize(name.data(), static_cast<Py_ssize_t>(name.size()));
    });
}

const Parameters of_get_usm_type_enum("get_usm_type_enum", 1, 0, {"syclobj"});

PyObject *get_usm_type_enum(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                            PyObject *kwnames) {
    return method(self, [&](const UsmMemory &memory) {
        const auto [object] = of_get_usm_type_enum.read(args, nargs, kwnames);
        const UsmClass *const row = usm_class_of(kind_in(memory, object));
        return PyLong_FromLong(row ? row->number : 0);
    });
}

// ------------------------------------------------------------------ copies

// A buffer that is held while a copy runs without the GIL, so that its owner
// cannot resize or free it.
class HostBuffer {
public:
    HostBuffer(PyObject *object, int flags) {
        if (PyObject_GetBuffer(object, &view_, flags) < 0)
            throw PythonError{};
    }
    HostBuffer(const HostBuffer &) = delete;
    HostBuffer &operator=(const HostBuffer &) = delete;
    ~HostBuffer() { PyBuffer_Release(&view_); }

    const Py_buffer &view() const noexcept { return view_; }

private:
    Py_buffer view_{};
};

Array first_bytes(const Array &array, std::size_t count) {
    const IndexEntry part{IndexEntry::Kind::slice, 0, static_cast<std::int64_t>(count), 1};
    return static_cast<std::size_t>(array.size()) == count ? array : array.select({&part, 1});
}

// The queue for synchronous work. An out-of-order queue would need a barrier, so the default queue,
// which is in order, is used instead if it is in the same context.
const Queue &prompt_queue(const UsmMemory &memory) {
    const Queue &own = memory.memory.device().default_queue();
    return memory.queue.is_in_order() || own.context() != memory.queue.context() ? memory.queue
                                                                                 : own;
}

// Copies the first `count` bytes, complete on return.
void copy_bytes(const Array &to, const Array &from, std::size_t count, const Queue &queue) {
    without_gil([&] { copy(first_bytes(to, count), first_bytes(from, count), queue).wait(); });
}

void check_room(const char *what, const Array &to, std::size_t count) {
    if (count > static_cast<std::size_t>(to.size()))
        throw Error(ErrorKind::value, what, ": the source has ", count,
                    " bytes and the destination ", to.size(), "; give a part of the source");
}

void read_into(const UsmMemory &memory, PyObject *target) {
    const HostBuffer buffer(target, PyBUF_CONTIG);
    const Array to = bytes_of(buffer.view());
    check_room("copy_to_host", to, memory.bytes);
    copy_bytes(to, bytes_of(memory), memory.bytes, prompt_queue(memory));
}

// Uninitialized, because the read overwrites all bytes.
Reference numpy_bytes(std::size_t count) {
    const Reference numpy(PyImport_ImportModule("numpy"));
    if (!numpy) {
        if (!PyErr_ExceptionMatches(PyExc_ModuleNotFoundError))
            throw PythonError{};
        PyErr_Clear();
        return {};
    }
    return checked(
        PyObject_CallMethod(numpy.get(), "empty", "ns", static_cast<Py_ssize_t>(count), "uint8"));
}

const Parameters of_copy_to_host("copy_to_host", 1, 0, {"obj"});

PyObject *copy_to_host(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    return method(self, [&](const UsmMemory &memory) {
        const auto [target] = of_copy_to_host.read(args, nargs, kwnames);
        Reference result =
            unless_none(target) ? Reference::borrow(target) : numpy_bytes(memory.bytes);
        if (!result)
            result = checked(
                PyByteArray_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(memory.bytes)));
        read_into(memory, result.get());
        return result.release();
    });
}

const Parameters of_copy_from_host("copy_from_host", 1, 1, {"obj"});

PyObject *copy_from_host(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                         PyObject *kwnames) {
    return method(self, [&](const UsmMemory &memory) {
        const auto [source] = of_copy_from_host.read(args, nargs, kwnames);
        const HostBuffer buffer(source, PyBUF_CONTIG_RO);
        const Array to = bytes_of(memory);
        const auto count = static_cast<std::size_t>(buffer.view().len);
        check_room("copy_from_host", to, count);
        copy_bytes(to, bytes_of(buffer.view()), count, prompt_queue(memory));
        return Py_NewRef(Py_None);
    });
}

const Parameters of_copy_from_device("copy_from_device", 1, 1, {"sycl_usm_ary"});

PyObject *copy_from_device(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                           PyObject *kwnames) {
    return method(self, [&](const UsmMemory &memory) {
        const auto [source] = of_copy_from_device.read(args, nargs, kwnames);
        const std::optional<UsmMemory> found = find_usm_memory(source);
        if (!found)
            throw Error(ErrorKind::value, "copy_from_device: a ", Py_TYPE(source)->tp_name,
                        " has no __sycl_usm_array_interface__ and is no Array; copy_from_host "
                        "takes buffers of the host");
        const Array to = bytes_of(memory);
        check_room("copy_from_device", to, found->bytes);
        copy_bytes(to, bytes_of(*found), found->bytes, prompt_queue(memory));
        return Py_NewRef(Py_None);
    });
}

const Parameters of_memset("memset", 1, 0, {"val"});

PyObject *memset(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    return method(self, [&](const UsmMemory &memory) {
        const auto [value] = of_memset.read(args, nargs, kwnames);
        const long given = value ? PyLong_AsLong(value) : 0;
        if (given == -1 && PyErr_Occurred())
            throw PythonError{};
        if (given < 0 || given > 255)
            throw Error(ErrorKind::overflow, "memset: ", given,
                        " is no value of a byte, which are 0 to 255");
        const auto byte = static_cast<std::uint8_t>(given);
        const Array to = bytes_of(memory);
        without_gil(
            [&] { fill(to, std::as_bytes(std::span(&byte, 1)), prompt_queue(memory)).wait(); });
        return Py_NewRef(Py_None);
    });
}

PyObject *tobytes(PyObject *self, PyObject *) {
    return method(self, [](const UsmMemory &memory) {
        Reference bytes =
            checked(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(memory.bytes)));
        Py_buffer content{};
        content.buf = PyBytes_AS_STRING(bytes.get());  // writable: not shared yet
        content.len = PyBytes_GET_SIZE(bytes.get());
        copy_bytes(bytes_of(content), bytes_of(memory), memory.bytes, prompt_queue(memory));
        return bytes.release();
    });
}

// ------------------------------------------------------------ Python's own

// Pickling copies the bytes to the host; unpickling allocates on the default device. A subclass
// keeps its class and its __dict__.
PyObject *reduce(PyObject *self, PyObject *) {
    return method(self, [self](const UsmMemory &memory) {
        const Reference module = checked(PyImport_ImportModule("entrepot.memory"));
        const Reference rebuild =
            checked(PyObject_GetAttrString(module.get(), "_rebuild_usm_memory"));
        const Reference bytes = checked(tobytes(self, nullptr));
        const Reference state(PyObject_GetAttrString(self, "__dict__"));
        PyErr_Clear();
        return Py_BuildValue("O(OOs)O", rebuild.get(), Py_TYPE(self), bytes.get(),
                             name_of(memory.kind).data(), state ? state.get() : Py_None);
    });
}

PyObject *size_of(PyObject *self, PyObject *) {
    return method(self, [self](const UsmMemory &memory) {
        return PyLong_FromSize_t(static_cast<std::size_t>(Py_TYPE(self)->tp_basicsize) +
                                 memory.bytes);
    });
}

PyObject *share(PyObject *self, PyObject *) {
    return method(self,
                  [](const UsmMemory &memory) { return share_array(bytes_of(memory), false); });
}

// NumPy calls this if there is no buffer. If it failed without raising, NumPy would create an
// object array with this object as its only element.
PyObject *numpy_asks_for(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                         PyObject *kwnames) {
    return method(self, [&](const UsmMemory &memory) {
        if (!is_host_accessible(memory.kind))
            throw Error(ErrorKind::exchange, "NumPy: this is ", memory.kind, " memory of ",
                        memory.memory.device(),
                        ", which the host cannot reach; copy it with memory.copy_to_host()");
        const Reference array = checked(wrap(bytes_of(memory)));
        return numpy_asks(array.get(), args, nargs, kwnames);
    });
}

}  // namespace

PyGetSetDef usm_memory_attributes[] = {
    {"nbytes", getter<get_nbytes>, nullptr, "Number of bytes.", nullptr},
    {"size", getter<get_nbytes>, nullptr, "Number of bytes.", nullptr},
    {"sycl_queue", getter<get_queue>, nullptr,
     "The queue that the memory was allocated with. It is the caller's object if one was\n"
     "passed.",
     nullptr},
    {"sycl_context", getter<get_context>, nullptr, "The context that the memory is bound to.",
     nullptr},
    {"sycl_device", getter<get_device>, nullptr, "The device that the memory was allocated on.",
     nullptr},
    {"reference_obj", getter<get_reference>, nullptr,
     "The object that the memory was borrowed from, or None.", nullptr},
    {"_pointer", getter<get_pointer>, nullptr, "Address of the first byte, an int.", nullptr},
    {"_queue", getter<get_queue>, nullptr, "sycl_queue.", nullptr},
    {"_context", getter<get_context>, nullptr, "sycl_context.", nullptr},
    {"__sycl_usm_array_interface__", getter<get_interface>, nullptr,
     "The SYCL USM Array Interface, version 1: the bytes as a C-contiguous array of '|u1'.\n\n"
     "Raises AttributeError for memory that is not SYCL memory.",
     nullptr},
    {},
};

PyMethodDef usm_memory_methods[] = {
    {"__array__", with_keywords(numpy_asks_for), METH_FASTCALL | METH_KEYWORDS,
     "__array__($self, dtype=None, copy=None)\n--\n\n"
     "A numpy.ndarray of the bytes.\n\n"
     "Raises ExchangeError for memory that the host cannot access."},
    {"get_usm_type", with_keywords(get_usm_type), METH_FASTCALL | METH_KEYWORDS,
     "get_usm_type($self, syclobj=None)\n--\n\n"
     "The kind of the memory, in its own context or another one.\n\n"
     "Parameters\n"
     "----------\n"
     "syclobj : Context or Queue, optional\n"
     "    The context, or a queue in it. dpctl's are also accepted. The default is the\n"
     "    memory's own context.\n\n"
     "Returns\n"
     "-------\n"
     "str\n"
     "    'host', 'device' or 'shared'. In the context of ``syclobj``, it may also be\n"
     "    'unknown'.\n\n"
     "Raises\n"
     "------\n"
     "TypeError\n"
     "    If ``syclobj`` is another object.\n\n"
     "Examples\n"
     "--------\n"
     ">>> memory = ep.memory.MemoryUSMShared(16, queue=\"host\")\n"
     ">>> memory.get_usm_type()\n"
     "'shared'"},
    {"get_usm_type_enum", with_keywords(get_usm_type_enum), METH_FASTCALL | METH_KEYWORDS,
     "get_usm_type_enum($self, syclobj=None)\n--\n\n"
     "The kind of get_usm_type() as a number.\n\n"
     "Parameters\n"
     "----------\n"
     "syclobj : Context or Queue, optional\n"
     "    The context, or a queue in it. dpctl's are also accepted. The default is the\n"
     "    memory's own context.\n\n"
     "Returns\n"
     "-------\n"
     "int\n"
     "    0 unknown, 1 device, 2 shared, 3 host.\n\n"
     "Raises\n"
     "------\n"
     "TypeError\n"
     "    If ``syclobj`` is another object.\n\n"
     "Examples\n"
     "--------\n"
     ">>> memory = ep.memory.MemoryUSMShared(16, queue=\"host\")\n"
     ">>> memory.get_usm_type_enum()\n"
     "2"},
    {"copy_to_host", with_keywords(copy_to_host), METH_FASTCALL | METH_KEYWORDS,
     "copy_to_host($self, obj=None)\n--\n\n"
     "Copy all bytes to the host. Complete on return.\n\n"
     "Parameters\n"
     "----------\n"
     "obj : buffer, optional\n"
     "    A writable C-contiguous buffer. The bytes are copied to its front. By\n"
     "    default they are copied to a new NumPy array of uint8, or to a bytearray if\n"
     "    NumPy is not installed.\n\n"
     "Returns\n"
     "-------\n"
     "object\n"
     "    ``obj``, or else the new array or bytearray.\n\n"
     "Raises\n"
     "------\n"
     "ValueError\n"
     "    If ``obj`` is too small.\n"
     "BufferError\n"
     "    If ``obj`` is read-only.\n"
     "TypeError\n"
     "    If ``obj`` is not a buffer.\n\n"
     "Examples\n"
     "--------\n"
     ">>> memory = ep.memory.MemoryUSMDevice(3, queue=\"host\")\n"
     ">>> memory.memset(7)\n"
     ">>> memory.copy_to_host()\n"
     "array([7, 7, 7], dtype=uint8)\n"
     ">>> memory.copy_to_host(bytearray(4))\n"
     "bytearray(b'\\x07\\x07\\x07\\x00')"},
    {"copy_from_host", with_keywords(copy_from_host), METH_FASTCALL | METH_KEYWORDS,
     "copy_from_host($self, obj)\n--\n\n"
     "Copy the bytes of ``obj`` to the front of the memory. Complete on return.\n\n"
     "Parameters\n"
     "----------\n"
     "obj : buffer\n"
     "    A C-contiguous buffer.\n\n"
     "Raises\n"
     "------\n"
     "ValueError\n"
     "    If the memory is too small or read-only.\n"
     "TypeError\n"
     "    If ``obj`` is not a buffer.\n\n"
     "Examples\n"
     "--------\n"
     ">>> memory = ep.memory.MemoryUSMDevice(8, queue=\"host\")\n"
     ">>> memory.copy_from_host(np.arange(2, dtype=\"int32\"))\n"
     ">>> memory.copy_to_host().view(\"int32\")\n"
     "array([0, 1], dtype=int32)"},
    {"copy_from_device", with_keywords(copy_from_device), METH_FASTCALL | METH_KEYWORDS,
     "copy_from_device($self, sycl_usm_ary)\n--\n\n"
     "Copy the bytes that another object spans to the front of the memory.\n\n"
     "If the contexts differ, the copy goes through the host. Complete on return.\n\n"
     "Parameters\n"
     "----------\n"
     "sycl_usm_ary : object\n"
     "    An Array, or an object with ``__sycl_usm_array_interface__``.\n\n"
     "Raises\n"
     "------\n"
     "ValueError\n"
     "    If the memory is too small or read-only, or the object is neither of the\n"
     "    two.\n\n"
     "Examples\n"
     "--------\n"
     ">>> memory = ep.memory.MemoryUSMDevice(8, queue=\"host\")\n"
     ">>> memory.copy_from_device(ep.full(2, 7, \"int32\", device=\"host\"))\n"
     ">>> memory.copy_to_host().view(\"int32\")\n"
     "array([7, 7], dtype=int32)"},
    {"memset", with_keywords(memset), METH_FASTCALL | METH_KEYWORDS,
     "memset($self, val=0)\n--\n\n"
     "Set every byte to ``val``. Complete on return.\n\n"
     "Parameters\n"
     "----------\n"
     "val : int, optional\n"
     "    The value of a byte, 0 to 255. The default is 0.\n\n"
     "Raises\n"
     "------\n"
     "OverflowError\n"
     "    Unless ``val`` is 0 to 255.\n"
     "ValueError\n"
     "    If the memory is read-only.\n\n"
     "Examples\n"
     "--------\n"
     ">>> memory = ep.memory.MemoryUSMDevice(3, queue=\"host\")\n"
     ">>> memory.memset(65)\n"
     ">>> memory.tobytes()\n"
     "b'AAA'"},
    {"tobytes", tobytes, METH_NOARGS,
     "tobytes($self, /)\n--\n\n"
     "A copy as bytes.\n\n"
     "Returns\n"
     "-------\n"
     "bytes\n"
     "    All bytes of the memory.\n\n"
     "Examples\n"
     "--------\n"
     ">>> memory = ep.memory.MemoryUSMHost(8, queue=\"host\")\n"
     ">>> memory.copy_from_host(b\"Entrepot\")\n"
     ">>> memory.tobytes()\n"
     "b'Entrepot'"},
    {"__bytes__", tobytes, METH_NOARGS, "__bytes__($self, /)\n--\n\nA copy as bytes."},
    {"share", share, METH_NOARGS,
     "share($self, /)\n--\n\n"
     "A handle with which another process opens all bytes, without a copy.\n\n"
     "The conditions are those of ``Array.share``.\n\n"
     "Returns\n"
     "-------\n"
     "ArrayHandle\n"
     "    The handle. ``handle.open()`` returns an Array of uint8.\n\n"
     "Raises\n"
     "------\n"
     "ExchangeError\n"
     "    If the memory cannot be shared. The message names the resource whose memory\n"
     "    can.\n\n"
     "Examples\n"
     "--------\n"
     ">>> with ep.memory.use_resource(ep.memory.shareable()):\n"
     "...     memory = ep.memory.MemoryUSMHost(3, queue=\"host\")\n"
     ">>> memory.memset(7)\n"
     ">>> memory.share().open().numpy()\n"
     "array([7, 7, 7], dtype=uint8)"},
    {"__reduce__", reduce, METH_NOARGS,
     "__reduce__($self, /)\n--\n\n"
     "Pickle the bytes, which are copied through the host, for the default device."},
    {"__sizeof__", size_of, METH_NOARGS,
     "__sizeof__($self, /)\n--\n\nBytes of the object and of its memory."},
    {},
};

}  // namespace entrepot::python
