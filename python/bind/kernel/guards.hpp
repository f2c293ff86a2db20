// Guards: the objects that a kernel's names referred to when it was read. A launch checks cheaply
// whether they have changed.
//
// Ownership: a guard owns references to the objects that it compares.
// GIL: required by all functions.
#pragma once
#include <Python.h>

#include "../support/reference.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace entrepot::python {

class Guards {
public:
    // Records that looking up the name in the dict gave `found`; nullptr: not present.
    void name(PyObject *dict, PyObject *name, PyObject *found);
    void cell(PyObject *cell, PyObject *found) { add(others_, {Kind::cell, cell, nullptr, found}); }
    void attribute(PyObject *object, PyObject *name, PyObject *found) {
        add(others_, {Kind::attribute, object, name, found});
    }

    // True if all lookups would still give the same objects. Runs Python code only if attributes of
    // the program's own objects were captured.
    //
    // Throws: PythonError
    // Thread safety: none; the caller holds Exclusive of the kernel.
    bool hold() const { return names_hold() && (others_.empty() || all_hold(others_)); }

    int traverse(visitproc visit, void *arg) const;

private:
    enum class Kind : unsigned char { name, cell, attribute };
    struct Guard {
        Kind kind;
        Reference where, name, found;

        Guard(Kind of, PyObject *in, PyObject *called, PyObject *was)
            : kind(of), where(Reference::borrow(in)), name(Reference::borrow(called)),
              found(Reference::borrow(was)) {}
    };
    // A dict in which `names_` were looked up, and its version when all of them last held. Borrowed
    // from the guards of its names.
    struct Dict {
        PyObject *dict;
        mutable std::uint64_t version = 0;
    };

    static void add(std::vector<Guard> &guards, Guard guard);
    static bool holds(const Guard &guard);
    static bool all_hold(const std::vector<Guard> &guards) {
        return std::ranges::all_of(guards, holds);
    }
    bool names_hold() const;
    bool look_up() const;

    std::vector<Guard> names_, others_;
    std::vector<Dict> dicts_;
};

}  // namespace entrepot::python
