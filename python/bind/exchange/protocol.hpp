// The exchange protocols as rows of a table: the attribute that announces each protocol and the
// function that reads an object. The table's order is the order in which they are tried.
#pragma once
#include <Python.h>

#include <entrepot/array/array.hpp>

#include <optional>

namespace entrepot::python {

// The consumer's requirements; passed to every import.
struct ImportRequest {
    Queue queue;                // the queue that will use the memory; empty: the default queue
    bool copy_allowed = false;  // the producer may copy (passed to it as `copy=True`)
    // The caller uses the Array in one operation, which it submits next, and then releases it. The
    // operation itself waits for the producer's current stream, so the import does not.
    bool for_one_operation = false;
};

struct Protocol {
    const char *name;       // in `protocol=` and in messages
    const char *attribute;  // looked up on the type, then on the instance; nullptr: see `probe`
    // Returns true if objects of the type support the protocol. Only for
    // protocols that no attribute announces (the buffer protocol's slot).
    // nullptr: `read` starts by looking the attribute up.
    bool (*probe)(PyTypeObject *type);
    // Imports the object.
    // Returns: nullopt if the object does not support the protocol after all (AttributeError,
    //          NotImplementedError); the caller then tries the next protocol.
    // Throws: Error, or PythonError with an exception set, if the memory cannot be imported.
    std::optional<Array> (*read)(PyObject *object, const ImportRequest &request);
};

// One row for each protocol, defined in the protocol's file. routes.cpp lists them in order.
extern const Protocol usm_memory_protocol, device_array_protocol, c_exchange_api_protocol,
    numpy_protocol, cupy_protocol, suai_protocol, dlpack_protocol, cai_protocol, buffer_protocol,
    array_struct_protocol, array_interface_protocol;

// Defined in buffer.cpp: imports an object by its buffer, whatever other protocols it supports.
// Returns: nullopt if the elements have no Dtype, such as records.
// Throws: Error if the elements have a Dtype but the memory cannot be imported.
std::optional<Array> elements_in_buffer(PyObject *object);

}  // namespace entrepot::python
