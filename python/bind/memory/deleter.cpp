// Deleters, which run when the owner of memory is released.
#include "deleter.hpp"

#include "../support/ctypes_data.hpp"
#include "../support/errors.hpp"
#include "../support/gil.hpp"
#include "../support/reference.hpp"
#include "owner.hpp"

#include <memory>

namespace entrepot::python {
namespace {

using Function = void (*)(void *);

// ---------------------------------------------------------------- functions of C

struct FunctionCall {
    bool is_armed = false;
    Function function;
    void *argument;
};

void call_without_gil(Function function, void *argument) {
    if (is_finalizing() || !holds_gil())
        return function(argument);
    const SetErrorAside aside;  // the function may call Python on this thread
    without_gil([&] { function(argument); });
}

void run_function(void *handle) {
    const std::unique_ptr<FunctionCall> call(static_cast<FunctionCall *>(handle));
    if (call->is_armed)
        call_without_gil(call->function, call->argument);
}

// ---------------------------------------------------------------- objects of Python's

struct ObjectCall {
    bool is_armed = false;
    Reference object;
    void *address;
    Function function = nullptr;  // a ctypes function's C function
    bool wants_gil = false;       // it must be called with the GIL
};

void call_function_of_ctypes(const ObjectCall &call) {
    if (!call.wants_gil)
        return call_without_gil(call.function, call.address);
    call.function(call.address);
    if (PyErr_Occurred())
        PyErr_WriteUnraisable(call.object.get());
}

void call_object(const ObjectCall &call) {
    const Reference address(PyLong_FromVoidPtr(call.address));
    const Reference result(address ? PyObject_CallOneArg(call.object.get(), address.get())
                                   : nullptr);
    if (!result)
        PyErr_WriteUnraisable(call.object.get());
}

// Runs with the GIL.
void run_object(void *handle) {
    const std::unique_ptr<ObjectCall> call(static_cast<ObjectCall *>(handle));
    if (!call->is_armed)
        return;
    const SetErrorAside aside;
    if (call->function)
        call_function_of_ctypes(*call);
    else
        call_object(*call);
}

// ---------------------------------------------------------------- what an object is

bool is_function_of_ctypes(PyObject *object) {
    return PyCallable_Check(object) && ctypes_type_of(Py_TYPE(object)).sort == CtypesSort::pointer;
}

Function checked_function(void *address) {
    if (!address)
        throw Error(ErrorKind::value, "from_address: the deleter is a C function at the address 0, "
                                      "where there is no function");
    return reinterpret_cast<Function>(address);
}

// True for functions of ctypes.PyDLL and PYFUNCTYPE.
bool wants_gil(PyObject *function) {
    constexpr long of_python = 4;  // FUNCFLAG_PYTHONAPI
    const Reference flags = checked(PyObject_GetAttrString(function, "_flags_"));
    const long value = PyLong_AsLong(flags.get());
    if (value == -1 && PyErr_Occurred())
        throw PythonError{};
    return (value & of_python) != 0;
}

}  // namespace

void *address_from(PyObject *integer, const char *what) {
    const std::size_t address = PyLong_AsSize_t(integer);
    if (address == static_cast<std::size_t>(-1) && PyErr_Occurred()) {
        PyErr_Clear();
        throw Error(ErrorKind::overflow, "from_address: the ", what,
                    " is no address: those are 0 to 2**64 - 1");
    }
    return reinterpret_cast<void *>(address);
}

Deleter Deleter::of_owner(PyObject *object) { return {keep(object), nullptr}; }

Deleter Deleter::of_function(void (*function)(void *), void *argument) {
    auto *const call = new FunctionCall{.function = function, .argument = argument};
    return {Owner(call, run_function), &call->is_armed};
}

Deleter Deleter::of_object(PyObject *object, void *address) {
    if (PyCapsule_CheckExact(object))
        return of_owner(object);
    if (PyLong_Check(object) && !PyBool_Check(object))
        return of_function(checked_function(address_from(object, "deleter")), address);
    if (!PyCallable_Check(object))
        throw Error(ErrorKind::type,
                    "from_address: the deleter must be a callable, a PyCapsule, a C function of "
                    "ctypes or the ",
                    "address of one, an int; not a ", Py_TYPE(object)->tp_name);
    std::unique_ptr<ObjectCall> call(
        new ObjectCall{.object = Reference::borrow(object), .address = address});
    if (is_function_of_ctypes(object)) {
        call->function = checked_function(address_in(object));
        call->wants_gil = wants_gil(object);
    }
    bool *const is_armed = &call->is_armed;
    return {Owner(call.release(), release_with_gil<run_object>), is_armed};
}

}  // namespace entrepot::python
