#include "constant.hpp"

#include "../array_object/array_object.hpp"
#include "../core/dtype.hpp"
#include "../exchange/routes.hpp"
#include "../support/errors.hpp"
#include "../support/interned.hpp"
#include "../support/nb_cast.hpp"
#include "../support/reference.hpp"
#include "language.hpp"
#include "struct_layout.hpp"

#include <entrepot/array/copy.hpp>

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <sstream>
#include <string_view>

namespace entrepot::python {
namespace {

using kernel::ConstantArray;
using namespace kernel::syntax;

const Interned dtype_name = "dtype", item_name = "item", name_name = "__name__",
               module_name = "__module__", own_name = "name";

bool has_base(PyTypeObject *type, std::string_view name) {
    const Reference bases = mro_of(type);
    for (Py_ssize_t i = 0; bases && i < PyTuple_GET_SIZE(bases.get()); ++i)
        if (name == reinterpret_cast<PyTypeObject *>(PyTuple_GET_ITEM(bases.get(), i))->tp_name)
            return true;
    return false;
}

bool is_numpy_scalar(PyObject *object) { return has_base(Py_TYPE(object), "numpy.generic"); }

std::string utf8(PyObject *text) {
    Py_ssize_t length = 0;
    const char *const bytes = PyUnicode_AsUTF8AndSize(text, &length);
    if (!bytes)
        throw PythonError{};
    return {bytes, static_cast<std::size_t>(length)};
}

// The attribute as text; empty if it is missing or not a string.
std::string text_attribute(PyObject *object, PyObject *name) {
    const Reference text(PyObject_GetAttr(object, name));
    clear_answer();
    return text && PyUnicode_Check(text.get()) ? utf8(text.get()) : std::string();
}

// True for numba's number types: instances of these classes, in any of numba's modules.
bool is_numba_type(PyObject *object) {
    constexpr std::string_view names[] = {"Integer", "Float", "Complex", "Boolean"};
    PyTypeObject *const type = Py_TYPE(object);
    return std::ranges::find(names, std::string_view(type->tp_name)) != std::end(names) &&
           text_attribute(reinterpret_cast<PyObject *>(type), module_name).starts_with("numba.");
}

// Classes that denote an element type. Python's own int and float are excluded, since they are also
// functions of the language.
bool is_dtype(PyObject *object) {
    if (try_cast<Dtype>(object) || has_base(Py_TYPE(object), "numpy.dtype") ||
        std::string_view(Py_TYPE(object)->tp_name) == "torch.dtype" || is_numba_type(object))
        return true;
    return PyType_Check(object) &&
           has_base(reinterpret_cast<PyTypeObject *>(object), "numpy.generic");
}

Constant integer_from(PyObject *object) {
    int overflow = 0;
    const long long value = PyLong_AsLongLongAndOverflow(object, &overflow);
    if (value == -1 && PyErr_Occurred())
        throw PythonError{};
    if (overflow == 0)
        return {std::int64_t{value}, false, {}};
    const unsigned long long large = overflow > 0 ? PyLong_AsUnsignedLongLong(object) : 0;
    if (overflow < 0 || PyErr_Occurred()) {
        PyErr_Clear();
        throw Error(ErrorKind::overflow, "an integer of more than 64 bits");
    }
    return {std::uint64_t{large}, false, {}};
}

Constant tuple_from(PyObject *object, bool &known) {
    ConstantTuple items;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i) {
        std::optional<Constant> item = constant_from(PyTuple_GET_ITEM(object, i));
        known &= item.has_value();
        if (item)
            items.push_back(*std::move(item));
    }
    return {std::move(items), false, {}};
}

Constant typed_from(PyObject *scalar) {
    const Reference dtype = checked(PyObject_GetAttr(scalar, dtype_name));
    const Reference value = checked(PyObject_CallMethodNoArgs(scalar, item_name));
    std::optional<Constant> constant = constant_from(value.get());
    if (!constant)
        throw Error(ErrorKind::type, "a NumPy scalar of a type that has no number");
    constant->typed = true;
    constant->dtype = dtype_from(dtype.get());
    return *std::move(constant);
}

Constant elements_of(const Array &array) {
    auto elements = std::make_shared<ConstantArray>();
    elements->dtype = array.dtype();
    elements->shape.assign(array.shape().begin(), array.shape().end());
    elements->bytes.resize(static_cast<std::size_t>(array.nbytes()));
    if (array.size() != 0) {
        const Memory memory =
            Memory::borrow_host(elements->bytes.data(), elements->bytes.size(), Owner());
        const Array to(memory, elements->bytes.data(), array.dtype(), Layout(array.shape()));
        without_gil([&] { copy(to, array).wait(); });
    }
    return {std::shared_ptr<const ConstantArray>(std::move(elements)), false, {}};
}

Constant dtype_constant(PyObject *object) {
    if (has_base(Py_TYPE(object), "numpy.dtype"))
        if (kernel::StructTypePtr type = struct_type_from(object))
            return {std::move(type), false, {}};
    return {dtype_from(object), false, {}};
}

bool is_array_like(PyObject *object) {
    return is_array(object) || has_base(Py_TYPE(object), "numpy.ndarray");
}

struct ToText {
    std::ostringstream &out;
    void operator()(std::monostate) const { out << "None"; }
    void operator()(bool value) const { out << (value ? "True" : "False"); }
    void operator()(std::int64_t value) const { out << "i" << value; }
    void operator()(std::uint64_t value) const { out << "u" << value; }
    void operator()(double value) const { out << "f" << std::bit_cast<std::uint64_t>(value); }
    void operator()(std::complex<double> value) const {
        (*this)(value.real());
        (*this)(value.imag());
    }
    void operator()(const std::string &value) const { out << "s" << value.size() << ":" << value; }
    void operator()(Dtype value) const { out << value; }
    void operator()(const kernel::StructTypePtr &type) const { out << kernel::text_of(*type); }
    void operator()(const ConstantTuple &items) const {
        out << "(";
        for (const Constant &item : items)
            out << text_of(item) << ",";
        out << ")";
    }
    void operator()(const std::shared_ptr<const ConstantArray> &array) const {
        out << array->dtype << tuple_text(array->shape) << array->bytes.size() << ":"
            << std::string_view(reinterpret_cast<const char *>(array->bytes.data()),
                                array->bytes.size());
    }
};

}  // namespace

namespace {

// Throws: KernelError for arrays and records with fields, which are arguments only.
void refuse_structs(PyObject *object) {
    const Reference dtype(PyObject_GetAttr(object, dtype_name));
    PyErr_Clear();
    if (dtype && has_base(Py_TYPE(dtype.get()), "numpy.dtype") && struct_type_from(dtype.get()))
        throw Error(ErrorKind::kernel,
                    "structs are arguments and no constants: give it to the kernel at the launch");
}

}  // namespace

std::optional<Constant> constant_from(PyObject *object) {
    if (object == Py_None)
        return Constant{};
    if (PyBool_Check(object))
        return Constant{object == Py_True, false, {}};
    if (is_numpy_scalar(object)) {  // before float: NumPy's float64 derives from it
        refuse_structs(object);
        return typed_from(object);
    }
    if (PyLong_Check(object))
        return integer_from(object);
    if (PyFloat_Check(object))
        return Constant{PyFloat_AS_DOUBLE(object), false, {}};
    if (PyComplex_Check(object))
        return Constant{
            std::complex<double>(PyComplex_RealAsDouble(object), PyComplex_ImagAsDouble(object)),
            false,
            {}};
    if (PyUnicode_Check(object))
        return Constant{utf8(object), false, {}};
    if (PyTuple_Check(object)) {
        bool known = true;
        Constant constant = tuple_from(object, known);
        return known ? std::optional(std::move(constant)) : std::nullopt;
    }
    if (is_dtype(object))
        return dtype_constant(object);
    if (is_array_like(object)) {
        refuse_structs(object);
        return elements_of(is_array(object) ? array_of(object) : import_operand(object));
    }
    return std::nullopt;
}

std::optional<std::string> builtin_name_of(PyObject *object) {
    const int is_ours = PyObject_IsInstance(object, language().builtin);
    if (is_ours < 0)
        throw PythonError{};
    if (is_ours)
        return text_attribute(object, own_name);
    if (Py_TYPE(object)->tp_name == std::string_view("numpy.ufunc"))
        return "numpy." + text_attribute(object, name_name);
    if (!PyCallable_Check(object) || is_dtype(object))
        return std::nullopt;
    const std::string module = text_attribute(object, module_name),
                      name = text_attribute(object, name_name);
    if (name.empty())
        return std::nullopt;
    if (module == "builtins")
        return name;
    if (module == "math.integer")  // math.gcd and others, from Python 3.15 on
        return "math." + name;
    if (module == "math" || module == "cmath" || module == "numpy" || module.starts_with("numpy."))
        return module + "." + name;
    return std::nullopt;
}

std::string text_of(const Constant &constant) {
    std::ostringstream out;
    out.imbue(std::locale::classic());
    if (constant.typed)
        out << constant.dtype << "!";
    std::visit(ToText{out}, constant.value);
    return std::move(out).str();
}

}  // namespace entrepot::python
