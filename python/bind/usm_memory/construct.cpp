// Construction: allocation, a view of another object's memory, or a copy. Called by a class, a
// subclass or as_usm_memory.
#include "usm_memory.hpp"

#include "../array_object/array_object.hpp"
#include "../device/convert.hpp"
#include "../exchange/protocol.hpp"
#include "../exchange/stream.hpp"
#include "../memory/allocate.hpp"
#include "../support/errors.hpp"
#include "../support/gil.hpp"
#include "../support/guarded.hpp"
#include "../support/parameters.hpp"
#include "../support/release.hpp"

#include <entrepot/array/copy.hpp>
#include <entrepot/device/registry.hpp>
#include <memory/release.hpp>

#include <cstdint>
#include <memory>
#include <optional>

namespace entrepot::python {
namespace {

// The caller's arguments; borrowed references, nullptr if not given.
struct Options {
    PyObject *source = nullptr, *alignment = nullptr, *queue = nullptr, *copy = nullptr;
};

const Parameters parameters("MemoryUSM…", 1, 1, {"nbytes", "alignment", "queue", "copy"});

Options options_of(const Parameters<4>::Values &values) {
    const auto [source, alignment, queue, copy] = values;
    return {source, unless_none(alignment), unless_none(queue), unless_none(copy)};
}

std::size_t alignment_from(PyObject *object) {
    const Py_ssize_t alignment = object ? PyNumber_AsSsize_t(object, PyExc_OverflowError) : 0;
    if (alignment == -1 && PyErr_Occurred())
        throw PythonError{};
    return alignment > 0 ? static_cast<std::size_t>(alignment) : 0;  // as in dpctl
}

// The class itself, or the one that a subclass derives from.
const UsmClass &class_of(PyTypeObject *type) {
    for (const UsmClass &row : usm_classes())
        if (type == row.type)
            return row;
    for (const UsmClass &row : usm_classes())
        if (PyType_IsSubtype(type, row.type))
            return row;
    throw Error(ErrorKind::type,
                "Memory has no kind; make a MemoryUSMHost, MemoryUSMShared or MemoryUSMDevice");
}

// ---------------------------------------------------------------- allocate

// The queue of SYCL's default device, as in dpctl; the current queue if there is no SYCL device.
const Queue &default_queue() {
    static const Device of_sycl = []() -> Device {
        try {
            return registry::default_sycl_device();
        } catch (const Error &) {
            return {};
        }
    }();
    return of_sycl ? of_sycl.default_queue() : registry::current_queue();
}

UsmMemory new_memory(UsmKind kind, std::size_t bytes, Queue queue, LazyReference queue_object,
                     PyObject *alignment) {
    Memory memory = allocate(bytes, kind, queue, alignment_from(alignment));
    void *const data = memory.data();
    return {std::move(memory), data, bytes, kind, false, std::move(queue), std::move(queue_object)};
}

// A queue with the caller's object for it. Empty if the object is a device or
// selector, not a queue.
struct NamedQueue {
    Queue queue;
    Reference object;
};

NamedQueue named_queue(PyObject *object) {
    if (Queue queue = known_queue(object)) [[likely]]
        return {std::move(queue), Reference::borrow(object)};
    return {queue_from(object), Reference()};
}

UsmMemory new_memory(UsmKind kind, std::size_t bytes, const Options &options) {
    NamedQueue where =
        options.queue ? named_queue(options.queue) : NamedQueue{default_queue(), Reference()};
    return new_memory(kind, bytes, std::move(where.queue), std::move(where.object),
                      options.alignment);
}

std::size_t count_from(PyObject *number) {
    const Py_ssize_t count = PyNumber_AsSsize_t(number, PyExc_OverflowError);
    if (count == -1 && PyErr_Occurred())
        throw PythonError{};
    if (count <= 0)
        throw Error(
            ErrorKind::value, count,
            " bytes of USM memory cannot be allocated: the number of bytes must be positive");
    return static_cast<std::size_t>(count);
}

// -------------------------------------------------------------------- view

// A queue in the memory's own context that is ordered after all work on the array.
Queue queue_for(const Array &array) {
    const Context &context = array.memory().context();
    Queue queue = array.queue();
    if (queue.context() == context && !queue.may_be_destroyed())
        return queue;
    queue = Queue::for_context(context, array.memory().device());
    exchange::synchronize_consumer(array, queue);
    return queue;
}

// The kind of a pointer without elements, for which the import has not asked the driver.
UsmKind kind_of_nothing(const Array &array) {
    const ep_allocation found = array.memory().context().query(array.data(), 1);
    return found.kind == EP_USM_UNKNOWN ? array.memory().kind() : static_cast<UsmKind>(found.kind);
}

// The memory from the lowest to the highest byte of any element.
UsmMemory span_of(const Array &array) {
    const ByteRange touched = array.layout().byte_range(array.itemsize());
    const auto bytes = static_cast<std::size_t>(touched.size());
    const UsmKind kind = bytes ? array.memory().kind() : kind_of_nothing(array);
    return {array.memory(),
            static_cast<std::byte *>(array.data()) + touched.begin,
            bytes,
            kind,
            array.read_only(),
            queue_for(array),
            {}};
}

UsmMemory same(const UsmMemory &other) {
    return {other.memory,
            other.data,
            other.bytes,
            other.kind,
            other.read_only,
            other.queue,
            Reference::borrow(other.queue_object.get())};
}

// True unless the memory is ordinary host memory, which no device's context knows.
bool is_usm(const UsmMemory &memory) {
    return !memory.memory.context().backend().is_host() || !memory.memory.is_borrowed();
}

// Replaces the queue by the caller's. Refuses a queue whose context is not the memory's.
void adopt_queue(UsmMemory &memory, PyObject *object) {
    NamedQueue named = named_queue(object);
    if (named.queue.context() != memory.memory.context())
        throw Error(
            ErrorKind::value, "the memory is bound to ", memory.memory.context(),
            " and the queue to ", named.queue.context(),
            "; leave the queue out, or pass copy=True to copy the memory to the queue's device");
    memory.queue = std::move(named.queue);
    memory.queue_object = std::move(named.object);
}

UsmMemory viewed(const UsmClass &row, UsmMemory &&memory, const Options &options) {
    if (!is_usm(memory))
        throw Error(ErrorKind::value, "the object's memory, at ", Hex(memory.data),
                    ", is ordinary host memory, which no device's context knows; ",
                    "pass copy=True to copy it to USM memory");
    if (memory.kind != row.kind)
        throw Error(ErrorKind::value, "the object's memory is USM ", memory.kind,
                    " memory and USM ", row.kind,
                    " memory was asked for; pass copy=True to copy it, or use as_usm_memory to "
                    "view it as its own kind");
    const std::size_t alignment = alignment_from(options.alignment);
    if (alignment && reinterpret_cast<std::uintptr_t>(memory.data) % alignment != 0)
        throw Error(ErrorKind::value, "the object's memory, at ", Hex(memory.data),
                    ", is not aligned to ", alignment,
                    " bytes; pass copy=True to copy it to memory that is");
    if (options.queue)
        adopt_queue(memory, options.queue);
    return std::move(memory);
}

// Without a queue argument, allocates the copy in the context of the original.
UsmMemory copied(const UsmClass &row, UsmMemory &&source, const Options &options) {
    UsmMemory result = options.queue || !is_usm(source)
                           ? new_memory(row.kind, source.bytes, options)
                           : new_memory(row.kind, source.bytes, source.queue,
                                        std::move(source.queue_object), options.alignment);
    const Array to = bytes_of(result), from = bytes_of(source);
    without_gil([&] { copy(to, from).wait(); });
    return result;
}

[[noreturn]] void refuse_object(PyObject *object, const char *also) {
    throw Error(ErrorKind::value, "a ", Py_TYPE(object)->tp_name,
                " has no __sycl_usm_array_interface__ and is no Array", also,
                "; entrepot.asarray takes more protocols, and MemoryUSM…(entrepot.asarray(object), "
                "copy=True) copies what it takes");
}

UsmMemory made(const UsmClass &row, const Options &options) {
    if (PyLong_Check(options.source)) [[likely]]
        return new_memory(row.kind, count_from(options.source), options);
    if (std::optional<UsmMemory> memory = find_usm_memory(options.source))
        return is_true(options.copy) ? copied(row, *std::move(memory), options)
                                     : viewed(row, *std::move(memory), options);
    if (PyIndex_Check(options.source)) {  // after SUAI, because 0-d arrays have both
        if (const Reference count{PyNumber_Index(options.source)})
            return new_memory(row.kind, count_from(count.get()), options);
        if (!PyErr_ExceptionMatches(PyExc_TypeError))  // NumPy's larger arrays also have __index__
            throw PythonError{};
        PyErr_Clear();
    }
    refuse_object(options.source, ", nor a number of bytes");
}

}  // namespace

std::optional<UsmMemory> find_usm_memory(PyObject *object) {
    if (is_usm_memory(object))
        return same(usm_memory_of(object));
    if (is_array(object))
        return span_of(array_of(object));
    if (const std::optional<Array> array = suai_protocol.read(object, {}))
        return span_of(*array);
    return std::nullopt;
}

PyObject *usm_memory_vectorcall(PyObject *type, PyObject *const *args, std::size_t nargsf,
                                PyObject *kwnames) {
    return guarded([&] {
        drain_released();
        auto *const exact = reinterpret_cast<PyTypeObject *>(type);
        return wrap(exact,
                    made(class_of(exact),
                         options_of(parameters.read(args, PyVectorcall_NARGS(nargsf), kwnames))));
    });
}

PyObject *usm_memory_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    return guarded([&] {
        drain_released();
        return wrap(type, made(class_of(type), options_of(parameters.read(args, kwargs))));
    });
}

PyObject *as_usm_memory(PyObject *, PyObject *object) {
    return guarded([&] {
        drain_released();
        std::optional<UsmMemory> memory = find_usm_memory(object);
        if (!memory)
            refuse_object(object, "");
        const UsmClass *const row = usm_class_of(memory->kind);
        if (!row)
            throw Error(ErrorKind::value, "as_usm_memory: the kind of the memory at ",
                        Hex(memory->data), " is unknown");
        return wrap(row->type, viewed(*row, *std::move(memory), {}));
    });
}

PyObject *usm_memory_rebuild(PyObject *, PyObject *args) {
    PyTypeObject *type = nullptr;
    Py_buffer data{};
    const char *kind_name = nullptr;
    if (!PyArg_ParseTuple(args, "O!y*s:_rebuild_usm_memory", &PyType_Type, &type, &data,
                          &kind_name))
        return nullptr;
    const std::unique_ptr<Py_buffer, void (*)(Py_buffer *)> held(&data, PyBuffer_Release);
    return guarded([&] {
        drain_released();
        const std::optional<UsmKind> kind = usm_kind_from_name(kind_name);
        if (!kind || *kind != class_of(type).kind)
            throw Error(ErrorKind::value, "a pickled ", type->tp_name,
                        " says that it is of USM kind '", kind_name, "', which is not its class's");
        UsmMemory memory = new_memory(*kind, static_cast<std::size_t>(data.len), Options{});
        const Array to = bytes_of(memory), from = bytes_of(data);
        without_gil([&] { copy(to, from).wait(); });
        return wrap(type, std::move(memory));
    });
}

}  // namespace entrepot::python
