// Guards: which objects a kernel found in its surroundings, so that a launch knows cheaply whether it would find others now.
#pragma once
#include <Python.h>

#include "../reference.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace entrepot::python {

class Guards {
public:
    // The name was looked up in the dict and found to be `found`; nullptr: it was not there.
    void name(PyObject *dict, PyObject *name, PyObject *found) { add(Kind::name, dict, name, found); }
    void cell(PyObject *cell, PyObject *found) { add(Kind::cell, cell, nullptr, found); }
    void attribute(PyObject *object, PyObject *name, PyObject *found) { add(Kind::attribute, object, name, found); }

    // Whether everything is as it was found. Runs Python code only where attributes of the program's own objects were captured.
    bool hold() const {
        for (const Guard &guard : guards_)
            if (!holds(guard)) [[unlikely]]
                return false;
        return true;
    }

    int traverse(visitproc visit, void *arg) const;
    void clear() { guards_.clear(); }

private:
    enum class Kind : unsigned char { name, cell, attribute };
    struct Guard {
        Kind kind;
        Reference where, name, found;
    };
    void add(Kind kind, PyObject *where, PyObject *name, PyObject *found);
    static bool holds(const Guard &guard);

    std::vector<Guard> guards_;
};

}  // namespace entrepot::python
