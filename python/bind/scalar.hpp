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

// NumPy's scalars, ctypes instances (structures too), and entrepot.Scalar: what says its own type. nullopt for the rest.
std::optional<Scalar> typed_scalar_from(PyObject *value);

}  // namespace entrepot::python
