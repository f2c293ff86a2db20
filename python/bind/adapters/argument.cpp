// Conversion of objects to arguments of C functions: the address, and the reference that keeps its
// memory alive until the call returns.
#include "object.hpp"

#include "../memory/owner.hpp"
#include "../support/errors.hpp"

namespace entrepot::python {
namespace {

// Converts with the type's constructor. A type that another library derived runs its own.
Reference adapter_from(PyObject *object, PyTypeObject *type) {
    if (is_adapter_type(type))
        return made(type, object);
    Reference result = checked(PyObject_CallOneArg(reinterpret_cast<PyObject *>(type), object));
    if (!is_adapter(result.get()))
        throw Error(ErrorKind::type, type->tp_name, "() gave a ", Py_TYPE(result.get())->tp_name,
                    ", which is no adapter");
    return result;
}

// A new adapter that depends on this one, so that neither `__init__` nor
// free() can release the memory meanwhile.
Reference pinned(PyObject *adapter) {
    Owner owner = depend_on(adapter);  // the address cannot change from here on
    Reference pin = blank(pointer_type);
    set(pin.get(), {pointer_of(adapter)->address, std::move(owner), bytes_of(adapter), false},
        bytes_of(adapter), pointer_of(adapter)->flags & ~unsigned{ENTREPOT_ADAPTER_FREED});
    return pin;
}

bool is_read_only(const Argument &argument) noexcept {
    return argument.held && (pointer_of(argument.held.get())->flags & ENTREPOT_ADAPTER_READ_ONLY);
}

}  // namespace

bool is_unterminated(const Argument &argument) noexcept {
    return argument.held &&
           (pointer_of(argument.held.get())->flags & ENTREPOT_ADAPTER_UNTERMINATED);
}

Argument argument_of(PyObject *object, PyTypeObject *type, Use use) {
    if (object == Py_None)
        return {nullptr, {}};
    if (is_adapter(object)) {
        make_ready(object);
        if (use != Use::free)
            check_contiguous(object);
        if (!may_lose_memory(object))
            return {pointer_of(object)->address, Reference::borrow(object)};
        Reference pin = pinned(object);
        void *const address = pointer_of(pin.get())->address;
        return {address, std::move(pin)};
    }
    if (PyLong_Check(object)) {
        Target target;
        find_plain(object, target);
        return {target.address, {}};
    }
    Reference adapter = adapter_from(object, type);
    if (use != Use::free)
        check_contiguous(adapter.get());
    void *const address = pointer_of(adapter.get())->address;
    return {address, std::move(adapter)};
}

Reference pin_of(Argument &&argument, PyObject *object) {
    if (argument.held.get() != object)
        return std::move(argument.held);  // the only reference
    return argument.held && keeps_memory(object) ? pinned(object) : Reference();
}

Argument function_argument(PyObject *object, const char *function, const char *name) {
    drain_released();
    return with_subject(
        [&] {
            if (object == Py_None || is_adapter(object) || PyLong_Check(object))
                return argument_of(object, pointer_type);
            Reference adapter = blank(pointer_type);
            become_function(adapter.get(), object);
            void *const address = pointer_of(adapter.get())->address;
            return Argument{address, std::move(adapter)};
        },
        function, "() argument '", name, "'");
}

Argument argument(PyObject *object, PyTypeObject *type, Use use, const char *function,
                  const char *name) {
    drain_released();
    return with_subject(
        [&] {
            Argument result = argument_of(object, type, use);
            // A function that writes overwrites the listed addresses, so only
            // Use::read checks them.
            if (use == Use::read && result.held && is_adapter(object))
                check_pins_not_freed(result.held.get());
            if (use == Use::write && is_read_only(result))
                throw Error(ErrorKind::value, "the memory of a ", Py_TYPE(object)->tp_name,
                            " is read-only, and the function writes to it; pass a writable buffer");
            if (use == Use::read && is_unterminated(result))
                throw Error(
                    ErrorKind::value, "the buffer of a ", Py_TYPE(object)->tp_name,
                    " has no NUL, and C would read past its end; pass bytes, or end it with a NUL");
            return result;
        },
        function, "() argument '", name, "'");
}

}  // namespace entrepot::python
