// The `syclobj` of SUAI: the context that memory is bound to, in any of the six forms that the specification has.
#pragma once
#include "../sycl_capsule.hpp"

#include <entrepot/device/queue.hpp>

namespace entrepot::python {

struct SyclObject {
    Context context;
    Queue queue;          // of the forms that are a queue; none of the others
    SyclCapsule capsule;  // of the forms that have one: to be marked as used once the import has succeeded

    // Throws InterfaceError where another thread that came with the capsule has been served meanwhile.
    void mark_used() const;
};

// A filter selector (its device's default context), a queue or context (ours or dpctl's), a capsule "SyclQueueRef" or
// "SyclContextRef", or any object whose _get_capsule() gives one. Throws InterfaceError for anything else, DeviceError where
// there is no SYCL runtime.
SyclObject sycl_object_from(PyObject *object);

}  // namespace entrepot::python
