// An extension that exports its own memory by entrepot::Array::from_address and by the C function
// behind it.
#include <entrepot/python/array.hpp>

#include <cstdlib>
#include <vector>

namespace {

int freed = 0, freed_with_gil = 0;

void free_block(void *block) {
    freed_with_gil += PyGILState_Check();
    ++freed;
    std::free(block);
}

// `rows` × 4 floats, counted up from 0.
float *new_block(std::int64_t rows) {
    auto *const block =
        static_cast<float *>(std::malloc(static_cast<std::size_t>(rows * 4) * sizeof(float)));
    for (std::int64_t i = 0; i < rows * 4; ++i)
        block[i] = static_cast<float>(i);
    return block;
}

template <class Make> PyObject *shown(Make make) {
    try {
        return make().object();
    } catch (const entrepot::python_error &) {
        return nullptr;
    }
}

PyObject *rows(PyObject *, PyObject *count) {
    const std::int64_t shape[] = {PyLong_AsLongLong(count), 4};
    float *const block = new_block(shape[0]);
    return shown([&] { return entrepot::Array::from_address(block, shape, free_block, block); });
}

PyObject *columns(PyObject *, PyObject *count) {
    const std::int64_t shape[] = {4, PyLong_AsLongLong(count)}, strides[] = {1, 4};
    const float *const block = new_block(shape[1]);
    return shown([&] {
        return entrepot::Array::from_address(block, shape, free_block, const_cast<float *>(block),
                                             "host", strides);
    });
}

// An Array of the memory at the address, with that dtype and without a deleter; through the table
// alone.
PyObject *at(PyObject *, PyObject *args) {
    unsigned long long address = 0;
    entrepot_view what{};
    std::int64_t extent = 0;
    const char *device = nullptr;
    if (!PyArg_ParseTuple(args, "KLbbHz", &address, &extent, &what.dtype_code, &what.dtype_bits,
                          &what.dtype_lanes, &device))
        return nullptr;
    what.data = reinterpret_cast<void *>(address);
    what.shape = extent < 0 ? nullptr : &extent;
    what.ndim = extent == -2 ? -1 : 1;
    what.device = device;
    const entrepot_c_api &api = entrepot::api();
    entrepot_array *const array = api.from_address(&what, free_block, nullptr);
    if (!array)
        return nullptr;
    PyObject *const object = api.to_object(array);
    api.release(array);
    return object;
}

PyObject *counts(PyObject *, PyObject *) { return Py_BuildValue("(ii)", freed, freed_with_gil); }

PyMethodDef functions[] = {{"rows", rows, METH_O, nullptr},
                           {"columns", columns, METH_O, nullptr},
                           {"at", at, METH_VARARGS, nullptr},
                           {"counts", counts, METH_NOARGS, nullptr},
                           {}};
PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "c_memory", nullptr, -1, functions, nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit_c_memory() { return PyModule_Create(&definition); }
