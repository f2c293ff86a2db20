// Interned: names of attributes and keywords as Python strings, created while
// the module is imported.
#pragma once
#include <Python.h>

#include <stdexcept>
#include <string>

namespace entrepot::python {

// Declare at namespace scope. A static object in a function does not work:
// threads that wait for its initialization stay attached to the interpreter.
// In a free-threaded build, the thread that interns the string may have to
// wait until all attached threads have stopped, which would deadlock.
class Interned {
public:
    Interned(const char *text) : text_(text), next_(first) {
        if (are_made)
            throw std::logic_error(std::string("'") + text +
                                   "' would never be interned: declare it at namespace scope");
        first = this;
    }
    Interned(const Interned &) = delete;
    Interned &operator=(const Interned &) = delete;

    const char *text() const noexcept { return text_; }
    operator PyObject *() const noexcept { return object_; }  // borrowed, immortal

    // Returns false with an exception set on failure.
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
