#include "struct_layout.hpp"

#include "../array/create.hpp"
#include "../array_object/array_object.hpp"
#include "../core/dtype.hpp"
#include "../init.hpp"
#include "../support/nb_cast.hpp"
#include "../support/reference.hpp"
#include "language.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

namespace nb = nanobind;

namespace entrepot::python {

using kernel::StructType;

kernel::StructTypePtr struct_type_of(PyObject *handle) {
    const auto *const layout = try_cast<StructLayout>(handle);
    ENTREPOT_ASSERT(layout);
    return layout->type;
}

kernel::StructTypePtr struct_type_from(PyObject *dtype) {
    if (const auto *const own = try_cast<Dtype>(dtype))
        return kernel::lanes_are_named(own->lanes) ? kernel::vector_type(*own) : nullptr;
    const Reference fields(PyObject_GetAttrString(dtype, "names"));
    PyErr_Clear();
    if (!fields || fields.get() == Py_None)
        return nullptr;
    const Reference layout = checked(PyObject_CallOneArg(language().struct_layout, dtype));
    if (PyUnicode_Check(layout.get()))
        throw Error(ErrorKind::kernel, PyUnicode_AsUTF8(layout.get()));
    return layout.get() == Py_None ? nullptr : struct_type_of(layout.get());
}

StructElements::StructElements(const Array &whole, const StructType &type)
    : whole_(whole), type_(type), shape_(whole.shape().begin(), whole.shape().end()) {
    for (const std::int64_t stride : whole.strides())
        strides_.push_back(stride * whole.itemsize());
    if (type.is_vector)
        return;
    if (shape_.empty() || shape_.back() != type.itemsize || strides_.back() != 1)
        throw Error(ErrorKind::value, "the bytes of an array of structs have a last axis of ",
                    type.itemsize, " neighboring bytes");
    shape_.pop_back();
    strides_.pop_back();
}

bool StructElements::is_contiguous() const {
    std::int64_t expected = type_.itemsize;
    for (std::size_t axis = shape_.size(); axis-- > 0; expected *= shape_[axis])
        if (shape_[axis] != 1 && strides_[axis] != expected)
            return false;
    return true;
}

Array StructElements::field(const StructType::Field &field) const {
    const std::int64_t size = field.dtype.itemsize();
    std::byte *const data = static_cast<std::byte *>(whole_.data()) + field.offset;
    if (whole_.size() != 0 && reinterpret_cast<std::uintptr_t>(data) %
                                  static_cast<std::uintptr_t>(field.dtype.alignment()))
        throw Error(ErrorKind::value, "the field '", field.name, "' (", field.dtype,
                    ") is not aligned in memory: make the dtype with align=True, and the array "
                    "anew");
    std::vector<std::int64_t> shape = shape_, strides;
    for (const std::int64_t stride : strides_) {
        if (stride % size != 0)
            throw Error(ErrorKind::value, "the stride of ", stride, " bytes is no multiple of the ",
                        size, " bytes of the field '", field.name, "' (", field.dtype,
                        "): pass a contiguous copy, or make the dtype with align=True");
        strides.push_back(stride / size);
    }
    shape.insert(shape.end(), field.extents.begin(), field.extents.end());
    strides.insert(strides.end(), field.strides.begin(), field.strides.end());
    return whole_.with(data, field.dtype, Layout(shape, strides));
}

namespace {

using FieldSpec = std::tuple<std::string, std::vector<std::int64_t>, nb::object, nb::object,
                             std::int64_t, std::vector<std::int64_t>, std::vector<std::int64_t>>;

kernel::StructTypePtr type_from(std::int64_t itemsize, const std::vector<FieldSpec> &fields) {
    auto type = std::make_shared<StructType>();
    type->itemsize = itemsize;
    for (const auto &[name, shape, nested, dtype, offset, extents, strides] : fields)
        type->fields.push_back(
            {name, shape, nested.is_none() ? nullptr : struct_type_of(nested.ptr()),
             nested.is_none() ? dtype_from(dtype.ptr()) : Dtype{}, offset, extents, strides});
    return type;
}

// Array of a field of the bytes of structs, as StructArray.field() returns it.
nb::object field_array(nb::handle bytes, std::int64_t itemsize, nb::handle dtype,
                       std::int64_t offset, std::vector<std::int64_t> extents,
                       std::vector<std::int64_t> strides) {
    StructType type;
    type.itemsize = itemsize;
    const StructType::Field field{
        "", {}, nullptr, dtype_from(dtype.ptr()), offset, std::move(extents), std::move(strides)};
    return nb::steal(wrap(StructElements(array_of(bytes.ptr()), type).field(field)));
}

// Arrays of the components of an array of vectors, by name.
nb::dict vector_components(nb::handle vectors) {
    const Array &whole = array_of(vectors.ptr());
    const kernel::StructTypePtr type = kernel::vector_type(whole.dtype());
    const StructElements elements(whole, *type);
    nb::dict components;
    for (const StructType::Field &field : type->fields)
        components[field.name.c_str()] = nb::steal(wrap(elements.field(field)));
    return components;
}

}  // namespace

void init_struct_layout(nb::module_ &m) {
    using namespace nb::literals;
    nb::class_<StructLayout>(m, "StructLayout",
                             "Layout of a struct, as kernels see it. For entrepot.kernel.structs.")
        .def(
            "__init__",
            [](StructLayout *self, std::int64_t itemsize, const std::vector<FieldSpec> &fields) {
                new (self) StructLayout{type_from(itemsize, fields)};
            },
            "itemsize"_a, "fields"_a,
            nb::sig("def __init__(self, itemsize: int, fields: object) -> None"));
    m.def("vector_components", vector_components, "vectors"_a,
          nb::sig("def vector_components(vectors: Array) -> dict[str, Array]"));
    m.def("struct_field", field_array, "bytes"_a, "itemsize"_a, "dtype"_a, "offset"_a, "extents"_a,
          "strides"_a,
          nb::sig("def struct_field(bytes: Array, itemsize: int, dtype: object, offset: int, "
                  "extents: object, strides: object) -> Array"));
}

}  // namespace entrepot::python
