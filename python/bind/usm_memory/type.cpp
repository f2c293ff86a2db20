// The memory types: allocation from a free list, garbage collection, the buffer protocol, import by
// asarray.
#include "usm_memory.hpp"

#include "../exchange/host_sync.hpp"
#include "../exchange/protocol.hpp"
#include "../init.hpp"
#include "../memory/owner.hpp"
#include "../support/errors.hpp"
#include "../support/free_list.hpp"
#include "../support/guarded.hpp"
#include "../support/interned.hpp"

#include <algorithm>
#include <array>
#include <new>
#include <string>
#include <structmember.h>
#include <utility>

namespace entrepot::python {

PyTypeObject *usm_memory_base = nullptr;

namespace {

// One row for each kind. The numbers are those of the SYCL runtime.
std::array<UsmClass, 3> classes{{
    {"entrepot.memory.MemoryUSMHost", UsmKind::host, 3,
     "MemoryUSMHost(nbytes, *, alignment=0, queue=None, copy=False)",
     "Host memory that the queue's device can access.",
     ">>> memory = ep.memory.MemoryUSMHost(8, queue=\"host\")\n"
     ">>> memory.copy_from_host(b\"Entrepot\")\n"
     ">>> bytes(memoryview(memory)[:5])\n"
     "b'Entre'"},
    {"entrepot.memory.MemoryUSMShared", UsmKind::shared, 2,
     "MemoryUSMShared(nbytes, *, alignment=0, queue=None, copy=False)",
     "Memory that moves between the host and the queue's device. Both can access it.",
     ">>> memory = ep.memory.MemoryUSMShared(3, queue=\"host\")\n"
     ">>> memory.memset(7)\n"
     ">>> np.asarray(memory)\n"
     "array([7, 7, 7], dtype=uint8)"},
    {"entrepot.memory.MemoryUSMDevice", UsmKind::device, 1,
     "MemoryUSMDevice(nbytes, *, alignment=0, queue=None, copy=False)",
     "Memory of the queue's device that the host cannot access.",
     ">>> memory = ep.memory.MemoryUSMDevice(8, alignment=64, queue=\"host\")\n"
     ">>> memory.copy_from_host(np.arange(2, dtype=\"int32\"))\n"
     ">>> memory.copy_to_host().view(\"int32\")\n"
     "array([0, 1], dtype=int32)"},
}};

// The sections of the docstring that all rows share.
constexpr const char *parameters_doc =
    "Parameters\n"
    "----------\n"
    "nbytes : int or object\n"
    "    A number of bytes, to allocate memory on the queue's device. An object with\n"
    "    ``__sycl_usm_array_interface__``, or an Array: its memory is viewed without\n"
    "    a copy, from the lowest byte to the highest. That memory must be of the same\n"
    "    kind.\n"
    "alignment : int, optional\n"
    "    The alignment of the first byte, a power of two in bytes. The default, 0,\n"
    "    accepts any, as does a negative number.\n"
    "queue : Queue, optional\n"
    "    The queue to allocate with. A device or selector stands for its default\n"
    "    queue. The default is SYCL's default device, or the current queue if there\n"
    "    is no such device. A copy of USM memory is made with the queue of the\n"
    "    original by default. A view accepts a queue in its memory's context.\n"
    "copy : bool, optional\n"
    "    True to copy the bytes of the object to new memory. The default is False.\n\n"
    "Raises\n"
    "------\n"
    "ValueError\n"
    "    If the number of bytes is not positive, the alignment is not a power of two,\n"
    "    or the selector is malformed. Also if the object's memory cannot be viewed,\n"
    "    a view is not aligned, or the queue is in another context.\n"
    "InterfaceError\n"
    "    If the object's interface is malformed or untrue. It is a ValueError as\n"
    "    well.\n"
    "USMAllocationError\n"
    "    If the memory cannot be allocated.\n"
    "DeviceError\n"
    "    If no device matches, or the device does not support the kind.\n\n";

constexpr const char *base_doc =
    "Bytes of USM memory, allocated or borrowed.\n\n"
    "Memory is the base class of MemoryUSMHost, MemoryUSMShared and MemoryUSMDevice\n"
    "and is not instantiated itself. These classes allocate a number of bytes, or\n"
    "view the memory of an object without a copy, from the lowest byte to the\n"
    "highest. With ``copy=True`` the bytes are copied to new memory.";

struct UsmMemoryObject {
    PyObject_HEAD PyObject *weak_references;
    alignas(UsmMemory) std::byte storage[sizeof(UsmMemory)];

    UsmMemory &value() noexcept { return *std::launder(reinterpret_cast<UsmMemory *>(storage)); }
};

UsmMemory &value_of(PyObject *self) noexcept {
    return reinterpret_cast<UsmMemoryObject *>(self)->value();
}

bool is_exact(PyTypeObject *type) noexcept {
    return type == classes[0].type || type == classes[1].type || type == classes[2].type;
}

ObjectFreeList free_list;  // for objects of all three classes

// A new object of zeros, which are a valid UsmMemory. Objects of subclasses are already tracked by
// the garbage collector; others are not.
PyObject *new_object(PyTypeObject *type) {
    if (!is_exact(type))
        return type->tp_alloc(type, 0);
    if (PyObject *kept = free_list.take())
        return PyObject_Init(kept, type);
    return reinterpret_cast<PyObject *>(PyObject_GC_New(UsmMemoryObject, type));
}

int traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    const UsmMemory &value = value_of(self);
    Py_VISIT(value.queue_object.get());
    // A shared Memory is not visited: each of its users would report its owner's one reference.
    if (value.memory && !value.memory.is_shared())
        Py_VISIT(kept_object(value.memory.owner()));
    return 0;
}

int clear(PyObject *self) {
    UsmMemory &value = value_of(self);
    const Memory memory = std::exchange(value.memory, {});  // last: may run Python code
    const auto queue_object = std::exchange(value.queue_object, {});
    return 0;
}

void dealloc(PyObject *self) {
    PyTypeObject *const type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    if (reinterpret_cast<UsmMemoryObject *>(self)->weak_references)
        PyObject_ClearWeakRefs(self);
    value_of(self).~UsmMemory();  // releases the memory or its owner
    if (!is_exact(type) || !free_list.put(self))
        type->tp_free(self);
    Py_DECREF(type);
}

Py_ssize_t length(PyObject *self) { return static_cast<Py_ssize_t>(value_of(self).bytes); }

PyObject *repr(PyObject *self) {
    return guarded([&] {
        const UsmMemory &memory = usm_memory_of(self);
        return PyUnicode_FromFormat("<%s of %zu bytes at %p on %s>", _PyType_Name(Py_TYPE(self)),
                                    memory.bytes, memory.data,
                                    memory.memory.device().selector().c_str());
    });
}

// The view keeps the object and its memory alive until the consumer releases the view.
int get_buffer(PyObject *self, Py_buffer *view, int flags) {
    if (view)
        view->obj = nullptr;  // required by PEP 3118 if the request is refused
    return guarded([&] {
        const UsmMemory &memory = usm_memory_of(self);
        synchronize_for_host(bytes_of(memory));
        return PyBuffer_FillInfo(view, self, memory.data, static_cast<Py_ssize_t>(memory.bytes),
                                 memory.read_only, flags);
    });
}

PyMemberDef members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(UsmMemoryObject, weak_references), READONLY,
     nullptr},
    {},
};

PyType_Slot base_slots[] = {
    {Py_tp_doc, const_cast<char *>(base_doc)},
    {Py_tp_new, reinterpret_cast<void *>(usm_memory_new)},
    {Py_tp_dealloc, reinterpret_cast<void *>(dealloc)},
    {Py_tp_traverse, reinterpret_cast<void *>(traverse)},
    {Py_tp_clear, reinterpret_cast<void *>(clear)},
    {Py_tp_repr, reinterpret_cast<void *>(repr)},
    {Py_tp_members, members},
    {Py_tp_getset, usm_memory_attributes},
    {Py_tp_methods, usm_memory_methods},
    {Py_mp_length, reinterpret_cast<void *>(length)},
    {},
};

constexpr unsigned flags =
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_IMMUTABLETYPE;

PyType_Spec base_spec = {"entrepot.memory.Memory", sizeof(UsmMemoryObject), 0, flags, base_slots};

// Returns nullptr with an exception set on failure.
PyTypeObject *make_class(const UsmClass &row) {
    const std::string doc = std::string(row.signature) + "\n--\n\n" + row.summary + "\n\n" +
                            parameters_doc + "Examples\n--------\n" + row.example;
    std::array<PyType_Slot, 6> slots{{
        {Py_tp_doc, const_cast<char *>(doc.c_str())},  // PyType_FromSpec copies it
        // Without these slots, PyType_FromSpec would install those of classes written in Python.
        {Py_tp_dealloc, reinterpret_cast<void *>(dealloc)},
        {Py_tp_traverse, reinterpret_cast<void *>(traverse)},
        {Py_tp_clear, reinterpret_cast<void *>(clear)},
    }};
    if (is_host_accessible(row.kind))
        slots[4] = {Py_bf_getbuffer, reinterpret_cast<void *>(get_buffer)};
    PyType_Spec spec = {row.name, sizeof(UsmMemoryObject), 0, flags, slots.data()};
    const Reference bases(PyTuple_Pack(1, usm_memory_base));
    auto *const type =
        bases ? reinterpret_cast<PyTypeObject *>(PyType_FromSpecWithBases(&spec, bases.get()))
              : nullptr;
    if (type)
        type->tp_vectorcall = usm_memory_vectorcall;  // not inherited: a subclass is called through
                                                      // its own __new__ and __init__
    return type;
}

// The interface attribute of the base class, and its name.
const Interned interface_name = "__sycl_usm_array_interface__";
PyObject *own_interface = nullptr;

bool describes_itself_as_ours(PyTypeObject *type) noexcept {
    return PyType_IsSubtype(type, usm_memory_base) &&
           _PyType_Lookup(type, interface_name) == own_interface;
}

std::optional<Array> read(PyObject *object, const ImportRequest &) {
    return bytes_of(usm_memory_of(object));
}

}  // namespace

const Protocol usm_memory_protocol{"entrepot.memory", nullptr, describes_itself_as_ours, read};

std::span<const UsmClass> usm_classes() noexcept { return classes; }

const UsmClass *usm_class_of(UsmKind kind) noexcept {
    const auto found = std::ranges::find(classes, kind, &UsmClass::kind);
    return found == classes.end() ? nullptr : &*found;
}

bool is_usm_memory(PyObject *object) noexcept {
    return is_exact(Py_TYPE(object)) || describes_itself_as_ours(Py_TYPE(object));
}

UsmMemory &usm_memory_of(PyObject *self) {
    UsmMemory &value = value_of(self);
    if (!value.memory) [[unlikely]]
        throw Error(ErrorKind::value, "this memory has been released by the garbage collector, as "
                                      "part of a cycle of objects");
    return value;
}

Array bytes_of(const UsmMemory &memory) {
    const std::int64_t extent = static_cast<std::int64_t>(memory.bytes);
    return Array(memory.memory, memory.data, dtypes::uint8, Layout(Extents(&extent, 1)),
                 memory.read_only, memory.queue);
}

Array bytes_of(const Py_buffer &buffer) {
    const std::int64_t extent = buffer.len;
    return Array(Memory::borrow_host(buffer.buf, static_cast<std::size_t>(buffer.len), Owner()),
                 buffer.buf, dtypes::uint8, Layout(Extents(&extent, 1)), buffer.readonly != 0);
}

PyObject *wrap(PyTypeObject *type, UsmMemory &&memory) {
    PyObject *const self = new_object(type);
    if (!self)
        throw PythonError{};
    auto *const object = reinterpret_cast<UsmMemoryObject *>(self);
    object->weak_references = nullptr;
    new (object->storage) UsmMemory(std::move(memory));
    if (is_exact(type))
        PyObject_GC_Track(self);
    return self;
}

void init_usm_memory(nanobind::module_ &m) {
    static PyMethodDef functions[] = {
        {"as_usm_memory", as_usm_memory, METH_O,
         "as_usm_memory($module, obj, /)\n--\n\n"
         "The memory of an object, without a copy.\n\n"
         "Parameters\n"
         "----------\n"
         "obj : object\n"
         "    An Array, or an object with ``__sycl_usm_array_interface__``.\n\n"
         "Returns\n"
         "-------\n"
         "MemoryUSMHost, MemoryUSMShared or MemoryUSMDevice\n"
         "    The memory. The driver's kind of the memory decides between the three.\n\n"
         "Raises\n"
         "------\n"
         "ValueError\n"
         "    If the object has no such interface, or its memory is ordinary host memory.\n"
         "InterfaceError\n"
         "    If the interface is malformed or untrue. It is a ValueError as well.\n\n"
         "Examples\n"
         "--------\n"
         ">>> array = ep.zeros(4, \"int32\", device=\"host\")\n"
         ">>> memory = ep.memory.as_usm_memory(array)\n"
         ">>> memory.nbytes, memory.get_usm_type()\n"
         "(16, 'host')"},
        {"_rebuild_usm_memory", usm_memory_rebuild, METH_VARARGS,
         "_rebuild_usm_memory($module, cls, data, usm_type, /)\n--\n\n"
         "Make an object from its pickled state."},
        {},
    };
    usm_memory_base = reinterpret_cast<PyTypeObject *>(PyType_FromSpec(&base_spec));
    if (!usm_memory_base ||
        PyModule_AddObjectRef(m.ptr(), "Memory", reinterpret_cast<PyObject *>(usm_memory_base)) < 0)
        nanobind::raise_python_error();
    own_interface = _PyType_Lookup(usm_memory_base, interface_name);
    for (UsmClass &row : classes) {
        row.type = make_class(row);
        if (!row.type || PyModule_AddType(m.ptr(), row.type) < 0)
            nanobind::raise_python_error();
    }
    if (PyModule_AddFunctions(m.ptr(), functions) < 0)
        nanobind::raise_python_error();
}

}  // namespace entrepot::python
