// Parameters: the names of a function's arguments, by which the values of a call are told apart. For the functions that are
// called too often for CPython's own parser, which makes a tuple and a dict first.
#pragma once
#include <Python.h>

#include "errors.hpp"
#include "interned.hpp"

#include <array>
#include <cstddef>
#include <string>
#include <utility>

namespace entrepot::python {

// Declared at namespace scope, as what is Interned is.
template <std::size_t Count> class Parameters {
public:
    using Values = std::array<PyObject *, Count>;  // borrowed; nullptr where nothing was said

    // The first `positional` may be given by position, the first `required` must be given, the first `unnamed` are not given by
    // name.
    Parameters(const char *function, std::size_t positional, std::size_t required, const char *const (&names)[Count],
               std::size_t unnamed = 0)
        : Parameters(function, positional, required, unnamed, names, std::make_index_sequence<Count>()) {}

    // Of a METH_FASTCALL | METH_KEYWORDS function. Throws TypeError: too many, unknown, given twice, or missing.
    Values read(PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) const {
        Values values = read_positional(args, static_cast<std::size_t>(nargs));
        const Py_ssize_t count = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
        for (Py_ssize_t i = 0; i < count; ++i)
            set(values, PyTuple_GET_ITEM(kwnames, i), args[nargs + i]);
        check_required(values);
        return values;
    }

    // The same of a tuple and a dict, which may be nullptr: of tp_new.
    Values read(PyObject *args, PyObject *kwargs) const {
        Values values = read_positional(&PyTuple_GET_ITEM(args, 0), static_cast<std::size_t>(PyTuple_GET_SIZE(args)));
        add_named(values, kwargs);
        check_required(values);
        return values;
    }

private:
    template <std::size_t... i>
    Parameters(const char *function, std::size_t positional, std::size_t required, std::size_t unnamed,
               const char *const (&names)[Count], std::index_sequence<i...>)
        : function_(function), positional_(positional), required_(required), unnamed_(unnamed), names_{names[i]...} {}

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
            throw Error(ErrorKind::type, function_, "() got '", text_of(found), "' by position and by name");
        values[found] = value;
    }

    // The names of a call usually are interned: telling them apart is then a matter of identity.
    std::size_t find(PyObject *name) const {
        for (std::size_t i = unnamed_; i < Count; ++i)
            if (names_[i] == name) [[likely]]
                return i;
        return find_by_value(name);
    }

    [[gnu::noinline]] std::size_t find_by_value(PyObject *name) const {
        if (!PyUnicode_Check(name))  // of f(**{1: 2}), which calls of slots let through
            throw Error(ErrorKind::type, function_, "(): keywords must be strings, not ", Py_TYPE(name)->tp_name);
        for (std::size_t i = unnamed_; i < Count; ++i)
            if (PyUnicode_Compare(names_[i], name) == 0)
                return i;
        const char *const text = PyUnicode_AsUTF8(name);
        if (!text)
            throw PythonError{};
        throw Error(ErrorKind::type, function_, "() got an unexpected keyword argument '", text, "'; it takes ",
                    listed(unnamed_));
    }

    void check_required(const Values &values) const {
        for (std::size_t i = 0; i < required_; ++i)
            if (!values[i]) [[unlikely]]
                throw Error(ErrorKind::type, function_, "() is missing its argument '", text_of(i), "'; it takes ", listed(0));
    }

    [[noreturn, gnu::noinline]] void refuse_positional(std::size_t count) const {
        throw Error(ErrorKind::type, function_, "() takes ", positional_, " positional argument", positional_ == 1 ? "" : "s",
                    " but ", count, " were given", positional_ < Count ? "; by name it takes " : "", listed(positional_));
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
Parameters(const char *, std::size_t, std::size_t, const char *const (&)[Count]) -> Parameters<Count>;

// As a table of methods has it.
inline PyCFunction with_keywords(PyObject *(*function)(PyObject *, PyObject *const *, Py_ssize_t, PyObject *)) noexcept {
    return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

// What was said, where None says nothing.
inline PyObject *unless_none(PyObject *value) noexcept { return value == Py_None ? nullptr : value; }

// Whether the caller said so; nothing said is no. Throws what the object's own answer raises.
inline bool is_true(PyObject *object) {
    const int truth = object ? PyObject_IsTrue(object) : 0;
    if (truth < 0)
        throw PythonError{};
    return truth == 1;
}

}  // namespace entrepot::python
