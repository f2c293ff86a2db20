// Deleters: what gives memory back that was named by its address; a C function, or an object of Python's.
#pragma once
#include <Python.h>

#include <entrepot/memory/memory.hpp>

namespace entrepot::python {

// An address that somebody wrote as an int: `what` it is of. Throws OverflowError for what is no address.
void *address_from(PyObject *integer, const char *what);

// The owner of memory that does not exist yet. Unless it is armed, the owner goes without the deleter being called: then the
// memory was refused, and is still the caller's.
class Deleter {
public:
    // The object alone: whatever it does when the last reference to it goes.
    static Deleter of_owner(PyObject *object);

    // Calls `function(argument)` once, on any thread, never with the GIL: it may block, and take what others hold while they wait
    // for the GIL. Throws MemoryError.
    static Deleter of_function(void (*function)(void *), void *argument);

    // Of a capsule, which is an owner; of the address of a C function, an int, which is called with `address` as above; of a
    // function of ctypes, which is called so too, though on a thread that may have the GIL, as it may come back to Python; of a
    // callable, which is called with `address`, an int. What it raises is reported as unraisable. Throws TypeError for anything
    // else, ValueError for an address that is none.
    static Deleter of_object(PyObject *object, void *address);

    Deleter() noexcept = default;

    Owner owner;
    void arm() noexcept {
        if (is_armed_)
            *is_armed_ = true;
    }

private:
    Deleter(Owner given, bool *is_armed) noexcept : owner(std::move(given)), is_armed_(is_armed) {}

    bool *is_armed_ = nullptr;  // lasts as long as the owner
};

}  // namespace entrepot::python
