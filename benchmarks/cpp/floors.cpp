// The Python module benchmark_floors: lower bounds of the time of an exchange, for any producer or
// consumer.
//
// - Producer(pointer, elements) is float32 memory of CUDA device 0 that is exported with the least
//   work that the protocols allow. The answers are made beforehand, nothing is checked, and no
//   pending work is waited for.
// - lend(tensor) makes only those calls of the tensor's exchange table that every consumer has to
//   make.
// - lend_all(tensors...) does that for several tensors, and asks for the stream once.
// - describe_all(arrays...) reads the attributes that describe arrays of CuPy.
// - breathe() releases and reacquires the GIL, as a caller of a blocking driver function has to.
#include <Python.h>

#include <entrepot/exchange/c_exchange_api.hpp>

#include <cstdint>

namespace {

using namespace entrepot::dlpack;

struct Producer {
    PyObject_HEAD std::int64_t shape, stride;
    DLManagedTensorVersioned tensor;
    PyObject *device, *interface;
};

PyTypeObject *producer_type = nullptr;

Producer &self_of(PyObject *object) { return *reinterpret_cast<Producer *>(object); }

PyObject *create(PyTypeObject *type, PyObject *args, PyObject *) {
    unsigned long long pointer = 0;
    long long elements = 0;
    if (!PyArg_ParseTuple(args, "KL", &pointer, &elements))
        return nullptr;
    PyObject *const object = type->tp_alloc(type, 0);
    if (!object)
        return nullptr;
    Producer &made = self_of(object);
    made.shape = elements;
    made.stride = 1;
    made.tensor = {version,
                   object,
                   [](DLManagedTensorVersioned *tensor) {
                       Py_DECREF(static_cast<PyObject *>(tensor->manager_ctx));
                   },
                   0,
                   {reinterpret_cast<void *>(pointer),
                    {kDLCUDA, 0},
                    1,
                    {2, 32, 1},
                    &made.shape,
                    &made.stride,
                    0}};
    made.device = Py_BuildValue("(ii)", static_cast<int>(kDLCUDA), 0);
    made.interface = Py_BuildValue("{s(L)sss(KO)sisO}", "shape", elements, "typestr", "<f4", "data",
                                   pointer, Py_False, "version", 3, "strides", Py_None);
    if (!made.device || !made.interface) {
        Py_DECREF(object);
        return nullptr;
    }
    return object;
}

void destroy(PyObject *object) {
    PyTypeObject *const type = Py_TYPE(object);
    Py_XDECREF(self_of(object).device);
    Py_XDECREF(self_of(object).interface);
    type->tp_free(object);
    Py_DECREF(type);
}

void destroy_capsule(PyObject *capsule) {
    if (!PyCapsule_IsValid(capsule, versioned_names.fresh))
        return;
    auto *const tensor = static_cast<DLManagedTensorVersioned *>(
        PyCapsule_GetPointer(capsule, versioned_names.fresh));
    tensor->deleter(tensor);
}

PyObject *dlpack(PyObject *object, PyObject *const *, Py_ssize_t, PyObject *) {
    PyObject *const capsule =
        PyCapsule_New(&self_of(object).tensor, versioned_names.fresh, destroy_capsule);
    if (capsule)
        Py_INCREF(object);
    return capsule;
}

PyObject *dlpack_device(PyObject *object, PyObject *) {
    PyObject *const device = self_of(object).device;
    Py_INCREF(device);
    return device;
}

PyObject *interface_of(PyObject *object, void *) {
    PyObject *const interface = self_of(object).interface;
    Py_INCREF(interface);
    return interface;
}

const DLPackExchangeAPI *published_by(PyTypeObject *type) {
    PyObject *const capsule =
        PyObject_GetAttrString(reinterpret_cast<PyObject *>(type), "__dlpack_c_exchange_api__");
    void *const table = capsule ? PyCapsule_GetPointer(capsule, exchange_api_capsule) : nullptr;
    Py_XDECREF(capsule);
    return find_compatible(static_cast<const DLPackExchangeAPIHeader *>(table));
}

const DLPackExchangeAPI *table_of(PyTypeObject *asked) {
    static PyTypeObject *type = nullptr;
    static const DLPackExchangeAPI *api = nullptr;
    if (type != asked) {
        api = published_by(asked);
        type = api ? asked : nullptr;
    }
    return api;
}

PyObject *lend(PyObject *, PyObject *object) {
    const DLPackExchangeAPI *const api = table_of(Py_TYPE(object));
    DLTensor tensor;
    void *stream = nullptr;
    if (!api || api->dltensor_from_py_object_no_sync(object, &tensor) != 0 ||
        api->current_work_stream(tensor.device.device_type, tensor.device.device_id, &stream) != 0)
        return nullptr;
    Py_RETURN_NONE;
}

PyObject *lend_all(PyObject *, PyObject *const *objects, Py_ssize_t count) {
    DLTensor tensor{};
    void *stream = nullptr;
    const DLPackExchangeAPI *api = nullptr;
    for (Py_ssize_t i = 0; i < count; ++i)
        if (api = table_of(Py_TYPE(objects[i]));
            !api || api->dltensor_from_py_object_no_sync(objects[i], &tensor) != 0)
            return nullptr;
    if (api &&
        api->current_work_stream(tensor.device.device_type, tensor.device.device_id, &stream) != 0)
        return nullptr;
    Py_RETURN_NONE;
}

PyObject *describe_all(PyObject *, PyObject *const *objects, Py_ssize_t count) {
    static PyObject *const data = PyUnicode_InternFromString("data");
    static PyObject *const own[] = {PyUnicode_InternFromString("dtype"),
                                    PyUnicode_InternFromString("_shape"),
                                    PyUnicode_InternFromString("_c_contiguous")};
    static PyObject *const of_data[] = {PyUnicode_InternFromString("ptr"),
                                        PyUnicode_InternFromString("device_id")};
    const auto read = [](PyObject *object, PyObject *name) {
        PyObject *const value = object ? PyObject_GetAttr(object, name) : nullptr;
        Py_XDECREF(value);
        return value != nullptr;
    };
    for (Py_ssize_t i = 0; i < count; ++i) {
        PyObject *const pointer = PyObject_GetAttr(objects[i], data);
        bool is_read = true;
        for (PyObject *const name : of_data)
            is_read = is_read && read(pointer, name);
        for (PyObject *const name : own)
            is_read = is_read && read(objects[i], name);
        Py_XDECREF(pointer);
        if (!is_read)
            return nullptr;
    }
    Py_RETURN_NONE;
}

PyObject *breathe(PyObject *, PyObject *) {
    Py_BEGIN_ALLOW_THREADS;
    Py_END_ALLOW_THREADS;
    Py_RETURN_NONE;
}

PyMethodDef methods[] = {{"__dlpack__",
                          reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(dlpack)),
                          METH_FASTCALL | METH_KEYWORDS, nullptr},
                         {"__dlpack_device__", dlpack_device, METH_NOARGS, nullptr},
                         {}};
PyGetSetDef attributes[] = {{"__cuda_array_interface__", interface_of, nullptr, nullptr, nullptr},
                            {}};
PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void *>(create)},
                       {Py_tp_dealloc, reinterpret_cast<void *>(destroy)},
                       {Py_tp_methods, methods},
                       {Py_tp_getset, attributes},
                       {}};
PyType_Spec spec{"benchmark_floors.Producer", sizeof(Producer), 0, Py_TPFLAGS_DEFAULT, slots};
template <class Function> PyCFunction as_method(Function function) {
    return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}
PyMethodDef functions[] = {{"lend", lend, METH_O, nullptr},
                           {"lend_all", as_method(lend_all), METH_FASTCALL, nullptr},
                           {"describe_all", as_method(describe_all), METH_FASTCALL, nullptr},
                           {"breathe", breathe, METH_NOARGS, nullptr},
                           {}};
PyModuleDef definition{PyModuleDef_HEAD_INIT,
                       "benchmark_floors",
                       nullptr,
                       -1,
                       functions,
                       nullptr,
                       nullptr,
                       nullptr,
                       nullptr};

}  // namespace

PyMODINIT_FUNC PyInit_benchmark_floors() {
    PyObject *const module = PyModule_Create(&definition);
    producer_type = reinterpret_cast<PyTypeObject *>(PyType_FromSpec(&spec));
    if (!module || !producer_type ||
        PyModule_AddObject(module, "Producer", reinterpret_cast<PyObject *>(producer_type)) < 0)
        return nullptr;
    return module;
}
