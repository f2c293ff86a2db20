#include "sycl_capsule.hpp"

#include "../support/attribute.hpp"
#include "../support/foreign_error.hpp"
#include "../support/gil.hpp"
#include "../support/interned.hpp"

#include <cstring>
#include <utility>

namespace entrepot::python {
namespace {

const Interned get_capsule = "_get_capsule";

constexpr const SyclCapsuleName *names[] = {&queue_capsule, &context_capsule};

}  // namespace

SyclCapsule::SyclCapsule(Reference capsule, bool is_callers) noexcept
    : capsule_(std::move(capsule)), is_callers_(is_callers) {
    const Exclusive exclusive(capsule_.get());
    for (const SyclCapsuleName *const name : names)
        if (PyCapsule_IsValid(capsule_.get(), name->fresh)) {
            name_ = name;
            pointer_ = PyCapsule_GetPointer(capsule_.get(), name->fresh);
        }
}

const char *SyclCapsule::name_text() const noexcept {
    const char *const name = PyCapsule_GetName(capsule_.get());
    PyErr_Clear();
    return name ? name : "";
}

bool SyclCapsule::is_used_up() const noexcept {
    for (const SyclCapsuleName *const name : names)
        if (std::strcmp(name_text(), name->used) == 0)
            return true;
    return false;
}

// A capsule from _get_capsule() was made for this call, so marking it is not necessary.
bool SyclCapsule::mark_used() const noexcept {
    if (!name_ || !is_callers_)
        return true;
    const Exclusive exclusive(capsule_.get());
    return PyCapsule_IsValid(capsule_.get(), name_->fresh) &&
           PyCapsule_SetName(capsule_.get(), name_->used) == 0;
}

SyclCapsule find_sycl_capsule(PyObject *object) {
    if (PyCapsule_CheckExact(object))
        return {Reference::borrow(object), true};
    const Reference method = find_attribute(object, get_capsule);
    if (!method)
        return {};
    Reference capsule = checked(PyObject_CallNoArgs(method.get()));
    if (!PyCapsule_CheckExact(capsule.get()))
        throw Error(ErrorKind::type, Py_TYPE(object)->tp_name, "._get_capsule() returned ",
                    shown(capsule.get()), ", which is no capsule");
    return {std::move(capsule), false};
}

}  // namespace entrepot::python
