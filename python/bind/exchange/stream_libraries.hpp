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

// For objects that hold `queue` after the call that asked for it.
//
// Returns: an owner that keeps the stream of `queue` alive. Empty if the stream is never destroyed,
//          or is neither named by the memory's owner nor CuPy's current one. CuPy's ExternalStream
//          does not own its stream, so keeping it alive does not keep the stream alive.
// Requires: `queue` is the present answer of array.queue().
// GIL: optional; acquired if CuPy has to be asked.
Owner owner_of_stream(const Array &array, const Queue &queue);
// cupy_array.cpp: CuPy's object of the current stream; empty if `queue` is another stream.
// GIL: required.
Reference current_stream_object_of_cupy(const Queue &queue);

// Registers the stream libraries that have been imported meanwhile. Called before memory of the
// device is exported, so that later work is ordered with their streams even if none of their arrays
// was seen. GIL: required.
void register_imported_libraries(const Device &device);

}  // namespace entrepot::python
