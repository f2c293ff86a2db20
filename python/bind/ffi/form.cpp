#include "form.hpp"

#include "declared.hpp"

#include "../adapters/object.hpp"
#include "../support/attribute.hpp"
#include "../support/load_number.hpp"
#include "../support/errors.hpp"
#include "../support/guarded.hpp"
#include "../support/interned.hpp"

#include <entrepot/core/error.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string_view>

namespace entrepot::python {
namespace {

struct HowRow {
    const char *name;
    How how;
};
constexpr HowRow how_table[] = {
    {"none", How::none},     {"number", How::number},    {"character", How::character},
    {"raw", How::raw},       {"enum", How::enumeration}, {"address", How::address},
    {"record", How::record}, {"pointed", How::pointed},  {"array", How::array},
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
void store_enumeration(const FormObject &form, PyObject *value, void *to, const Subject &subject) {
    if (reinterpret_cast<PyObject *>(Py_TYPE(value)) != form.type && !PyLong_CheckExact(value)) {
        const char *const expected = reinterpret_cast<PyTypeObject *>(form.type)->tp_name;
        const bool is_other_enum =
            PyObject_HasAttr(reinterpret_cast<PyObject *>(Py_TYPE(value)), enum_class_name) == 1 &&
            std::strcmp(Py_TYPE(value)->tp_name, expected) != 0;  // declared by two modules
        if (PyBool_Check(value) || is_other_enum || !PyIndex_Check(value))
            throw Error(ErrorKind::type, subject, ": a member of ", expected,
                        " was expected, not a ", Py_TYPE(value)->tp_name);
    }
    store_integer(form.kind, value, to, subject);
}

Reference load_enumeration(const FormObject &form, const void *from) {
    Reference number = load_number(form.kind, from);
    Reference member = item_of(form.members, number.get());
    if (!member && PyErr_Occurred())
        throw PythonError{};
    // A library newer than the headers may return unknown values. They become pseudo-members, not
    // ints, because programs test whether a status is of the enum before they compare it.
    return member ? std::move(member)
                  : checked(PyObject_CallMethodOneArg(form.type, unknown_member, number.get()));
}

// ---------------------------------------------------------------- addresses

const Interned handle_name("handle");

// The handle that a Python object owns, as entrepot.hip.Stream does; otherwise empty.
Reference handle_kept_by(PyObject *value) {
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

void store_address(const FormObject &form, PyObject *value, void *to, const Subject &subject,
                   Reference &held, Use use) {
    auto *type = reinterpret_cast<PyTypeObject *>(form.type);
    const Reference handle = type && is_handle_class(type) ? handle_kept_by(value) : Reference();
    if (handle)
        value = handle.get();
    if (!type)
        throw Error(ErrorKind::type, subject, ": the record that it points to is still being made");
    if (callback_of(form.type) && PyCallable_Check(value) && !is_adapter(value))
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
    if (callback_of(form.type)) {
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
    if (layout_of(form.type) && !PyObject_TypeCheck(value, type))
        check_room(value, layout_of(form.type)->size, subject);
    else if (layout_of(form.type) && use == Use::read)
        check_fields_not_freed(value, subject);
    put(to, taken.address);
    held = std::move(taken.held);
}

// `held` becomes the source record, which owns the objects that its fields point to.
void store_record(const FormObject &form, PyObject *value, void *to, const Subject &subject,
                  Reference &held) {
    auto *type = reinterpret_cast<PyTypeObject *>(form.type);
    Reference made;
    if (PyTuple_Check(value) || PyList_Check(value)) {  // its fields
        const Reference fields = checked(PySequence_Tuple(value));
        made = checked(PyObject_CallObject(form.type, fields.get()));
        value = made.get();
    }
    if (!PyObject_TypeCheck(value, type))
        throw Error(ErrorKind::type, subject, ": a ", type->tp_name,
                    " was expected, or a tuple of its fields, not a ", Py_TYPE(value)->tp_name);
    const void *const address = pointer_of(value)->address;
    if (!address)
        throw Error(ErrorKind::value, subject, ": the ", type->tp_name,
                    " is NULL, and is passed by value");
    check_fields_not_freed(value, subject);
    std::memmove(to, address, layout_of(form.type)->size);
    held = Reference::borrow(value);
}

// ---------------------------------------------------------------- arrays

bool is_text(const FormObject &array) { return array.element->how == How::character; }
bool is_bytes(const FormObject &array) {
    return array.element->how == How::character || array.element->how == How::raw;
}

void store_bytes(const FormObject &form, PyObject *value, void *to, const Subject &subject) {
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
    if (length <= form.count) {
        std::memmove(to, data, static_cast<std::size_t>(length));
        std::memset(static_cast<char *>(to) + length, 0,
                    static_cast<std::size_t>(form.count - length));
    }
    if (view.obj)
        PyBuffer_Release(&view);
    if (length > form.count)
        throw Error(ErrorKind::value, subject, ": ", length, " bytes do not fit the ", form.count,
                    " that there are");
}

void store_array(const FormObject &form, PyObject *value, void *to, const Subject &subject,
                 Reference &held) {
    if (is_bytes(form))
        return store_bytes(form, value, to, subject);
    const Reference items(PySequence_Check(value) ? PySequence_Tuple(value) : nullptr);
    if (!items) {
        clear_answer(PyExc_TypeError);
        throw Error(ErrorKind::type, subject, ": a list of ", form.count, " was expected, not a ",
                    Py_TYPE(value)->tp_name);
    }
    if (PyTuple_GET_SIZE(items.get()) != form.count)
        throw Error(ErrorKind::value, subject, ": has ", form.count, " elements, not ",
                    PyTuple_GET_SIZE(items.get()));
    const std::size_t size = size_of(*form.element);
    // commit all or nothing
    std::vector<std::byte> elements(size * static_cast<std::size_t>(form.count));
    Reference all = checked(PyTuple_New(form.count));
    for (Py_ssize_t i = 0; i < form.count; ++i) {
        Reference one;
        store(*form.element, PyTuple_GET_ITEM(items.get(), i),
              elements.data() + static_cast<std::size_t>(i) * size, subject, one);
        PyTuple_SET_ITEM(all.get(), i, one ? one.release() : Py_NewRef(Py_None));
    }
    std::memcpy(to, elements.data(), elements.size());
    held = std::move(all);
}

Reference load_array(const FormObject &form, const void *from, PyObject *owner) {
    const auto *const bytes = static_cast<const char *>(from);
    if (is_bytes(form)) {
        const Py_ssize_t length =
            is_text(form)
                ? static_cast<Py_ssize_t>(strnlen(bytes, static_cast<std::size_t>(form.count)))
                : form.count;
        return checked(PyBytes_FromStringAndSize(bytes, length));
    }
    Reference tuple = checked(PyTuple_New(form.count));  // a tuple, because these are copies
    const std::size_t size = size_of(*form.element);
    for (Py_ssize_t i = 0; i < form.count; ++i)
        PyTuple_SET_ITEM(
            tuple.get(), i,
            load(*form.element, bytes + static_cast<std::size_t>(i) * size, owner).release());
    return tuple;
}

// ---------------------------------------------------------------- the type

const Interned value_to_member_name("_value2member_map_");

PyObject *form_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static const char *const names[] = {"how", "kind", "type", "element", "count", nullptr};
    const char *how = nullptr, *kind = nullptr;
    PyObject *of = Py_None, *element = Py_None;
    Py_ssize_t count = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "ss|OOn", const_cast<char **>(names), &how,
                                     &kind, &of, &element, &count))
        return nullptr;
    return guarded([&] {
        const How chosen_how = row_named(how_table, "how", how).how;
        const ffi::Kind chosen_kind = static_cast<ffi::Kind>(
            &row_named(ffi::kind_table, "kind", kind) - ffi::kind_table.data());
        const FormObject *inner = element == Py_None ? nullptr : &form_of(element);
        if (chosen_how == How::array && (!inner || count < 0))
            throw Error(ErrorKind::value,
                        "Form(): an array has an element, and a count that is not negative");
        const bool is_of_class = chosen_how == How::enumeration || chosen_how == How::address ||
                                 chosen_how == How::record || chosen_how == How::pointed;
        // A self-referential record calls complete() later.
        const bool is_later = chosen_how == How::pointed && of == Py_None;
        if (is_of_class && !is_later && !PyType_Check(of))
            throw Error(ErrorKind::type, "Form(): '", how, "' is of a class");
        if (chosen_how == How::address &&
            !PyType_IsSubtype(reinterpret_cast<PyTypeObject *>(of), adapter_type("Pointer")))
            throw Error(ErrorKind::type, "Form(): ", reinterpret_cast<PyTypeObject *>(of)->tp_name,
                        " is no subclass of Pointer");
        if ((chosen_how == How::record || chosen_how == How::pointed) && !is_later &&
            !layout_of(of))
            throw Error(ErrorKind::type, "Form(): ", reinterpret_cast<PyTypeObject *>(of)->tp_name,
                        " is no record");
        Reference members;
        if (chosen_how == How::enumeration)
            members = checked(PyObject_GetAttr(of, value_to_member_name));
        Reference made = checked(type->tp_alloc(type, 0));
        auto &form = *reinterpret_cast<FormObject *>(made.get());
        form.how = chosen_how;
        form.kind = chosen_kind;
        form.type = of == Py_None ? nullptr : Py_NewRef(of);
        form.members = members.release();
        form.element = inner ? reinterpret_cast<FormObject *>(Py_NewRef(element)) : nullptr;
        form.count = count;
        return made.release();
    });
}

PyObject *form_complete(PyObject *self, PyObject *type) {
    auto &form = *reinterpret_cast<FormObject *>(self);
    if (form.how != How::pointed || form.type || !PyType_Check(type) || !layout_of(type)) {
        PyErr_SetString(
            PyExc_TypeError,
            "Form.complete(): a pointer form without a record, and a record class were expected");
        return nullptr;
    }
    form.type = Py_NewRef(type);
    Py_RETURN_NONE;
}

void form_dealloc(PyObject *self) {
    auto &form = *reinterpret_cast<FormObject *>(self);
    PyTypeObject *type = Py_TYPE(self);
    Py_XDECREF(form.type);
    Py_XDECREF(form.members);
    Py_XDECREF(reinterpret_cast<PyObject *>(form.element));
    type->tp_free(self);
    Py_DECREF(type);
}

PyObject *form_size(PyObject *self, void *) {
    return PyLong_FromSize_t(size_of(*reinterpret_cast<FormObject *>(self)));
}

PyGetSetDef form_attributes[] = {
    {"size", form_size, nullptr, "Size of the C type, in bytes.", nullptr},
    {},
};

PyMethodDef form_methods[] = {
    {"complete", form_complete, METH_O,
     "complete($self, type, /)\n--\n\n"
     "Set the record class of a pointer form that was made before the record."},
    {},
};

PyType_Slot form_slots[] = {
    {Py_tp_doc, const_cast<char *>("A C type and its conversion to Python. Made by entrepot.ffi.")},
    {Py_tp_new, reinterpret_cast<void *>(form_new)},
    {Py_tp_dealloc, reinterpret_cast<void *>(form_dealloc)},
    {Py_tp_getset, form_attributes},
    {Py_tp_methods, form_methods},
    {},
};
PyType_Spec form_spec{"entrepot._core.Form", sizeof(FormObject), 0, Py_TPFLAGS_DEFAULT, form_slots};

}  // namespace

PyTypeObject *form_type = nullptr;

const FormObject &form_of(PyObject *object) {
    if (!PyObject_TypeCheck(object, form_type))
        throw Error(ErrorKind::type, "a Form was expected, not a ", Py_TYPE(object)->tp_name);
    return *reinterpret_cast<const FormObject *>(object);
}

std::size_t size_of(const FormObject &form) {
    switch (form.how) {
    case How::record:
        return layout_of(form.type)->size;
    case How::array:
        return size_of(*form.element) * static_cast<std::size_t>(form.count);
    default:
        return ffi::size_of(form.kind);
    }
}

ffi::Type ffi_type_of(const FormObject &form) {
    if (form.how == How::array)  // as a parameter
        return ffi::Kind::pointer;
    if (form.how != How::record)
        return form.kind;
    const RecordLayout &layout = *layout_of(form.type);
    return ffi::Type::record(layout.size, layout.alignment, layout.scalars);
}

void add_scalars(const FormObject &form, std::size_t offset, std::vector<ffi::Scalar> &scalars) {
    if (form.how == How::record) {
        for (const ffi::Scalar &scalar : layout_of(form.type)->scalars)
            scalars.push_back({offset + scalar.offset, scalar.kind});
    } else if (form.how == How::array) {
        const std::size_t size = size_of(*form.element);
        for (Py_ssize_t i = 0; i < form.count; ++i)
            add_scalars(*form.element, offset + static_cast<std::size_t>(i) * size, scalars);
    } else {
        scalars.push_back({offset, form.kind});
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
    const Reference kept = handle_kept_by(object);
    PyObject *const handle = kept ? kept.get() : object;
    if (!is_handle(handle)) [[likely]]
        return;
    throw Error(ErrorKind::type, subject, ": C takes the address of a handle there, and a ",
                declared_of(Py_TYPE(handle))->name, " is the handle itself; pass ", subject.name,
                kept ? ".handle.createRef()" : ".createRef()",
                ", or a list of handles where C takes many");
}

void store(const FormObject &form, PyObject *value, void *to, const Subject &subject,
           Reference &held, Use use) {
    switch (form.how) {
    case How::number:
    case How::raw:
        return store_number(form.kind, value, to, subject);
    case How::character:
        if (PyBytes_Check(value) && PyBytes_GET_SIZE(value) == 1)
            return put(to, PyBytes_AS_STRING(value)[0]);
        return store_number(form.kind, value, to, subject);
    case How::enumeration:
        return store_enumeration(form, value, to, subject);
    case How::address:
    case How::pointed:
        return store_address(form, value, to, subject, held, use);
    case How::record:
        return store_record(form, value, to, subject, held);
    case How::array:
        return store_array(form, value, to, subject, held);
    case How::none:
        break;
    }
    throw Error(ErrorKind::type, subject, ": C has no value there");
}

Reference load(const FormObject &form, const void *from, PyObject *owner) {
    void *const place = const_cast<void *>(from);
    switch (form.how) {
    case How::number:
    case How::raw:
    case How::character:
        return load_number(form.kind, from);
    case How::enumeration:
        return load_enumeration(form, from);
    case How::address:
        return adapter_at(reinterpret_cast<PyTypeObject *>(form.type),
                          *static_cast<void **>(place));
    case How::pointed: {
        void *const address = *static_cast<void **>(place);
        if (!address || !form.type)
            return Reference::borrow(Py_None);
        const Reference kept = owner ? kept_at(owner, place, address) : Reference();
        return record_view(reinterpret_cast<PyTypeObject *>(form.type), address, kept.get());
    }
    case How::record: {
        auto *type = reinterpret_cast<PyTypeObject *>(form.type);
        if (owner)
            return record_view(type, place, owner);
        Reference copy = new_record(type);
        std::memcpy(pointer_of(copy.get())->address, from, layout_of(form.type)->size);
        return copy;
    }
    case How::array:
        return load_array(form, from, owner);
    case How::none:
        break;
    }
    return Reference::borrow(Py_None);
}

Reference adapter_at(PyTypeObject *type, void *address) {
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

bool init_form(PyObject *module) {
    form_type = reinterpret_cast<PyTypeObject *>(PyType_FromSpec(&form_spec));
    return form_type &&
           PyModule_AddObjectRef(module, "Form", reinterpret_cast<PyObject *>(form_type)) == 0;
}

}  // namespace entrepot::python
