// HipModuleLaunchKernel_extra: packs a list of kernel arguments into the block that a launch takes.
#include "object.hpp"

#include "../array/scalar.hpp"
#include "../support/ctypes_data.hpp"
#include "../support/errors.hpp"

#include <adapters/launch_arguments.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <vector>

namespace entrepot::python {
namespace {

using adapters::LaunchBlock;
using adapters::LaunchLayout;

// The packed arguments so far; padding is zero.
class Arguments {
public:
    void add(const void *bytes, std::size_t size, std::size_t alignment) {
        const std::size_t offset = layout_.add(size, alignment);
        if (layout_.end() > few_.size() && many_.size() < layout_.end()) [[unlikely]]
            grow();
        std::memcpy((many_.empty() ? few_.data() : many_.data()) + offset, bytes, size);
    }

    const LaunchLayout &layout() const noexcept { return layout_; }
    const std::byte *data() const noexcept { return many_.empty() ? few_.data() : many_.data(); }

private:
    void grow() {
        const bool is_first = many_.empty();
        many_.resize(2 * layout_.end());
        if (is_first)
            std::memcpy(many_.data(), few_.data(), few_.size());
    }

    LaunchLayout layout_;
    std::array<std::byte, 256> few_{};
    std::vector<std::byte> many_;
};

// Adds an argument that C passes by value.
void add_value(Arguments &arguments, PyObject *instance, const CtypesType &type) {
    Py_buffer bytes;
    if (PyObject_GetBuffer(instance, &bytes, PyBUF_SIMPLE) != 0)
        throw PythonError{};
    const std::unique_ptr<Py_buffer, void (*)(Py_buffer *)> held(&bytes, PyBuffer_Release);
    arguments.add(bytes.buf, std::min(static_cast<std::size_t>(bytes.len), type.size),
                  type.alignment);
}

// For each argument, the object that must live as long as the block: a pin, the caller's item, or
// None. The caller's tuple is copied only if the two differ.
class Pins {
public:
    explicit Pins(Reference items) : items_(std::move(items)) {}

    Py_ssize_t count() const noexcept { return PyTuple_GET_SIZE(items_.get()); }
    PyObject *item(Py_ssize_t index) const noexcept {
        return PyTuple_GET_ITEM(items_.get(), index);
    }

    void set(Py_ssize_t index, Reference pin) {
        if (!own_)
            own_ = copied();
        const Reference former(PyTuple_GET_ITEM(own_.get(), index));
        PyTuple_SET_ITEM(own_.get(), index, pin ? pin.release() : Py_NewRef(Py_None));
    }

    Reference release() && { return own_ ? std::move(own_) : std::move(items_); }

private:
    Reference copied() const {
        Reference copy = checked(PyTuple_New(count()));
        for (Py_ssize_t i = 0; i < count(); ++i)
            PyTuple_SET_ITEM(copy.get(), i, Py_NewRef(item(i)));
        return copy;
    }

    Reference items_, own_;
};

void add_pointer(Arguments &arguments, Pins &pins, Py_ssize_t index) {
    PyObject *const object = pins.item(index);
    Argument argument = argument_of(object, pointer_type);
    arguments.add(&argument.address, sizeof argument.address, alignof(void *));
    Reference pin = pin_of(std::move(argument), object);
    if (pin || is_adapter(object))  // the adapter itself may point elsewhere when the block is used
        pins.set(index, std::move(pin));
}

// C aligns a complex number like its parts.
std::size_t alignment_of(const TypedScalar &number) noexcept {
    return number.dtype.code == TypeCode::complex ? number.scalar.size / 2 : number.scalar.size;
}

void add(Arguments &arguments, Pins &pins, Py_ssize_t index) {
    PyObject *const object = pins.item(index);
    if (is_adapter(object) || PyLong_Check(object))
        return add_pointer(arguments, pins, index);
    const CtypesType type = ctypes_type_of(Py_TYPE(object));
    if (type.sort == CtypesSort::value || type.sort == CtypesSort::pointer)
        add_value(arguments, object, type);
    else if (const std::optional<TypedScalar> number = typed_scalar_from(object))
        arguments.add(number->scalar.bytes.data(), number->scalar.size, alignment_of(*number));
    else
        add_pointer(arguments, pins, index);
}

// Appends the remedy to the message of an Error about an object that is not an address.
template <class Body> void with_remedy(Body body, const char *remedy) {
    try {
        body();
    } catch (const Error &error) {
        if (error.kind() != ErrorKind::type && error.kind() != ErrorKind::overflow)
            throw;
        throw Error(error.kind(), error.what(), remedy);
    }
}

}  // namespace

void fill_launch_arguments(PyObject *self, const AdapterRow &, PyObject *source) {
    if (!PyList_Check(source) && !PyTuple_Check(source))
        return with_remedy([&] { fill_pointer(self, row_of(Py_TYPE(self)), source); },
                           "; arguments are given in a list or a tuple");
    Pins pins(checked(items_of(source).release()));
    Arguments arguments;
    for (Py_ssize_t i = 0; i < pins.count(); ++i)
        with_remedy(
            [&] { with_subject([&] { add(arguments, pins, i); }, "argument ", i); },
            "; a number goes by value as ctypes has it: ctypes.c_int(3), ctypes.c_float(1.5)");
    const LaunchLayout &layout = arguments.layout();
    OwnBlock block = new_block(LaunchBlock::bytes_for(layout), LaunchBlock::alignment_for(layout),
                               std::move(pins).release());
    std::memcpy(LaunchBlock::begin(block.data, layout), arguments.data(), layout.end());
    set(self, {block.data, std::move(block.owner), -1, false});
}

}  // namespace entrepot::python
