// Getter: an attribute that a class of another extension computes in C, without the look-up that finds the C function anew.
#pragma once
#include <Python.h>

#include "reference.hpp"
#include "type_version.hpp"

namespace entrepot::python {

// Of the class that it was asked for last, for as long as nobody changes that: what CPython's own caches go by, the version of
// the class, is looked at each time. To be declared ENTREPOT_GIL_GUARDED.
class Getter {
public:
    // A new reference; nullptr with an exception set. As PyObject_GetAttr, in all that it gives and does.
    PyObject *operator()(PyObject *object, PyObject *name) {
        if (reinterpret_cast<PyObject *>(Py_TYPE(object)) == type_.get() && version_of(Py_TYPE(object)) == version_) [[likely]]
            return getter_->get(object, getter_->closure);
        return look_up(object, name);
    }

private:
    PyObject *look_up(PyObject *object, PyObject *name) {
        const Reference value(PyObject_GetAttr(object, name));  // which gives the class a version, if it had none
        if (value)
            remember(Py_TYPE(object), name);
        return Py_XNewRef(value.get());
    }

    // A property made in C comes before whatever the object itself has of that name, which therefore need not be looked at.
    // Letting go of the old class may run Python code, which may come here for another one: the version fits that, or none.
    void remember(PyTypeObject *type, PyObject *name) {
        const unsigned version = version_of(type);
        const Reference found(PyObject_GetAttr(reinterpret_cast<PyObject *>(type), name));
        PyErr_Clear();
        if (version == 0 || type->tp_getattro != PyObject_GenericGetAttr || !found ||
            !Py_IS_TYPE(found.get(), &PyGetSetDescr_Type))
            return;
        auto *const descriptor = reinterpret_cast<PyGetSetDescrObject *>(found.get());
        if (!descriptor->d_getset->get || !PyType_IsSubtype(type, descriptor->d_common.d_type))
            return;
        version_ = none;
        type_.replace(reinterpret_cast<PyObject *>(type));
        descriptor_.replace(found.get());
        getter_ = descriptor->d_getset;
        version_ = version;
    }

    CachedReference type_, descriptor_;
    const PyGetSetDef *getter_ = nullptr;  // of the descriptor
    static constexpr unsigned none = ~0u;  // which version_of never gives
    unsigned version_ = none;
};

}  // namespace entrepot::python
