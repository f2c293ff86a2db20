// Parameters: assigns the positional and keyword arguments of a call to a function's parameters.
// Used where CPython's parser is too slow because it creates a tuple and a dict first.
#pragma once
#include <Python.h>

#include "errors.hpp"
#include "interned.hpp"

#include <array>
#include <cstddef>
#include <string>
#include <utility>

namespace entrepot::python {

// Declare at namespace scope, because it contains Interned objects.
template <std::size_t Count> class Parameters {
public:
    using Values = std::array<PyObject *, Count>;  // borrowed; nullptr if not given

    // The first `positional` parameters accept positional arguments, the first `required` have no
    // default, and the first `unnamed` are positional-only.
    Parameters(const char *function, std::size_t positional, std::size_t required,
               const char *const (&names)[Count], std::size_t unnamed = 0)
        : Parameters(function, positional, required, unnamed, names,
                     std::make_index_sequence<Count>()) {}

    // Reads the arguments of a METH_FASTCALL | METH_KEYWORDS function.
    // Throws: TypeError for too many, unknown, duplicate or missing arguments.
    Values read(PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) const {
        Values values = read_positional(args, static_cast<std::size_t>(nargs));
        const Py_ssize_t count = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
        for (Py_ssize_t i = 0; i < count; ++i)
            set(values, PyTuple_GET_ITEM(kwnames, i), args[nargs + i]);
        check_required(values);
        return values;
    }

    // Reads a tuple and a dict, as tp_new and tp_init get them. `kwargs` may be nullptr.
    Values read(PyObject *args, PyObject *kwargs) const {
        Values values = read_positional(&PyTuple_GET_ITEM(args, 0),
                                        static_cast<std::size_t>(PyTuple_GET_SIZE(args)));
        add_named(values, kwargs);
        check_required(values);
        return values;
    }

private:
    template <std::size_t... i>
    Parameters(const char *function, std::size_t positional, std::size_t required,
               std::size_t unnamed, const char *const (&names)[Count], std::index_sequence<i...>)
        : function_(function), positional_(positional), required_(required), unnamed_(unnamed),
          names_{names[i]...} {}

    Values read_positional(PyObject *const *args, std::size_t count) const {
        if (count > positional_) [[unlikely]]
            refuse_positional(count);
        Values values{};
        for (std::size_t i = 0; i < count; ++i)
            values[i] = args[i];
        return values;
    }

    void add_named(Values &values, PyObject *kwargs) const {
        PyObject *name = nullptr, *value = nullptr;
        for (Py_ssize_t position = 0; kwargs && PyDict_Next(kwargs, &position, &name, &value);)
            set(values, name, value);
    }

    void set(Values &values, PyObject *name, PyObject *value) const {
        const std::size_t found = find(name);
        if (values[found]) [[unlikely]]
            throw Error(ErrorKind::type, function_, "() got '", text_of(found),
                        "' by position and by name");
        values[found] = value;
    }

    // Keyword names are usually interned, so comparing addresses is the fast path.
    std::size_t find(PyObject *name) const {
        for (std::size_t i = unnamed_; i < Count; ++i)
            if (names_[i] == name) [[likely]]
                return i;
        return find_by_value(name);
    }

    [[gnu::noinline]] std::size_t find_by_value(PyObject *name) const {
        if (!PyUnicode_Check(name))  // f(**{1: 2}), which slots do not reject themselves
            throw Error(ErrorKind::type, function_, "(): keywords must be strings, not ",
                        Py_TYPE(name)->tp_name);
        for (std::size_t i = unnamed_; i < Count; ++i)
            if (PyUnicode_Compare(names_[i], name) == 0)
                return i;
        const char *const text = PyUnicode_AsUTF8(name);
        if (!text)
            throw PythonError{};
        throw Error(ErrorKind::type, function_, "() got an unexpected keyword argument '", text,
                    "'; it takes ", listed(unnamed_));
    }

    void check_required(const Values &values) const {
        for (std::size_t i = 0; i < required_; ++i)
            if (!values[i]) [[unlikely]]
                throw Error(ErrorKind::type, function_, "() is missing its argument '", text_of(i),
                            "'; it takes ", listed(0));
    }

    [[noreturn, gnu::noinline]] void refuse_positional(std::size_t count) const {
        throw Error(ErrorKind::type, function_, "() takes ", positional_, " positional argument",
                    positional_ == 1 ? "" : "s", " but ", count, " were given",
                    positional_ < Count ? "; by name it takes " : "", listed(positional_));
    }

    const char *text_of(std::size_t i) const { return names_[i].text(); }

    std::string listed(std::size_t first) const {
        std::string list;
        for (std::size_t i = first; i < Count; ++i)
            list += std::string(list.empty() ? "" : ", ") + text_of(i);
        return list;
    }

    const char *function_;
    std::size_t positional_, required_, unnamed_;
    std::array<Interned, Count> names_;
};

template <std::size_t Count>
Parameters(const char *, std::size_t, std::size_t, const char *const (&)[Count])
    -> Parameters<Count>;

// Casts a METH_FASTCALL | METH_KEYWORDS function to the type that PyMethodDef requires.
inline PyCFunction with_keywords(PyObject *(*function)(PyObject *, PyObject *const *, Py_ssize_t,
                                                       PyObject *)) noexcept {
    return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

// Maps None to nullptr, so that None means "not given".
inline PyObject *unless_none(PyObject *value) noexcept {
    return value == Py_None ? nullptr : value;
}

// True if the object is given and true. Throws PythonError if its __bool__ raises.
inline bool is_true(PyObject *object) {
    const int truth = object ? PyObject_IsTrue(object) : 0;
    if (truth < 0)
        throw PythonError{};
    return truth == 1;
}

}  // namespace entrepot::python
