#include "ranges.hpp"

#include "../support/errors.hpp"
#include "../support/interned.hpp"
#include "../support/reference.hpp"
#include "language.hpp"

#include <entrepot/core/layout.hpp>

namespace entrepot::python {
namespace {

const Interned global_range = "global_range", local_range = "local_range";

struct Extents3 {
    std::uint32_t count = 0;
    std::int64_t items[3] = {1, 1, 1};
    std::string text() const { return tuple_text(Extents(items, count)); }
};

std::int64_t extent_from(PyObject *object) {
    if (!PyIndex_Check(object)) [[unlikely]] {
        const Reference shown = checked(PyObject_Repr(object));
        const char *const text = PyUnicode_AsUTF8(shown.get());
        if (!text)
            throw PythonError{};
        throw Error(ErrorKind::type, "launch: a range is of integers, and ", text, " is a ",
                    Py_TYPE(object)->tp_name,
                    PyFloat_Check(object)
                        ? ": divide by //, as in kernel[n // 2], or round it by int(…)"
                        : ": write kernel[global, local], each an int or a tuple of ints");
    }
    const Reference index = checked(PyNumber_Index(object));
    const long long extent = PyLong_AsLongLong(index.get());
    if (extent == -1 && PyErr_Occurred())
        throw PythonError{};
    if (extent < 0)
        throw Error(ErrorKind::value, "launch: a range has an extent of ", extent,
                    ", which is negative");
    return extent;
}

Extents3 extents_from(PyObject *object) {
    Extents3 extents;
    if (!PyTuple_Check(object) && !PyList_Check(object)) {
        extents.count = 1;
        extents.items[0] = extent_from(object);
        return extents;
    }
    const Reference items = items_of(object);
    if (!items)
        throw PythonError{};
    if (PyTuple_GET_SIZE(items.get()) > 3)
        throw Error(ErrorKind::value, "launch: a range has 1 to 3 dimensions, not ",
                    PyTuple_GET_SIZE(items.get()));
    for (; extents.count < PyTuple_GET_SIZE(items.get()); ++extents.count)
        extents.items[extents.count] = extent_from(PyTuple_GET_ITEM(items.get(), extents.count));
    return extents;
}

ep_range range_from(PyObject *global, PyObject *local) {
    const Extents3 items = extents_from(global),
                   group = local == Py_None ? Extents3() : extents_from(local);
    if (items.count == 0)
        throw Error(ErrorKind::value, "launch: a range has 1 to 3 dimensions, not 0");
    if (group.count != 0 && group.count != items.count)
        throw Error(ErrorKind::value, "launch: the global range ", items.text(), " has ",
                    items.count, " dimensions and the local range ", group.text(), " has ",
                    group.count);
    ep_range range{items.count, {1, 1, 1}, {0, 0, 0}};
    for (std::uint32_t i = 0; i < 3; ++i) {
        range.global[i] = static_cast<std::uint64_t>(items.items[i]);
        if (group.count != 0)
            range.local[i] = static_cast<std::uint64_t>(group.items[i]);
    }
    if (group.count == 0)
        return range;
    for (std::uint32_t i = 0; i < group.count; ++i)
        if (range.local[i] == 0)
            throw Error(ErrorKind::value, "launch: the local range ", group.text(),
                        " has an extent of 0; leave it out, and the "
                        "device chooses");
    return range;
}

}  // namespace

ep_range range_of(PyObject *index) {
    if (PyTuple_CheckExact(index)) {
        const Py_ssize_t count = PyTuple_GET_SIZE(index);
        if (count == 1)
            return range_from(PyTuple_GET_ITEM(index, 0), Py_None);
        if (count == 2)
            return range_from(PyTuple_GET_ITEM(index, 0), PyTuple_GET_ITEM(index, 1));
        throw Error(
            ErrorKind::type,
            "launch: kernel[global, local] was expected, each an int or a tuple, not ", count,
            " entries; several dimensions without a local range are kernel[(2, 3, 4), None]");
    }
    if (PyLong_Check(index) || PyTuple_Check(index) || PyList_Check(index))
        return range_from(index, Py_None);
    const int is_nd_range = PyObject_IsInstance(index, language().nd_range);
    if (is_nd_range < 0)
        throw PythonError{};
    if (!is_nd_range)
        return range_from(index, Py_None);
    const Reference global = checked(PyObject_GetAttr(index, global_range)),
                    local = checked(PyObject_GetAttr(index, local_range));
    return range_from(global.get(), local.get());
}

}  // namespace entrepot::python
