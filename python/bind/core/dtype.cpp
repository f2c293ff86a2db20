// entrepot.Dtype: one Python object per row of the core's table, equal to every spelling of the
// same type.
#include "dtype.hpp"

#include "../init.hpp"
#include "../support/errors.hpp"

#include <entrepot/core/error.hpp>

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

namespace nb = nanobind;

namespace entrepot::python {
namespace {

// The Dtype objects of the table's rows, created once and never destroyed. Types outside the table
// get a new object each time.
std::array<PyObject *, dtype_table.size()> dtype_objects{};

std::string_view text_of(PyObject *object) {
    Py_ssize_t length;
    const char *text = PyUnicode_AsUTF8AndSize(object, &length);
    if (!text)
        throw PythonError{};
    return {text, static_cast<std::size_t>(length)};
}

// "<f4" and "|u1" are typestrs, "f4" and "u1" NumPy's short names; anything else is a name.
Dtype dtype_from_text(std::string_view text) {
    if (!text.empty() && std::string_view("<>=|").find(text[0]) != std::string_view::npos)
        return dtype_from_typestr(text);
    if (const std::optional<Dtype> dtype = dtype_from_name(text))
        return *dtype;
    if (const std::optional<Dtype> dtype = dtype_from_kind_and_size(text))
        return *dtype;
    throw Error(ErrorKind::type, "dtype '", text,
                "' is unknown; NumPy's names (float32, f4), ml_dtypes' (bfloat16) and typestrs "
                "(<f4) are known");
}

struct BuiltinRow {
    PyTypeObject *type;
    std::string_view name;
};

std::optional<Dtype> dtype_from_builtin(PyObject *object) {
    const BuiltinRow rows[] = {{&PyBool_Type, "bool"},
                               {&PyLong_Type, "int64"},
                               {&PyFloat_Type, "float64"},
                               {&PyComplex_Type, "complex128"}};
    for (const BuiltinRow &row : rows)
        if (object == reinterpret_cast<PyObject *>(row.type))
            return dtype_from_name(row.name);
    return std::nullopt;
}

// The name of the library that defines the object's type, such as "torch";
// empty for built-in types.
std::string library_of(PyObject *object) {
    const nb::object module = nb::steal(
        PyObject_GetAttrString(reinterpret_cast<PyObject *>(Py_TYPE(object)), "__module__"));
    clear_answer();
    if (!module.is_valid() || !nb::isinstance<nb::str>(module))
        return {};
    const std::string_view name = text_of(module.ptr());
    const std::string library(name.substr(0, name.find('.')));
    const nb::object of_python = nb::module_::import_("sys").attr("stdlib_module_names");
    const int is_of_python = PySequence_Contains(of_python.ptr(), nb::str(library.c_str()).ptr());
    if (is_of_python < 0)
        throw PythonError{};
    return is_of_python ? std::string() : library;
}

// A library's dtype prints as "torch.float32" or "float32". Other objects of a library print more.
std::optional<Dtype> dtype_shown(PyObject *object, const std::string &library) {
    const nb::object text = nb::steal(PyObject_Str(object));
    if (!text.is_valid())
        throw PythonError{};
    const std::string_view words = text_of(text.ptr());
    const std::size_t dot = words.rfind('.');
    if (dot != std::string_view::npos && words.substr(0, words.find('.')) != library)
        return std::nullopt;
    return dtype_from_name(words.substr(dot + 1));
}

// Reads the name of a foreign dtype: `name` of numpy.dtype, `__name__` of scalar types, or str().
// Built-in objects such as files also have names, so they are excluded.
std::optional<Dtype> dtype_from_foreign(PyObject *object) {
    const bool is_class = PyType_Check(object);
    const std::string library = is_class ? std::string() : library_of(object);
    if (!is_class && library.empty())
        return std::nullopt;
    for (const char *attribute : {"name", "__name__"}) {
        nb::object name = nb::steal(PyObject_GetAttrString(object, attribute));
        if (!name.is_valid()) {
            clear_answer();
            continue;
        }
        if (nb::isinstance<nb::str>(name))
            if (const auto dtype = dtype_from_name(text_of(name.ptr())))
                return dtype;
    }
    return is_class ? std::nullopt : dtype_shown(object, library);
}

// The name of a numpy.dtype does not include the byte order, so big-endian dtypes are refused here.
void refuse_swapped(PyObject *object) {
    const nb::object order = nb::steal(PyObject_GetAttrString(object, "byteorder"));
    if (!order.is_valid())
        clear_answer();
    else if (nb::isinstance<nb::str>(order) && text_of(order.ptr()) == ">")
        throw Error(ErrorKind::type, "dtype: items in big-endian byte order are not supported; "
                                     "convert with astype(dtype.newbyteorder('='))");
}

bool is_equal(Dtype self, nb::handle other) {
    try {
        return self == dtype_from(other.ptr());
    } catch (const Error &) {
        return false;
    } catch (const PythonError &) {
        clear_answer();
        return false;
    }
}

// The numpy.dtype of that name in NumPy or ml_dtypes. NumPy calls this, so importing it is free.
nb::object numpy_dtype_of(Dtype self) {
    const std::string name = name_of(self);
    const char *const library = typestr_of(self) ? "numpy" : "ml_dtypes";
    try {
        const nb::object descr = nb::module_::import_("numpy").attr("dtype");
        return descr(nb::module_::import_(library).attr(name == "bool" ? "bool_" : name.c_str()));
    } catch (nb::python_error &error) {
        if (!error.matches(PyExc_ImportError) && !error.matches(PyExc_AttributeError))
            throw;
    }
    throw nb::attribute_error(
        sentence_of("there is no numpy.dtype of ", name, ": ", library, " has no such type here")
            .c_str());
}

}  // namespace

PyObject *wrap_dtype(Dtype dtype) {
    if (const DtypeRow *row = find_dtype(dtype))
        return Py_NewRef(dtype_objects[static_cast<std::size_t>(row - dtype_table.data())]);
    return nb::cast(dtype).release().ptr();
}

Dtype dtype_from(PyObject *object) {
    Dtype dtype;
    if (PyUnicode_CheckExact(object))  // fast path for the most common argument
        return dtype_from_text(text_of(object));
    if (nb::try_cast(nb::handle(object), dtype))
        return dtype;
    if (PyUnicode_Check(object))
        return dtype_from_text(text_of(object));
    if (const auto builtin = dtype_from_builtin(object))
        return *builtin;
    if (const auto foreign = dtype_from_foreign(object)) {
        refuse_swapped(object);
        return *foreign;
    }
    throw Error(ErrorKind::type,
                "a dtype was expected (a name, numpy.dtype, torch.dtype …), not a ",
                Py_TYPE(object)->tp_name);
}

void init_dtype(nb::module_ &m) {
    nb::class_<Dtype>(m, "Dtype",
                      "The type of an element: DLPack's code, bits and lanes.\n\n"
                      "A Dtype is equal to every other spelling of the same type.\n\n"
                      "Parameters\n"
                      "----------\n"
                      "spelling : dtype_like\n"
                      "    A Dtype, a name, a typestr, a numpy.dtype, a torch.dtype or a\n"
                      "    scalar type.\n\n"
                      "Raises\n"
                      "------\n"
                      "TypeError\n"
                      "    If it is another object, or an unknown name.\n"
                      "InterfaceError\n"
                      "    If it is a typestr of big-endian byte order, or of an unknown kind\n"
                      "    or size.\n\n"
                      "Examples\n"
                      "--------\n"
                      ">>> ep.Dtype(\"<f4\")\n"
                      "Dtype('float32')\n"
                      ">>> ep.Dtype(\"float32\") == np.dtype(\"float32\")\n"
                      "True\n"
                      ">>> ep.Dtype(np.float64).itemsize\n"
                      "8")
        .def(
            "__init__",
            [](Dtype *self, nb::handle spelling) { new (self) Dtype(dtype_from(spelling.ptr())); },
            nb::arg("spelling").none(), nb::sig("def __init__(self, spelling: object) -> None"),
            "Make a Dtype from a name, a typestr, a numpy.dtype, a torch.dtype or a scalar "
            "type.\n\n"
            "Raises TypeError for any other object.")
        .def_prop_ro(
            "name", [](Dtype d) { return name_of(d); }, "NumPy's or ml_dtypes' name.")
        .def_prop_ro("itemsize", &Dtype::itemsize,
                     "Bytes of an element; types of 4 and 6 bits take a whole byte.")
        .def_prop_ro(
            "code", [](Dtype d) { return static_cast<int>(d.code); }, "DLPack's type code.")
        .def_prop_ro(
            "bits", [](Dtype d) { return d.bits; }, "Bits of a lane.")
        .def_prop_ro(
            "lanes", [](Dtype d) { return d.lanes; },
            "Lanes of a short vector; 1 for ordinary types.")
        .def_prop_ro("typestr", &typestr_of,
                     "Type string of the array interface; None if the type has no type string.")
        .def_prop_ro("format", &format_of,
                     "Format of the buffer protocol; None if the type has no format.")
        .def_prop_ro("dtype", &numpy_dtype_of, nb::sig("def dtype(self) -> typing.Any"),
                     "The equivalent numpy.dtype.\n\n"
                     "NumPy reads this attribute, so a Dtype can be passed wherever NumPy\n"
                     "expects a dtype. Raises AttributeError if the library that defines the\n"
                     "type, NumPy or ml_dtypes, is not installed or lacks it.")
        .def_prop_ro(
            "__numpy_dtype__", &numpy_dtype_of, nb::sig("def __numpy_dtype__(self) -> typing.Any"),
            "The numpy.dtype, as in ``dtype``. Newer versions of NumPy read this attribute.")
        .def(
            "__eq__", [](Dtype self, nb::handle other) { return is_equal(self, other); },
            nb::arg("other").none())
        .def(
            "__hash__", [](Dtype d) { return nb::hash(nb::str(name_of(d).c_str())); },
            "Hash of the name: a Dtype and its name are equal dictionary keys.\n\n"
            "Other spellings that compare equal, such as numpy.dtype and '<f4', hash\n"
            "differently. Convert them with ``Dtype()`` before a lookup.")
        .def("__str__", [](Dtype d) { return name_of(d); })
        .def("__repr__", [](Dtype d) { return "Dtype('" + name_of(d) + "')"; })
        .def("__reduce__", [](nb::handle self) {
            return nb::make_tuple(self.type(), nb::make_tuple(nb::str(self)));
        });
    for (std::size_t i = 0; i < dtype_table.size(); ++i)
        dtype_objects[i] = nb::cast(dtype_table[i].dtype).release().ptr();
    nb::list names;
    for (const DtypeRow &row : dtype_table)
        names.append(nb::str(row.name.data(), row.name.size()));
    m.attr("dtype_names") = nb::tuple(names);
}

}  // namespace entrepot::python
