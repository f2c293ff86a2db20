// Getter: reads an attribute that another extension's class computes in C,
// without repeating the attribute lookup.
#pragma once
#include <Python.h>

#include "reference.hpp"
#include "type_version.hpp"

namespace entrepot::python {

// Monomorphic inline cache with the key (type, tp_version_tag). Declare it ENTREPOT_GIL_GUARDED.
class Getter {
public:
    // Same result and effects as PyObject_GetAttr: a new reference, or
    // nullptr with an exception set.
    PyObject *operator()(PyObject *object, PyObject *name) {
        if (reinterpret_cast<PyObject *>(Py_TYPE(object)) == type_.get() &&
            version_of(Py_TYPE(object)) == version_) [[likely]]
            return getter_->get(object, getter_->closure);
        return look_up(object, name);
    }

private:
    PyObject *look_up(PyObject *object, PyObject *name) {
        const Reference value(PyObject_GetAttr(object, name));  // assigns the type a version tag
        if (value)
            remember(Py_TYPE(object), name);
        return Py_XNewRef(value.get());
    }

    // A getset descriptor is a data descriptor: it precedes the instance dict, so that is not
    // checked. Releasing the old type may run Python code that calls this cache for another type.
    // Hence the version is invalid while the members change.
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
    const PyGetSetDef *getter_ = nullptr;  // part of the descriptor
    static constexpr unsigned none = ~0u;  // never returned by version_of
    unsigned version_ = none;
};

}  // namespace entrepot::python
