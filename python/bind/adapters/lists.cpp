// ListOf… and PointerTo…: C arrays made from lists and tuples, and their
// elements as Python numbers.
#include "object.hpp"

#include "../array_object/array_object.hpp"
#include "../exchange/interface_dict.hpp"
#include "../memory/owner.hpp"
#include "../support/attribute.hpp"
#include "../support/ctypes_data.hpp"
#include "../support/errors.hpp"
#include "../support/foreign_error.hpp"
#include "../support/gil.hpp"

#include <entrepot/exchange/cai.hpp>

#include <cstring>
#include <optional>
#include <string>
#include <utility>

namespace entrepot::python {
namespace {

using adapters::ElementType;
using adapters::Integer;

bool is_list(PyObject *object) noexcept { return PyList_Check(object) || PyTuple_Check(object); }

// ---------------------------------------------------------------- numbers

const Interned value_name = "value";

// Converts ints, objects with __index__, and ctypes integers. Empty for any other object.
Reference integer_in(PyObject *object) {
    if (PyIndex_Check(object))
        return checked(PyNumber_Index(object));
    if (ctypes_type_of(Py_TYPE(object)).sort != CtypesSort::value)
        return {};
    Reference value(PyObject_GetAttr(object, value_name));
    clear_answer();
    return value && PyLong_Check(value.get()) ? std::move(value) : Reference();
}

// Returns false if the number does not fit 64 bits.
bool read_integer(PyObject *number, Integer &value) {
    int overflow = 0;
    const long long small = PyLong_AsLongLongAndOverflow(number, &overflow);
    if (!overflow) [[likely]] {
        value = {static_cast<std::uint64_t>(small), small < 0};
        return true;
    }
    if (overflow < 0)
        return false;
    value = {PyLong_AsUnsignedLongLong(number), false};
    const bool fits = !PyErr_Occurred();
    PyErr_Clear();
    return fits;
}

[[noreturn, gnu::noinline]] void refuse_element(Py_ssize_t index, const ElementType &type,
                                                PyObject *object) {
    throw Error(ErrorKind::type, "element ", index, " is ", shown(object),
                "; an int that fits C's ", type.c_name, " was expected");
}

[[noreturn, gnu::noinline]] void refuse_number(Py_ssize_t index, const ElementType &type,
                                               PyObject *object) {
    throw Error(ErrorKind::overflow, "element ", index, " is ", shown(object),
                ", which does not fit C's ", type.c_name);
}

void store(const ElementType &type, std::byte *to, Py_ssize_t index, PyObject *object) {
    Reference number;
    if (!PyLong_CheckExact(object)) [[unlikely]] {
        number = integer_in(object);
        if (!number)
            refuse_element(index, type, object);
    }
    Integer value;
    if (!read_integer(number ? number.get() : object, value) || !type.store(to, value)) [[unlikely]]
        refuse_number(index, type, object);
}

Reference number_at(const ElementType &type, const void *from) {
    const Integer value = type.load(from);
    return checked(value.is_negative ? PyLong_FromLongLong(static_cast<long long>(value.bits))
                                     : PyLong_FromUnsignedLongLong(value.bits));
}

// Fast path for lists of plain ints, which runs no Python code. Returns false if an item is not a
// plain int or does not fit.
template <class Number>
bool store_plain(void *to, PyObject *const *items, Py_ssize_t count) noexcept {
    for (Py_ssize_t i = 0; i < count; ++i) {
        int overflow = 0;
        const long long value = PyLong_CheckExact(items[i])
                                    ? PyLong_AsLongLongAndOverflow(items[i], &overflow)
                                    : (overflow = 1);
        if (overflow || !std::in_range<Number>(value)) [[unlikely]]
            return false;
        static_cast<Number *>(to)[i] = static_cast<Number>(value);
    }
    return true;
}

bool store_plain(const ElementType &type, void *to, PyObject *const *items,
                 Py_ssize_t count) noexcept {
    if (type.size == 4)
        return type.is_signed ? store_plain<std::int32_t>(to, items, count)
                              : store_plain<std::uint32_t>(to, items, count);
    return type.is_signed ? store_plain<std::int64_t>(to, items, count)
                          : store_plain<std::uint64_t>(to, items, count);
}

void fill_from_list(PyObject *self, const ElementType &type, PyObject *list) {
    OwnBlock block;
    Py_ssize_t length = 0;
    bool is_plain = false;
    {
        const Exclusive exclusive(list);
        length = PySequence_Fast_GET_SIZE(list);
        block = new_block(static_cast<std::size_t>(length) * type.size, 16, {});
        is_plain = store_plain(type, block.data, PySequence_Fast_ITEMS(list), length);
    }
    if (!is_plain) {
        const Reference items = checked(items_of(list).release());
        length = PyTuple_GET_SIZE(items.get());
        block = new_block(static_cast<std::size_t>(length) * type.size, 16, {});
        for (Py_ssize_t i = 0; i < length; ++i)
            store(type, static_cast<std::byte *>(block.data) + i * type.size, i,
                  PyTuple_GET_ITEM(items.get(), i));
    }
    set(self, {block.data, std::move(block.owner), -1, false}, length);
}

// Type of a source's elements, to check it before use. The functions below fill in `words`, the
// description for an error message, only on request: building it takes longer than the check.
struct Elements {
    std::int64_t itemsize;
    bool is_floating;
};

Elements elements_of_type(Dtype dtype) noexcept {
    const bool is_integer = dtype.code == TypeCode::integer ||
                            dtype.code == TypeCode::unsigned_integer ||
                            dtype.code == TypeCode::boolean;
    return {dtype.itemsize(), !is_integer};
}

bool is_floating(const char *format) noexcept {
    const char code = format ? format[std::strspn(format, "@=<>!")] : 'B';
    return code != '\0' && std::strchr("efdgZ", code);
}

// Empty if the source has no buffer. target_of() then reports why.
std::optional<Elements> elements_of_buffer(PyObject *source, std::string *words) {
    Py_buffer view;
    if (!PyObject_CheckBuffer(source))
        return std::nullopt;
    if (PyObject_GetBuffer(source, &view, PyBUF_ND | PyBUF_FORMAT) != 0) {
        clear_answer();
        return std::nullopt;
    }
    std::optional<Elements> found;
    if (view.len != 0) {
        found = {view.itemsize, is_floating(view.format)};
        if (words)
            words->append("the format '").append(view.format ? view.format : "B").append("'");
    }
    PyBuffer_Release(&view);
    return found;
}

// Empty if there is no interface or it has no typestr, which is not needed for the address.
std::optional<Elements> elements_of_cai(PyObject *source, std::string *words) {
    Reference value = find_attribute(source, cai_attribute_name);
    if (!value)
        return std::nullopt;
    const InterfaceDict dict(cai::speaker, std::move(value));
    if (!dict.find(Key::typestr))
        return std::nullopt;
    Numbers shape{};
    if (dict.find(Key::shape))
        dict.read_shape(shape);
    for (std::size_t i = 0; i < shape.count; ++i)
        if (shape.values[i] == 0)
            return std::nullopt;
    if (words)
        words->append("the typestr '").append(dict.typestr()).append("'");
    return elements_of_type(dtype_from_words(dict.typestr()));
}

std::optional<Elements> elements_of_array(const Array &array, std::string *words) {
    if (array.size() == 0)
        return std::nullopt;
    if (words)
        words->append("the dtype ").append(name_of(array.dtype()));
    return elements_of_type(array.dtype());
}

// Empty if the source does not describe elements, such as a plain address.
// Sources of other protocols are checked after the import. The buffer is
// tried first: a failing attribute lookup is slower.
std::optional<Elements> elements_said_by(PyObject *source, std::string *words) {
    if (source == Py_None || is_adapter(source) || PyLong_Check(source) ||
        ctypes_type_of(Py_TYPE(source)).sort == CtypesSort::pointer)
        return std::nullopt;
    if (is_array(source))
        return elements_of_array(array_of(source), words);
    if (std::optional<Elements> found = elements_of_buffer(source, words))
        return found;
    return elements_of_cai(source, words);
}

// Refuses elements of another size and floating-point elements, which would
// be misread. Bytes are accepted for any type. `said` returns the elements
// and fills in their description if it is given a string.
template <class Said> void check_elements(const AdapterRow &row, PyObject *source, Said said) {
    const std::optional<Elements> elements = said(nullptr);
    const Py_ssize_t size = size_of_element(row);
    if (!elements || ((elements->itemsize == size || elements->itemsize == 1) &&
                      !(row.element && elements->is_floating)))
        return;
    std::string words;
    (void)said(&words);
    throw Error(ErrorKind::value, "the elements of a ", Py_TYPE(source)->tp_name, " have ",
                elements->itemsize, " bytes and ", words, ", those of a ", short_name(row), " are ",
                row.element ? row.element->c_name : "pointers", " of ", size,
                " bytes; convert them, or pass Pointer(…) where the address is meant");
}

const char *expected_by(const AdapterRow &row) noexcept {
    if (row.fill == fill_number)
        return "a list of one int";
    return row.element                ? "a list or tuple of ints"
           : row.fill == fill_strings ? "a list or tuple of bytes"
                                      : "a list or tuple of addresses";
}

// Bytes and str are single strings, not arrays of addresses.
void check_no_text(const AdapterRow &row, PyObject *source) {
    const bool is_text = PyBytes_Check(source) || PyUnicode_Check(source);
    if (!is_text && !(row.fill == fill_strings && PyByteArray_Check(source))) [[likely]]
        return;
    throw Error(ErrorKind::type, expected_by(row), " was expected, not a ",
                Py_TYPE(source)->tp_name, "; pass Pointer(…) where there are addresses in it");
}

Target target_with_elements(const AdapterRow &row, PyObject *source) {
    check_elements(row, source,
                   [&](std::string *words) { return elements_said_by(source, words); });
    Target target;
    if (find_target(source, target))
        return target;
    const Array array = array_for(source, expected_by(row));
    check_elements(row, source,
                   [&](std::string *words) { return elements_of_array(array, words); });
    return target_of_import(array);
}

// Sets the length to the number of elements that the memory has, if known.
// Requires at least `least`.
void fill_from_memory(PyObject *self, const AdapterRow &row, PyObject *source,
                      Py_ssize_t least = 0) {
    Target target = target_with_elements(row, source);
    const Py_ssize_t itemsize = size_of_element(row);
    const Py_ssize_t length = target.bytes < 0 ? -1 : target.bytes / itemsize;
    if (target.address && length >= 0 && length < least)
        throw Error(ErrorKind::value, "the memory of a ", Py_TYPE(source)->tp_name, " has ",
                    target.bytes, " bytes, and ", least, " of ", itemsize,
                    " bytes was expected there; pass memory that is large enough");
    set(self, std::move(target), length);
}

// ---------------------------------------------------------------- strings and pointers

void fill_from_addresses(PyObject *self, const AdapterRow &row, PyObject *source) {
    check_no_text(row, source);
    fill_from_memory(self, row, source);
}

// The string of a CStr, and the reference that keeps it alive.
Argument c_string_in(PyObject *object, Py_ssize_t index) {
    Argument argument = argument_of(object, c_string_type);
    if (is_unterminated(argument))
        throw Error(ErrorKind::value, "element ", index,
                    " has no NUL, and C would read past its end; pass bytes, or end it with a NUL");
    return argument;
}

// The characters of a bytes or str object, which live as long as the object.
const char *string_in(PyObject *object, Py_ssize_t index) {
    if (PyBytes_Check(object))
        return PyBytes_AS_STRING(object);
    if (!PyUnicode_Check(object))
        throw Error(ErrorKind::type, "element ", index, " is ", shown(object),
                    "; bytes, a str or a CStr was expected");
    Py_ssize_t length = 0;
    const char *const text = PyUnicode_AsUTF8AndSize(object, &length);
    if (!text)
        throw PythonError{};
    if (std::memchr(text, '\0', static_cast<std::size_t>(length)))
        throw Error(ErrorKind::value, "element ", index,
                    " has a NUL inside, where C would end it; pass bytes if that is meant");
    return text;
}

// Wraps a cell of a list of pointers as a Pointer.
PyObject *pointer_at(void *cell, Owner list) {
    Reference result = blank(pointer_type);
    set(result.get(), {cell, std::move(list), -1, false});  // holds the list's pins
    return result.release();
}

PyObject *string_at(const void *cell) {
    return cell ? PyBytes_FromString(static_cast<const char *>(cell)) : Py_NewRef(Py_None);
}

// ---------------------------------------------------------------- reading

std::byte *cells_of(PyObject *self) {
    void *const cells = pointer_of(self)->address;
    if (!cells)
        throw Error(ErrorKind::value, "this ", _PyType_Name(Py_TYPE(self)),
                    " is NULL: it has no elements");
    if (pointer_of(self)->length == 0)
        throw Error(ErrorKind::value, "this ", _PyType_Name(Py_TYPE(self)), " has 0 elements");
    return static_cast<std::byte *>(cells);
}

Py_ssize_t length_of(PyObject *self) {
    const Py_ssize_t length = pointer_of(self)->length;
    if (length < 0)
        throw Error(ErrorKind::type, "the length of this ", _PyType_Name(Py_TYPE(self)),
                    " is not known: it was made from an address; make it from a list, a buffer, or "
                    "by allocate(count)");
    return length;
}

std::byte *cell_at(PyObject *self, const AdapterRow &row, Py_ssize_t index) {
    std::byte *const cells = cells_of(self);
    const Py_ssize_t length = pointer_of(self)->length;
    if (length >= 0 && index >= length)
        throw Error(ErrorKind::index, "index ", index, " is outside of the ", length, " elements");
    return cells + index * size_of_element(row);
}

void *pointer_in(PyObject *self, Py_ssize_t index) {
    void *value = nullptr;
    std::memcpy(&value, cell_at(self, row_of(Py_TYPE(self)), index), sizeof value);
    return value;
}

// Borrowed: the object that the list pins at this address; nullptr if it pins no such object. C
// code may have moved the address to another cell of the list.
PyObject *pin_at(PyObject *self, Py_ssize_t index, const void *address) {
    PyObject *const pins = kept_by(*pointer_of(self));
    if (!address || !pins || !PyTuple_Check(pins))
        return nullptr;
    const auto is_there = [&](Py_ssize_t i) {
        PyObject *const pin = PyTuple_GET_ITEM(pins, i);
        return is_adapter(pin) && pointer_of(pin)->address == address;
    };
    const Py_ssize_t count = PyTuple_GET_SIZE(pins);
    if (index < count && is_there(index)) [[likely]]
        return PyTuple_GET_ITEM(pins, index);
    for (Py_ssize_t i = 0; i < count; ++i)
        if (is_there(i))
            return PyTuple_GET_ITEM(pins, i);
    return nullptr;
}

// The result depends on the item that the caller listed, if the cell still has its address. So
// freeing the element marks the caller's object as freed.
PyObject *pointer_element(PyObject *self, Py_ssize_t index) {
    Owner list = depend_on(self);  // other threads cannot point the list elsewhere meanwhile
    void *const address = pointer_in(self, index);
    PyObject *const pin = pin_at(self, index, address);
    return pointer_at(address, pin ? depend_on(pin) : std::move(list));
}

PyObject *element_at(PyObject *self, const AdapterRow &row, Py_ssize_t index) {
    if (row.fill == fill_pointers)
        return pointer_element(self, index);
    const Exclusive exclusive(self);
    return row.element ? number_at(*row.element, cell_at(self, row, index)).release()
                       : string_at(pointer_in(self, index));
}

Reference elements_of(PyObject *self) {
    const AdapterRow &row = row_of(Py_TYPE(self));
    const Py_ssize_t length = length_of(self);
    Reference tuple = checked(PyTuple_New(length));
    for (Py_ssize_t i = 0; i < length; ++i)
        PyTuple_SET_ITEM(tuple.get(), i, checked(element_at(self, row, i)).release());
    return tuple;
}

PyObject *to_list(PyObject *self, PyObject *) {
    return guarded([&] { return PySequence_List(elements_of(self).get()); });
}

PyObject *to_tuple(PyObject *self, PyObject *) {
    return guarded([&] { return elements_of(self).release(); });
}

PyObject *allocate(PyTypeObject *type, Py_ssize_t count) {
    const AdapterRow &row = row_of(type);
    if (count < 0)
        throw Error(ErrorKind::value, "allocate: ", count, " elements cannot be allocated");
    if (count > PY_SSIZE_T_MAX / size_of_element(row))
        throw std::bad_alloc();
    Reference self = blank(type);
    OwnBlock block = new_block(static_cast<std::size_t>(count * size_of_element(row)), 16, {});
    set(self.get(), {block.data, std::move(block.owner), -1, false}, count);
    return self.release();
}

Py_ssize_t count_from(PyObject *object) {
    const Py_ssize_t count = PyNumber_AsSsize_t(object, PyExc_OverflowError);
    if (count == -1 && PyErr_Occurred())
        throw PythonError{};
    return count;
}

const Parameters of_allocate("allocate", 1, 1, {"count"});
const Parameters of_allocate_single("allocate", 1, 0, {"count"});

PyObject *allocate_list(PyObject *type, PyObject *const *args, Py_ssize_t nargs,
                        PyObject *kwnames) {
    return guarded([&] {
        return allocate(reinterpret_cast<PyTypeObject *>(type),
                        count_from(of_allocate.read(args, nargs, kwnames)[0]));
    });
}

PyObject *allocate_single(PyObject *type, PyObject *const *args, Py_ssize_t nargs,
                          PyObject *kwnames) {
    return guarded([&] {
        PyObject *const count = of_allocate_single.read(args, nargs, kwnames)[0];
        return allocate(reinterpret_cast<PyTypeObject *>(type), count ? count_from(count) : 1);
    });
}

// A class with two adapter types as bases is filled as the first but inherits attributes of both.
const ElementType &element_type_of(PyObject *self) {
    const ElementType *const type = row_of(Py_TYPE(self)).element;
    if (!type)
        throw Error(ErrorKind::type, "a ", _PyType_Name(Py_TYPE(self)),
                    " has no elements that are integers");
    return *type;
}

PyObject *get_value(PyObject *self, void *) {
    return guarded([&] {
        const ElementType &type = element_type_of(self);
        const Exclusive exclusive(self);
        return number_at(type, cells_of(self)).release();
    });
}

int set_value(PyObject *self, PyObject *value, void *) {
    return guarded([&] {
        if (!value)
            throw Error(ErrorKind::type, "the value of a ", _PyType_Name(Py_TYPE(self)),
                        " cannot be deleted");
        const ElementType &type = element_type_of(self);
        std::byte number[sizeof(std::uint64_t)];
        store(type, number, 0, value);  // may run Python code that points the adapter elsewhere
        const Exclusive exclusive(self);
        if (pointer_of(self)->flags & ENTREPOT_ADAPTER_READ_ONLY)
            throw Error(ErrorKind::value, "the memory of this ", _PyType_Name(Py_TYPE(self)),
                        " is read-only");
        std::memcpy(cells_of(self), number, type.size);
    });
}

}  // namespace

Py_ssize_t size_of_element(const AdapterRow &row) noexcept {
    if (row.element)
        return row.element->size;
    return row.fill == fill_strings || row.fill == fill_pointers
               ? static_cast<Py_ssize_t>(sizeof(void *))
               : 0;
}

PyMethodDef list_methods[] = {
    {"allocate", with_keywords(allocate_list), METH_FASTCALL | METH_KEYWORDS | METH_CLASS,
     "allocate($type, /, count)\n--\n\n"
     "Allocate an array of zeros.\n\n"
     "Parameters\n"
     "----------\n"
     "count : int\n"
     "    The number of elements.\n\n"
     "Returns\n"
     "-------\n"
     "Pointer\n"
     "    A list of this class with ``count`` zeros, which are freed with the adapter.\n\n"
     "Raises\n"
     "------\n"
     "ValueError\n"
     "    If the number is negative.\n\n"
     "Examples\n"
     "--------\n"
     ">>> from entrepot.adapters import ListOfInt\n"
     ">>> sizes = ListOfInt.allocate(3)  # for a C function that writes three ints\n"
     ">>> sizes.to_list()\n"
     "[0, 0, 0]"},
    {"to_list", to_list, METH_NOARGS,
     "to_list($self, /)\n--\n\n"
     "Read the current elements into a list.\n\n"
     "Returns\n"
     "-------\n"
     "list\n"
     "    The elements: Pointers for a ListOfPointer, bytes or None (NULL) for a\n"
     "    ListOfBytes, else ints.\n\n"
     "Raises\n"
     "------\n"
     "TypeError\n"
     "    If the length is unknown, because the adapter was made from an address.\n\n"
     "Examples\n"
     "--------\n"
     ">>> from entrepot.adapters import ListOfInt\n"
     ">>> ListOfInt(np.arange(3, dtype=\"int32\")).to_list()\n"
     "[0, 1, 2]"},
    {"to_tuple", to_tuple, METH_NOARGS,
     "to_tuple($self, /)\n--\n\n"
     "Read the current elements into a tuple.\n\n"
     "Returns\n"
     "-------\n"
     "tuple\n"
     "    The elements: Pointers for a ListOfPointer, bytes or None (NULL) for a\n"
     "    ListOfBytes, else ints.\n\n"
     "Raises\n"
     "------\n"
     "TypeError\n"
     "    If the length is unknown, because the adapter was made from an address.\n\n"
     "Examples\n"
     "--------\n"
     ">>> from entrepot.adapters import ListOfInt\n"
     ">>> ListOfInt([1, 2, 3]).to_tuple()\n"
     "(1, 2, 3)"},
    {},
};

PyMethodDef single_methods[] = {
    {"allocate", with_keywords(allocate_single), METH_FASTCALL | METH_KEYWORDS | METH_CLASS,
     "allocate($type, /, count=1)\n--\n\n"
     "Allocate an array of zeros.\n\n"
     "Parameters\n"
     "----------\n"
     "count : int, optional\n"
     "    The number of elements. The default is 1.\n\n"
     "Returns\n"
     "-------\n"
     "Pointer\n"
     "    An adapter of this class with ``count`` zeros, which are freed with the adapter.\n\n"
     "Raises\n"
     "------\n"
     "ValueError\n"
     "    If the number is negative.\n\n"
     "Examples\n"
     "--------\n"
     ">>> from entrepot.adapters import PointerToInt\n"
     ">>> count = PointerToInt.allocate()  # for a C function that writes one int\n"
     ">>> count.value\n"
     "0"},
    {},
};

PyGetSetDef single_attributes[] = {
    {"value", get_value, set_value, "The integer at the address.", nullptr},
    {},
};

void fill_numbers(PyObject *self, const AdapterRow &row, PyObject *source) {
    if (is_list(source))
        fill_from_list(self, *row.element, source);
    else
        fill_from_memory(self, row, source);
}

void fill_number(PyObject *self, const AdapterRow &row, PyObject *source) {
    if (!is_list(source))
        return fill_from_memory(self, row, source, 1);
    if (PySequence_Fast_GET_SIZE(source) != 1)
        throw Error(ErrorKind::value, "one element was expected, not ",
                    PySequence_Fast_GET_SIZE(source), "; ", row.element->list, " takes any number");
    fill_from_list(self, *row.element, source);
}

void fill_strings(PyObject *self, const AdapterRow &row, PyObject *source) {
    if (!is_list(source))
        return fill_from_addresses(self, row, source);
    const Reference items = checked(items_of(source).release());
    const Py_ssize_t length = PyTuple_GET_SIZE(items.get());
    Reference pinned = checked(PyTuple_New(length));
    PyObject *const held = pinned.get();
    OwnBlock block =
        new_block(static_cast<std::size_t>(length) * sizeof(void *), 16, std::move(pinned));
    auto *const cells = static_cast<const void **>(block.data);
    for (Py_ssize_t i = 0; i < length; ++i) {
        PyObject *const item = PyTuple_GET_ITEM(items.get(), i);
        Reference pin;
        if (PyObject_TypeCheck(item, c_string_type)) {
            Argument element = c_string_in(item, i);
            cells[i] = element.address;
            pin = pin_of(std::move(element), item);
        } else {
            cells[i] = string_in(item, i);
            pin = Reference::borrow(item);
        }
        PyTuple_SET_ITEM(held, i, pin ? pin.release() : Py_NewRef(Py_None));
    }
    set(self, {block.data, std::move(block.owner), -1, false}, length);
}

void fill_pointers(PyObject *self, const AdapterRow &row, PyObject *source) {
    if (!is_list(source))
        return fill_from_addresses(self, row, source);
    const Reference items = checked(items_of(source).release());
    const Py_ssize_t length = PyTuple_GET_SIZE(items.get());
    Reference pinned = checked(PyTuple_New(length));
    PyObject *const held = pinned.get();
    OwnBlock block =
        new_block(static_cast<std::size_t>(length) * sizeof(void *), 16, std::move(pinned));
    auto *const cells = static_cast<void **>(block.data);
    for (Py_ssize_t i = 0; i < length; ++i) {
        PyObject *const item = PyTuple_GET_ITEM(items.get(), i);
        Argument element =
            with_subject([&] { return argument_of(item, pointer_type); }, "element ", i);
        cells[i] = element.address;
        Reference pin = pin_of(std::move(element), item);
        PyTuple_SET_ITEM(held, i, pin ? pin.release() : Py_NewRef(Py_None));
    }
    set(self, {block.data, std::move(block.owner), -1, false}, length);
}

Py_ssize_t list_length(PyObject *self) {
    return guarded([&] { return length_of(self); });
}

PyObject *list_item(PyObject *self, Py_ssize_t index) {
    return guarded([&] {
        const Py_ssize_t length = length_of(self);
        if (index < 0 || index >= length)
            throw Error(ErrorKind::index, "index ", index, " is outside of the ", length,
                        " elements");
        return element_at(self, row_of(Py_TYPE(self)), index);
    });
}

PyObject *list_subscript(PyObject *self, PyObject *index) {
    return guarded([&] {
        if (PySlice_Check(index))
            return PyObject_GetItem(checked(to_list(self, nullptr)).get(), index);
        const Py_ssize_t number = PyNumber_AsSsize_t(index, PyExc_IndexError);
        if (number == -1 && PyErr_Occurred())
            throw PythonError{};
        return list_item(self, number < 0 ? number + length_of(self) : number);
    });
}

}  // namespace entrepot::python
