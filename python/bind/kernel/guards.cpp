#include "guards.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>

namespace entrepot::python {
namespace {

// Equal numbers and strings are as good as the same.
bool is_same(PyObject *now, PyObject *then) {
    if (now == then)
        return true;
    if (!now || !then || Py_TYPE(now) != Py_TYPE(then))
        return false;
    if (PyFloat_CheckExact(now))  // 0.0 == -0.0, and they are not the same
        return std::bit_cast<std::uint64_t>(PyFloat_AS_DOUBLE(now)) == std::bit_cast<std::uint64_t>(PyFloat_AS_DOUBLE(then));
    if (!PyLong_CheckExact(now) && !PyUnicode_CheckExact(now))
        return false;
    const int equal = PyObject_RichCompareBool(now, then, Py_EQ);
    if (equal < 0)
        throw PythonError{};
    return equal == 1;
}

}  // namespace

void Guards::add(Kind kind, PyObject *where, PyObject *name, PyObject *found) {
    const auto is_known = [&](const Guard &guard) {
        return guard.kind == kind && guard.where.get() == where && guard.name.get() == name;
    };
    if (std::ranges::none_of(guards_, is_known))
        guards_.push_back({kind, Reference::borrow(where), Reference::borrow(name), Reference::borrow(found)});
}

[[gnu::hot]] bool Guards::holds(const Guard &guard) {
    switch (guard.kind) {
    case Kind::name: {
        const Reference now = item_of(guard.where.get(), guard.name.get());
        if (!now && PyErr_Occurred())
            throw PythonError{};
        return is_same(now.get(), guard.found.get());
    }
    case Kind::cell: {
        const Reference now(PyCell_Get(guard.where.get()));  // another thread may put something else there
        return is_same(now.get(), guard.found.get());
    }
    default: {
        const Reference now(PyObject_GetAttr(guard.where.get(), guard.name.get()));
        if (!now)
            PyErr_Clear();  // what it says when the kernel is read again is what the caller sees
        return is_same(now.get(), guard.found.get());
    }
    }
}

int Guards::traverse(visitproc visit, void *arg) const {
    for (const Guard &guard : guards_) {
        Py_VISIT(guard.where.get());
        Py_VISIT(guard.name.get());
        Py_VISIT(guard.found.get());
    }
    return 0;
}

}  // namespace entrepot::python
