#include "array_object.hpp"

namespace entrepot::python {

PyTypeObject *array_type = nullptr;
ObjectFreeList free_arrays;

const Py_ssize_t *byte_strides_of(PyObject *self) {
    auto *object = reinterpret_cast<ArrayObject *>(self);
    if (const Py_ssize_t *const made = object->byte_strides.load(std::memory_order_acquire))
        return made;
    const Array &array = object->array();
    Py_ssize_t *const strides = PyMem_New(Py_ssize_t, array.ndim());
    if (!strides) {
        PyErr_NoMemory();
        throw PythonError{};
    }
    for (std::size_t axis = 0; axis < array.ndim(); ++axis)
        strides[axis] = array.strides()[axis] * array.itemsize();
    Py_ssize_t *found = nullptr;
    if (object->byte_strides.compare_exchange_strong(found, strides, std::memory_order_acq_rel))
        return strides;
    PyMem_Free(strides);  // another thread was first
    return found;
}

}  // namespace entrepot::python
