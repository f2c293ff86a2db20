// Import of NumPy arrays without a protocol: reads the public fields of PyArrayObject in place.
//
// The order of the fields is part of NumPy's ABI and the same in NumPy 1 and 2. Before it is used
// in a process, the fields of an array are compared with its `__array_struct__`. If they differ,
// this route stays disabled and the buffer protocol is used. NumPy is neither linked nor imported:
// if an array exists, NumPy has been imported.
#include <entrepot/exchange/array_interface.hpp>
#include <entrepot/exchange/host_view.hpp>

#include "../array_object/array_object.hpp"
#include "../memory/owner.hpp"
#include "../support/attribute.hpp"
#include "../support/foreign_error.hpp"
#include "../support/gil.hpp"
#include "../support/interned.hpp"
#include "../support/key_caches.hpp"
#include "fast_import.hpp"
#include "interface_dict.hpp"
#include "numpy_dtype.hpp"
#include "protocol.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

namespace entrepot::python {
namespace {

constexpr exchange::Speaker speaker{"NumPy", ErrorKind::exchange};

struct NumpyArray {  // PyArrayObject_fields
    PyObject_HEAD char *data;
    int nd;
    std::int64_t *shape;
    std::int64_t *strides;  // bytes
    PyObject *base;
    PyObject *descr;
    int flags;  // of array_interface::Flag
};
static_assert(sizeof(std::intptr_t) == sizeof(std::int64_t), "npy_intp is read as int64");

// NumPy exports such arrays as read-only
constexpr int warn_on_write = static_cast<int>(0x80000000u);

bool is_writable(int flags) {
    return (flags & (array_interface::writeable | warn_on_write)) == array_interface::writeable;
}

const NumpyArray &fields_of(PyObject *object) {
    return *reinterpret_cast<const NumpyArray *>(object);
}

// NumPy's array type is static. A class made in Python can have any name and
// layout, but is never static.
bool probe(PyTypeObject *type) {
    return !(type->tp_flags & Py_TPFLAGS_HEAPTYPE) &&
           std::string_view(type->tp_name) == "numpy.ndarray" &&
           type->tp_basicsize >= static_cast<Py_ssize_t>(sizeof(NumpyArray));
}

// ------------------------------------------------------------------ verification of the layout

enum class Verified { unknown, yes, no };
std::atomic<Verified> verified = Verified::unknown;  // racing threads find the same result

bool agree(const NumpyArray &ours, const array_interface::PyArrayInterface &numpy) {
    constexpr int compared =
        array_interface::c_contiguous | array_interface::f_contiguous | array_interface::aligned;
    return ours.data == numpy.data && ours.nd == numpy.nd &&
           (ours.flags & compared) == (numpy.flags & compared) &&
           is_writable(ours.flags) == is_writable(numpy.flags) &&
           std::equal(ours.shape, ours.shape + ours.nd,
                      reinterpret_cast<const std::int64_t *>(numpy.shape)) &&
           std::equal(ours.strides, ours.strides + ours.nd,
                      reinterpret_cast<const std::int64_t *>(numpy.strides));
}

const Interned struct_name = "__array_struct__";

// The proof needs an array whose shape and strides differ. Until then, each array is compared.
bool is_as_expected(PyObject *object) {
    const Reference capsule = find_attribute(object, struct_name);
    if (!capsule || !PyCapsule_IsValid(capsule.get(), nullptr))
        return false;
    const auto &numpy = *static_cast<const array_interface::PyArrayInterface *>(
        PyCapsule_GetPointer(capsule.get(), nullptr));
    if (numpy.two != 2 || !agree(fields_of(object), numpy)) {
        verified = Verified::no;
        return false;
    }
    if (numpy.nd > 0 && numpy.shape[0] != numpy.strides[0])
        verified = Verified::yes;
    return true;
}

bool is_verified(PyObject *object) {
    const Verified known = verified.load(std::memory_order_relaxed);
    return known == Verified::yes || (known == Verified::unknown && is_as_expected(object));
}

// ------------------------------------------------------------------ descr → Dtype

std::string text_attribute(PyObject *object, const char *name) {
    const Reference value(PyObject_GetAttrString(object, name));
    const char *const text = value ? PyUnicode_AsUTF8(value.get()) : nullptr;
    if (!text)
        throw PythonError{};
    return text;
}

// By its name if that is known, as it is for ml_dtypes, whose typestr is a
// void's; otherwise by its typestr.
Dtype dtype_of_descr(PyObject *descr) {
    const std::string typestr = text_attribute(descr, "str");
    if (typestr[0] != '>')
        if (const std::optional<Dtype> named = dtype_from_name(text_attribute(descr, "name")))
            return *named;
    try {
        return dtype_from_typestr(typestr);
    } catch (const Error &error) {
        throw speaker.refusal(error.what());
    }
}

// The dtype objects of NumPy's own types are immortal.
ENTREPOT_GIL_GUARDED ObjectCache<Dtype, 32> descr_cache;

Dtype cached_dtype(PyObject *descr) {
    return descr_cache.find(descr, [descr] { return dtype_of_descr(descr); });
}

// ------------------------------------------------------------------ import

std::optional<Array> read(PyObject *object, const ImportRequest &request) {
    if (!is_verified(object)) [[unlikely]]
        return std::nullopt;
    const NumpyArray &array = fields_of(object);
    const Dtype dtype = cached_dtype(array.descr);
    const Extents shape{array.shape, static_cast<std::size_t>(array.nd)};
    const std::int64_t *const strides =
        array.flags & array_interface::c_contiguous ? nullptr : array.strides;
    return exchange::view_host(speaker, array.data, dtype,
                               exchange::layout_of_bytes(speaker, shape, strides, dtype.itemsize()),
                               !is_writable(array.flags), keep(object), request.queue,
                               fast_import::borrow_host);
}

}  // namespace

Dtype numpy_dtype(PyObject *descr) { return cached_dtype(descr); }

const Protocol numpy_protocol{"numpy", nullptr, probe, read};

}  // namespace entrepot::python
