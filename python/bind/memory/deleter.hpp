// Deleters: a C function or Python object that frees memory which was given by its address.
#pragma once
#include <Python.h>

#include <entrepot/memory/memory.hpp>

namespace entrepot::python {

// Converts an int to an address. Throws OverflowError if it is out of range;
// `what` names the argument.
void *address_from(PyObject *integer, const char *what);

// Owner of memory that is about to be imported. If it is not armed, destroying the owner does not
// call the deleter: the import failed and the memory still belongs to the caller.
class Deleter {
public:
    // Owns a reference to the object and calls nothing.
    static Deleter of_owner(PyObject *object);

    // Calls `function(argument)` once, on any thread, without the GIL, because it may block. It may
    // also take locks that other threads hold while they wait for the GIL. Throws MemoryError.
    static Deleter of_function(void (*function)(void *), void *argument);

    // Accepts one of:
    // - a capsule, as of_owner();
    // - an int, the address of a C function that is called with `address` as of_function();
    // - a ctypes function, likewise, but on a thread that may take the GIL, as it may call Python;
    // - a callable, which is called with `address` as an int.
    // An exception of the deleter is reported as unraisable.
    // Throws: TypeError for any other object, ValueError for a null function.
    static Deleter of_object(PyObject *object, void *address);

    Deleter() noexcept = default;

    Owner owner;
    void arm() noexcept {
        if (is_armed_)
            *is_armed_ = true;
    }

private:
    Deleter(Owner given, bool *is_armed) noexcept : owner(std::move(given)), is_armed_(is_armed) {}

    bool *is_armed_ = nullptr;  // lives as long as the owner
};

}  // namespace entrepot::python
