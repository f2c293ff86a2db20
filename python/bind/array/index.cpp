// array[…]: Python's index objects as the core's index entries.
#include "../array_object/array_object.hpp"
#include "../support/errors.hpp"
#include "../support/guarded.hpp"
#include "methods.hpp"

#include <array>
#include <span>

namespace entrepot::python {
namespace {

IndexEntry slice_entry(PyObject *slice) {
    Py_ssize_t start, stop, step;
    if (PySlice_Unpack(slice, &start, &stop, &step) < 0)
        throw PythonError{};
    return {IndexEntry::Kind::slice, start, stop, step};
}

[[noreturn]] void refuse(PyObject *index) {
    if (PyUnicode_Check(index))
        throw Error(ErrorKind::type, "an Array is indexed by ints, slices, ... and None; it has no "
                                     "fields that a str could name");
    throw Error(ErrorKind::type, "an Array is indexed by ints, slices, ... and None; a ",
                Py_TYPE(index)->tp_name,
                " would select elements one by one, which takes a copy: use the library that owns "
                "the array");
}

IndexEntry integer_entry(PyObject *integer) {
    const Py_ssize_t value = PyNumber_AsSsize_t(integer, PyExc_IndexError);
    if (value == -1 && PyErr_Occurred()) {
        if (!PyErr_ExceptionMatches(PyExc_TypeError))
            throw PythonError{};
        PyErr_Clear();
        refuse(integer);  // an array of integers or booleans
    }
    return {IndexEntry::Kind::integer, value};
}

IndexEntry entry_of(PyObject *index) {
    if (PySlice_Check(index))
        return slice_entry(index);
    if (index == Py_Ellipsis)
        return {IndexEntry::Kind::ellipsis};
    if (index == Py_None)
        return {IndexEntry::Kind::newaxis};
    if (PyIndex_Check(index) && !PyBool_Check(index))
        return integer_entry(index);
    refuse(index);
}

}  // namespace

Array selected(const Array &array, PyObject *index) {
    std::array<IndexEntry, 2 * Layout::max_ndim> entries;
    std::size_t count = 1;
    if (!PyTuple_Check(index)) {
        entries[0] = entry_of(index);
    } else {
        count = static_cast<std::size_t>(PyTuple_GET_SIZE(index));
        if (count > entries.size())
            throw Error(ErrorKind::index, "an index of ", count,
                        " entries is longer than any array's");
        for (std::size_t i = 0; i < count; ++i)
            entries[i] = entry_of(PyTuple_GET_ITEM(index, static_cast<Py_ssize_t>(i)));
    }
    return array.select(std::span(entries.data(), count));
}

PyObject *array_subscript(PyObject *self, PyObject *index) {
    return guarded([&] { return wrap(selected(array_of(self), index)); });
}

Py_ssize_t array_length(PyObject *self) {
    const Array &array = array_of(self);
    if (array.ndim() == 0) {
        PyErr_SetString(PyExc_TypeError, "len() of an Array without axes");
        return -1;
    }
    return array.shape()[0];
}

}  // namespace entrepot::python
