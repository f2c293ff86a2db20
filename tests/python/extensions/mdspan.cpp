// An extension that reads elements by std::mdspan; test_typed_access.py drives it.
#include <entrepot/python/array.hpp>

#include <stdexcept>
#include <type_traits>
#include <version>

#ifndef __cpp_lib_mdspan
#error "the standard library has no std::mdspan"
#endif

namespace {

using entrepot::Array;

// Elements in C order, by the matrix that `span_of` makes of the array.
template <class SpanOf> PyObject *elements(PyObject *object, SpanOf span_of) noexcept {
    try {
        const Array array(object);
        const auto matrix = span_of(array);
        PyObject *list = PyList_New(0);
        for (std::int64_t i = 0; i < matrix.extent(0); ++i)
            for (std::int64_t j = 0; j < matrix.extent(1); ++j) {
                PyObject *number = PyFloat_FromDouble(matrix[i, j]);
                PyList_Append(list, number);
                Py_DECREF(number);
            }
        return list;
    } catch (const entrepot::python_error &) {
        return nullptr;
    } catch (const std::invalid_argument &error) {
        PyErr_SetString(PyExc_ValueError, error.what());
        return nullptr;
    }
}

PyObject *by_mdspan(PyObject *, PyObject *object) {
    return elements(object,
                    [](const Array &array) { return array.view<const float, 2>().mdspan(); });
}

PyObject *by_contiguous_mdspan(PyObject *, PyObject *object) {
    return elements(object, [](const Array &array) {
        const auto span = array.view<const float, 2, entrepot::c_contiguous>().mdspan();
        static_assert(std::is_same_v<decltype(span)::layout_type, std::layout_right>);
        return span;
    });
}

PyMethodDef methods[] = {{"by_mdspan", by_mdspan, METH_O, nullptr},
                         {"by_contiguous_mdspan", by_contiguous_mdspan, METH_O, nullptr},
                         {nullptr, nullptr, 0, nullptr}};

PyModuleDef module{
    PyModuleDef_HEAD_INIT, "mdspan", nullptr, -1, methods, nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit_mdspan() { return PyModule_Create(&module); }
