// Interface dicts: reading entries with checks, and writing dicts for export.
#include "interface_dict.hpp"

#include "../support/foreign_error.hpp"
#include "../support/gil.hpp"
#include "../support/interned.hpp"
#include "protocol.hpp"

#include <algorithm>
#include <atomic>
#include <string>

namespace entrepot::python {
namespace {

bool is_sequence(PyObject *value) noexcept { return PyTuple_Check(value) || PyList_Check(value); }

const std::array<Interned, key_count> keys{"shape",   "typestr", "data", "strides", "offset",
                                           "version", "syclobj", "mask", "stream"};

// The typestr as a string object, created once for each row of dtype_table.
PyObject *typestr_object(Dtype dtype) {
    static std::array<std::atomic<PyObject *>, dtype_table.size()> made{};
    const DtypeRow *const row = find_dtype(dtype);
    if (!row || row->typestr.empty())
        return nullptr;
    std::atomic<PyObject *> &object = made[static_cast<std::size_t>(row - dtype_table.data())];
    if (PyObject *const known = object.load(std::memory_order_acquire)) [[likely]]
        return known;
    PyObject *const interned =
        checked(PyUnicode_InternFromString(std::string(row->typestr).c_str())).release();
    object.store(interned, std::memory_order_release);  // racing threads store the same object
    return interned;
}

}  // namespace

PyObject *key_object(Key key) { return keys[static_cast<std::size_t>(key)]; }

InterfaceDict::InterfaceDict(const exchange::Speaker &speaker, Reference dict) : speaker_(speaker) {
    if (!PyDict_Check(dict.get()))
        throw speaker_.refusal("the interface must be a dict, found ", shown(dict.get()));
    bool has_other_keys = false;
    {
        const Exclusive exclusive(dict.get());
        PyObject *key = nullptr, *value = nullptr;
        for (Py_ssize_t position = 0; PyDict_Next(dict.get(), &position, &key, &value);) {
            const auto known = std::find(keys.begin(), keys.end(), key);
            if (known == keys.end())
                has_other_keys = true;
            else if (value != Py_None)
                values_[static_cast<std::size_t>(known - keys.begin())] = Reference::borrow(value);
        }
    }
    if (!has_other_keys) [[likely]]
        return;
    for (std::size_t i = 0; i < key_count; ++i) {  // an equal key that is not interned
        if (values_[i])
            continue;
        Reference value = item_of(dict.get(), keys[i]);
        if (!value && PyErr_Occurred())
            throw PythonError{};
        if (value.get() != Py_None)
            values_[i] = std::move(value);
    }
}

std::int64_t InterfaceDict::integer(PyObject *value, const char *what) const {
    Reference index;
    if (!PyLong_Check(value)) {
        index = Reference(PyNumber_Index(value));
        if (!index) {
            take_words_about_value();
            throw speaker_.refusal(what, " must be an int, found ", shown(value));
        }
        value = index.get();
    }
    int overflow = 0;
    const long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (overflow)
        throw speaker_.refusal(what, " does not fit 64 bits: ", shown(value));
    return number;
}

void InterfaceDict::check_version(std::int64_t lowest, std::int64_t highest,
                                  std::int64_t usual) const {
    PyObject *const value = find(Key::version);
    if (!value)
        throw speaker_.refusal("'version' is missing; ", usual, " is expected");
    const std::int64_t found = integer(value, "'version'");
    if (found < lowest || found > highest)
        throw speaker_.refusal("'version' is ", found, "; version ", lowest,
                               highest == lowest ? "" : " or later", " is understood here");
}

void InterfaceDict::check_no_mask() const {
    if (find(Key::mask))
        throw speaker_.refusal("the array has a 'mask', which no other protocol can carry; fill or "
                               "compress it with its own library first");
}

void InterfaceDict::check_no_offset() const {
    if (const std::int64_t found = offset())
        throw speaker_.refusal(
            "the dict has an 'offset' of ", found,
            ", which the protocol does not know; 'data' must be the address of the first element");
}

std::string_view InterfaceDict::typestr() const {
    PyObject *const value = find(Key::typestr);
    if (!value)
        throw speaker_.refusal(
            "'typestr' is missing: without it the type of the elements is unknown");
    Py_ssize_t length = 0;
    const char *const text =
        PyUnicode_Check(value) ? PyUnicode_AsUTF8AndSize(value, &length) : nullptr;
    if (!text) {
        PyErr_Clear();  // lone surrogates
        throw speaker_.refusal("'typestr' must be a string such as '<f4', found ", shown(value));
    }
    return {text, static_cast<std::size_t>(length)};
}

void InterfaceDict::read_numbers(PyObject *sequence, Numbers &numbers, const char *what) const {
    if (!is_sequence(sequence))
        throw speaker_.refusal(what, " must be a tuple of ints, found ", shown(sequence));
    const Reference items = checked(items_of(sequence).release());
    const Py_ssize_t count = PyTuple_GET_SIZE(items.get());
    if (static_cast<std::size_t>(count) > Layout::max_ndim)
        throw speaker_.refusal(what, " has ", count, " dimensions; at most ", Layout::max_ndim,
                               " are supported");
    for (Py_ssize_t i = 0; i < count; ++i)
        numbers.values[static_cast<std::size_t>(i)] =
            integer(PyTuple_GET_ITEM(items.get(), i), what);
    numbers.count = static_cast<std::size_t>(count);
}

void InterfaceDict::read_shape(Numbers &shape) const {
    PyObject *const value = find(Key::shape);
    if (!value)
        throw speaker_.refusal("'shape' is missing");
    read_numbers(value, shape, "'shape'");
}

bool InterfaceDict::read_strides(Numbers &strides, std::size_t count) const {
    PyObject *const value = find(Key::strides);
    if (!value)
        return false;
    read_numbers(value, strides, "'strides'");
    if (strides.count != count)
        throw speaker_.refusal("'shape' has ", count, " dimensions and 'strides' has ",
                               strides.count);
    return true;
}

std::int64_t InterfaceDict::offset() const {
    PyObject *const value = find(Key::offset);
    return value ? integer(value, "'offset'") : 0;
}

std::uintptr_t InterfaceDict::address(PyObject *value, const char *what) const {
    const Reference index(PyLong_Check(value) ? Py_NewRef(value) : PyNumber_Index(value));
    const std::size_t number = index ? PyLong_AsSize_t(index.get()) : static_cast<std::size_t>(-1);
    if (number == static_cast<std::size_t>(-1) && PyErr_Occurred()) {
        take_words_about_value();
        throw speaker_.refusal(what, " an int of 0 to 2**64 - 1, found ", shown(value));
    }
    return number;
}

DataEntry InterfaceDict::data_entry(PyObject *value) const {
    const Reference pair = is_sequence(value) ? checked(items_of(value).release()) : Reference();
    if (!pair || PyTuple_GET_SIZE(pair.get()) != 2)
        throw speaker_.refusal("'data' must be a pair (address, read_only), found ", shown(value));
    PyObject *const flag = PyTuple_GET_ITEM(pair.get(), 1);
    const std::uintptr_t number =
        address(PyTuple_GET_ITEM(pair.get(), 0), "'data' must begin with an address,");
    const int is_set = flag == Py_True ? 1 : flag == Py_False ? 0 : PyObject_IsTrue(flag);
    if (is_set < 0) {
        take_words_about_value();
        throw speaker_.refusal("the flag 'read-only' in 'data' must be a bool, found ",
                               shown(flag));
    }
    return {reinterpret_cast<void *>(number), is_set == 1};
}

Reference tuple_of(Extents numbers, std::int64_t factor) {
    Reference tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(numbers.size())));
    for (std::size_t i = 0; i < numbers.size(); ++i)
        PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i),
                         checked(PyLong_FromLongLong(numbers[i] * factor)).release());
    return tuple;
}

void set_entry(const Reference &dict, Key key, const Reference &value) {
    if (!value || PyDict_SetItem(dict.get(), key_object(key), value.get()) != 0)
        throw PythonError{};
}

void refuse_absent(const char *attribute, const Error &refusal) {
    PyErr_Format(PyExc_AttributeError, "%s: %s", attribute, refusal.what());
    throw PythonError{};
}

void refuse_dtype(Dtype dtype, const char *attribute) {
    PyErr_Format(PyExc_AttributeError,
                 "%s: %s has no typestr; use DLPack, or view the array as an unsigned integer of "
                 "the same size first",
                 attribute, name_of(dtype).c_str());
    throw PythonError{};
}

// A dict with the common keys and room for one more. Copying it and setting the entries takes three
// quarters of the time of filling a dict that grows. The room comes from a key that was deleted.
static PyObject *dict_with_room() {
    static std::atomic<PyObject *> made{nullptr};
    if (PyObject *const known = made.load(std::memory_order_acquire)) [[likely]]
        return known;
    Reference fresh = checked(PyDict_New());
    for (const Key key :
         {Key::shape, Key::typestr, Key::data, Key::strides, Key::version, Key::stream})
        set_entry(fresh, key, Reference::borrow(Py_None));
    if (PyDict_DelItem(fresh.get(), key_object(Key::stream)) != 0)
        throw PythonError{};
    PyObject *const dict = fresh.release();
    made.store(dict, std::memory_order_release);  // racing threads store equal dicts
    return dict;
}

Reference interface_dict_of(const Array &array, std::int64_t stride_unit, int version,
                            const char *attribute) {
    PyObject *const typestr = typestr_object(array.dtype());
    if (!typestr)
        refuse_dtype(array.dtype(), attribute);
    Reference dict = checked(PyDict_Copy(dict_with_room()));
    set_entry(dict, Key::shape, tuple_of(array.shape()));
    set_entry(dict, Key::typestr, Reference::borrow(typestr));
    const Reference data = checked(PyTuple_New(2));
    PyTuple_SET_ITEM(data.get(), 0, checked(PyLong_FromVoidPtr(array.data())).release());
    PyTuple_SET_ITEM(data.get(), 1, Py_NewRef(array.read_only() ? Py_True : Py_False));
    set_entry(dict, Key::data, data);
    const bool is_contiguous = array.layout().is_c_contiguous();
    set_entry(dict, Key::strides,
              is_contiguous ? Reference::borrow(Py_None) : tuple_of(array.strides(), stride_unit));
    set_entry(dict, Key::version, Reference(PyLong_FromLong(version)));
    return dict;
}

}  // namespace entrepot::python
