// Import of CuPy arrays without a protocol: reads the attributes that CuPy builds its interface
// dict from, and its current stream.
//
// Creating the dict, or a capsule that waits for a stream, takes CuPy longer than
// the rest of the import. Before the attributes are used in a process, those of
// one array are compared with its `__cuda_array_interface__`, and its device with
// the driver's answer. If they differ, this route stays disabled and DLPack is
// used. CuPy is neither linked nor imported: if an array exists, CuPy has been.
#include <entrepot/device/registry.hpp>
#include <entrepot/device/stream.hpp>
#include <entrepot/exchange/cai.hpp>

#include "../memory/owner.hpp"
#include "../support/errors.hpp"
#include "../support/getter.hpp"
#include "../support/gil.hpp"
#include "../support/interned.hpp"
#include "interface_dict.hpp"
#include "numpy_dtype.hpp"
#include "protocol.hpp"
#include "stream_libraries.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <vector>

namespace entrepot::python {
namespace {

using cai::speaker;

// CuPy returns shape and strides with an underscore as a new list, without
// one as a tuple of that list.
const Interned data_name = "data", ptr_name = "ptr", device_id_name = "device_id",
               shape_name = "_shape", strides_name = "_strides", dtype_name = "dtype",
               is_contiguous_name = "_c_contiguous", interface_name = "__cuda_array_interface__";

// Compares the class itself, because another class can have the same name.
bool probe(PyTypeObject *type) {
    const Reference module = imported_module("cupy");
    const Reference array(module ? PyObject_GetAttrString(module.get(), "ndarray") : nullptr);
    PyErr_Clear();
    return array.get() == reinterpret_cast<PyObject *>(type);
}

// ------------------------------------------------------------------ its current stream

using StreamFunction = std::intptr_t (*)(int skip_dispatch);
constexpr const char *signatures[] = {"intptr_t (void)", "intptr_t (int __pyx_skip_dispatch)"};

// The C function for the current stream that CuPy exports as Cython does; nullptr if it is missing.
StreamFunction find_stream_function() {
    const Reference module = imported_module("cupy_backends.cuda.stream");
    const Reference published(module ? PyObject_GetAttrString(module.get(), "__pyx_capi__")
                                     : nullptr);
    const Reference capsule = published && PyDict_Check(published.get())
                                  ? item_of(published.get(), "get_current_stream_ptr")
                                  : Reference();
    void *found = nullptr;
    for (const char *const signature : signatures)
        if (capsule && PyCapsule_IsValid(capsule.get(), signature))
            found = PyCapsule_GetPointer(capsule.get(), signature);
    PyErr_Clear();
    return reinterpret_cast<StreamFunction>(found);
}

// CuPy as a stream library. Its function reads a thread-local Python object, so it needs the GIL.
struct CupyLibrary : StreamLibrary {
    StreamFunction function = nullptr;
};

bool current_stream_of_cupy(const StreamLibrary &self, const Device &device,
                            std::uintptr_t &stream) noexcept {
    if (device.backend().is_host() || device.backend().is_sycl())
        return false;
    const StreamFunction function = static_cast<const CupyLibrary &>(self).function;
    return with_gil_if(true, [&] {
        const SetErrorAside aside;
        HangOnForcedUnwind hang;  // the caller is noexcept
        const std::intptr_t answer = function(0);
        const bool failed = answer == -1 && PyErr_Occurred();
        PyErr_Clear();
        hang.dismiss();
        stream = static_cast<std::uintptr_t>(answer);
        return !failed;
    });
}

// ------------------------------------------------------------------ reading

// CuPy's array classes define all these properties in C.
struct Getters {
    Getter data, ptr, device_id, shape, strides, dtype, is_contiguous;
};
ENTREPOT_GIL_GUARDED Getters getters;

struct Attributes {
    Numbers shape, strides;
    cai::Descriptor descriptor;
    Reference descr;  // its dtype
    long device_id = -1;
};

[[noreturn]] void refuse_numbers(PyObject *name) {
    throw speaker.refusal("CuPy's ", PyUnicode_AsUTF8(name), " is no list of at most ",
                          Layout::max_ndim, " numbers");
}

// Runs no Python code, so the list cannot change.
void read_list(const Reference &list, PyObject *name, Numbers &numbers) {
    const Exclusive exclusive(list.get());
    if (!PyList_Check(list.get()) ||
        static_cast<std::size_t>(PyList_GET_SIZE(list.get())) > Layout::max_ndim)
        refuse_numbers(name);
    numbers.count = static_cast<std::size_t>(PyList_GET_SIZE(list.get()));
    for (std::size_t axis = 0; axis < numbers.count; ++axis) {
        PyObject *const item = PyList_GET_ITEM(list.get(), static_cast<Py_ssize_t>(axis));
        if (!PyLong_Check(item))
            refuse_numbers(name);
        const long long number = PyLong_AsLongLong(item);
        if (number == -1 && PyErr_Occurred())
            throw PythonError{};
        numbers.values[axis] = number;
    }
}

void read_attributes(PyObject *object, Attributes &out) {
    Getters &get = getters;  // thread-local without a GIL, so it is looked up once
    const Reference data = checked(get.data(object, data_name)),
                    pointer = checked(get.ptr(data.get(), ptr_name));
    out.descriptor.data = PyLong_AsVoidPtr(pointer.get());
    if (!out.descriptor.data && PyErr_Occurred())
        throw PythonError{};
    const Reference device_id = checked(get.device_id(data.get(), device_id_name));
    out.device_id = PyLong_AsLong(device_id.get());
    if (out.device_id == -1 && PyErr_Occurred())
        throw PythonError{};
    out.descr = checked(get.dtype(object, dtype_name));
    read_list(checked(get.shape(object, shape_name)), shape_name, out.shape);
    out.descriptor.shape = out.shape.extents();
    if (checked(get.is_contiguous(object, is_contiguous_name)).get() != Py_True) {
        read_list(checked(get.strides(object, strides_name)), strides_name, out.strides);
        if (out.strides.count != out.shape.count)
            throw speaker.refusal("CuPy's shape has ", out.shape.count,
                                  " dimensions and its strides ", out.strides.count);
        out.descriptor.strides = out.strides.values.data();
    }
}

std::uintptr_t ask_current_stream(StreamFunction function) {
    const std::intptr_t stream = function(0);
    return stream == 0 ? legacy_stream : static_cast<std::uintptr_t>(stream);
}

// ---------------------------------------------------- meaning of the attributes

enum class Verified { unknown, yes, no };
std::atomic<Verified> verified = Verified::unknown;  // racing threads find the same result
// Set before `verified` is yes.
std::atomic<StreamFunction> stream_function{nullptr};
std::atomic<const std::vector<Device> *> devices{nullptr};  // indexed by CuPy's device numbers

Device device_of(long number) {
    const std::vector<Device> &known = *devices.load(std::memory_order_relaxed);
    return 0 <= number && static_cast<std::size_t>(number) < known.size()
               ? known[static_cast<std::size_t>(number)]
               : Device();
}

bool agree(const Attributes &ours, const InterfaceDict &theirs) {
    Numbers shape, strides;
    theirs.read_shape(shape);
    const bool has_strides = theirs.read_strides(strides, shape.count);
    PyObject *const data = theirs.find(Key::data), *const stream = theirs.find(Key::stream);
    return data && theirs.data_entry(data).pointer == ours.descriptor.data &&
           std::ranges::equal(shape.extents(), ours.shape.extents()) &&
           has_strides == (ours.descriptor.strides != nullptr) &&
           (!has_strides || std::ranges::equal(strides.extents(), ours.strides.extents())) &&
           stream && theirs.address(stream, "'stream' must be") == *ours.descriptor.stream &&
           dtype_from_typestr(theirs.typestr()) == numpy_dtype(ours.descr.get());
}

bool has_elements(const Attributes &attributes) {
    const Extents shape = attributes.shape.extents();
    return std::ranges::find(shape, 0) == shape.end();
}

// An array without elements or typestr proves nothing, because its dict says less. Until another
// array is seen, DLPack is used.
bool is_as_expected(PyObject *object) {
    const StreamFunction current_stream = find_stream_function();
    if (!current_stream)
        return false;
    try {
        Attributes attributes;
        read_attributes(object, attributes);
        attributes.descriptor.stream = ask_current_stream(current_stream);
        if (!has_elements(attributes) || !typestr_of(numpy_dtype(attributes.descr.get())))
            return false;
        const InterfaceDict dict(speaker, checked(PyObject_GetAttr(object, interface_name)));
        attributes.descriptor.dtype = numpy_dtype(attributes.descr.get());
        const Array asked = cai::verify(attributes.descriptor, keep(object));  // asks the driver
        stream_function = current_stream;
        devices = &registry::devices(asked.device().backend());
        const bool is_its_device = asked.device() == device_of(attributes.device_id);
        verified = is_its_device && agree(attributes, dict) ? Verified::yes : Verified::no;
    } catch (const PythonError &) {
        if (!PyErr_ExceptionMatches(PyExc_Exception))
            throw;
        PyErr_Clear();
        verified = Verified::no;
    } catch (const Error &) {
        verified = Verified::no;
    }
    return verified == Verified::yes;
}

bool is_verified(PyObject *object) {
    const Verified known = verified.load(std::memory_order_acquire);
    return known == Verified::yes || (known == Verified::unknown && is_as_expected(object));
}

std::optional<Array> read(PyObject *object, const ImportRequest &request) {
    if (!is_verified(object)) [[unlikely]]
        return std::nullopt;
    Attributes attributes;
    read_attributes(object, attributes);
    attributes.descriptor.dtype = numpy_dtype(attributes.descr.get());
    attributes.descriptor.library = library_of_cupy();
    attributes.descriptor.device = device_of(attributes.device_id);
    // otherwise the operation itself waits for CuPy's current stream
    if (!request.for_one_operation)
        attributes.descriptor.stream =
            ask_current_stream(stream_function.load(std::memory_order_relaxed));
    Array array = cai::verify(attributes.descriptor, keep(object), request.queue);
    if (request.for_one_operation)
        array.memory().set_for_one_operation();
    return array;
}

}  // namespace

std::optional<unsigned> library_of_cupy() {
    static std::atomic<const CupyLibrary *> registered{nullptr};
    static std::atomic<unsigned> number{0};
    if (registered.load(std::memory_order_acquire)) [[likely]]
        return number.load(std::memory_order_relaxed);
    const StreamFunction function = find_stream_function();
    if (!function)
        return std::nullopt;
    static std::once_flag once;
    std::call_once(once, [&] {  // runs no Python code
        auto *const library = new CupyLibrary;
        library->name = "CuPy";
        library->current_stream = current_stream_of_cupy;
        library->frees_in_stream_order = library->takes_exports = true;
        library->function = function;
        number.store(register_stream_library(*library), std::memory_order_relaxed);
        registered.store(library, std::memory_order_release);
    });
    return number.load(std::memory_order_relaxed);
}

Reference current_stream_object_of_cupy(const Queue &queue) {
    const SetErrorAside aside;
    const Reference module = imported_module("cupy.cuda");
    Reference object(module ? PyObject_CallMethod(module.get(), "get_current_stream", nullptr)
                            : nullptr);
    const Reference number(object ? PyObject_GetAttr(object.get(), ptr_name) : nullptr);
    const std::size_t handle = number ? PyLong_AsSize_t(number.get()) : 0;
    PyErr_Clear();
    const bool is_same_stream = handle == *static_cast<const std::uintptr_t *>(queue.native());
    return is_same_stream ? std::move(object) : Reference();
}

const Protocol cupy_protocol{"cupy", nullptr, probe, read};

}  // namespace entrepot::python
