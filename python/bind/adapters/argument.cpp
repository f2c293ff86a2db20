// Objects as arguments of C functions: the address, and what holds it until the call returns.
#include "object.hpp"

#include "../errors.hpp"
#include "../owner.hpp"

namespace entrepot::python {
namespace {

// Of a type that another library of adapters derives, what its own constructor makes.
Reference adapter_from(PyObject *object, PyTypeObject *type) {
    if (row_of(type).name == type->tp_name)
        return made(type, object);
    Reference result = checked(PyObject_CallOneArg(reinterpret_cast<PyObject *>(type), object));
    if (!is_adapter(result.get()))
        throw Error(ErrorKind::type, type->tp_name, "() gave a ", Py_TYPE(result.get())->tp_name, ", which is no adapter");
    return result;
}

bool is_read_only(const Argument &argument) noexcept {
    return argument.held && (pointer_of(argument.held.get())->flags & ENTREPOT_ADAPTER_READ_ONLY);
}

bool is_unterminated(const Argument &argument) noexcept {
    return argument.held && (pointer_of(argument.held.get())->flags & ENTREPOT_ADAPTER_UNTERMINATED);
}

}  // namespace

Argument argument_of(PyObject *object, PyTypeObject *type) {
    if (object == Py_None)
        return {nullptr, {}};
    if (is_adapter(object)) {
        check_not_freed(object);
        return {pointer_of(object)->address, Reference::borrow(object)};
    }
    if (PyLong_Check(object)) {
        Target target;
        find_plain(object, target);
        return {target.address, {}};
    }
    Reference adapter = adapter_from(object, type);
    void *const address = pointer_of(adapter.get())->address;
    return {address, std::move(adapter)};
}

Reference pin_of(Argument &&argument, PyObject *object) {
    if (argument.held.get() != object)
        return std::move(argument.held);  // nobody else has it
    if (!argument.held || !(pointer_of(object)->release || is_device_array(object)))
        return {};
    Reference pin = blank(pointer_type);
    set(pin.get(), {argument.address, depend_on(object), -1, false});
    return pin;
}

Argument argument(PyObject *object, PyTypeObject *type, Access access, const char *function, const char *name) {
    drain_released();
    return with_subject(
        [&] {
            Argument result = argument_of(object, type);
            if (access == Access::write && is_read_only(result))
                throw Error(ErrorKind::value, "the memory of a ", Py_TYPE(object)->tp_name,
                            " is read-only, and the function writes to it; pass a writable buffer");
            if (access == Access::read && is_unterminated(result))
                throw Error(ErrorKind::value, "the buffer of a ", Py_TYPE(object)->tp_name,
                            " has no NUL, and C would read on behind its end; pass bytes, or end it with a NUL");
            return result;
        },
        function, "() argument '", name, "'");
}

}  // namespace entrepot::python
