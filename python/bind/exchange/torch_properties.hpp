// Properties of a torch.Tensor that its bytes do not show: gradients, lazy
// negation and conjugation.
#pragma once
#include <Python.h>

#include <entrepot/core/dtype.hpp>

namespace entrepot::python {

// Refuses a tensor with such a property. PyTorch's exchange functions export its bytes without a
// check, so that values would silently be wrong.
// Requires: `tensor` is exactly a torch.Tensor.
// Throws: ExchangeError naming the call that resolves it.
void require_plain_tensor(PyObject *tensor, TypeCode code);

}  // namespace entrepot::python
