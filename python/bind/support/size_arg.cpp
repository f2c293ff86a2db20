#include "size_arg.hpp"

#include "errors.hpp"
#include "foreign_error.hpp"
#include "reference.hpp"

#include <entrepot/core/error.hpp>

namespace entrepot::python {

std::size_t size_from(PyObject *object, const char *what) {
    if (!PyIndex_Check(object))
        throw Error(ErrorKind::type, what, ": an int was expected, not ", shown(object),
                    PyFloat_Check(object) ? "; int(…) makes one" : "");
    const Reference index = checked(PyNumber_Index(object));
    int overflow = 0;
    const long long number = PyLong_AsLongLongAndOverflow(index.get(), &overflow);
    if (number == -1 && overflow == 0 && PyErr_Occurred())
        throw PythonError{};
    if (overflow < 0 || (overflow == 0 && number < 0))
        throw Error(ErrorKind::value, what, ": ", shown(object),
                    " is negative; 0 or more was expected");
    if (overflow == 0)
        return static_cast<std::size_t>(number);
    const std::size_t large = PyLong_AsSize_t(index.get());
    if (large == static_cast<std::size_t>(-1) && PyErr_Occurred()) {
        PyErr_Clear();
        throw Error(ErrorKind::value, what, ": ", shown(object),
                    " is too large; a number below 2**64 was expected");
    }
    return large;
}

}  // namespace entrepot::python
