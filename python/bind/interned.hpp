// Interned: names of attributes and keywords as Python strings, all made while the module is imported.
#pragma once
#include <Python.h>

#include <stdexcept>
#include <string>

namespace entrepot::python {

// Declared at namespace scope. Not made by the initialisation of a function's static object, as that is: threads that wait for
// one go on counting as threads that run Python, and where there is no GIL, the one that makes a string may have to wait until
// all of those have stopped.
class Interned {
public:
    Interned(const char *text) : text_(text), next_(first) {
        if (are_made)
            throw std::logic_error(std::string("'") + text + "' would never be interned: declare it at namespace scope");
        first = this;
    }
    Interned(const Interned &) = delete;
    Interned &operator=(const Interned &) = delete;

    const char *text() const noexcept { return text_; }
    operator PyObject *() const noexcept { return object_; }  // borrowed, and never let go of

    // False with an exception set where that fails.
    static bool make_all() noexcept {
        for (Interned *each = first; each; each = each->next_)
            if (!each->object_ && !(each->object_ = PyUnicode_InternFromString(each->text_)))
                return false;
        return are_made = true;
    }

private:
    static inline constinit Interned *first = nullptr;
    static inline constinit bool are_made = false;

    PyObject *object_ = nullptr;
    const char *text_;
    Interned *next_;
};

}  // namespace entrepot::python
