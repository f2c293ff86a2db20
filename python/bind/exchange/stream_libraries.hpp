// Stream libraries of Python: which library's current stream orders the memory of a foreign object.
//
// A library is identified by the class of its arrays: PyTorch by DLPack's function table on
// torch.Tensor, CuPy by cupy.ndarray. Their subclasses belong to the same library.
#pragma once
#include <Python.h>

#include "../support/reference.hpp"

#include <entrepot/array/array.hpp>

#include <optional>

namespace entrepot::python {

// Returns: the number of the stream library whose arrays are of the type; nullopt if there is no
//          such library.
// GIL: required.
std::optional<unsigned> library_of(PyTypeObject *type);

// c_exchange_api.cpp: same, for exactly the type that publishes a function table.
std::optional<unsigned> library_of_producer(PyTypeObject *type);
// cupy_array.cpp: CuPy's number; nullopt if CuPy is not imported or exports
// no function for its stream.
std::optional<unsigned> library_of_cupy();

// cupy_array.cpp: CuPy's object of this thread's current stream, for objects that hold `queue`
// after the call that asked for it. Empty if `queue` is another stream. CuPy's ExternalStream does
// not own its stream, so keeping it alive does not keep the stream alive. GIL: required.
Reference current_stream_object_of_cupy(const Queue &queue);

// Registers the stream libraries that have been imported meanwhile. Called before memory of the
// device is exported, so that later work is ordered with their streams even if none of their arrays
// was seen. GIL: required.
void register_imported_libraries(const Device &device);

}  // namespace entrepot::python
