// An extension that reads and writes elements by all typed accesses of entrepot::Array;
// test_typed_access.py drives it.
#include <entrepot/python/array.hpp>

#include <array>
#include <complex>
#include <cstdint>
#include <stdexcept>
#include <type_traits>

namespace {

using entrepot::Array;

// Runs the body. An entrepot exception needs no handling, for the Python exception is already set.
template <class Body> PyObject *in_python(Body body) noexcept {
    try {
        return body();
    } catch (const entrepot::python_error &) {
        return nullptr;
    } catch (const std::invalid_argument &error) {
        PyErr_SetString(PyExc_ValueError, error.what());
        return nullptr;
    }
}

template <class T> PyObject *python_number(const T &value) {
    if constexpr (std::is_same_v<T, bool>)
        return PyBool_FromLong(value);
    else if constexpr (std::is_unsigned_v<T>)
        return PyLong_FromUnsignedLongLong(value);
    else if constexpr (std::is_integral_v<T>)
        return PyLong_FromLongLong(value);
    else if constexpr (requires { value.imag(); })
        return PyComplex_FromDoubles(value.real(), value.imag());
    else
        return PyFloat_FromDouble(value);
}

// The numbers that `each(append)` passes to `append`, as a list.
template <class Each> PyObject *list_of(Each each) {
    PyObject *const list = PyList_New(0);
    each([&](const auto &value) {
        PyObject *const number = python_number(value);
        PyList_Append(list, number);
        Py_DECREF(number);
    });
    return list;
}

PyObject *by_for_each(PyObject *, PyObject *object) {
    return in_python([&] {
        const Array array(object);
        return entrepot::visit(array, [&]<class T>(std::type_identity<T>) {
            return list_of([&](auto append) { array.for_each<const T>(append); });
        });
    });
}

template <class T, std::size_t N, entrepot::requirement layout = entrepot::anything>
PyObject *list_by_view(const Array &array) {
    const auto view = array.view<const T, N, layout>();
    static_assert(view.rank() == N);
    return list_of([&](auto append) {
        if constexpr (N == 0)
            append(view());
        else if constexpr (N == 1)
            for (std::int64_t i = 0; i < view.extent(0); ++i)
                append(view[i]);
        else if constexpr (N == 2)
            for (std::int64_t i = 0; i < view.extent(0); ++i)
                for (std::int64_t j = 0; j < view.extent(1); ++j)
                    append(view(i, j));
        else
            for (std::int64_t i = 0; i < view.extent(0); ++i)
                for (std::int64_t j = 0; j < view.extent(1); ++j)
                    for (std::int64_t k = 0; k < view.extent(2); ++k)
                        append(view(i, j, k));
    });
}

PyObject *by_view(PyObject *, PyObject *object) {
    return in_python([&] {
        const Array array(object);
        return entrepot::visit(array, [&]<class T>(std::type_identity<T>) {
            switch (array.ndim()) {
            case 0:
                return list_by_view<T, 0>(array);
            case 1:
                return list_by_view<T, 1>(array);
            case 2:
                return list_by_view<T, 2>(array);
            default:
                return list_by_view<T, 3>(array);
            }
        });
    });
}

PyObject *by_contiguous_view(PyObject *, PyObject *object) {
    return in_python([&] { return list_by_view<float, 2, entrepot::c_contiguous>(Array(object)); });
}

PyObject *by_span(PyObject *, PyObject *object) {
    return in_python([&] {
        const Array array(object);
        return entrepot::visit(array, [&]<class T>(std::type_identity<T>) {
            return list_of([&](auto append) {
                for (const T &value : array.span<const T>())
                    append(value);
            });
        });
    });
}

// Halves in place, by `for_each` without const, which read-only arrays do not have.
PyObject *halve(PyObject *, PyObject *object) {
    return in_python([&] {
        const Array array(object);
        entrepot::visit<entrepot::float16_t, entrepot::bfloat16_t, float>(
            array, [&]<class T>(std::type_identity<T>) {
                array.for_each<T>([](T &value) { value /= 2; });
            });
        return Py_NewRef(Py_None);
    });
}

// Numbers rounded to T, and back.
template <class T> PyObject *rounded(PyObject *, PyObject *number) {
    return PyFloat_FromDouble(T(static_cast<float>(PyFloat_AsDouble(number))));
}

PyObject *size_of_float_or_double(PyObject *, PyObject *object) {
    return in_python([&] {
        const auto bytes = [](auto type) { return sizeof(typename decltype(type)::type); };
        return PyLong_FromSize_t(entrepot::visit<float, double>(Array(object), bytes));
    });
}

PyObject *element_at(PyObject *, PyObject *arguments) {
    PyObject *object;
    Py_ssize_t i, j;
    if (!PyArg_ParseTuple(arguments, "Onn", &object, &i, &j))
        return nullptr;
    return in_python(
        [&] { return PyFloat_FromDouble(Array(object).view<const float, 2>()(i, j)); });
}

#ifdef __cpp_lib_mdspan
PyObject *by_mdspan(PyObject *, PyObject *object) {
    return in_python([&] {
        const Array array(object);
        const auto elements = array.view<const float, 2>().mdspan();
        return list_of([&](auto append) {
            for (std::int64_t i = 0; i < elements.extent(0); ++i)
                for (std::int64_t j = 0; j < elements.extent(1); ++j)
                    append(elements[std::array{i, j}]);
        });
    });
}
#endif

PyMethodDef methods[] = {{"by_for_each", by_for_each, METH_O, nullptr},
                         {"by_view", by_view, METH_O, nullptr},
                         {"by_contiguous_view", by_contiguous_view, METH_O, nullptr},
                         {"by_span", by_span, METH_O, nullptr},
#ifdef __cpp_lib_mdspan
                         {"by_mdspan", by_mdspan, METH_O, nullptr},
#endif
                         {"halve", halve, METH_O, nullptr},
                         {"rounded_to_float16", rounded<entrepot::float16_t>, METH_O, nullptr},
                         {"rounded_to_bfloat16", rounded<entrepot::bfloat16_t>, METH_O, nullptr},
                         {"size_of_float_or_double", size_of_float_or_double, METH_O, nullptr},
                         {"element_at", element_at, METH_VARARGS, nullptr},
                         {nullptr, nullptr, 0, nullptr}};

PyModuleDef module{PyModuleDef_HEAD_INIT,
                   "typed_access",
                   nullptr,
                   -1,
                   methods,
                   nullptr,
                   nullptr,
                   nullptr,
                   nullptr};

}  // namespace

PyMODINIT_FUNC PyInit_typed_access() { return PyModule_Create(&module); }
