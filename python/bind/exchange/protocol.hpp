// The protocols as rows of one table: which attribute announces each, how an object is read, in the order in which they are
// tried.
#pragma once
#include <Python.h>

#include <entrepot/array/array.hpp>

#include <optional>

namespace entrepot::python {

// What the consumer wants; part of every import.
struct ImportRequest {
    Queue queue;                // where the consumer will use the memory; none: the array's own default
    bool copy_allowed = false;  // the producer may be asked to copy (`copy=True` tells it to)
    // The Array is used by one operation, which the caller submits next, and is released then. The operation is ordered behind
    // the producer's current stream by itself, so that the import need not be.
    bool for_one_operation = false;
};

struct Protocol {
    const char *name;       // in `protocol=` and in messages
    const char *attribute;  // looked up on the type, and on the instance where the type has none; nullptr: see `probe`
    // Whether objects of the type speak the protocol, where an attribute does not tell (the buffer protocol's slot). nullptr: the
    // attribute does, and `read` begins by looking it up.
    bool (*probe)(PyTypeObject *type);
    // object → Array. nullopt: the object does not speak it after all (AttributeError, NotImplementedError), so that the next
    // one is tried; throws entrepot::Error, or PythonError with an exception already set, where it does and the memory cannot be
    // taken.
    std::optional<Array> (*read)(PyObject *object, const ImportRequest &request);
};

// One row each, defined in the protocol's own file; routes.cpp lists them in order.
extern const Protocol usm_memory_protocol, device_array_protocol, c_exchange_api_protocol, numpy_protocol, cupy_protocol,
    suai_protocol, dlpack_protocol, cai_protocol, buffer_protocol, array_struct_protocol, array_interface_protocol;

// buffer.cpp: of an object with a buffer what that says, whatever else the object speaks. Empty where its elements are of no type
// of ours, as records are; throws Error where they are, and cannot be taken.
std::optional<Array> elements_in_buffer(PyObject *object);

}  // namespace entrepot::python
