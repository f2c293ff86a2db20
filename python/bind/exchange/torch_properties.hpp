// What a torch.Tensor is besides its bytes: gradients, and signs and conjugations that are put off.
#pragma once
#include <Python.h>

#include <entrepot/core/dtype.hpp>

namespace entrepot::python {

// PyTorch's exchange functions give out the bytes as they are; unasked, values would silently be wrong. `tensor` is exactly a
// torch.Tensor. Throws ExchangeError naming the call that resolves it.
void require_plain_tensor(PyObject *tensor, TypeCode code);

}  // namespace entrepot::python
