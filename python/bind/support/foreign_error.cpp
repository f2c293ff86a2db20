// Text of foreign objects. Reading it runs foreign Python code, so every step may fail, and no step
// may leave an exception set.
#include "foreign_error.hpp"

#include "reference.hpp"

#include <algorithm>

namespace entrepot::python {
namespace {

// Empty if it is not a string or cannot be encoded as UTF-8.
std::string text_of(const Reference &string) {
    const char *const text = string ? PyUnicode_AsUTF8(string.get()) : nullptr;
    std::string copy = text ? text : "";
    PyErr_Clear();
    return copy;
}

bool is_about_value() {
    if (PyErr_ExceptionMatches(PyExc_RecursionError))
        return false;
    for (PyObject *const kind : {PyExc_TypeError, PyExc_ValueError, PyExc_OverflowError,
                                 PyExc_BufferError, PyExc_RuntimeError, PyExc_AttributeError})
        if (PyErr_ExceptionMatches(kind))
            return true;
    return false;
}

}  // namespace

std::string shown(PyObject *value) {
    constexpr std::size_t enough = 120;
    const std::string text = text_of(Reference(PyObject_Repr(value)));
    if (text.empty())
        return std::string("an object of type ") + Py_TYPE(value)->tp_name;
    return text.size() <= enough ? text : text.substr(0, enough) + " (shortened)";
}

std::string take_words_about_value() {
    if (!is_about_value())
        throw PythonError{};
    PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    const Reference held_type(type), held_value(value), held_traceback(traceback);
    std::string words = value ? text_of(Reference(PyObject_Str(value))) : std::string();
    words.resize(std::min(words.find('\n'), words.size()));  // cuts off a C++ backtrace
    if (words.empty())
        words = reinterpret_cast<PyTypeObject *>(type)->tp_name;
    return words;
}

}  // namespace entrepot::python
