// Scalars by value: Python numbers as the bytes of a dtype, and numbers that have a dtype.
#pragma once
#include <Python.h>

#include <entrepot/array/launch.hpp>
#include <entrepot/core/dtype.hpp>

#include "../support/reference.hpp"

#include <cstddef>
#include <optional>

namespace entrepot::python {

// The bytes of `value` as an element of the dtype.
// Throws: OverflowError for an integer out of range. TypeError for a value of the wrong kind, such
//         as a float for an integer dtype. ExchangeError for a dtype without a Python number.
Scalar scalar_from(PyObject *value, Dtype dtype);

// An element of the dtype as a Python bool, int, float or complex. Throws ExchangeError for a dtype
// without a Python number.
Reference number_from(const std::byte *item, Dtype dtype);

// A number with a dtype: an entrepot.Scalar or a NumPy scalar.
struct TypedScalar {
    Dtype dtype;
    Scalar scalar;
};
// nullopt for objects without a dtype. Throws ExchangeError for NumPy scalars that are not numbers.
std::optional<TypedScalar> typed_scalar_from(PyObject *value);

// True for NumPy scalars, including those of ml_dtypes. False for arrays,
// which have a dtype as well.
bool is_numpy_scalar(PyObject *object);

}  // namespace entrepot::python
