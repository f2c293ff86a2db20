// Conversion of Python objects to targets: one function per documented conversion of Pointer, and
// the order in which they are tried.
#include "object.hpp"

#include "../array/scalar.hpp"
#include "../array_object/array_object.hpp"
#include "../exchange/host_sync.hpp"
#include "../exchange/interface_dict.hpp"
#include "../exchange/routes.hpp"
#include "../memory/held_buffer.hpp"
#include "../memory/owner.hpp"
#include "../support/attribute.hpp"
#include "../support/ctypes_data.hpp"
#include "../support/errors.hpp"
#include "../support/foreign_error.hpp"

#include <entrepot/exchange/cai.hpp>

#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace entrepot::python {

const Interned cai_attribute_name = "__cuda_array_interface__";

namespace {

const Interned as_c_void_p_name = "as_c_void_p", dlpack_name = "__dlpack__",
               suai_name = "__sycl_usm_array_interface__";

constexpr exchange::Speaker buffer_speaker{"buffer protocol", ErrorKind::value};

constexpr const char *what_stands_for_one =
    ": None, an int, a ctypes pointer, an adapter, or an object with memory does (a contiguous "
    "buffer, CAI, DLPack, SUAI)";

// ---------------------------------------------------------------- adapters

// HIP Python documents "Copies the address, does not take the buffer handle". So a held buffer is
// not kept alive, but an adapter with another owner, or with memory of its own, is.
Target target_of_adapter(PyObject *adapter) {
    make_ready(adapter);
    check_contiguous(adapter);
    const entrepot_pointer &pointer = *pointer_of(adapter);
    const bool keeps = keeps_memory(adapter) && !held_view(pointer.release, pointer.handle);
    Target target;
    target.owner = keeps ? depend_on(adapter) : Owner();  // its address cannot change from here on
    target.address = pointer.address;
    target.bytes = bytes_of(adapter);
    target.is_read_only = (pointer.flags & ENTREPOT_ADAPTER_READ_ONLY) != 0;
    return target;
}

// ---------------------------------------------------------------- ints

[[noreturn, gnu::noinline]] void refuse_integer(PyObject *integer) {
    if (PyBool_Check(integer))
        throw Error(ErrorKind::type, shown(integer), " is a bool, and no address");
    throw Error(ErrorKind::overflow, shown(integer), " is no address: those are 0 to 2**64 - 1");
}

void *address_of_integer(PyObject *integer) {
    const std::size_t number =
        PyBool_Check(integer) ? std::numeric_limits<std::size_t>::max() : PyLong_AsSize_t(integer);
    if (number == std::numeric_limits<std::size_t>::max()) [[unlikely]] {
        if (PyBool_Check(integer) || PyErr_Occurred()) {
            PyErr_Clear();
            refuse_integer(integer);
        }
    }
    return reinterpret_cast<void *>(number);
}

// ---------------------------------------------------------------- CAI

void check_strides(const InterfaceDict &dict) {
    if (!dict.find(Key::strides)) [[likely]]
        return;
    Numbers shape, strides;
    dict.read_shape(shape);
    dict.read_strides(strides, shape.count);
    const std::int64_t itemsize = dtype_from_typestr(dict.typestr()).itemsize();
    check_contiguous(
        exchange::layout_of_bytes(cai::speaker, shape.extents(), strides.values.data(), itemsize),
        ": entrepot.asarray(x).to()");
}

bool find_cai(PyObject *object, Target &target) {
    Reference value = find_attribute(object, cai_attribute_name);
    if (!value)
        return false;
    const InterfaceDict dict(cai::speaker, std::move(value));
    dict.check_no_mask();
    dict.check_no_offset();
    PyObject *const data = dict.find(Key::data);
    if (!data)
        throw cai::speaker.refusal("'data' is missing");
    const DataEntry entry = dict.data_entry(data);
    check_strides(dict);
    target = {entry.pointer, keep(object), -1, entry.flag};
    return true;
}

// ---------------------------------------------------------------- buffers

// A NumPy scalar exports a buffer with a copy of its value, which is never meant where an address
// is expected. Bytes and str scalars are accepted as text; a record may be a view into an array.
void check_no_scalar(PyObject *object) {
    if (!is_numpy_scalar(object) || PyBytes_Check(object) || PyUnicode_Check(object)) [[likely]]
        return;
    const std::string_view name = Py_TYPE(object)->tp_name;
    // an index to NumPy 2.2, with a warning
    if (PyIndex_Check(object) && !name.starts_with("numpy.bool"))
        throw Error(ErrorKind::type, "a ", name,
                    " may be an address, or memory with a number in it: pass int(x) for the one, "
                    "numpy.array(x) for the other");
    if (name.find("void") == std::string_view::npos &&
        name.find("record") == std::string_view::npos)
        throw Error(
            ErrorKind::type, "a ", name,
            " is a number, and no address: numpy.array(x) is memory with that number in it");
}

bool is_strided(PyObject *object) {
    Py_buffer view;
    if (PyObject_GetBuffer(object, &view, PyBUF_STRIDED_RO) != 0) {
        clear_answer();
        return false;
    }
    const bool strided = !PyBuffer_IsContiguous(&view, 'C');
    PyBuffer_Release(&view);
    return strided;
}

HeldBuffer hold_contiguous(PyObject *object) {
    try {
        // refuses what is not C-contiguous
        return hold_buffer(buffer_speaker, object, PyBUF_SIMPLE);
    } catch (const Error &refusal) {
        if (!is_strided(object))
            throw;
        throw Error(
            refusal.kind(), refusal.what(),
            "; copy it to contiguous memory first, as numpy.ascontiguousarray(x) or bytes(x) does");
    }
}

// ---------------------------------------------------------------- functions

// True for arrays: they contain data, not code, although most export a buffer as bytes do.
bool describes_data(PyObject *object) {
    return is_array(object) || find_attribute(object, cai_attribute_name) ||
           find_attribute(object, dlpack_name) || find_attribute(object, suai_name);
}

// ---------------------------------------------------------------- lists

// Iterates over the pins of a list of addresses or of a block of launch arguments.
struct Listed {
    PyObject *adapter;  // owns the block; other adapters may point into it
    PyObject *pins;
    Py_ssize_t next = 0;

    PyObject *take() noexcept { return PyTuple_GET_ITEM(pins, next++); }
    bool at_end() const noexcept { return next == PyTuple_GET_SIZE(pins); }
    std::string name_of_last() const {
        const bool launches = row_of(Py_TYPE(adapter)).fill == fill_launch_arguments;
        return (launches ? "argument " : "element ") + std::to_string(next - 1) + ": ";
    }
};

std::optional<Listed> listed_by(PyObject *adapter) noexcept {
    while (PyObject *const other = depended_on(*pointer_of(adapter)))
        adapter = other;
    PyObject *const pins = is_owner(*pointer_of(adapter)) ? kept_by(*pointer_of(adapter)) : nullptr;
    return pins ? std::optional(Listed{adapter, pins}) : std::nullopt;
}

}  // namespace

Py_ssize_t bytes_of(PyObject *adapter) noexcept {
    const Py_ssize_t length = pointer_of(adapter)->length;
    if (length < 0 || Py_IS_TYPE(adapter, pointer_type) || Py_IS_TYPE(adapter, c_string_type))
        [[likely]]
        return length < 0 ? -1 : length;
    const AdapterRow &row = row_of(Py_TYPE(adapter));
    if (row.fill == fill_c_string)  // of a type derived from it
        return length;
    const Py_ssize_t size = size_of_element(row);
    return size ? length * size : -1;
}

Py_ssize_t extent_of(PyObject *adapter) {
    for (Py_ssize_t bytes = -1;;) {
        if (bytes < 0 && is_device_array(adapter))
            return bytes_of_device_array(adapter);
        if (bytes < 0)
            bytes = bytes_of(adapter);
        const void *const address = pointer_of(adapter)->address;
        PyObject *const kept = kept_by(*pointer_of(adapter));
        if (!kept)
            return bytes;
        if (bytes < 0 && is_array(kept) && array_of(kept).data() == address)
            return array_of(kept).nbytes();
        if (bytes >= 0 && (PyBytes_Check(kept) || PyUnicode_Check(kept)))
            return bytes + 1;  // the NUL after it
        if (!is_adapter(kept) || pointer_of(kept)->address != address)
            return bytes;
        adapter = kept;
    }
}

bool find_plain(PyObject *object, Target &target) {
    if (object == Py_None) {
        target = {};
        return true;
    }
    if (is_adapter(object)) {
        target = target_of_adapter(object);
        return true;
    }
    if (PyLong_Check(object)) {
        target.address = address_of_integer(object);
        return true;
    }
    if (ctypes_type_of(Py_TYPE(object)).sort == CtypesSort::pointer) {
        target = {address_in(object), keep(object), -1, false};  // it may own what it points to
        return true;
    }
    return false;
}

bool has_buffer(PyObject *object) {
    const PyBufferProcs *const procs = Py_TYPE(object)->tp_as_buffer;
    if (!procs || !procs->bf_getbuffer)
        return false;
    check_no_scalar(object);
    return true;
}

bool find_buffer(PyObject *object, Target &target) {
    if (!has_buffer(object))
        return false;
    HeldBuffer held = hold_contiguous(object);
    target = {held.view->buf, std::move(held.owner), held.view->len, held.view->readonly != 0};
    return true;
}

bool find_void_pointer(PyObject *object, Target &target) {
    const Reference method = find_attribute(object, as_c_void_p_name);
    if (!method)
        return false;
    const Reference pointer = checked(PyObject_CallNoArgs(method.get()));
    if (ctypes_type_of(Py_TYPE(pointer.get())).sort != CtypesSort::pointer)
        throw Error(ErrorKind::type, "as_c_void_p() of a ", Py_TYPE(object)->tp_name, " gave ",
                    shown(pointer.get()), " in place of a ctypes.c_void_p");
    target = {address_in(pointer.get()), keep(object), -1, false};
    return true;
}

Array array_for(PyObject *object, const char *expected) {
    try {
        return is_array(object) ? array_of(object) : import_array(object, {});
    } catch (const Error &error) {
        if (error.kind() != ErrorKind::type)
            throw;
        const char *const name = Py_TYPE(object)->tp_name;
        if (expected)
            throw Error(ErrorKind::type, expected, " was expected, not a ", name,
                        ", which stands for no address either", what_stands_for_one);
        throw Error(ErrorKind::type, "a ", name, " stands for no address", what_stands_for_one);
    }
}

// The address will be used by work that Entrepot does not track: wait for the
// accesses that it does.
Target target_of_array(const Array &array, Owner owner) {
    check_contiguous(array.layout(), ": array.to(array.device)");
    synchronize_for_host(array);
    return {array.data(), std::move(owner), array.is_host_accessible() ? array.nbytes() : -1,
            array.read_only()};
}

bool find_target(PyObject *object, Target &target) {
    if (find_plain(object, target)) [[likely]]
        return true;
    if (is_array(object)) {
        target = target_of_array(array_of(object), keep(object));
        return true;
    }
    return find_cai(object, target) || find_buffer(object, target) ||
           find_void_pointer(object, target);
}

Target target_of_import(const Array &array) {
    const Reference kept = checked(wrap(Array(array)));
    return target_of_array(array, keep(kept.get()));
}

Target target_of(PyObject *object) {
    // Fast path: builds the result in place (benchmarks/adapters.py, CStr(text_of_ours)).
    if (is_adapter_type(Py_TYPE(object)))
        return target_of_adapter(object);
    Target target;
    if (find_target(object, target)) [[likely]]
        return target;
    return target_of_import(array_for(object));
}

Target target_of_function(PyObject *object) {
    Target target;
    if (find_plain(object, target))
        return target;
    if (!describes_data(object) &&
        (find_buffer(object, target) || find_void_pointer(object, target)))
        return target;
    throw Error(ErrorKind::type, "a ", Py_TYPE(object)->tp_name,
                " stands for no function: None, an int, a ctypes pointer, an adapter, a contiguous "
                "buffer or a callable does");
}

void check_not_freed(PyObject *adapter) {
    PyObject *const root = root_of(adapter);
    if (!root || !(pointer_of(root)->flags & ENTREPOT_ADAPTER_FREED)) [[likely]]
        return;
    throw Error(ErrorKind::value, "this ", _PyType_Name(Py_TYPE(adapter)), ", at ",
                Hex(pointer_of(adapter)->address),
                is_device_array(adapter) ? ", has been freed"
                                         : ", is of a DeviceArray that has been freed",
                ": its memory may be another's by now");
}

// Iterative, with an explicit stack: lists can be nested deeper than the C stack allows.
void check_pins_not_freed(PyObject *adapter) {
    std::optional<Listed> in = listed_by(adapter);
    std::vector<Listed> above;
    while (in) {
        if (in->at_end()) {
            if (above.empty())
                return;
            in = above.back();
            above.pop_back();
            continue;
        }
        PyObject *const pin = in->take();
        if (!is_adapter(pin))
            continue;
        try {
            check_not_freed(pin);
        } catch (const Error &error) {
            std::string way;
            for (const Listed &each : above)
                way += each.name_of_last();
            throw Error(error.kind(), way, in->name_of_last(), error.what());
        }
        if (const std::optional<Listed> below = listed_by(pin)) {
            above.push_back(*in);
            in = below;
        }
    }
}

void check_nothing_freed(PyObject *adapter) {
    check_not_freed(adapter);
    check_pins_not_freed(adapter);
}

void make_ready(PyObject *adapter) {
    check_not_freed(adapter);
    if (is_device_array(adapter)) [[unlikely]]
        synchronize_address_for_host(adapter);
}

void check_contiguous(const Layout &layout, const char *remedy) {
    if (!layout.is_c_contiguous()) [[unlikely]]
        throw Error(ErrorKind::value, "the memory is strided, ", layout,
                    ", and a pointer has no strides; copy it to contiguous memory first", remedy);
}

}  // namespace entrepot::python
