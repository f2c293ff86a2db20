#include "ctype.hpp"

#include "declared.hpp"

#include "../adapters/object.hpp"
#include "../support/attribute.hpp"
#include "../support/errors.hpp"
#include "../support/guarded.hpp"
#include "../support/interned.hpp"
#include "../support/load_number.hpp"

#include <entrepot/core/assert.hpp>
#include <entrepot/core/error.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string_view>

namespace entrepot::python {
namespace {

struct CKindRow {
    const char *name;
    CKind kind;
};
constexpr CKindRow c_kind_table[] = {
    {"none", CKind::none},     {"number", CKind::number},    {"character", CKind::character},
    {"raw", CKind::raw},       {"enum", CKind::enumeration}, {"address", CKind::address},
    {"record", CKind::record}, {"pointed", CKind::pointed},  {"array", CKind::array},
};

template <class Table>
const auto &row_named(const Table &table, const char *what, std::string_view name) {
    for (const auto &row : table)
        if (row.name == name)
            return row;
    throw Error(ErrorKind::value, "Form(): no ", what, " is called '", name, "'");
}

// ---------------------------------------------------------------- numbers

template <class T> void put(void *to, T value) { std::memcpy(to, &value, sizeof value); }

void put_integer(ffi::Kind kind, std::uint64_t bits, void *to) {
    std::memcpy(to, &bits, ffi::size_of(kind));  // little-endian: the low bytes come first
}

bool is_signed(ffi::Kind kind) { return ffi::row_of(kind).is_signed; }

// The two's complement of an int. Throws OverflowError if it is out of the kind's range.
std::uint64_t checked_integer(ffi::Kind kind, PyObject *value, const Subject &subject) {
    int overflow = 0;
    const long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (number == -1 && !overflow && PyErr_Occurred())
        throw PythonError{};
    const unsigned bits = 8 * static_cast<unsigned>(ffi::size_of(kind));
    if (is_signed(kind)) {
        const long long highest = std::numeric_limits<long long>::max() >> (64 - bits);
        if (!overflow && number <= highest && number >= -highest - 1) [[likely]]
            return static_cast<std::uint64_t>(number);
    } else {
        const std::uint64_t highest = ~std::uint64_t{0} >> (64 - bits);
        if (!overflow && number >= 0 && static_cast<std::uint64_t>(number) <= highest) [[likely]]
            return static_cast<std::uint64_t>(number);
        if (overflow > 0 && bits == 64) {
            const unsigned long long large = PyLong_AsUnsignedLongLong(value);
            if (large != static_cast<unsigned long long>(-1) || !PyErr_Occurred())
                return large;
            PyErr_Clear();
        }
    }
    const Reference text = checked(PyObject_Repr(value));
    const char *const shown = PyUnicode_AsUTF8(text.get());
    throw Error(ErrorKind::overflow, subject, ": ", shown ? shown : "the number", " does not fit ",
                ffi::row_of(kind).name);
}

void store_integer(ffi::Kind kind, PyObject *value, void *to, const Subject &subject) {
    if (PyLong_Check(value)) [[likely]]
        return put_integer(kind, checked_integer(kind, value, subject), to);
    // Fields accept whole floats, as in `dim3(n / 64)`. In an argument of a function, a float is
    // more likely a mistake.
    const bool is_whole = subject.is_field && PyFloat_Check(value) &&
                          std::trunc(PyFloat_AS_DOUBLE(value)) == PyFloat_AS_DOUBLE(value) &&
                          std::isfinite(PyFloat_AS_DOUBLE(value));
    const Reference index(is_whole               ? PyLong_FromDouble(PyFloat_AS_DOUBLE(value))
                          : PyIndex_Check(value) ? PyNumber_Index(value)
                                                 : nullptr);
    if (!index) {
        clear_answer(PyExc_TypeError);
        throw Error(ErrorKind::type, subject, ": an int was expected, not a ",
                    Py_TYPE(value)->tp_name);
    }
    put_integer(kind, checked_integer(kind, index.get(), subject), to);
}

void store_number(ffi::Kind kind, PyObject *value, void *to, const Subject &subject) {
    if (ffi::is_floating(kind)) {
        const double number = PyFloat_AsDouble(value);
        if (number == -1.0 && PyErr_Occurred()) {
            clear_answer(PyExc_TypeError);
            throw Error(ErrorKind::type, subject, ": a number was expected, not a ",
                        Py_TYPE(value)->tp_name);
        }
        if (kind == ffi::Kind::float64)
            return put(to, number);
        if (std::isfinite(number) && !std::isfinite(static_cast<float>(number)))
            throw Error(ErrorKind::overflow, subject, ": ", number, " does not fit float32");
        return put(to, static_cast<float>(number));
    }
    if (kind != ffi::Kind::boolean)
        return store_integer(kind, value, to, subject);
    if (!PyLong_Check(value))
        throw Error(ErrorKind::type, subject, ": a bool was expected, not a ",
                    Py_TYPE(value)->tp_name);
    put(to, static_cast<std::uint8_t>(PyObject_IsTrue(value) == 1));
}

Reference load_number(ffi::Kind kind, const void *from) {
    const auto *const bytes = static_cast<const std::byte *>(from);
    switch (kind) {
    case ffi::Kind::boolean:
        return Reference::borrow(load<std::uint8_t>(bytes) ? Py_True : Py_False);
    case ffi::Kind::float32:
        return checked(PyFloat_FromDouble(load<float>(bytes)));
    case ffi::Kind::float64:
        return checked(PyFloat_FromDouble(load<double>(bytes)));
    case ffi::Kind::int32:
        return checked(PyLong_FromLong(load<std::int32_t>(bytes)));
    default: {
        const int bits = 8 * static_cast<int>(ffi::size_of(kind));
        return is_signed(kind) ? checked(PyLong_FromLongLong(load_signed(bytes, bits)))
                               : checked(PyLong_FromUnsignedLongLong(load_unsigned(bytes, bits)));
    }
    }
}

// ---------------------------------------------------------------- enums

const Interned enum_class_name("__members__");
const Interned unknown_member("_unknown");

// Accepts a member of the enum or an int. Members of other enums are refused,
// although C allows them.
void store_enumeration(const CTypeObject &ctype, PyObject *value, void *to,
                       const Subject &subject) {
    if (reinterpret_cast<PyObject *>(Py_TYPE(value)) != ctype.type && !PyLong_CheckExact(value)) {
        const char *const expected = reinterpret_cast<PyTypeObject *>(ctype.type)->tp_name;
        const bool is_other_enum =
            PyObject_HasAttr(reinterpret_cast<PyObject *>(Py_TYPE(value)), enum_class_name) == 1 &&
            std::strcmp(Py_TYPE(value)->tp_name, expected) != 0;  // declared by two modules
        if (PyBool_Check(value) || is_other_enum || !PyIndex_Check(value))
            throw Error(ErrorKind::type, subject, ": a member of ", expected,
                        " was expected, not a ", Py_TYPE(value)->tp_name);
    }
    store_integer(ctype.kind, value, to, subject);
}

Reference load_enumeration(const CTypeObject &ctype, const void *from) {
    Reference number = load_number(ctype.kind, from);
    Reference member = item_of(ctype.members, number.get());
    if (!member && PyErr_Occurred())
        throw PythonError{};
    // A library newer than the headers may return unknown values. They become pseudo-members, not
    // ints, because programs test whether a status is of the enum before they compare it.
    return member ? std::move(member)
                  : checked(PyObject_CallMethodOneArg(ctype.type, unknown_member, number.get()));
}

// ---------------------------------------------------------------- addresses

const Interned handle_name("handle");

// The handle that a Python object owns, as entrepot.hip.Stream does; otherwise empty.
Reference owned_handle(PyObject *value) {
    if (value == Py_None || PyLong_Check(value) || is_adapter(value))
        return {};
    Reference found = find_attribute(value, handle_name);
    return found && is_adapter(found.get()) ? std::move(found) : Reference();
}

// Handles and pointers to functions must have the expected type. Untyped addresses (ints, ctypes
// pointers, plain adapters) are accepted as any type.
void check_handle(PyTypeObject *asked, PyTypeObject *found, const Subject &subject) {
    const Declared *const expected = declared_of(asked), *const given = declared_of(found);
    const bool is_one = is_handle_class(asked) || is_handle_class(found) ||
                        callback_of(reinterpret_cast<PyObject *>(asked));
    if (!expected || !given || expected == given || !is_one) [[likely]]
        return;
    if (expected->name != given->name)  // two modules may have the same declaration
        throw Error(ErrorKind::type, subject, ": a ", expected->name, " was expected, not a ",
                    given->name, "; to pass its address anyway, write Pointer(…) of it");
}

void store_address(const CTypeObject &ctype, PyObject *value, void *to, const Subject &subject,
                   Reference &held, Use use) {
    auto *type = reinterpret_cast<PyTypeObject *>(ctype.type);
    const Reference handle = type && is_handle_class(type) ? owned_handle(value) : Reference();
    if (handle)
        value = handle.get();
    if (!type)
        throw Error(ErrorKind::type, subject, ": the record that it points to is still being made");
    if (callback_of(ctype.type) && PyCallable_Check(value) && !is_adapter(value))
        throw Error(ErrorKind::type, subject, ": wrap the function in ", type->tp_name,
                    "() and keep that for as long as C may call it");
    check_handle(type, Py_TYPE(value), subject);
    Target plain;
    if (is_handle_class(type) && PyObject_CheckBuffer(value) && !find_plain(value, plain))
        [[unlikely]]
        throw Error(ErrorKind::type, subject, ": C takes a handle there, and a ",
                    Py_TYPE(value)->tp_name,
                    " is memory; to pass its address anyway, write Pointer(…) of it");
    if (type == pointer_list_type)  // a handle is not an array of addresses
        check_no_handle(value, subject);
    if (callback_of(ctype.type)) {
        Argument taken = function_argument(value, subject.owner, subject.name);
        put(to, taken.address);
        held = std::move(taken.held);
        return;
    }
    // Record classes accept field values in their constructor, so arguments
    // are converted by Pointer.
    Argument taken = argument(
        value, PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) ? adapter_type("Pointer") : type, use,
        subject.owner, subject.name);
    if (layout_of(ctype.type) && !PyObject_TypeCheck(value, type))
        check_room(value, layout_of(ctype.type)->size, subject);
    else if (layout_of(ctype.type) && use == Use::read)
        check_fields_not_freed(value, subject);
    put(to, taken.address);
    held = std::move(taken.held);
}

void store_record(const CTypeObject &ctype, PyObject *value, void *to, const Subject &subject,
                  Reference &held) {
    auto *type = reinterpret_cast<PyTypeObject *>(ctype.type);
    Reference made;
    if (PyTuple_Check(value) || PyList_Check(value)) {  // its fields
        const Reference fields = checked(PySequence_Tuple(value));
        made = checked(PyObject_CallObject(ctype.type, fields.get()));
        value = made.get();
    }
    if (!PyObject_TypeCheck(value, type))
        throw Error(ErrorKind::type, subject, ": a ", type->tp_name,
                    " was expected, or a tuple of its fields, not a ", Py_TYPE(value)->tp_name);
    if (!pointer_of(value)->address)
        throw Error(ErrorKind::value, subject, ": the ", type->tp_name,
                    " is NULL, and is passed by value");
    check_fields_not_freed(value, subject);
    held = copy_record(value, layout_of(ctype.type)->size, to);
}

// ---------------------------------------------------------------- arrays

bool is_text(const CTypeObject &array) { return array.element->c_kind == CKind::character; }
bool is_bytes(const CTypeObject &array) {
    return array.element->c_kind == CKind::character || array.element->c_kind == CKind::raw;
}

void store_bytes(const CTypeObject &ctype, PyObject *value, void *to, const Subject &subject) {
    Py_ssize_t length = 0;
    const char *data = nullptr;
    if (PyUnicode_Check(value)) {
        data = PyUnicode_AsUTF8AndSize(value, &length);
        if (!data)
            throw PythonError{};
    }
    Py_buffer view{};
    if (!data) {
        if (PyObject_GetBuffer(value, &view, PyBUF_SIMPLE) < 0) {
            clear_answer();
            throw Error(ErrorKind::type, subject, ": bytes or str were expected, not a ",
                        Py_TYPE(value)->tp_name);
        }
        data = static_cast<const char *>(view.buf);
        length = view.len;
    }
    if (length <= ctype.count) {
        std::memmove(to, data, static_cast<std::size_t>(length));
        std::memset(static_cast<char *>(to) + length, 0,
                    static_cast<std::size_t>(ctype.count - length));
    }
    if (view.obj)
        PyBuffer_Release(&view);
    if (length > ctype.count)
        throw Error(ErrorKind::value, subject, ": ", length, " bytes do not fit the ", ctype.count,
                    " that there are");
}

void store_array(const CTypeObject &ctype, PyObject *value, void *to, const Subject &subject,
                 Reference &held) {
    if (is_bytes(ctype))
        return store_bytes(ctype, value, to, subject);
    const Reference items(PySequence_Check(value) ? PySequence_Tuple(value) : nullptr);
    if (!items) {
        clear_answer(PyExc_TypeError);
        throw Error(ErrorKind::type, subject, ": a list of ", ctype.count, " was expected, not a ",
                    Py_TYPE(value)->tp_name);
    }
    if (PyTuple_GET_SIZE(items.get()) != ctype.count)
        throw Error(ErrorKind::value, subject, ": has ", ctype.count, " elements, not ",
                    PyTuple_GET_SIZE(items.get()));
    const std::size_t size = size_of(*ctype.element);
    // commit all or nothing
    std::vector<std::byte> elements(size * static_cast<std::size_t>(ctype.count));
    Reference all = checked(PyTuple_New(ctype.count));
    for (Py_ssize_t i = 0; i < ctype.count; ++i) {
        Reference one;
        store(*ctype.element, PyTuple_GET_ITEM(items.get(), i),
              elements.data() + static_cast<std::size_t>(i) * size, subject, one);
        PyTuple_SET_ITEM(all.get(), i, one ? one.release() : Py_NewRef(Py_None));
    }
    std::memcpy(to, elements.data(), elements.size());
    held = std::move(all);
}

Reference load_array(const CTypeObject &ctype, const void *from, PyObject *owner) {
    const auto *const bytes = static_cast<const char *>(from);
    if (is_bytes(ctype)) {
        const Py_ssize_t length =
            is_text(ctype)
                ? static_cast<Py_ssize_t>(strnlen(bytes, static_cast<std::size_t>(ctype.count)))
                : ctype.count;
        return checked(PyBytes_FromStringAndSize(bytes, length));
    }
    Reference tuple = checked(PyTuple_New(ctype.count));  // a tuple, because these are copies
    const std::size_t size = size_of(*ctype.element);
    for (Py_ssize_t i = 0; i < ctype.count; ++i)
        PyTuple_SET_ITEM(
            tuple.get(), i,
            load(*ctype.element, bytes + static_cast<std::size_t>(i) * size, owner).release());
    return tuple;
}

// ---------------------------------------------------------------- the type

const Interned value_to_member_name("_value2member_map_");

PyObject *ctype_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static const char *const names[] = {"how", "kind", "type", "element", "count", nullptr};
    const char *how = nullptr, *kind = nullptr;
    PyObject *of = Py_None, *element = Py_None;
    Py_ssize_t count = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "ss|OOn", const_cast<char **>(names), &how,
                                     &kind, &of, &element, &count))
        return nullptr;
    return guarded([&] {
        const CKind c_kind = row_named(c_kind_table, "how", how).kind;
        const ffi::Kind ffi_kind = static_cast<ffi::Kind>(
            &row_named(ffi::kind_table, "kind", kind) - ffi::kind_table.data());
        const CTypeObject *inner = element == Py_None ? nullptr : &ctype_of(element);
        if (c_kind == CKind::array && (!inner || count < 0))
            throw Error(ErrorKind::value,
                        "Form(): an array has an element, and a count that is not negative");
        const bool is_of_class = c_kind == CKind::enumeration || c_kind == CKind::address ||
                                 c_kind == CKind::record || c_kind == CKind::pointed;
        // A self-referential record calls complete() later.
        const bool is_later = c_kind == CKind::pointed && of == Py_None;
        if (is_of_class && !is_later && !PyType_Check(of))
            throw Error(ErrorKind::type, "Form(): '", how, "' is of a class");
        if (c_kind == CKind::address &&
            !PyType_IsSubtype(reinterpret_cast<PyTypeObject *>(of), adapter_type("Pointer")))
            throw Error(ErrorKind::type, "Form(): ", reinterpret_cast<PyTypeObject *>(of)->tp_name,
                        " is no subclass of Pointer");
        if ((c_kind == CKind::record || c_kind == CKind::pointed) && !is_later && !layout_of(of))
            throw Error(ErrorKind::type, "Form(): ", reinterpret_cast<PyTypeObject *>(of)->tp_name,
                        " is no record");
        Reference members;
        if (c_kind == CKind::enumeration)
            members = checked(PyObject_GetAttr(of, value_to_member_name));
        Reference made = checked(type->tp_alloc(type, 0));
        auto &ctype = *reinterpret_cast<CTypeObject *>(made.get());
        ctype.c_kind = c_kind;
        ctype.kind = ffi_kind;
        ctype.type = of == Py_None ? nullptr : Py_NewRef(of);
        ctype.members = members.release();
        ctype.element = inner ? reinterpret_cast<CTypeObject *>(Py_NewRef(element)) : nullptr;
        ctype.count = count;
        return made.release();
    });
}

PyObject *ctype_complete(PyObject *self, PyObject *type) {
    auto &ctype = *reinterpret_cast<CTypeObject *>(self);
    if (ctype.c_kind != CKind::pointed || ctype.type || !PyType_Check(type) || !layout_of(type)) {
        PyErr_SetString(
            PyExc_TypeError,
            "Form.complete(): a pointer form without a record, and a record class were expected");
        return nullptr;
    }
    ctype.type = Py_NewRef(type);
    Py_RETURN_NONE;
}

void ctype_dealloc(PyObject *self) {
    auto &ctype = *reinterpret_cast<CTypeObject *>(self);
    PyTypeObject *type = Py_TYPE(self);
    Py_XDECREF(ctype.type);
    Py_XDECREF(ctype.members);
    Py_XDECREF(reinterpret_cast<PyObject *>(ctype.element));
    type->tp_free(self);
    Py_DECREF(type);
}

PyObject *ctype_size(PyObject *self, void *) {
    return PyLong_FromSize_t(size_of(*reinterpret_cast<CTypeObject *>(self)));
}

PyGetSetDef ctype_attributes[] = {
    {"size", ctype_size, nullptr, "Size of the C type, in bytes.", nullptr},
    {},
};

PyMethodDef ctype_methods[] = {
    {"complete", ctype_complete, METH_O,
     "complete($self, type, /)\n--\n\n"
     "Set the record class of a pointer form that was made before the record."},
    {},
};

PyType_Slot ctype_slots[] = {
    {Py_tp_doc, const_cast<char *>("A C type and its conversion to Python. Made by entrepot.ffi.")},
    {Py_tp_new, reinterpret_cast<void *>(ctype_new)},
    {Py_tp_dealloc, reinterpret_cast<void *>(ctype_dealloc)},
    {Py_tp_getset, ctype_attributes},
    {Py_tp_methods, ctype_methods},
    {},
};
PyType_Spec ctype_spec{"entrepot._core.Form", sizeof(CTypeObject), 0, Py_TPFLAGS_DEFAULT,
                       ctype_slots};

}  // namespace

PyTypeObject *ctype_type = nullptr;

const CTypeObject &ctype_of(PyObject *object) {
    if (!PyObject_TypeCheck(object, ctype_type))
        throw Error(ErrorKind::type, "a Form was expected, not a ", Py_TYPE(object)->tp_name);
    return *reinterpret_cast<const CTypeObject *>(object);
}

std::size_t size_of(const CTypeObject &ctype) {
    switch (ctype.c_kind) {
    case CKind::record:
        return layout_of(ctype.type)->size;
    case CKind::array:
        return size_of(*ctype.element) * static_cast<std::size_t>(ctype.count);
    default:
        return ffi::size_of(ctype.kind);
    }
}

ffi::Type ffi_type_of(const CTypeObject &ctype) {
    if (ctype.c_kind == CKind::array)  // as a parameter
        return ffi::Kind::pointer;
    if (ctype.c_kind != CKind::record)
        return ctype.kind;
    const RecordLayout &layout = *layout_of(ctype.type);
    return ffi::Type::record(layout.size, layout.alignment, layout.scalars);
}

void add_scalars(const CTypeObject &ctype, std::size_t offset, std::vector<ffi::Scalar> &scalars) {
    if (ctype.c_kind == CKind::record) {
        for (const ffi::Scalar &scalar : layout_of(ctype.type)->scalars)
            scalars.push_back({offset + scalar.offset, scalar.kind});
    } else if (ctype.c_kind == CKind::array) {
        const std::size_t size = size_of(*ctype.element);
        for (Py_ssize_t i = 0; i < ctype.count; ++i)
            add_scalars(*ctype.element, offset + static_cast<std::size_t>(i) * size, scalars);
    } else {
        scalars.push_back({offset, ctype.kind});
    }
}

std::ostream &operator<<(std::ostream &out, const Subject &subject) {
    if (subject.is_field)
        return out << subject.owner << "." << subject.name;
    return out << subject.owner << "() argument '" << subject.name << "'";
}

[[gnu::noinline]] void check_no_handle(PyObject *object, const Subject &subject) {
    if (PyList_Check(object) || PyTuple_Check(object))
        return;
    const Reference owned = owned_handle(object);
    PyObject *const handle = owned ? owned.get() : object;
    if (!is_handle(handle)) [[likely]]
        return;
    throw Error(ErrorKind::type, subject, ": C takes the address of a handle there, and a ",
                declared_of(Py_TYPE(handle))->name, " is the handle itself; pass ", subject.name,
                owned ? ".handle.createRef()" : ".createRef()",
                ", or a list of handles where C takes many");
}

void store(const CTypeObject &ctype, PyObject *value, void *to, const Subject &subject,
           Reference &held, Use use) {
    ENTREPOT_ASSERT(holds_gil());
    switch (ctype.c_kind) {
    case CKind::number:
    case CKind::raw:
        return store_number(ctype.kind, value, to, subject);
    case CKind::character:
        if (PyBytes_Check(value) && PyBytes_GET_SIZE(value) == 1)
            return put(to, PyBytes_AS_STRING(value)[0]);
        return store_number(ctype.kind, value, to, subject);
    case CKind::enumeration:
        return store_enumeration(ctype, value, to, subject);
    case CKind::address:
    case CKind::pointed:
        return store_address(ctype, value, to, subject, held, use);
    case CKind::record:
        return store_record(ctype, value, to, subject, held);
    case CKind::array:
        return store_array(ctype, value, to, subject, held);
    case CKind::none:
        break;
    }
    throw Error(ErrorKind::type, subject, ": C has no value there");
}

Reference load(const CTypeObject &ctype, const void *from, PyObject *owner) {
    ENTREPOT_ASSERT(holds_gil());
    const auto *const bytes = static_cast<const std::byte *>(from);
    switch (ctype.c_kind) {
    case CKind::number:
    case CKind::raw:
    case CKind::character:
        return load_number(ctype.kind, from);
    case CKind::enumeration:
        return load_enumeration(ctype, from);
    case CKind::address:
        return adapter_at(reinterpret_cast<PyTypeObject *>(ctype.type), load<void *>(bytes));
    case CKind::pointed: {
        void *const address = load<void *>(bytes);
        if (!address || !ctype.type)
            return Reference::borrow(Py_None);
        const Reference referent = owner ? referent_at(owner, from, address) : Reference();
        return record_view(reinterpret_cast<PyTypeObject *>(ctype.type), address, referent.get());
    }
    case CKind::record: {
        auto *type = reinterpret_cast<PyTypeObject *>(ctype.type);
        if (owner)
            return record_view(type, const_cast<void *>(from), owner);
        Reference copy = new_record(type);
        std::memcpy(pointer_of(copy.get())->address, from, layout_of(ctype.type)->size);
        return copy;
    }
    case CKind::array:
        return load_array(ctype, from, owner);
    case CKind::none:
        break;
    }
    return Reference::borrow(Py_None);
}

Reference adapter_at(PyTypeObject *type, void *address) {
    ENTREPOT_ASSERT(PyType_IsSubtype(type, adapter_type("Pointer")));
    if (!address)
        return Reference::borrow(Py_None);
    if (PyType_IsSubtype(type, adapter_type("DeviceArray")))
        return device_array(address, 0);
    Reference made = checked(type->tp_alloc(type, 0));  // zeros are a valid adapter
    entrepot_pointer &pointer = *pointer_of(made.get());
    pointer.address = address;
    pointer.length = -1;
    return made;
}

bool init_ctype(PyObject *module) {
    ctype_type = reinterpret_cast<PyTypeObject *>(PyType_FromSpec(&ctype_spec));
    return ctype_type &&
           PyModule_AddObjectRef(module, "Form", reinterpret_cast<PyObject *>(ctype_type)) == 0;
}

}  // namespace entrepot::python
