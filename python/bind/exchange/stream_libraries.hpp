// Stream libraries of Python: which library's current stream orders the memory of a foreign object.
//
// A library is known by the class of its arrays: PyTorch by DLPack's function table on torch.Tensor, CuPy by cupy.ndarray. Their
// subclasses belong to the same library.
#pragma once
#include <Python.h>

#include <entrepot/array/array.hpp>

#include <optional>

namespace entrepot::python {

// Returns: the number of the stream library whose arrays are of the type; nullopt if it is of no such library.
// GIL: required.
std::optional<unsigned> library_of(PyTypeObject *type);

// c_exchange_api.cpp: the same for exactly the type that publishes a function table.
std::optional<unsigned> library_of_producer(PyTypeObject *type);
// cupy_array.cpp: CuPy's number; nullopt if CuPy is not imported, or publishes no function for its current stream.
std::optional<unsigned> library_of_cupy();

// Before an export of memory of the device: registers the libraries that have been imported since, so that later work on the
// memory is ordered with their streams though no array of theirs has come in yet. GIL: required.
void register_imported_libraries(const Device &device);

}  // namespace entrepot::python
