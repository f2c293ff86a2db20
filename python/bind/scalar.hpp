// Scalars by value: a Python number as the bytes of a dtype, and values that state their own type.
#pragma once
#include <Python.h>

#include <entrepot/array/launch.hpp>
#include <entrepot/core/dtype.hpp>

#include "reference.hpp"

#include <cstddef>
#include <optional>

namespace entrepot::python {

// The bytes of `value` as an element of that type. Throws OverflowError for an integer out of range, TypeError for a value
// that is no number of the type's kind (a float for an integer type), ExchangeError for types that Python has no number for.
Scalar scalar_from(PyObject *value, Dtype dtype);

// An element of that type as Python's bool, int, float or complex. Throws ExchangeError for types that Python has no number for.
Reference number_from(const std::byte *item, Dtype dtype);

// A number whose type is stated: entrepot.Scalar, and NumPy's scalars.
struct TypedScalar {
    Dtype dtype;
    Scalar scalar;
};
// nullopt for what does not say its type. Throws ExchangeError for NumPy's scalars that are no numbers.
std::optional<TypedScalar> typed_scalar_from(PyObject *value);

// NumPy's scalars, and those that ml_dtypes adds to them. Its arrays have a dtype too, and are arrays.
bool is_numpy_scalar(PyObject *object);

}  // namespace entrepot::python
