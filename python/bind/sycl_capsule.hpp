// SYCL objects in capsules, as dpctl's programs hand them around: one holds a sycl::queue or a sycl::context for one consumer.
#pragma once
#include <Python.h>

#include "reference.hpp"

namespace entrepot::python {

struct SyclCapsuleName {
    const char *fresh;
    const char *used;
};
inline constexpr SyclCapsuleName queue_capsule{"SyclQueueRef", "used_SyclQueueRef"};
inline constexpr SyclCapsuleName context_capsule{"SyclContextRef", "used_SyclContextRef"};

// That of the caller, which is used up by who takes its object in, or a new one that the caller's object made.
class SyclCapsule {
public:
    SyclCapsule() noexcept = default;
    SyclCapsule(Reference capsule, bool is_callers) noexcept;

    PyObject *object() const noexcept { return capsule_.get(); }  // nullptr: there was none
    bool is_queue() const noexcept { return name_ == &queue_capsule; }
    bool is_context() const noexcept { return name_ == &context_capsule; }
    void *pointer() const noexcept { return pointer_; }  // of either
    bool is_used_up() const noexcept;                    // a capsule of either sort that has served its consumer
    const char *name_text() const noexcept;              // of whatever capsule it is; "" where it has no name
    bool mark_used() const noexcept;                     // false: another thread that came with it has been served meanwhile

private:
    Reference capsule_;
    const SyclCapsuleName *name_ = nullptr;  // nullptr: a capsule of something else
    void *pointer_ = nullptr;
    bool is_callers_ = false;
};

// The capsule that the object is or that its _get_capsule() gives; none where it is none and has no such method.
// Throws PythonError with what the method raised, TypeError where it gave something else.
SyclCapsule find_sycl_capsule(PyObject *object);

}  // namespace entrepot::python
