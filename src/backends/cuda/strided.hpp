// Strided copies and fills: what is left of a box once it is planned (backends/walk.hpp) is a copy of rows by the driver, or is
// walked by a kernel.
#pragma once
#include "backends/cuda/native.hpp"

namespace entrepot::backends::cuda {

// Hand a walk to the stream, whose context is current; a copy is not contiguous.
void submit_copy(Queue &queue, CUstream stream, const Walk &walk);
void submit_fill(Queue &queue, CUstream stream, const Walk &walk, const Fill::Value &value);

}  // namespace entrepot::backends::cuda
