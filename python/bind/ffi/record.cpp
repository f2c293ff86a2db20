// Records: C structs and unions as Python objects whose attributes are their fields.
#include "declared.hpp"

#include "../adapters/object.hpp"
#include "../support/errors.hpp"
#include "../support/gil.hpp"
#include "../support/guarded.hpp"
#include "../support/load_number.hpp"

#include <core/closest.hpp>
#include <entrepot/core/assert.hpp>
#include <entrepot/core/error.hpp>

#include <structmember.h>

#include <cstring>

namespace entrepot::python {
namespace {

DeclaredBase record_base{};
PyTypeObject *const record_type = reinterpret_cast<PyTypeObject *>(&record_base);
PyTypeObject *field_type = nullptr;

const RecordLayout &layout(PyObject *self) {
    const RecordLayout *found = layout_of(reinterpret_cast<PyObject *>(Py_TYPE(self)));
    if (!found)
        throw Error(ErrorKind::type, Py_TYPE(self)->tp_name,
                    " is no struct or union of C itself; its subclasses are");
    return *found;
}

// ---------------------------------------------------------------- fields

std::byte *place_of(const FieldObject &field, PyObject *self) {
    auto *address = static_cast<std::byte *>(pointer_of(self)->address);
    if (!address)
        throw Error(ErrorKind::value, field.owner, ".", field.text, ": the ", field.owner,
                    " is NULL");
    return address + field.offset;
}

std::uint64_t load_unit(const FieldObject &field, const std::byte *place) {
    return load_unsigned(place, 8 * static_cast<int>(ffi::size_of(field.ctype->kind)));
}

Reference load_bits(const FieldObject &field, const std::byte *place) {
    const std::uint64_t mask = ~std::uint64_t{0} >> (64 - field.bits);
    std::uint64_t value = load_unit(field, place) >> field.first_bit & mask;
    const ffi::Kind kind = field.ctype->kind;
    const bool is_signed = kind == ffi::Kind::int8 || kind == ffi::Kind::int16 ||
                           kind == ffi::Kind::int32 || kind == ffi::Kind::int64;
    if (is_signed && value >> (field.bits - 1) & 1)
        return checked(PyLong_FromLongLong(static_cast<long long>(value | ~mask)));
    return checked(PyLong_FromUnsignedLongLong(value));
}

void store_bits(const FieldObject &field, PyObject *value, std::byte *place) {
    Reference held;
    std::uint64_t given = 0;
    store(*field.ctype, value, &given, {field.owner, field.text, true}, held);
    const std::uint64_t mask = ~std::uint64_t{0} >> (64 - field.bits);
    const std::uint64_t unit = load_unit(field, place);
    const std::uint64_t changed = (unit & ~(mask << field.first_bit)) | (given & mask)
                                                                            << field.first_bit;
    std::byte written[sizeof changed];
    std::memcpy(written, &changed, sizeof changed);
    // A number that is too wide reads back as a different one.
    std::byte copy[sizeof changed] = {};
    std::memcpy(copy, written, ffi::size_of(field.ctype->kind));
    const Reference back = load_bits(field, copy);
    const Reference number = checked(PyNumber_Index(value));
    const int is_same = PyObject_RichCompareBool(back.get(), number.get(), Py_EQ);
    if (is_same < 0)
        throw PythonError{};
    if (!is_same)
        throw Error(ErrorKind::overflow, Subject{field.owner, field.text, true},
                    ": the number does not fit ", field.bits, " bits");
    std::memcpy(place, written, ffi::size_of(field.ctype->kind));
}

// The name of the field that contains the byte; inside a nested record, that
// of the outermost field.
const char *field_at(const RecordLayout &layout, std::size_t offset) {
    for (const FieldObject *field : layout.fields)
        // wraps around for bytes before the field
        if (offset - field->offset < size_of(*field->ctype))
            return field->text;
    return "";
}

PyObject *root_of_record(PyObject *self) {
    return record_of(self)->root ? record_of(self)->root : self;
}

struct Referent {
    std::size_t offset;  // from the place of the query
    Reference object;
};

// Requires: the caller holds Exclusive of the record's root.
std::vector<Referent> referents_within(PyObject *self, const void *place, std::size_t size) {
    std::vector<Referent> found;
    PyObject *const referents = record_of(root_of_record(self))->referents, *key = nullptr,
                    *object = nullptr;
    const auto first = reinterpret_cast<std::size_t>(place);
    for (Py_ssize_t position = 0; referents && PyDict_Next(referents, &position, &key, &object);) {
        const std::size_t at = PyLong_AsSize_t(key);
        if (at >= first && at - first < size)
            found.push_back({at - first, Reference::borrow(object)});
    }
    return found;
}

// Collects the objects that the fields of a stored value point to, with the offsets of these
// fields. `held` is the result of store().
void add_referents(const CTypeObject &ctype, std::size_t offset, PyObject *held,
                   std::vector<Referent> &found) {
    if (!held || held == Py_None)
        return;
    if (ctype.c_kind == CKind::array) {
        const std::size_t size = size_of(*ctype.element);
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(held); ++i)
            add_referents(*ctype.element, offset + static_cast<std::size_t>(i) * size,
                          PyTuple_GET_ITEM(held, i), found);
    } else if (ctype.c_kind == CKind::record) {
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(held); i += 2)  // of copy_record()
            found.push_back({offset + PyLong_AsSize_t(PyTuple_GET_ITEM(held, i)),
                             Reference::borrow(PyTuple_GET_ITEM(held, i + 1))});
    } else {
        found.push_back({offset, Reference::borrow(held)});
    }
}

Reference key_of(const std::byte *place) {
    return checked(PyLong_FromVoidPtr(const_cast<std::byte *>(place)));
}

// Writes a field that points to objects. These live until the field is assigned again or the record
// that owns the memory is destroyed.
void put_pointers(PyObject *self, const CTypeObject &ctype, std::byte *place,
                  const std::vector<std::byte> &value, const Reference &held) {
    std::vector<Referent> added, removed;  // released after the lock
    add_referents(ctype, 0, held.get(), added);
    auto *const root = record_of(root_of_record(self));
    // The bytes and the objects change together: see copy_record().
    const Exclusive exclusive(reinterpret_cast<PyObject *>(root));
    std::memcpy(place, value.data(), value.size());
    removed = referents_within(self, place, value.size());
    for (const Referent &each : removed)
        if (PyDict_DelItem(root->referents, key_of(place + each.offset).get()) < 0)
            throw PythonError{};
    if (!added.empty() && !root->referents)
        root->referents = checked(PyDict_New()).release();
    for (const Referent &each : added)
        if (PyDict_SetItem(root->referents, key_of(place + each.offset).get(), each.object.get()) <
            0)
            throw PythonError{};
}

bool can_point(const CTypeObject &ctype) {
    if (ctype.c_kind == CKind::array)
        return can_point(*ctype.element);
    if (ctype.c_kind != CKind::record)
        return ctype.c_kind == CKind::address || ctype.c_kind == CKind::pointed;
    for (const FieldObject *field : layout_of(ctype.type)->fields)
        if (can_point(*field->ctype))
            return true;
    return false;
}

void check_writable(PyObject *self) {
    if (pointer_of(self)->flags & ENTREPOT_ADAPTER_READ_ONLY)
        throw Error(ErrorKind::value, "the memory of this ", Py_TYPE(self)->tp_name,
                    " is read-only");
}

void set_field(const FieldObject &field, PyObject *self, PyObject *value) {
    std::byte *const place = place_of(field, self);
    check_writable(self);
    if (field.bits)
        return store_bits(field, value, place);
    const Subject subject{field.owner, field.text, true};
    Reference held;
    if (!can_point(*field.ctype))
        return store(*field.ctype, value, place, subject, held);
    std::vector<std::byte> stored(size_of(*field.ctype));
    store(*field.ctype, value, stored.data(), subject, held);
    put_pointers(self, *field.ctype, place, stored, held);
}

PyObject *field_get(PyObject *descriptor, PyObject *self, PyObject *) {
    if (!self)
        return Py_NewRef(descriptor);
    return guarded([&] {
        const auto &field = *reinterpret_cast<FieldObject *>(descriptor);
        if (!is_record(self))
            throw Error(ErrorKind::type, field.owner, ".", field.text,
                        " is a field of records, not of a ", Py_TYPE(self)->tp_name);
        const std::byte *const place = place_of(field, self);
        if (field.bits)
            return load_bits(field, place).release();
        return load(*field.ctype, place, self).release();
    });
}

int field_set(PyObject *descriptor, PyObject *self, PyObject *value) {
    return guarded([&] {
        const auto &field = *reinterpret_cast<FieldObject *>(descriptor);
        if (!is_record(self))
            throw Error(ErrorKind::type, field.owner, ".", field.text,
                        " is a field of records, not of a ", Py_TYPE(self)->tp_name);
        if (!value)
            throw Error(ErrorKind::type, Subject{field.owner, field.text, true},
                        " cannot be deleted");
        set_field(field, self, value);
    });
}

// Only reached on failure: classes and their fields are never freed.
void field_dealloc(PyObject *self) {
    auto &field = *reinterpret_cast<FieldObject *>(self);
    PyTypeObject *type = Py_TYPE(self);
    Py_XDECREF(reinterpret_cast<PyObject *>(const_cast<CTypeObject *>(field.ctype)));
    Py_XDECREF(field.name);
    type->tp_free(self);
    Py_DECREF(type);
}

PyMemberDef field_members[] = {
    {"name", T_OBJECT, offsetof(FieldObject, name), READONLY, "Name of the field in C."},
    {"offset", T_PYSSIZET, offsetof(FieldObject, offset), READONLY,
     "Offset of the field in the record, in bytes."},
    {"bits", T_INT, offsetof(FieldObject, bits), READONLY,
     "Width of a bit-field; 0 for other fields."},
    {"first_bit", T_INT, offsetof(FieldObject, first_bit), READONLY,
     "Position of a bit-field in its unit, in bits."},
    {},
};

PyObject *field_size(PyObject *self, void *) {
    return PyLong_FromSize_t(size_of(*reinterpret_cast<FieldObject *>(self)->ctype));
}

PyGetSetDef field_attributes[] = {
    {"size", field_size, nullptr, "Size of the field, in bytes.", nullptr}, {}};

PyType_Slot field_slots[] = {
    {Py_tp_doc, const_cast<char *>(
                    "A field of a struct or union, which is an attribute of the record's class.\n\n"
                    "Examples\n"
                    "--------\n"
                    ">>> from entrepot import hip\n"
                    ">>> field = hip.dim3.y\n"
                    ">>> field.name, field.offset, field.size\n"
                    "('y', 4, 4)")},
    {Py_tp_descr_get, reinterpret_cast<void *>(field_get)},
    {Py_tp_descr_set, reinterpret_cast<void *>(field_set)},
    {Py_tp_dealloc, reinterpret_cast<void *>(field_dealloc)},
    {Py_tp_members, field_members},
    {Py_tp_getset, field_attributes},
    {},
};
PyType_Spec field_spec{"entrepot._core.Field", sizeof(FieldObject), 0,
                       Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, field_slots};

// ---------------------------------------------------------------- objects

// Allocates `count` records with default values.
void allocate(PyObject *self, const RecordLayout &layout, std::size_t count) {
    if (count > static_cast<std::size_t>(PY_SSIZE_T_MAX) / std::max<std::size_t>(layout.size, 1))
        throw Error(ErrorKind::overflow, layout.name, ".allocate(): ", count,
                    " records are more than there are bytes");
    become_owner(self, layout.size * count, std::max<std::size_t>(layout.alignment, 16));
    auto *to = static_cast<std::byte *>(pointer_of(self)->address);
    if (!layout.initial.empty())
        for (std::size_t i = 0; i < count; ++i)
            std::memcpy(to + i * layout.size, layout.initial.data(), layout.size);
    pointer_of(self)->length = static_cast<Py_ssize_t>(count);
}

// A repeated __init__ keeps the memory, because views point into it.
void reset(PyObject *self, const RecordLayout &layout) {
    check_writable(self);
    void *const to = pointer_of(self)->address;
    if (layout.initial.empty())
        std::memset(to, 0, layout.size);
    else
        std::memcpy(to, layout.initial.data(), layout.size);
}

// The name in quotes, with the most similar field name; or with all field names if none is similar.
std::string meant_by(const RecordLayout &layout, PyObject *name) {
    const char *const text = PyUnicode_AsUTF8(name);
    if (!text)
        throw PythonError{};
    std::vector<std::string> names;
    for (const FieldObject *field : layout.fields)
        names.emplace_back(field->text);
    std::string words = did_you_mean(text, names);
    if (words.empty())
        for (const std::string &each : names)
            words.append(words.empty() ? "; it has " : ", ").append(each);
    return sentence_of("'", text, "'", words);
}

const FieldObject &field_named(PyObject *self, const RecordLayout &layout, PyObject *name) {
    for (const FieldObject *field : layout.fields)
        if (field->name == name)
            return *field;
    Reference found(PyObject_GetAttr(reinterpret_cast<PyObject *>(Py_TYPE(self)), name));
    if (!found)
        PyErr_Clear();
    if (!found || Py_TYPE(found.get()) != field_type) {
        throw Error(ErrorKind::type, layout.name, "() has no field ", meant_by(layout, name));
    }
    return *reinterpret_cast<FieldObject *>(found.get());  // the class owns it
}

void fill(PyObject *self, PyObject *const *values, std::size_t count, PyObject *const *names,
          std::size_t named) {
    const RecordLayout &fields = layout(self);
    if (count > fields.fields.size())
        throw Error(ErrorKind::type, fields.name, "() has ", fields.fields.size(), " fields, but ",
                    count, " values were given");
    if (fields.is_union && count + named > 1)
        throw Error(ErrorKind::type, fields.name, "() is a union: one field at most has a value");
    if (pointer_of(self)->address)
        reset(self, fields);
    else
        allocate(self, fields, 1);
    for (std::size_t i = 0; i < count; ++i)
        set_field(*fields.fields[i], self, values[i]);
    for (std::size_t i = 0; i < named; ++i) {
        const FieldObject &field = field_named(self, fields, names[i]);
        for (std::size_t given = 0; given < count; ++given)
            if (fields.fields[given] == &field)
                throw Error(ErrorKind::type, fields.name, "() got '", field.text,
                            "' by position and by name");
        set_field(field, self, values[count + i]);
    }
}

PyObject *record_new(PyTypeObject *type, PyObject *, PyObject *) {
    return guarded([&] {
        Reference made = checked(type->tp_alloc(type, 0));
        pointer_of(made.get())->length = -1;
        return made.release();
    });
}

// Used by subclasses in Python and by explicit calls of __init__.
int record_init(PyObject *self, PyObject *args, PyObject *kwargs) {
    return guarded([&] {
        std::vector<PyObject *> values(&PyTuple_GET_ITEM(args, 0),
                                       &PyTuple_GET_ITEM(args, 0) + PyTuple_GET_SIZE(args)),
            names;
        PyObject *name = nullptr, *value = nullptr;
        for (Py_ssize_t position = 0; kwargs && PyDict_Next(kwargs, &position, &name, &value);) {
            names.push_back(name);
            values.push_back(value);
        }
        fill(self, values.data(), static_cast<std::size_t>(PyTuple_GET_SIZE(args)), names.data(),
             names.size());
    });
}

bool has_attribute(PyTypeObject *type, PyObject *name) {
    const SetErrorAside aside;
    return PyObject_HasAttr(reinterpret_cast<PyObject *>(type), name) == 1;
}

// Improves the AttributeError for an unknown field. For reads, Python adds a suggestion itself.
int record_set_attribute(PyObject *self, PyObject *name, PyObject *value) {
    const int result = PyObject_GenericSetAttr(self, name, value);
    if (result == 0 || !PyErr_ExceptionMatches(PyExc_AttributeError) ||
        has_attribute(Py_TYPE(self), name)) [[likely]]
        return result;
    PyErr_Clear();
    return guarded([&] {
        const RecordLayout &fields = layout(self);
        PyErr_Format(PyExc_AttributeError, "%s has no field %s", fields.name.c_str(),
                     meant_by(fields, name).c_str());
        throw PythonError{};
    });
}

PyObject *record_vectorcall(PyObject *type, PyObject *const *args, std::size_t nargsf,
                            PyObject *kwnames) {
    return guarded([&] {
        Reference made =
            checked(record_new(reinterpret_cast<PyTypeObject *>(type), nullptr, nullptr));
        fill(made.get(), args, static_cast<std::size_t>(PyVectorcall_NARGS(nargsf)),
             kwnames ? &PyTuple_GET_ITEM(kwnames, 0) : nullptr,
             kwnames ? static_cast<std::size_t>(PyTuple_GET_SIZE(kwnames)) : 0);
        return made.release();
    });
}

int record_traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(record_of(self)->root);
    Py_VISIT(record_of(self)->referents);
    const traverseproc base = record_type->tp_base->tp_traverse;
    return base ? base(self, visit, arg) : 0;
}

int record_clear(PyObject *self) {
    Py_CLEAR(record_of(self)->referents);  // a view keeps its memory until dealloc
    const inquiry base = record_type->tp_base->tp_clear;
    return base ? base(self) : 0;
}

void record_dealloc(PyObject *self) {
    PyObject_GC_UnTrack(self);
    Py_CLEAR(record_of(self)->referents);
    PyObject *const root = std::exchange(record_of(self)->root, nullptr);
    record_type->tp_base->tp_dealloc(self);
    Py_XDECREF(root);
}

// Does not follow pointers: the addresses in a record need not be valid.
Reference text_of(const CTypeObject &ctype, const std::byte *place, PyObject *self) {
    if (ctype.c_kind == CKind::address || ctype.c_kind == CKind::pointed) {
        void *address = nullptr;
        std::memcpy(&address, place, sizeof address);
        return checked(address ? PyUnicode_FromFormat("%p", address)
                               : PyUnicode_FromString("None"));
    }
    if (ctype.c_kind != CKind::array || ctype.element->c_kind == CKind::character ||
        ctype.element->c_kind == CKind::raw)
        return checked(PyObject_Repr(load(ctype, place, self).get()));
    Reference text = checked(PyUnicode_FromString("["));
    const std::size_t size = size_of(*ctype.element);
    for (Py_ssize_t i = 0; i < ctype.count; ++i) {
        const Reference element =
            text_of(*ctype.element, place + static_cast<std::size_t>(i) * size, self);
        text = checked(PyUnicode_FromFormat("%U%s%U", text.get(), i ? ", " : "", element.get()));
    }
    return checked(PyUnicode_FromFormat("%U]", text.get()));
}

PyObject *record_repr(PyObject *self) {
    return guarded([&] {
        const RecordLayout &fields = layout(self);
        const void *const address = pointer_of(self)->address;
        if (!address)
            return PyUnicode_FromFormat("<%s at 0x0>", fields.name.c_str());
        if (pointer_of(self)->length < 1)  // unknown whether the address is valid
            return PyUnicode_FromFormat("<%s at %p>", fields.name.c_str(), address);
        Reference text = checked(PyUnicode_FromFormat("<%s at %p:", fields.name.c_str(), address));
        const std::size_t most = fields.is_union ? 1 : 6;
        for (std::size_t i = 0; i < fields.fields.size() && i < most; ++i) {
            const FieldObject &field = *fields.fields[i];
            const std::byte *const place = place_of(field, self);
            const Reference value = field.bits
                                        ? checked(PyObject_Repr(load_bits(field, place).get()))
                                        : text_of(*field.ctype, place, self);
            text = checked(PyUnicode_FromFormat("%U %s=%U", text.get(), field.text, value.get()));
        }
        return PyUnicode_FromFormat("%U%s>", text.get(), fields.fields.size() > most ? " …" : "");
    });
}

Py_ssize_t record_length(PyObject *self) {
    return guarded([&] { return static_cast<Py_ssize_t>(layout(self).fields.size()); });
}

PyObject *record_item(PyObject *self, Py_ssize_t index) {
    return guarded([&] {
        const RecordLayout &fields = layout(self);
        if (index < 0 || static_cast<std::size_t>(index) >= fields.fields.size())
            throw Error(ErrorKind::index, fields.name, " has ", fields.fields.size(),
                        " fields; there is no field ", index);
        return field_get(
            reinterpret_cast<PyObject *>(fields.fields[static_cast<std::size_t>(index)]), self,
            nullptr);
    });
}

// Indices select fields, as in hip-python, while Pointer's `p[n]` adds bytes.
PyObject *record_subscript(PyObject *self, PyObject *key) {
    Py_ssize_t index = PyNumber_AsSsize_t(key, PyExc_IndexError);
    if (index == -1 && PyErr_Occurred())
        return nullptr;
    if (index < 0)
        index += record_length(self);
    return record_item(self, index);
}

int record_contains(PyObject *self, PyObject *name) {
    if (!PyUnicode_Check(name))
        return 0;
    return guarded([&] {
        int found = 0;
        for (const FieldObject *field : layout(self).fields)
            found |= PyUnicode_Compare(field->name, name) == 0;
        return found;
    });
}

// ---------------------------------------------------------------- methods

const RecordLayout &layout_of_class(PyObject *type) {
    if (const RecordLayout *found = layout_of(type))
        return *found;
    throw Error(ErrorKind::type, reinterpret_cast<PyTypeObject *>(type)->tp_name,
                " is no struct or union of C itself");
}

PyObject *properties(PyObject *type, PyObject *) {
    return guarded([&] {
        const RecordLayout &fields = layout_of_class(type);
        Reference list = checked(PyList_New(static_cast<Py_ssize_t>(fields.fields.size())));
        for (std::size_t i = 0; i < fields.fields.size(); ++i)
            PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i),
                            Py_NewRef(fields.fields[i]->name));
        return list.release();
    });
}

PyObject *c_sizeof(PyObject *type, PyObject *) {
    return guarded([&] { return PyLong_FromSize_t(layout_of_class(type).size); });
}

PyObject *allocate_records(PyObject *type, PyObject *args, PyObject *kwargs) {
    static const char *const names[] = {"count", nullptr};
    Py_ssize_t count = 1;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|n:allocate", const_cast<char **>(names),
                                     &count))
        return nullptr;
    return guarded([&] {
        const RecordLayout &fields = layout_of_class(type);
        if (count < 1)
            throw Error(ErrorKind::value, fields.name, ".allocate(): at least one record, not ",
                        count);
        return new_record(reinterpret_cast<PyTypeObject *>(type), static_cast<std::size_t>(count))
            .release();
    });
}

Py_ssize_t bytes_of(const Target &target, PyObject *object) {
    if (!target.address || !is_record(object))
        return target.bytes;
    const RecordLayout *of = layout_of(reinterpret_cast<PyObject *>(Py_TYPE(object)));
    const Py_ssize_t length = pointer_of(object)->length;
    return of && length >= 0 ? length * static_cast<Py_ssize_t>(of->size) : -1;
}

// Points the new object to `object`'s memory, which must hold one record at
// least if its size is known.
void point_to(PyObject *self, const RecordLayout &layout, PyObject *object) {
    Target target = target_of(object);
    const Py_ssize_t bytes = bytes_of(target, object);
    if (bytes >= 0 && target.address && static_cast<std::size_t>(bytes) < layout.size)
        throw Error(ErrorKind::value, layout.name, ".fromObj(): ", bytes,
                    " bytes are fewer than the ", layout.size, " of a record");
    const Py_ssize_t count =
        bytes < 0 || !target.address
            ? -1
            : bytes / std::max<Py_ssize_t>(static_cast<Py_ssize_t>(layout.size), 1);
    set(self, std::move(target), count);
}

PyObject *from_object(PyObject *type, PyObject *object) {
    return guarded([&] {
        const RecordLayout &fields = layout_of_class(type);
        if (PyObject_TypeCheck(object, reinterpret_cast<PyTypeObject *>(type)))
            return Py_NewRef(object);
        Reference made =
            checked(record_new(reinterpret_cast<PyTypeObject *>(type), nullptr, nullptr));
        point_to(made.get(), fields, object);
        return made.release();
    });
}

PyObject *element(PyObject *self, PyObject *key) {
    return guarded([&] {
        const RecordLayout &fields = layout(self);
        const Py_ssize_t index = PyNumber_AsSsize_t(key, PyExc_IndexError);
        if (index == -1 && PyErr_Occurred())
            throw PythonError{};
        const entrepot_pointer &pointer = *pointer_of(self);
        if (!pointer.address)
            throw Error(ErrorKind::value, fields.name, ".element(): the ", fields.name, " is NULL");
        if (index < 0 || (pointer.length >= 0 && index >= pointer.length))
            throw Error(ErrorKind::index, fields.name, ".element(): ", index, " is not below ",
                        pointer.length);
        return record_view(Py_TYPE(self),
                           static_cast<std::byte *>(pointer.address) +
                               static_cast<std::size_t>(index) * fields.size,
                           self)
            .release();
    });
}

PyMethodDef methods[] = {
    {"PROPERTIES", properties, METH_NOARGS | METH_CLASS,
     "PROPERTIES($type, /)\n--\n\n"
     "Return the names of the fields.\n\n"
     "Returns\n"
     "-------\n"
     "list of str\n"
     "    The names, in C's order.\n\n"
     "Raises\n"
     "------\n"
     "TypeError\n"
     "    If the class is Record itself.\n\n"
     "Examples\n"
     "--------\n"
     ">>> from entrepot import hip\n"
     ">>> hip.dim3.PROPERTIES()\n"
     "['x', 'y', 'z']"},
    {"c_sizeof", c_sizeof, METH_NOARGS | METH_CLASS,
     "c_sizeof($type, /)\n--\n\n"
     "Return the size of one record.\n\n"
     "Returns\n"
     "-------\n"
     "int\n"
     "    The size in bytes.\n\n"
     "Raises\n"
     "------\n"
     "TypeError\n"
     "    If the class is Record itself.\n\n"
     "Examples\n"
     "--------\n"
     ">>> from entrepot import hip\n"
     ">>> hip.dim3.c_sizeof()\n"
     "12"},
    {"allocate", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(allocate_records)),
     METH_VARARGS | METH_KEYWORDS | METH_CLASS,
     "allocate($type, count=1)\n--\n\n"
     "Allocate a contiguous array of records.\n\n"
     "The attributes are those of the first record. ``element(i)`` is the i-th record.\n\n"
     "Parameters\n"
     "----------\n"
     "count : int, optional\n"
     "    The number of records, at least one. The default is 1.\n\n"
     "Returns\n"
     "-------\n"
     "Record\n"
     "    The array, whose fields have their defaults. It owns the memory.\n\n"
     "Raises\n"
     "------\n"
     "TypeError\n"
     "    If the class is Record itself.\n"
     "ValueError\n"
     "    If the number is below one.\n"
     "OverflowError\n"
     "    If the size of the array in bytes is too large.\n\n"
     "Examples\n"
     "--------\n"
     ">>> from entrepot import hip\n"
     ">>> points = hip.float2.allocate(3)\n"
     ">>> points.element(2).y = 1.5\n"
     ">>> points.element(2).y\n"
     "1.5"},
    {"fromObj", from_object, METH_O | METH_CLASS,
     "fromObj($type, pyobj, /)\n--\n\n"
     "Return the record at an address, or ``pyobj`` if it has this class.\n\n"
     "Parameters\n"
     "----------\n"
     "pyobj : object\n"
     "    An object that Pointer accepts. None is NULL.\n\n"
     "Returns\n"
     "-------\n"
     "Record\n"
     "    The record at the address of ``Pointer(pyobj)``.\n\n"
     "Raises\n"
     "------\n"
     "ValueError\n"
     "    If the memory is strided, or is known to be smaller than a record.\n"
     "TypeError\n"
     "    If the object has no address, or if the class is Record itself.\n"
     "OverflowError\n"
     "    If an int is outside of 0 … 2**64 - 1.\n\n"
     "Examples\n"
     "--------\n"
     ">>> from entrepot import hip\n"
     ">>> numbers = np.array([32, 4, 1], \"uint32\")\n"
     ">>> grid = hip.dim3.fromObj(numbers)\n"
     ">>> grid.y\n"
     "4"},
    {"element", element, METH_O,
     "element($self, i, /)\n--\n\n"
     "Return one record of an array.\n\n"
     "Parameters\n"
     "----------\n"
     "i : int\n"
     "    The index of the record, from 0.\n\n"
     "Returns\n"
     "-------\n"
     "Record\n"
     "    The i-th record. It keeps the array alive.\n\n"
     "Raises\n"
     "------\n"
     "IndexError\n"
     "    If the index is negative, or not below the known number of records.\n"
     "ValueError\n"
     "    If the address is NULL.\n\n"
     "Examples\n"
     "--------\n"
     ">>> from entrepot import hip\n"
     ">>> grids = hip.dim3.fromObj(np.arange(6, dtype=\"uint32\"))\n"
     ">>> [*grids.element(1)]\n"
     "[3, 4, 5]"},
    {},
};

PySequenceMethods as_sequence{};
PyMappingMethods as_mapping{};

constexpr const char *record_doc =
    "A C struct or union, whose fields are attributes; the base class of records in bindings.\n\n"
    "A Record is a Pointer to its own memory, which is zeroed, or to the memory given to\n"
    "``fromObj``.\n\n"
    "Parameters\n"
    "----------\n"
    "*values : object\n"
    "    The values of the fields, in C's order. A union has one value at most.\n"
    "**fields : object\n"
    "    The values of fields by their names. Fields that are left out have their default in\n"
    "    the declaration, else zero.\n\n"
    "Raises\n"
    "------\n"
    "TypeError\n"
    "    If a field does not exist, has two values or a value of the wrong type, or if the\n"
    "    class is Record itself.\n"
    "OverflowError\n"
    "    If a number does not fit its field.\n"
    "ValueError\n"
    "    If text or a list does not fit its field.\n\n"
    "Examples\n"
    "--------\n"
    ">>> from entrepot import hip\n"
    ">>> grid = hip.dim3(32, z=2)\n"
    ">>> grid.x, grid.y, grid.z\n"
    "(32, 1, 2)";

// ---------------------------------------------------------------- classes

struct FieldArguments {
    PyObject *name, *ctype;
    Py_ssize_t offset;
    int first_bit, bits;
    PyObject *value;  // the default; None means zero
    int in_anonymous;
};

Reference make_field(const RecordLayout &owner, const FieldArguments &arguments) {
    const CTypeObject &ctype = ctype_of(arguments.ctype);
    const std::size_t size = size_of(ctype);
    if (arguments.offset < 0 || static_cast<std::size_t>(arguments.offset) + size > owner.size)
        throw Error(ErrorKind::value, owner.name, ": a field at ", arguments.offset,
                    " lies outside of the ", owner.size, " bytes");
    if (arguments.bits &&
        (ctype.c_kind != CKind::number || arguments.first_bit < 0 || arguments.bits < 1 ||
         static_cast<std::size_t>(arguments.first_bit + arguments.bits) > 8 * size))
        throw Error(ErrorKind::value, owner.name, ": a bit-field lies outside of its unit");
    Reference made = checked(field_type->tp_alloc(field_type, 0));
    auto &field = *reinterpret_cast<FieldObject *>(made.get());
    field.ctype = reinterpret_cast<const CTypeObject *>(Py_NewRef(arguments.ctype));
    PyObject *name = Py_NewRef(arguments.name);
    PyUnicode_InternInPlace(&name);
    field.name = name;
    field.text = PyUnicode_AsUTF8(name);
    field.owner = owner.name.c_str();
    field.offset = static_cast<std::size_t>(arguments.offset);
    field.first_bit = arguments.first_bit;
    field.bits = arguments.bits;
    field.in_anonymous = arguments.in_anonymous != 0;
    return made;
}

void set_default(RecordLayout &made, const FieldObject &field, PyObject *value) {
    made.initial.resize(made.size);
    Reference held;
    store(*field.ctype, value, made.initial.data() + field.offset, {field.owner, field.text, true},
          held);
}

// make_record(name, size, alignment, is_union, fields, dict): a field is
// (name, ctype, offset, first bit, bits, default, in_anonymous).
PyObject *make_record(PyObject *, PyObject *args) {
    PyObject *name = nullptr, *fields = nullptr, *dict = nullptr;
    Py_ssize_t size = 0, alignment = 0;
    int is_union = 0;
    if (!PyArg_ParseTuple(args, "UnnpO!O!", &name, &size, &alignment, &is_union, &PyTuple_Type,
                          &fields, &PyDict_Type, &dict))
        return nullptr;
    return guarded([&] {
        auto made = std::make_unique<RecordLayout>();
        made->name = PyUnicode_AsUTF8(name);
        made->size = static_cast<std::size_t>(size);
        made->alignment = static_cast<std::size_t>(alignment);
        made->is_union = is_union != 0;
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(fields); ++i) {
            FieldArguments arguments{};
            if (!PyArg_ParseTuple(PyTuple_GET_ITEM(fields, i), "UOniiOp", &arguments.name,
                                  &arguments.ctype, &arguments.offset, &arguments.first_bit,
                                  &arguments.bits, &arguments.value, &arguments.in_anonymous))
                throw PythonError{};
            Reference field = make_field(*made, arguments);
            auto &object = *reinterpret_cast<FieldObject *>(field.get());
            if (arguments.value != Py_None)
                set_default(*made, object, arguments.value);
            if (!object.in_anonymous) {
                add_scalars(*object.ctype, object.offset, made->scalars);
                made->fields.push_back(&object);
            }
            if (PyDict_SetItem(dict, arguments.name, field.get()) < 0)
                throw PythonError{};
            (void)field.release();  // owned by the layout
        }
        Reference type = make_declared(record_base, made.get(), name, dict);
        (void)made.release();
        reinterpret_cast<PyTypeObject *>(type.get())->tp_vectorcall = record_vectorcall;
        return type.release();
    });
}

PyMethodDef functions[] = {
    {"make_record", make_record, METH_VARARGS,
     "Make the class of a struct or union. For entrepot.ffi."},
    {},
};

}  // namespace

const RecordLayout *layout_of(PyObject *type) noexcept {
    auto *class_ = reinterpret_cast<PyTypeObject *>(type);
    return PyType_IsSubtype(class_, record_type)
               ? static_cast<const RecordLayout *>(declared_of(class_))
               : nullptr;
}

bool is_record(PyObject *object) noexcept { return PyObject_TypeCheck(object, record_type); }

Reference record_view(PyTypeObject *type, void *address, PyObject *owner) {
    Reference made = checked(type->tp_alloc(type, 0));
    if (!owner) {
        pointer_of(made.get())->address = address;
        pointer_of(made.get())->length = -1;
        return made;
    }
    const bool is_read_only = (pointer_of(owner)->flags & ENTREPOT_ADAPTER_READ_ONLY) != 0;
    PyObject *const root = is_record(owner) ? root_of_record(owner) : owner;
    const Py_ssize_t length =
        is_record(owner) ? std::min<Py_ssize_t>(pointer_of(owner)->length, 1) : -1;
    // Depending on the root prevents it from releasing the memory while the view exists.
    set(made.get(), {address, depend_on(root), -1, is_read_only}, length);
    if (is_record(owner))
        record_of(made.get())->root = Py_NewRef(root);
    return made;
}

Reference referent_at(PyObject *record, const void *place, const void *address) {
    ENTREPOT_ASSERT(is_record(record));
    const Exclusive exclusive(root_of_record(record));
    for (Referent &each : referents_within(record, place, 1))
        if (pointer_of(each.object.get())->address == address)
            return std::move(each.object);
    return {};
}

Reference copy_record(PyObject *record, std::size_t size, void *to) {
    ENTREPOT_ASSERT(is_record(record));
    const void *const from = pointer_of(record)->address;
    std::vector<Referent> referents;
    {
        const Exclusive exclusive(root_of_record(record));
        std::memcpy(to, from, size);
        referents = referents_within(record, from, size);
    }
    if (referents.empty())
        return {};
    Reference held = checked(PyTuple_New(2 * static_cast<Py_ssize_t>(referents.size())));
    Py_ssize_t i = 0;
    for (Referent &each : referents) {
        PyTuple_SET_ITEM(held.get(), i++, checked(PyLong_FromSize_t(each.offset)).release());
        PyTuple_SET_ITEM(held.get(), i++, each.object.release());
    }
    return held;
}

void check_fields_not_freed(PyObject *record, const Subject &subject) {
    ENTREPOT_ASSERT(is_record(record));
    PyObject *const root = root_of_record(record);
    const RecordLayout &of = layout(record);
    std::vector<Referent> referents;
    {
        const Exclusive exclusive(root);
        if (!record_of(root)->referents) [[likely]]
            return;
        const std::size_t count =
            static_cast<std::size_t>(std::max<Py_ssize_t>(pointer_of(record)->length, 1));
        referents = referents_within(record, pointer_of(record)->address, of.size * count);
    }
    const auto *const first = static_cast<const std::byte *>(pointer_of(record)->address);
    for (const Referent &each : referents)
        // Otherwise C has overwritten the field.
        if (load<void *>(first + each.offset) == pointer_of(each.object.get())->address)
            with_subject([&] { check_nothing_freed(each.object.get()); }, subject, ": ", of.name,
                         ".", field_at(of, each.offset % of.size));
}

Py_ssize_t known_bytes(PyObject *object) { return bytes_of(target_of(object), object); }

Py_ssize_t extent_of_held(PyObject *held) {
    PyObject *const other = depended_on(*pointer_of(held));
    PyObject *const object =
        other && pointer_of(other)->address == pointer_of(held)->address ? other : held;
    if (is_adapter_type(Py_TYPE(object)) || !is_record(object)) [[likely]]
        return extent_of(held);
    return bytes_of({pointer_of(object)->address, {}, -1, false}, object);
}

void check_room(PyObject *object, std::size_t bytes, const Subject &subject) {
    const Py_ssize_t known = object == Py_None || PyLong_Check(object)
                                 ? -1
                                 : with_subject([&] { return known_bytes(object); }, subject);
    if (known >= 0 && static_cast<std::size_t>(known) < bytes)
        throw Error(ErrorKind::value, subject, ": ", known, " bytes are fewer than the ", bytes,
                    " that C has there");
}

Reference new_record(PyTypeObject *type, std::size_t count) {
    ENTREPOT_ASSERT(layout_of(reinterpret_cast<PyObject *>(type)) && count != 0);
    Reference made = checked(type->tp_alloc(type, 0));
    allocate(made.get(), *layout_of(reinterpret_cast<PyObject *>(type)), count);
    return made;
}

bool init_record(PyObject *module) {
    field_type = reinterpret_cast<PyTypeObject *>(PyType_FromSpec(&field_spec));
    if (!field_type)
        return false;
    record_type->tp_name = "entrepot._core.Record";
    record_type->tp_basicsize = sizeof(RecordObject);
    record_type->tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC;
    record_type->tp_doc = record_doc;
    record_type->tp_new = record_new;
    record_type->tp_init = record_init;
    record_type->tp_dealloc = record_dealloc;
    record_type->tp_traverse = record_traverse;
    record_type->tp_clear = record_clear;
    record_type->tp_repr = record_repr;
    record_type->tp_setattro = record_set_attribute;
    record_type->tp_methods = methods;
    as_sequence.sq_length = as_mapping.mp_length = record_length;
    as_sequence.sq_item = record_item;
    as_sequence.sq_contains = record_contains;
    as_mapping.mp_subscript = record_subscript;
    record_type->tp_as_sequence = &as_sequence;
    record_type->tp_as_mapping = &as_mapping;
    return ready_declared_base(record_base, adapter_type("Pointer")) &&
           PyModule_AddObjectRef(module, "Record", reinterpret_cast<PyObject *>(record_type)) ==
               0 &&
           PyModule_AddObjectRef(module, "Field", reinterpret_cast<PyObject *>(field_type)) == 0 &&
           PyModule_AddFunctions(module, functions) == 0;
}

}  // namespace entrepot::python
