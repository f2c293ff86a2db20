#include "errors.hpp"

#include "exchange/protocol.hpp"
#include "gil.hpp"
#include "init.hpp"

#include <cxxabi.h>

#include <array>
#include <cstring>
#include <new>
#include <string>

namespace nb = nanobind;

namespace entrepot::python {
namespace {

std::array<PyObject *, error_table.size()> classes;

nb::object builtin(const char *name) { return nb::module_::import_("builtins").attr(name); }

nb::object make_class(const nb::module_ &m, const ErrorRow &row) {
    nb::list bases;
    if (row.base)
        bases.append(m.attr(row.base));
    if (row.also)
        bases.append(builtin(row.also));
    const std::string name = std::string("entrepot.") + row.name;
    return nb::steal(PyErr_NewExceptionWithDoc(name.c_str(), row.doc, nb::tuple(bases).ptr(), nullptr));
}

// Words of drivers and of foreign objects are in them, and those may be in any encoding.
void set_exception(PyObject *type, const char *words) {
    PyObject *const text = PyUnicode_DecodeUTF8(words, static_cast<Py_ssize_t>(std::strlen(words)), "backslashreplace");
    if (text)
        PyErr_SetObject(type, text);
    Py_XDECREF(text);
}

void translate(const std::exception_ptr &error, void *) {
    try {
        std::rethrow_exception(error);
    } catch (const Error &known) {
        set_exception(class_of(known.kind()), known.what());
    } catch (const PythonError &) {
        // The exception is set already.
    }
}

}  // namespace

PyObject *class_of(ErrorKind kind) noexcept { return classes[static_cast<std::size_t>(kind)]; }

int raise_current() noexcept {
    try {
        throw;
    } catch (const PythonError &) {
    } catch (const abi::__forced_unwind &) {
        rest_for_ever();
    } catch (const Error &error) {
        set_exception(class_of(error.kind()), error.what());
    } catch (nb::python_error &error) {
        error.restore();
    } catch (const std::bad_alloc &) {
        PyErr_NoMemory();
    } catch (const std::exception &error) {
        set_exception(PyExc_RuntimeError, error.what());
    } catch (...) {
        PyErr_SetString(PyExc_SystemError, "entrepot: something was thrown that is not a std::exception");
    }
    if (!PyErr_Occurred())
        PyErr_SetString(PyExc_SystemError, "entrepot: an error was reported without an exception");
    return -1;
}

void init_errors(nb::module_ &m) {
    for (const ErrorRow &row : error_table) {
        nb::object made = row.doc ? make_class(m, row) : builtin(row.name);
        if (row.doc)
            m.attr(row.name) = made;
        classes[static_cast<std::size_t>(row.kind)] = made.release().ptr();
    }
    nb::register_exception_translator(translate);
}

}  // namespace entrepot::python
