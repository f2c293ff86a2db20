#include "guards.hpp"

#include <entrepot/core/small_vector.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace entrepot::python {
namespace {

// Equal numbers and strings count as the same object.
bool is_same(PyObject *now, PyObject *then) {
    if (now == then)
        return true;
    if (!now || !then || Py_TYPE(now) != Py_TYPE(then))
        return false;
    if (PyFloat_CheckExact(now))  // 0.0 == -0.0, but they differ
        return std::bit_cast<std::uint64_t>(PyFloat_AS_DOUBLE(now)) ==
               std::bit_cast<std::uint64_t>(PyFloat_AS_DOUBLE(then));
    if (!PyLong_CheckExact(now) && !PyUnicode_CheckExact(now))
        return false;
    const int equal = PyObject_RichCompareBool(now, then, Py_EQ);
    if (equal < 0)
        throw PythonError{};
    return equal == 1;
}

// Version number that changes with every change of the dict; 0 if the interpreter has none (CPython
// from 3.13 on).
std::uint64_t version_of(PyObject *dict) noexcept {
#if PY_VERSION_HEX < 0x030D0000
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    return reinterpret_cast<PyDictObject *>(dict)->ma_version_tag;
#pragma GCC diagnostic pop
#else
    (void)dict;
    return 0;
#endif
}

}  // namespace

void Guards::name(PyObject *dict, PyObject *name, PyObject *found) {
    add(names_, {Kind::name, dict, name, found});
    if (std::ranges::find(dicts_, dict, &Dict::dict) == dicts_.end())
        dicts_.push_back({dict});
}

void Guards::add(std::vector<Guard> &guards, Guard guard) {
    const auto is_the_same = [&](const Guard &other) {
        return other.kind == guard.kind && other.where.get() == guard.where.get() &&
               other.name.get() == guard.name.get();
    };
    if (std::ranges::none_of(guards, is_the_same))
        guards.push_back(std::move(guard));
}

[[gnu::hot]] bool Guards::names_hold() const {
    const auto is_unchanged = [](const Dict &each) {
        return each.version != 0 && version_of(each.dict) == each.version;
    };
    return std::ranges::all_of(dicts_, is_unchanged) || look_up();
}

// Versions are read before the lookups, so that a dict that changes meanwhile is checked again.
[[gnu::noinline]] bool Guards::look_up() const {
    SmallVector<std::uint64_t, 4> versions(dicts_.size());
    for (const Dict &each : dicts_)
        versions.emplace_back(version_of(each.dict));
    if (!all_hold(names_))
        return false;
    for (std::size_t i = 0; i < dicts_.size(); ++i)
        dicts_[i].version = versions[i];
    return true;
}

bool Guards::holds(const Guard &guard) {
    switch (guard.kind) {
    case Kind::name: {
        const Reference now = item_of(guard.where.get(), guard.name.get());
        if (!now && PyErr_Occurred())
            throw PythonError{};
        return is_same(now.get(), guard.found.get());
    }
    case Kind::cell: {
        const Reference now(PyCell_Get(guard.where.get()));  // another thread may replace it
        return is_same(now.get(), guard.found.get());
    }
    default: {
        const Reference now(PyObject_GetAttr(guard.where.get(), guard.name.get()));
        if (!now)
            PyErr_Clear();  // reading the kernel again reports the error to the caller
        return is_same(now.get(), guard.found.get());
    }
    }
}

int Guards::traverse(visitproc visit, void *arg) const {
    for (const std::vector<Guard> *guards : {&names_, &others_}) {
        for (const Guard &guard : *guards) {
            Py_VISIT(guard.where.get());
            Py_VISIT(guard.name.get());
            Py_VISIT(guard.found.get());
        }
    }
    return 0;
}

}  // namespace entrepot::python
