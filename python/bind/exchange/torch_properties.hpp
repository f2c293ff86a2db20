// Properties of a torch.Tensor that its bytes do not show: gradients, lazy
// negation and conjugation.
#pragma once
#include <Python.h>

#include <entrepot/core/dtype.hpp>

namespace entrepot::python {

// Refuses tensors whose bytes are not their values: PyTorch's exchange functions do not check this.
// Requires: `tensor` is exactly a torch.Tensor.
// Throws: ExchangeError naming the call that resolves it.
void require_plain_tensor(PyObject *tensor, TypeCode code);

}  // namespace entrepot::python
