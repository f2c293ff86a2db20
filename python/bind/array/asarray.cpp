// asarray and from_dlpack: imports with options. Without options, a type check and one import.
#include "../array_object/array_object.hpp"

#include "../core/dtype.hpp"
#include "../device/convert.hpp"
#include "../exchange/routes.hpp"
#include "../memory/placement.hpp"
#include "../support/errors.hpp"
#include "../support/gil.hpp"
#include "../support/guarded.hpp"
#include "../support/interned.hpp"
#include "../support/parameters.hpp"
#include "methods.hpp"

#include <array/reach.hpp>
#include <entrepot/array/copy.hpp>

#include <optional>
#include <string>

namespace entrepot::python {
namespace {

// The caller's arguments; borrowed references, nullptr if not given.
struct Options {
    const char *function;  // the function that was called, for messages
    PyObject *object = nullptr, *dtype = nullptr, *copy = nullptr, *device = nullptr,
             *kind = nullptr, *queue = nullptr, *protocol = nullptr;
};

const Parameters of_asarray("asarray", 1, 1,
                            {"obj", "dtype", "copy", "device", "kind", "queue", "protocol"}, 1);
const Parameters of_from_dlpack("from_dlpack", 1, 1,
                                {"x", "dtype", "copy", "device", "kind", "queue"}, 1);
const Interned dlpack = "dlpack";  // the protocol of from_dlpack

Options parse_asarray(PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    const auto [object, dtype, copy, device, kind, queue, protocol] =
        of_asarray.read(args, nargs, kwnames);
    return {"asarray",           object,
            unless_none(dtype),  unless_none(copy),
            unless_none(device), unless_none(kind),
            unless_none(queue),  unless_none(protocol)};
}

Options parse_from_dlpack(PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    const auto [object, dtype, copy, device, kind, queue] =
        of_from_dlpack.read(args, nargs, kwnames);
    return {"from_dlpack",       object,
            unless_none(dtype),  unless_none(copy),
            unless_none(device), unless_none(kind),
            unless_none(queue),  dlpack};
}

Array view(const Options &options, const ImportRequest &request) {
    if (is_array(options.object))
        return array_of(options.object);
    if (!options.protocol)
        return import_array(options.object, request);
    const char *name = PyUnicode_AsUTF8(options.protocol);
    if (!name)
        throw PythonError{};
    return import_array(options.object, request, name);
}

void check_dtype(const Array &array, const Options &options) {
    const Dtype dtype = dtype_from(options.dtype);
    if (array.dtype() != dtype)
        throw Error(ErrorKind::exchange, options.function, ": dtype ", dtype,
                    " was asked for and the object has ", array.dtype(),
                    "; a view never converts: convert with the object's own library, or "
                    "reinterpret the bits with .view(dtype)");
}

// True for memory of the process that the device reads as it is.
bool is_readable_by(const Device &device, const Array &array) {
    return array.memory().device().backend().is_host() && device.has(EP_READS_HOST_MEMORY);
}

// The array if it is already at the requested place. Host-accessible memory also counts as host
// memory, and host memory as that of a device that reads it. nullopt if it is elsewhere.
std::optional<Array> in_place(const Array &array, const std::optional<Device> &device,
                              const std::optional<UsmKind> &kind) {
    const bool device_fits = !device || *device == array.device(),
               kind_fits = !kind || *kind == array.kind();
    if (device_fits && kind_fits)
        return array;
    if (device && *device == registry::host() && array.is_host_accessible() &&
        kind.value_or(UsmKind::host) == UsmKind::host)
        return array.host();
    if (device && is_readable_by(*device, array) && kind.value_or(UsmKind::host) == UsmKind::host)
        return array.on_device(*device);
    return std::nullopt;
}

Array placed(const Array &array, const Options &options) {
    std::optional<Device> device =
        options.device ? std::optional(device_from(options.device)) : std::nullopt;
    std::optional<UsmKind> kind;
    if (options.kind)
        kind = kind_from(options.kind);
    if (is_true(options.copy)) {
        const Placement where = device || options.queue
                                    ? placement_from(options.device, options.kind, options.queue)
                                    : Placement{array.queue(), kind.value_or(array.kind())};
        const ReleaseGil released;
        return copy_to(array, where.kind, where.queue);
    }
    if (std::optional<Array> there = in_place(array, device, kind))
        return *std::move(there);
    const bool can_pin = device && !device->backend().is_host() &&
                         array.memory().device().backend().is_host() &&
                         kind.value_or(UsmKind::host) == UsmKind::host;
    throw Error(ErrorKind::exchange, options.function, ": the memory is ", array.kind(),
                " memory of ", array.device(), " and cannot become ",
                kind ? name_of(*kind) : "memory", " of ",
                device ? device->selector() : array.device().selector(),
                " without a copy; pass copy=True, or use .to(device, kind=…)",
                can_pin ? "; ep.pin(x, device) makes host memory usable in place" : "");
}

Array with_options(const Options &options) {
    ImportRequest request;
    if (options.queue)
        request.queue = queue_from(options.queue);
    request.copy_allowed = is_true(options.copy);
    Array array = view(options, request);
    if (options.dtype)
        check_dtype(array, options);
    if (options.device || options.kind || request.copy_allowed)
        array = placed(array, options);
    if (request.queue) {
        if (array.size() != 0 && !reaches(request.queue, array))
            throw Error(
                ErrorKind::exchange, options.function, ": the memory is of ", array.context(),
                " and the queue of ", request.queue.context(),
                ", so no work of the queue can use it; copy it there with device= and copy=True");
        array = array.on(std::move(request.queue));
    }
    return array;
}

[[gnu::noinline]] PyObject *asarray_with_options(PyObject *const *args, Py_ssize_t nargs,
                                                 PyObject *kwnames) {
    return guarded([&] { return wrap(with_options(parse_asarray(args, nargs, kwnames))); });
}

}  // namespace

[[gnu::hot]] PyObject *asarray(PyObject *, PyObject *const *args, Py_ssize_t nargs,
                               PyObject *kwnames) {
    if (nargs != 1 || kwnames) [[unlikely]]
        return asarray_with_options(args, nargs, kwnames);
    return is_array(args[0]) ? Py_NewRef(args[0]) : import_wrapped(args[0]);
}

PyObject *from_dlpack(PyObject *, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    return guarded([&] { return wrap(with_options(parse_from_dlpack(args, nargs, kwnames))); });
}

}  // namespace entrepot::python
