#include "sycl_capsule.hpp"

#include "exchange/foreign_error.hpp"
#include "exchange/interface_dict.hpp"

#include <cstring>
#include <utility>

namespace entrepot::python {
namespace {

constexpr const SyclCapsuleName *names[] = {&queue_capsule, &context_capsule};

}  // namespace

SyclCapsule::SyclCapsule(Reference capsule, bool is_callers) noexcept : capsule_(std::move(capsule)), is_callers_(is_callers) {
    for (const SyclCapsuleName *const name : names)
        if (PyCapsule_IsValid(capsule_.get(), name->fresh))
            name_ = name;
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

// One that the caller's object made is nobody else's and need not be marked; another thread may have marked it meanwhile.
void SyclCapsule::mark_used() const noexcept {
    if (name_ && is_callers_ && PyCapsule_IsValid(capsule_.get(), name_->fresh))
        PyCapsule_SetName(capsule_.get(), name_->used);
}

SyclCapsule find_sycl_capsule(PyObject *object) {
    if (PyCapsule_CheckExact(object))
        return {Reference::borrow(object), true};
    static PyObject *const name = PyUnicode_InternFromString("_get_capsule");
    const Reference method = find_attribute(object, name);
    if (!method)
        return {};
    Reference capsule = checked(PyObject_CallNoArgs(method.get()));
    if (!PyCapsule_CheckExact(capsule.get()))
        throw Error(ErrorKind::type, Py_TYPE(object)->tp_name, "._get_capsule() returned ", shown(capsule.get()),
                    ", which is no capsule");
    return {std::move(capsule), false};
}

}  // namespace entrepot::python
