// The `syclobj` of SUAI: the context of the memory, in any of the six forms of the specification.
#pragma once
#include "../device/sycl_capsule.hpp"

#include <entrepot/device/queue.hpp>

namespace entrepot::python {

struct SyclObject {
    Context context;
    Queue queue;  // empty unless the form is a queue
    // empty unless the form has one; marked as used once the import has succeeded
    SyclCapsule capsule;

    // Throws InterfaceError if another thread has used the capsule meanwhile.
    void mark_used() const;
};

// Accepts:
// - a filter selector, for its device's default context;
// - a queue or context, Entrepot's or dpctl's;
// - a capsule "SyclQueueRef" or "SyclContextRef", or an object whose _get_capsule() returns one.
// Throws: InterfaceError for any other object, DeviceError if there is no SYCL runtime.
SyclObject sycl_object_from(PyObject *object);

}  // namespace entrepot::python
