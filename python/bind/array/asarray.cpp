// asarray and from_dlpack: the way in, with the options of the caller. Without options it is a type check and a route.
#include "array.hpp"

#include "../convert.hpp"
#include "../dtype.hpp"
#include "../errors.hpp"
#include "../exchange/routes.hpp"
#include "../gil.hpp"
#include "../owner.hpp"
#include "../placement.hpp"
#include "methods.hpp"

#include <entrepot/array/copy.hpp>

#include <array>
#include <optional>
#include <string>

namespace entrepot::python {
namespace {

// What the caller asked for; borrowed references, nullptr where nothing was said.
struct Options {
    PyObject *object = nullptr, *dtype = nullptr, *copy = nullptr, *device = nullptr, *kind = nullptr, *queue = nullptr,
             *protocol = nullptr;
};

struct KeywordRow {
    const char *name;
    PyObject *Options::*option;
};

constexpr KeywordRow keywords[] = {{"dtype", &Options::dtype}, {"copy", &Options::copy},   {"device", &Options::device},
                                   {"kind", &Options::kind},   {"queue", &Options::queue}, {"protocol", &Options::protocol}};

PyObject *&option_named(Options &options, const char *function, PyObject *name) {
    for (const KeywordRow &row : keywords)
        if (PyUnicode_CompareWithASCIIString(name, row.name) == 0)
            return options.*row.option;
    const char *text = PyUnicode_AsUTF8(name);
    throw Error(ErrorKind::type, function, "() has no keyword '", text ? text : "?",
                "'; there are dtype, copy, device, kind, queue, protocol");
}

Options parse(const char *function, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    if (nargs != 1)
        throw Error(ErrorKind::type, function, "() takes 1 positional argument, the object to view, but ", nargs,
                    " were given; the others are keywords");
    Options options;
    options.object = args[0];
    const Py_ssize_t count = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
    for (Py_ssize_t i = 0; i < count; ++i) {
        PyObject *&option = option_named(options, function, PyTuple_GET_ITEM(kwnames, i));
        option = args[nargs + i] == Py_None ? nullptr : args[nargs + i];
    }
    return options;
}

bool is_true(PyObject *object) {
    const int truth = object ? PyObject_IsTrue(object) : 0;
    if (truth < 0)
        throw PythonError{};
    return truth == 1;
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

void check_dtype(const Array &array, PyObject *wanted) {
    const Dtype dtype = dtype_from(wanted);
    if (array.dtype() != dtype)
        throw Error(ErrorKind::exchange, "asarray: dtype ", dtype, " was asked for and the object has ", array.dtype(),
                    "; a view never converts: convert with the object's own library, or reinterpret the bits with .view(dtype)");
}

// Whether the array is already where the caller wants it; a host-accessible one is also on the host, seen as such.
std::optional<Array> in_place(const Array &array, const std::optional<Device> &device, const std::optional<UsmKind> &kind) {
    const bool device_fits = !device || *device == array.device(), kind_fits = !kind || *kind == array.kind();
    if (device_fits && kind_fits)
        return array;
    if (device && *device == registry::host() && array.is_host_accessible() && (!kind || *kind == UsmKind::host))
        return array.host();
    return std::nullopt;
}

Array placed(const Array &array, const Options &options, const Queue &queue) {
    std::optional<Device> device = options.device ? std::optional(device_from(options.device)) : std::nullopt;
    const std::optional<UsmKind> kind = options.kind ? std::optional(kind_from(options.kind)) : std::nullopt;
    if (is_true(options.copy)) {
        const Queue &target = queue ? queue : device ? device->default_queue() : array.queue();
        const ReleaseGil released;
        return copy_to(array, kind.value_or(device ? default_kind(*device) : array.kind()), target);
    }
    if (std::optional<Array> there = in_place(array, device, kind))
        return *std::move(there);
    throw Error(ErrorKind::exchange, "asarray: the memory is ", array.kind(), " memory of ", array.device(),
                " and cannot become ", kind ? name_of(*kind) : "memory", " of ",
                device ? device->selector() : array.device().selector(),
                " without a copy; pass copy=True, or use .to(device, kind=…)");
}

Array with_options(const Options &options) {
    ImportRequest request;
    if (options.queue)
        request.queue = queue_from(options.queue);
    request.copy_allowed = is_true(options.copy);
    Array array = view(options, request);
    if (options.dtype)
        check_dtype(array, options.dtype);
    if (options.device || options.kind || request.copy_allowed)
        array = placed(array, options, request.queue);
    if (request.queue) {
        if (!array.is_host_accessible() && array.context() != request.queue.context())
            throw Error(ErrorKind::exchange, "asarray: the memory is of ", array.context(), " and the queue of ",
                        request.queue.context(),
                        ", so no work of the queue can use it; copy it there with device= and copy=True");
        array = array.on(std::move(request.queue));
    }
    return array;
}

}  // namespace

PyObject *asarray(PyObject *, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    try {
        if (nargs == 1 && !kwnames) [[likely]]
            return is_array(args[0]) ? Py_NewRef(args[0]) : wrap(import_array(args[0], {}));
        return wrap(with_options(parse("asarray", args, nargs, kwnames)));
    } catch (...) {
        raise_current();
        return nullptr;
    }
}

PyObject *from_dlpack(PyObject *, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    try {
        Options options = parse("from_dlpack", args, nargs, kwnames);
        if (options.protocol)
            throw Error(ErrorKind::type, "from_dlpack() has no keyword 'protocol': it speaks DLPack");
        static PyObject *const dlpack = PyUnicode_InternFromString("dlpack");
        options.protocol = dlpack;
        return wrap(with_options(options));
    } catch (...) {
        raise_current();
        return nullptr;
    }
}

}  // namespace entrepot::python
