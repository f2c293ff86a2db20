// SYCL objects in capsules, the convention of dpctl: a capsule passes one sycl::queue or
// sycl::context to one consumer.
#pragma once
#include <Python.h>

#include "../support/reference.hpp"

namespace entrepot::python {

struct SyclCapsuleName {
    const char *fresh;
    const char *used;
};
inline constexpr SyclCapsuleName queue_capsule{"SyclQueueRef", "used_SyclQueueRef"};
inline constexpr SyclCapsuleName context_capsule{"SyclContextRef", "used_SyclContextRef"};

// A capsule that the caller passed, which its consumer marks as used, or a new one that the
// caller's object created.
class SyclCapsule {
public:
    SyclCapsule() noexcept = default;
    SyclCapsule(Reference capsule, bool is_callers) noexcept;

    PyObject *object() const noexcept { return capsule_.get(); }  // nullptr: no capsule
    bool is_queue() const noexcept { return name_ == &queue_capsule; }
    bool is_context() const noexcept { return name_ == &context_capsule; }
    void *pointer() const noexcept { return pointer_; }  // the queue or context
    bool is_used_up() const noexcept;                    // true if a consumer has marked it as used
    const char *name_text() const noexcept;              // name of any capsule; "" if it has none
    bool mark_used() const noexcept;                     // false if another thread was first

private:
    Reference capsule_;
    const SyclCapsuleName *name_ = nullptr;  // nullptr: a capsule of another kind
    void *pointer_ = nullptr;
    bool is_callers_ = false;
};

// The object itself if it is a capsule, otherwise the result of its _get_capsule(); empty if it has
// no such method.
// Throws: PythonError if the method raised, TypeError if it returned something else.
SyclCapsule find_sycl_capsule(PyObject *object);

}  // namespace entrepot::python
