#include "scalar.hpp"

#include "../core/dtype.hpp"
#include "../exchange/numpy_dtype.hpp"
#include "../init.hpp"
#include "../support/errors.hpp"
#include "../support/foreign_error.hpp"
#include "../support/interned.hpp"
#include "../support/load_number.hpp"
#include "../support/nb_cast.hpp"
#include "../support/reference.hpp"

#include <entrepot/core/error.hpp>
#include <entrepot/core/small_float.hpp>

#include <nanobind/nanobind.h>

#include <cstring>
#include <limits>

namespace nb = nanobind;

namespace entrepot::python {
namespace {

const Interned dtype_name = "dtype";

template <class T> Scalar bytes_of(T value) {
    Scalar scalar;
    std::memcpy(scalar.bytes.data(), &value, sizeof value);
    scalar.size = sizeof value;
    return scalar;
}

template <class T> Scalar integer_bytes(long long value, Dtype dtype) {
    if (value < static_cast<long long>(std::numeric_limits<T>::min()) ||
        value > static_cast<long long>(std::numeric_limits<T>::max()))
        throw Error(ErrorKind::overflow, value, " does not fit ", dtype);
    return bytes_of(static_cast<T>(value));
}

// Called after a conversion to a C integer failed: replaces Python's OverflowError.
[[noreturn]] void refuse_size(PyObject *index, Dtype dtype) {
    if (!PyErr_ExceptionMatches(PyExc_OverflowError))
        throw PythonError{};
    PyErr_Clear();
    throw Error(ErrorKind::overflow, shown(index), " does not fit ", dtype);
}

Scalar signed_scalar(PyObject *index, Dtype dtype) {
    const long long value = PyLong_AsLongLong(index);
    if (value == -1 && PyErr_Occurred())
        refuse_size(index, dtype);
    switch (dtype.bits) {
    case 8:
        return integer_bytes<std::int8_t>(value, dtype);
    case 16:
        return integer_bytes<std::int16_t>(value, dtype);
    case 32:
        return integer_bytes<std::int32_t>(value, dtype);
    default:
        return bytes_of(static_cast<std::int64_t>(value));
    }
}

Scalar unsigned_scalar(PyObject *index, Dtype dtype) {
    const unsigned long long value = PyLong_AsUnsignedLongLong(index);
    if (value == static_cast<unsigned long long>(-1) && PyErr_Occurred())
        refuse_size(index, dtype);
    if (dtype.bits < 64 && value >> dtype.bits)
        throw Error(ErrorKind::overflow, value, " does not fit ", dtype);
    // little-endian: the low bytes come first
    Scalar scalar = bytes_of(static_cast<std::uint64_t>(value));
    scalar.size = static_cast<std::size_t>(dtype.itemsize());
    return scalar;
}

// Replaces Python's TypeError by one that names the dtype. Other exceptions pass through.
[[noreturn]] void refuse_value(PyObject *value, Dtype dtype, const char *expected) {
    if (!PyErr_ExceptionMatches(PyExc_TypeError))
        throw PythonError{};
    PyErr_Clear();
    throw Error(ErrorKind::type, "a ", Py_TYPE(value)->tp_name, " was given for an element of ",
                dtype, "; pass ", expected);
}

Scalar integer_scalar(PyObject *value, Dtype dtype) {
    const nb::object index = nb::steal(PyNumber_Index(value));
    if (!index.is_valid())
        refuse_value(value, dtype, "an int, as int(value) makes one, or choose a floating dtype");
    return dtype.code == TypeCode::integer ? signed_scalar(index.ptr(), dtype)
                                           : unsigned_scalar(index.ptr(), dtype);
}

Scalar floating_scalar(PyObject *object, Dtype dtype) {
    const double value = PyFloat_AsDouble(object);
    if (value == -1.0 && PyErr_Occurred())
        refuse_value(object, dtype, "a float or an int");
    if (dtype.code == TypeCode::bfloat)
        return bytes_of(BFloat16::encode(value));
    switch (dtype.bits) {
    case 16:
        return bytes_of(Float16::encode(value));
    case 32:
        return bytes_of(static_cast<float>(value));
    default:
        return bytes_of(value);
    }
}

template <class T> Scalar complex_bytes(Py_complex value) {
    const T parts[2] = {static_cast<T>(value.real), static_cast<T>(value.imag)};
    Scalar scalar;
    std::memcpy(scalar.bytes.data(), parts, sizeof parts);
    scalar.size = sizeof parts;
    return scalar;
}

Scalar complex_scalar(PyObject *object, Dtype dtype) {
    const Py_complex value = PyComplex_AsCComplex(object);
    if (value.real == -1.0 && PyErr_Occurred())
        refuse_value(object, dtype, "a number");
    return dtype.bits == 64 ? complex_bytes<float>(value) : complex_bytes<double>(value);
}

Scalar boolean_scalar(PyObject *value) {
    const int truth = PyObject_IsTrue(value);
    if (truth < 0)
        throw PythonError{};
    return bytes_of(static_cast<std::uint8_t>(truth));
}

double floating_number(const std::byte *item, int bits) {
    switch (bits) {
    case 16:
        return Float16::decode(load<std::uint16_t>(item));
    case 32:
        return load<float>(item);
    default:
        return load<double>(item);
    }
}

}  // namespace

Scalar scalar_from(PyObject *value, Dtype dtype) {
    if (const auto *const typed = try_cast<TypedScalar>(value)) {
        if (typed->dtype != dtype)
            throw Error(ErrorKind::type, "a Scalar of ", typed->dtype,
                        " was given for an element of ", dtype);
        return typed->scalar;
    }
    if (dtype.lanes == 1) {
        switch (dtype.code) {
        case TypeCode::boolean:
            return boolean_scalar(value);
        case TypeCode::integer:
        case TypeCode::unsigned_integer:
            return integer_scalar(value, dtype);
        case TypeCode::bfloat:
        case TypeCode::floating:
            return floating_scalar(value, dtype);
        case TypeCode::complex:
            if (dtype.bits >= 64)
                return complex_scalar(value, dtype);
            break;
        default:
            break;
        }
    }
    throw Error(ErrorKind::exchange, "Python has no number for ", dtype,
                ": give the bits, through array.view('uint8') or an array of the same type");
}

Reference number_from(const std::byte *item, Dtype dtype) {
    if (dtype.lanes == 1) {
        const int part = dtype.bits / 2;
        switch (dtype.code) {
        case TypeCode::boolean:
            return Reference::borrow(load<std::uint8_t>(item) ? Py_True : Py_False);
        case TypeCode::integer:
            return checked(PyLong_FromLongLong(load_signed(item, dtype.bits)));
        case TypeCode::unsigned_integer:
            return checked(PyLong_FromUnsignedLongLong(load_unsigned(item, dtype.bits)));
        case TypeCode::bfloat:
            return checked(PyFloat_FromDouble(BFloat16::decode(load<std::uint16_t>(item))));
        case TypeCode::floating:
            return checked(PyFloat_FromDouble(floating_number(item, dtype.bits)));
        case TypeCode::complex:
            return checked(PyComplex_FromDoubles(floating_number(item, part),
                                                 floating_number(item + part / 8, part)));
        default:
            break;
        }
    }
    throw Error(ErrorKind::exchange, "Python has no number for ", dtype,
                "; view the array as an unsigned integer of the same size");
}

bool is_numpy_scalar(PyObject *object) {
    const Reference bases = mro_of(Py_TYPE(object));
    for (Py_ssize_t i = 0; bases && i < PyTuple_GET_SIZE(bases.get()); ++i)
        if (std::strcmp(reinterpret_cast<PyTypeObject *>(PyTuple_GET_ITEM(bases.get(), i))->tp_name,
                        "numpy.generic") == 0)
            return true;
    return false;
}

[[gnu::hot]] std::optional<TypedScalar> typed_scalar_from(PyObject *value) {
    if (const auto *const typed = try_cast<TypedScalar>(value))
        return *typed;
    if (!is_numpy_scalar(value))
        return std::nullopt;
    const Reference descr(PyObject_GetAttr(value, dtype_name));
    if (!descr)
        throw PythonError{};
    const Dtype dtype = numpy_dtype(descr.get());
    return TypedScalar{dtype, scalar_from(value, dtype)};
}

void init_scalar(nb::module_ &m) {
    nb::class_<TypedScalar>(m, "Scalar",
                            "A number with a stated type, for use as a kernel argument.\n\n"
                            "Parameters\n"
                            "----------\n"
                            "value : bool, int, float, complex or Scalar\n"
                            "    The number. A Scalar must be of ``dtype``.\n"
                            "dtype : dtype_like\n"
                            "    The type that the number is stored as.\n\n"
                            "Raises\n"
                            "------\n"
                            "OverflowError\n"
                            "    If the value does not fit the dtype.\n"
                            "TypeError\n"
                            "    If the dtype does not accept it, such as a float for\n"
                            "    integers.\n"
                            "ExchangeError\n"
                            "    If Python has no number for the dtype, such as float8_e5m2.\n\n"
                            "Examples\n"
                            "--------\n"
                            ">>> ep.Scalar(3, \"float32\")\n"
                            "Scalar(3.0, 'float32')\n"
                            ">>> ep.Scalar(1.1, \"float32\").value\n"
                            "1.100000023841858")
        .def(
            "__init__",
            [](TypedScalar *self, nb::handle value, nb::handle dtype) {
                const Dtype type = dtype_from(dtype.ptr());
                new (self) TypedScalar{type, scalar_from(value.ptr(), type)};
            },
            nb::arg("value"), nb::arg("dtype"),
            "Raises OverflowError if the value does not fit the dtype.")
        .def_prop_ro(
            "dtype", [](const TypedScalar &self) { return nb::steal(wrap_dtype(self.dtype)); },
            nb::sig("def dtype(self) -> Dtype"), "The type of the value.")
        .def_prop_ro(
            "value",
            [](const TypedScalar &self) {
                return nb::steal(number_from(self.scalar.bytes.data(), self.dtype).release());
            },
            nb::sig("def value(self) -> bool | int | float | complex"),
            "The number, as the dtype stores it.")
        .def("__repr__", [](const TypedScalar &self) {
            const nb::object value =
                nb::steal(number_from(self.scalar.bytes.data(), self.dtype).release());
            return nb::str("Scalar({!r}, '{}')")
                .format(value, nb::str(name_of(self.dtype).c_str()));
        });
}

}  // namespace entrepot::python
