#include "errors.hpp"

#include "../init.hpp"
#include "gil.hpp"
#include "reference.hpp"

#include <core/interrupt.hpp>

#include <cxxabi.h>

#include <array>
#include <cstring>
#include <new>
#include <string>
#include <utility>

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
    return nb::steal(
        PyErr_NewExceptionWithDoc(name.c_str(), row.doc, nb::tuple(bases).ptr(), nullptr));
}

// A message may contain text of drivers and foreign objects in any encoding.
Reference decoded(const char *message) noexcept {
    return Reference(PyUnicode_DecodeUTF8(message, static_cast<Py_ssize_t>(std::strlen(message)),
                                          "backslashreplace"));
}

void set_exception(PyObject *type, const char *words) {
    if (const Reference text = decoded(words))
        PyErr_SetObject(type, text.get());
}

// The exception that a signal handler raised on this thread while C++ code ran. It replaces the
// error that ended the C++ code. No destructor and no allocation: the thread may be out of memory,
// or outlive the interpreter.
struct Raised {
    PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
};
thread_local Raised raised_by_signal;

// Requires: an exception is set, and the GIL is held.
void set_raised_aside() noexcept {
    const Raised earlier = raised_by_signal;  // from an Interrupted that never reached Python
    PyErr_Fetch(&raised_by_signal.type, &raised_by_signal.value, &raised_by_signal.traceback);
    Py_XDECREF(earlier.type);
    Py_XDECREF(earlier.value);
    Py_XDECREF(earlier.traceback);
}

bool check_signals() noexcept {
    const AcquireGil acquired;
    if (PyErr_CheckSignals() == 0)
        return false;
    set_raised_aside();
    return true;
}

PyObject *warning_class;

bool warn(const char *message) noexcept {
    const AcquireGil acquired;
    const Reference text = decoded(message);
    const bool raised = !text || PyErr_WarnFormat(warning_class, 1, "%U", text.get()) != 0;
    if (raised)
        set_raised_aside();
    return raised;
}

void set_exception(const Error &error) {
    if (dynamic_cast<const Interrupted *>(&error) && raised_by_signal.type) {
        const Raised raised = std::exchange(raised_by_signal, {});
        PyErr_Restore(raised.type, raised.value, raised.traceback);
    } else {
        set_exception(class_of(error.kind()), error.what());
    }
}

void translate(const std::exception_ptr &error, void *) {
    try {
        std::rethrow_exception(error);
    } catch (const Error &known) {
        set_exception(known);
    } catch (const PythonError &) {
        // The exception is already set.
    }
}

}  // namespace

PyObject *class_of(ErrorKind kind) noexcept { return classes[static_cast<std::size_t>(kind)]; }

void clear_answer(PyObject *answer) {
    if (PyErr_Occurred() &&
        (!PyErr_ExceptionMatches(answer) || PyErr_ExceptionMatches(PyExc_MemoryError)))
        throw PythonError{};
    PyErr_Clear();
}

// Forced unwinding of a thread throws no object to bind the reference to, which UBSan would report.
__attribute__((no_sanitize("null"))) int raise_current() noexcept {
    try {
        throw;
    } catch (const PythonError &) {
    } catch (const abi::__forced_unwind &) {
        hang_thread();
    } catch (const Error &error) {
        set_exception(error);
    } catch (nb::python_error &error) {
        error.restore();
    } catch (const std::bad_alloc &) {
        PyErr_NoMemory();
    } catch (const std::exception &error) {
        set_exception(PyExc_RuntimeError, error.what());
    } catch (...) {
        PyErr_SetString(PyExc_SystemError,
                        "entrepot: something was thrown that is not a std::exception");
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
    nb::object warning = nb::steal(PyErr_NewExceptionWithDoc(
        "entrepot.EntrepotWarning",
        "An operation succeeded in a degraded way: the message says why and what to do.",
        PyExc_UserWarning, nullptr));
    m.attr("EntrepotWarning") = warning;
    warning_class = warning.release().ptr();
    set_interrupt_check(check_signals);
    set_warning_sink(warn);
}

}  // namespace entrepot::python
