// An extension that reads and writes elements by all typed accesses of entrepot::Array;
// test_typed_access.py drives it.
#include <entrepot/python/array.hpp>

#include <complex>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <type_traits>

namespace {

using entrepot::Array;

// The numbers of IEEE 754, and of the format of bfloat16.
using Half = std::numeric_limits<entrepot::float16_t>;
using BrainFloat = std::numeric_limits<entrepot::bfloat16_t>;
static_assert(Half::max() == 65504.0f && Half::lowest() == -65504.0f);
static_assert(Half::min() == 0x1p-14f && Half::denorm_min() == 0x1p-24f);
static_assert(Half::epsilon() == 0x1p-10f && Half::digits == 11 && Half::digits10 == 3);
static_assert(Half::max_digits10 == 5 && Half::min_exponent == -13 && Half::max_exponent == 16);
static_assert(Half::min_exponent10 == -4 && Half::max_exponent10 == 4);
static_assert(Half::infinity() == std::numeric_limits<float>::infinity());
static_assert(Half::quiet_NaN() != Half::quiet_NaN());
static_assert(BrainFloat::max() == 0x1.fep127f && BrainFloat::min() == 0x1p-126f);
static_assert(BrainFloat::epsilon() == 0x1p-7f && BrainFloat::digits == 8);
static_assert(BrainFloat::digits10 == 2 && BrainFloat::max_digits10 == 4);
static_assert(BrainFloat::min_exponent == -125 && BrainFloat::max_exponent == 128);
static_assert(BrainFloat::min_exponent10 == -37 && BrainFloat::max_exponent10 == 38);
static_assert(BrainFloat::denorm_min() == 0x1p-133f);

struct Sum {
    double of = 0;
    void operator()(float value) { of += value; }
};

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

// With a visitor that has state, passed as an lvalue.
PyObject *sum(PyObject *, PyObject *object) {
    return in_python([&] {
        Sum sum;
        Array(object).for_each<const float>(sum);
        return PyFloat_FromDouble(sum.of);
    });
}

PyObject *element_at(PyObject *, PyObject *arguments) {
    PyObject *object;
    Py_ssize_t i, j;
    if (!PyArg_ParseTuple(arguments, "Onn", &object, &i, &j))
        return nullptr;
    return in_python([&] {
        const Array array(object);
        // a contiguous view of mutable elements converts to any other
        const entrepot::View<const float, 2> view = array.view<float, 2, entrepot::c_contiguous>();
        return PyFloat_FromDouble(view(i, j));
    });
}

PyMethodDef methods[] = {{"by_for_each", by_for_each, METH_O, nullptr},
                         {"by_view", by_view, METH_O, nullptr},
                         {"by_contiguous_view", by_contiguous_view, METH_O, nullptr},
                         {"by_span", by_span, METH_O, nullptr},
                         {"halve", halve, METH_O, nullptr},
                         {"rounded_to_float16", rounded<entrepot::float16_t>, METH_O, nullptr},
                         {"rounded_to_bfloat16", rounded<entrepot::bfloat16_t>, METH_O, nullptr},
                         {"size_of_float_or_double", size_of_float_or_double, METH_O, nullptr},
                         {"sum", sum, METH_O, nullptr},
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
