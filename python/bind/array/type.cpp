// The type entrepot.Array: creation and destruction from a free list, garbage collection,
// attributes.
#include "../array_object/array_object.hpp"

#include "../core/dtype.hpp"
#include "../device/device.hpp"
#include "../exchange/exports.hpp"
#include "../exchange/fast_import.hpp"
#include "../exchange/host_sync.hpp"
#include "../exchange/interface_dict.hpp"
#include "../exchange/stream_libraries.hpp"
#include "../memory/owner.hpp"
#include "../support/errors.hpp"
#include "../support/foreign_error.hpp"
#include "../support/gil.hpp"
#include "../support/guarded.hpp"
#include "../support/reference.hpp"
#include "methods.hpp"

#include <nanobind/nanobind.h>
#include <structmember.h>
#include <type_traits>

namespace entrepot::python {
namespace {

int traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(reinterpret_cast<ArrayObject *>(self)->usm_ndarray.get());
    const Memory &memory = array_of(self).memory();
    // A shared Memory is not visited: each of its arrays would report its owner's one reference.
    if (memory && !memory.is_shared())
        Py_VISIT(kept_object(memory.owner()));
    return 0;
}

// Replaces an array that the garbage collector clears, because other garbage may still use it. It
// has no elements and is on the host. Never destroyed.
const Array *nothing = nullptr;

Array *make_nothing() {
    const std::int64_t extent = 0;
    return new Array(Memory::borrow_host(nullptr, 0, Owner()), nullptr, dtypes::uint8,
                     Layout(Extents(&extent, 1)), true);
}

int clear(PyObject *self) {
    auto *object = reinterpret_cast<ArrayObject *>(self);
    object->usm_ndarray = {};
    Array left = *nothing;
    std::swap(object->array(), left);  // destroyed last, because that may run Python code
    return 0;
}

[[gnu::hot]] void dealloc(PyObject *self) {
    auto *object = reinterpret_cast<ArrayObject *>(self);
    PyObject_GC_UnTrack(self);
    if (object->weak_references)
        PyObject_ClearWeakRefs(self);
    object->usm_ndarray.~LazyReference();
    if (Py_ssize_t *const strides = object->byte_strides.load(std::memory_order_relaxed))
        PyMem_Free(strides);
    Memory memory = std::move(object->array()).take_memory();
    object->array().~Array();
    UnmadeArray::keep_or_free(self);
    fast_import::release(std::move(memory));  // last, because that may run Python code
}

template <class Get> PyObject *guarded_get(PyObject *self, Get get) noexcept {
    return guarded([&] {
        if constexpr (std::is_invocable_v<Get, PyObject *>)
            return get(self);
        else
            return get(array_of(self));
    });
}

template <auto get> PyObject *getter(PyObject *self, void *) { return guarded_get(self, get); }

// Moves dpnp's array to this array's queue, without a copy. DLPack names no queue, so dpnp chose
// the device's default queue, and dpnp refuses to compute with arrays of different queues.
Reference in_queue_of(const Array &array, Reference made) {
    const Queue queue = array.queue();
    const Reference dpctl = imported_module("dpctl");
    if (!dpctl || queue == array.device().default_queue() || queue.context() != array.context())
        return made;
    const Reference wrapped(checked(wrap_queue(queue)));
    const Reference capsule = checked(PyObject_CallMethod(wrapped.get(), "_get_capsule", nullptr));
    const Reference theirs =
        checked(PyObject_CallMethod(dpctl.get(), "SyclQueue", "O", capsule.get()));
    return checked(PyObject_CallMethod(made.get(), "to_device", "O", theirs.get()));
}

// dpnp's array of this memory, borrowed. It is cached, because dpnp copies unless the array's queue
// is the very object that the attribute sycl_queue returned. Raises AttributeError if dpnp is
// not imported or the memory is not SYCL memory, so hasattr() is correct and imports nothing.
PyObject *usm_ndarray_of(PyObject *self) {
    auto *object = reinterpret_cast<ArrayObject *>(self);
    if (PyObject *const kept = object->usm_ndarray.get())
        return kept;
    const Reference tensor = imported_module("dpnp.tensor");
    if (!tensor || object->array().device().backend().is_host() ||
        object->array().is_device_view()) {
        PyErr_SetString(PyExc_AttributeError,
                        "__usm_ndarray__ is for SYCL memory, and for programs that use dpnp");
        throw PythonError{};
    }
    Reference made(PyObject_CallMethod(tensor.get(), "from_dlpack", "O", self));
    if (!made) {  // of another context, say: then dpnp goes on to ask for SUAI
        PyErr_Format(PyExc_AttributeError, "__usm_ndarray__: dpnp refuses the memory: %s",
                     take_words_about_value().c_str());
        throw PythonError{};
    }
    return object->usm_ndarray.keep(in_queue_of(object->array(), std::move(made)));
}

// The first attribute that dpnp looks up. Returns a new view, because dpnp
// can change an array's shape.
PyObject *get_usm_ndarray(PyObject *self) {
    PyObject *kept = usm_ndarray_of(self);
    synchronize_for_host(array_of(self));  // dpnp's queue does not wait for later work
    return PyObject_GetItem(kept, Py_Ellipsis);
}

PyObject *get_sycl_queue(PyObject *self) {
    return PyObject_GetAttrString(usm_ndarray_of(self), "sycl_queue");
}

// Exports catch their exceptions themselves, because C code calls them too.
template <auto write> PyObject *interface(PyObject *self, void *) { return write(self); }

[[noreturn]] void refuse_comparison(PyObject *other, bool is_equal) {
    const char *const sign = is_equal ? " == " : " != ";
    if (other == Py_None)
        throw Error(ErrorKind::type, "Array", sign,
                    "None: an Array is not compared with None; write `array is ",
                    is_equal ? "None`" : "not None`");
    // has a module's name from CPython 3.12 on
    const std::string_view type = Py_TYPE(other)->tp_name;
    throw Error(ErrorKind::type, "Array", sign, type.substr(type.rfind('.') + 1),
                ": an Array does not compare its elements; convert it, as in numpy.asarray(array)",
                sign, "value or torch.from_dlpack(array)", sign, "value, or compare in a kernel");
}

// Two Arrays are equal if they are one object. Otherwise the other operand decides, as NumPy's
// arrays do. Returning False would look like the result of comparing elements, so that is an error.
PyObject *compare(PyObject *self, PyObject *other, int op) {
    return guarded([&] {
        if (op != Py_EQ && op != Py_NE)
            return Py_NewRef(Py_NotImplemented);
        if (is_array(other))
            return PyBool_FromLong((self == other) == (op == Py_EQ));
        if (const richcmpfunc theirs = Py_TYPE(other)->tp_richcompare) {
            Reference result = checked(theirs(other, self, op));
            if (result.get() != Py_NotImplemented)
                return result.release();
        }
        refuse_comparison(other, op == Py_EQ);
    });
}

Py_hash_t hash(PyObject *self) { return PyBaseObject_Type.tp_hash(self); }

PyObject *get_shape(const Array &a) { return tuple_of(a.shape()).release(); }
PyObject *get_strides(const Array &a) { return tuple_of(a.strides()).release(); }
PyObject *get_dtype(const Array &a) { return wrap_dtype(a.dtype()); }
PyObject *get_ndim(const Array &a) { return PyLong_FromSize_t(a.ndim()); }
PyObject *get_size(const Array &a) { return PyLong_FromLongLong(a.size()); }
PyObject *get_nbytes(const Array &a) { return PyLong_FromLongLong(a.nbytes()); }
PyObject *get_itemsize(const Array &a) { return PyLong_FromLongLong(a.itemsize()); }
PyObject *get_device(const Array &a) { return wrap_device(a.device()); }
PyObject *get_context(const Array &a) { return wrap_context(a.context()); }
// The Queue holds the owner of its stream. If the owner of the memory names the stream, that is
// this Array. The collector sees a reference to the Array; one to its Memory would be a second
// reference to the memory's owner.
PyObject *get_queue(PyObject *self) {
    const Array &array = array_of(self);
    Queue queue = array.queue();
    if (!queue.may_be_destroyed()) [[likely]]
        return wrap_queue(queue);
    if (array.memory().has_destroyable_owner_stream())
        return wrap_queue(std::move(queue), self);
    const Reference owner = current_stream_object_of_cupy(queue);
    return owner ? wrap_queue(std::move(queue), owner.get()) : wrap_queue(queue);
}
PyObject *get_kind(const Array &a) {
    const std::string_view name = name_of(a.kind());
    return PyUnicode_FromStringAndSize(name.data(), static_cast<Py_ssize_t>(name.size()));
}
PyObject *get_read_only(const Array &a) { return PyBool_FromLong(a.read_only()); }
// The address may be used by work that Entrepot does not track, such as a
// kernel that reads it from a table.
PyObject *get_data_ptr(const Array &a) {
    a.memory().mark_escaped();
    return PyLong_FromVoidPtr(a.data());
}
PyObject *get_owner(const Array &a) {
    PyObject *owner = owner_of(a.memory());
    return Py_NewRef(owner ? owner : Py_None);
}
PyObject *get_transposed(const Array &a) { return wrap(a.transposed({})); }

PyGetSetDef attributes[] = {
    {"shape", getter<get_shape>, nullptr, "Extent of each axis, in elements.", nullptr},
    {"strides", getter<get_strides>, nullptr,
     "Distance between neighbors along each axis, in elements (not bytes).", nullptr},
    {"dtype", getter<get_dtype>, nullptr, "The type of an element, an entrepot.Dtype.", nullptr},
    {"ndim", getter<get_ndim>, nullptr, "Number of axes, 0 to 64.", nullptr},
    {"size", getter<get_size>, nullptr, "Number of elements.", nullptr},
    {"nbytes", getter<get_nbytes>, nullptr, "Bytes of all elements, each counted once.", nullptr},
    {"itemsize", getter<get_itemsize>, nullptr, "Bytes of an element.", nullptr},
    {"device", getter<get_device>, nullptr, "The device that the memory is on.", nullptr},
    {"context", getter<get_context>, nullptr, "The context that the memory is bound to.", nullptr},
    {"queue", getter<get_queue>, nullptr,
     "The queue of operations on the array that name no other queue.\n\n"
     "For imported memory it is the current stream of the memory's library, or the stream that "
     "the\n"
     "owner of the memory names. The Queue keeps CuPy's stream object alive, or this Array if the\n"
     "owner names the stream. PyTorch never destroys its streams. Streams of other libraries, and\n"
     "those that CuPy's ExternalStream wraps, are not kept alive: they must outlive the Queue.",
     nullptr},
    {"kind", getter<get_kind>, nullptr,
     "One of 'host', 'device' and 'shared'. It states where the memory can be accessed.", nullptr},
    {"read_only", getter<get_read_only>, nullptr,
     "True if the elements cannot be changed through this array.", nullptr},
    {"data_ptr", getter<get_data_ptr>, nullptr, "Address of the first element, an int.", nullptr},
    {"owner", getter<get_owner>, nullptr,
     "The Python object that the memory was borrowed from, or None.", nullptr},
    {"T", getter<get_transposed>, nullptr, "The array with its axes reversed, without a copy.",
     nullptr},
    {"__sycl_usm_array_interface__", interface<suai_export>, nullptr,
     "The SYCL USM Array Interface, version 1.\n\n"
     "Raises AttributeError for memory that is not SYCL memory.",
     nullptr},
    {"__usm_ndarray__", getter<get_usm_ndarray>, nullptr,
     "An array of dpnp with the same memory, so that dpnp.asarray does not copy.", nullptr},
    {"sycl_queue", getter<get_sycl_queue>, nullptr, "The dpctl.SyclQueue of __usm_ndarray__.",
     nullptr},
    {"__cuda_array_interface__", interface<cai_export>, nullptr,
     "The CUDA array interface, version 3.\n\n"
     "Raises AttributeError for memory that is neither CUDA nor HIP memory.",
     nullptr},
    {"__array_interface__", interface<array_interface_export>, nullptr,
     "NumPy's array interface, version 3.\n\n"
     "Raises AttributeError for memory that the host cannot access.",
     nullptr},
    {"__array_struct__", interface<array_struct_export>, nullptr,
     "NumPy's array interface as a C structure in a capsule.\n\n"
     "Raises AttributeError for memory that the host cannot access.",
     nullptr},
    {},
};

PyMemberDef members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(ArrayObject, weak_references), READONLY, nullptr},
    {},
};

constexpr const char *type_doc =
    "A shape and a type for memory, which may belong to any library.\n\n"
    "Arrays are made by asarray, from_dlpack, from_address, empty, zeros and full. An Array\n"
    "computes nothing. It slices, transposes and reshapes without a copy, and exports its\n"
    "memory through every protocol. The Array is immutable, its elements are not. It keeps\n"
    "the owner of the memory alive.\n\n"
    "``==`` of two Arrays is ``is``. Comparing with numbers, None or any other object that\n"
    "does not define the comparison raises TypeError: numpy.asarray(array) == 3 compares\n"
    "elements.\n\n"
    "Examples\n"
    "--------\n"
    ">>> array = ep.asarray(np.arange(6, dtype=\"int32\")).reshape(2, 3)\n"
    ">>> array[:, 1].numpy()\n"
    "array([1, 4], dtype=int32)\n"
    ">>> np.asarray(array) == 3\n"
    "array([[False, False, False],\n"
    "       [ True, False, False]])";

PyType_Slot slots[] = {
    {Py_tp_doc, const_cast<char *>(type_doc)},
    {Py_tp_dealloc, reinterpret_cast<void *>(dealloc)},
    {Py_tp_traverse, reinterpret_cast<void *>(traverse)},
    {Py_tp_clear, reinterpret_cast<void *>(clear)},
    {Py_tp_getset, attributes},
    {Py_tp_members, members},
    {Py_tp_methods, array_methods},
    {Py_tp_repr, reinterpret_cast<void *>(array_repr)},
    {Py_tp_richcompare, reinterpret_cast<void *>(compare)},
    {Py_tp_hash, reinterpret_cast<void *>(hash)},
    {Py_nb_float, reinterpret_cast<void *>(array_float)},
    {Py_nb_int, reinterpret_cast<void *>(array_int)},
    {Py_nb_bool, reinterpret_cast<void *>(array_bool)},
    {Py_mp_subscript, reinterpret_cast<void *>(array_subscript)},
    {Py_mp_length, reinterpret_cast<void *>(array_length)},
    {Py_bf_getbuffer, reinterpret_cast<void *>(buffer_export)},
    {},
};

PyType_Spec spec = {"entrepot.Array", sizeof(ArrayObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE |
                        Py_TPFLAGS_DISALLOW_INSTANTIATION,
                    slots};

}  // namespace

bool init_array_type(PyObject *module) {
    nothing = make_nothing();
    array_type = reinterpret_cast<PyTypeObject *>(PyType_FromSpec(&spec));
    if (!array_type)
        return false;
    const Reference capsule(c_exchange_api_capsule());
    if (!capsule)
        return false;
    // Consumers of the C exchange API read it from the type, so it is in the
    // type's dict and not a getset attribute.
    const int stored =
        PyDict_SetItemString(array_type->tp_dict, "__dlpack_c_exchange_api__", capsule.get());
    PyType_Modified(array_type);
    return stored == 0 &&
           PyModule_AddObjectRef(module, "Array", reinterpret_cast<PyObject *>(array_type)) == 0;
}

}  // namespace entrepot::python
