// Layouts of structs that Python describes, and the arrays of the fields of an array of structs.
#pragma once
#include <Python.h>

#include <entrepot/array/array.hpp>
#include <kernel/frontend/structs.hpp>

#include <cstdint>
#include <vector>

namespace entrepot::python {

// Handle of a layout: the Python type entrepot._core.StructLayout.
struct StructLayout {
    kernel::StructTypePtr type;
};

// Layout of a StructLayout object.
// Requires: `handle` is one.
kernel::StructTypePtr struct_type_of(PyObject *handle);

// Layout of a NumPy dtype of structs, or of vectors; nullptr for any other object.
// Throws: KernelError if kernels do not support a field, PythonError
// GIL: required.
kernel::StructTypePtr struct_type_from(PyObject *dtype);

// Elements of an array of structs or vectors.
class StructElements {
public:
    // `whole`: an array of vectors; or the bytes of an array of structs, in which the last axis has
    // the bytes of an element.
    // Throws: ValueError if that axis is not contiguous.
    // Lifetime: borrows the array and the type.
    StructElements(const Array &whole, const kernel::StructType &type);

    bool is_contiguous() const;
    // Array of the field's numbers, on the same memory.
    // Throws: ValueError if the numbers are not aligned, or a stride is no multiple of their size.
    Array field(const kernel::StructType::Field &field) const;

private:
    const Array &whole_;
    const kernel::StructType &type_;
    std::vector<std::int64_t> shape_, strides_;  // of the elements; strides in bytes
};

}  // namespace entrepot::python
