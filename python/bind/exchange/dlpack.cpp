// Import from DLPack: objects with __dlpack__, of any version, and bare capsules.
#include "protocol.hpp"

#include "../device/convert.hpp"
#include "../device/device.hpp"
#include "../support/attribute.hpp"
#include "../support/foreign_error.hpp"
#include "../support/gil.hpp"
#include "../support/interned.hpp"
#include "../support/reference.hpp"
#include "interface_dict.hpp"
#include "managed_tensor.hpp"
#include "quirks.hpp"
#include "stream.hpp"
#include "stream_libraries.hpp"

#include <core/no_destructor.hpp>
#include <entrepot/core/checked_mutex.hpp>
#include <entrepot/exchange/dlpack.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <string_view>
#include <vector>

namespace entrepot::python {
namespace {

using namespace dlpack;

template <class... Parts> [[noreturn]] void refuse(const Parts &...parts) {
    throw Error(ErrorKind::exchange, "DLPack: ", parts...);
}

const Interned dlpack_method = "__dlpack__", device_method = "__dlpack_device__";

// ---------------------------------------------------------------- capsules

bool is_copied(const DLManagedTensorVersioned &managed) {
    return managed.version.major == version.major && (managed.flags & flag_is_copied) != 0;
}
bool is_copied(const DLManagedTensor &) { return false; }  // has no such flag

// Ownership of the tensor after a refusal:
// - return_to_caller: the caller's capsule owns it again and may be retried.
// - free: the capsule was made for this import and stays used; the tensor is freed at once.
enum class OnRefusal { return_to_caller, free };

[[noreturn]] void refuse_used(const char *name) {
    refuse("the capsule has been taken already (its name is '", name,
           "'); each serves once: ask the producer for another");
}

// Marks the capsule as used and returns its tensor. If several threads race, only one succeeds.
void *use_up(PyObject *capsule, CapsuleNames names) {
    const Exclusive exclusive(capsule);
    void *const managed = PyCapsule_GetPointer(capsule, names.fresh);
    if (!managed) [[unlikely]] {
        PyErr_Clear();
        refuse_used(names.used);
    }
    if (PyCapsule_SetName(capsule, names.used) != 0)
        throw PythonError{};
    return managed;
}

// Renames the capsule before anything else can fail, because renaming transfers ownership.
template <class Managed>
Array take_tensor(PyObject *capsule, CapsuleNames names, const ImportRequest &request,
                  OnRefusal on_refusal) {
    auto *const managed = static_cast<Managed *>(use_up(capsule, names));
    Owner owner = keep_tensor(managed);
    try {
        if (is_copied(*managed) && !request.copy_allowed)
            refuse("the producer made a copy, though it was not asked to; pass copy=True if a copy "
                   "will do");
        return take(*managed, std::move(owner));
    } catch (...) {
        if (on_refusal == OnRefusal::return_to_caller && owner.release_function()) {
            owner.detach();
            PyCapsule_SetName(capsule, names.fresh);
        }
        throw;
    }
}

// nullopt if the capsule is of another kind.
std::optional<Array> take_capsule(PyObject *capsule, const ImportRequest &request,
                                  OnRefusal on_refusal) {
    const char *const name = PyCapsule_GetName(capsule);
    const auto is = [&](const char *wanted) { return name && std::strcmp(name, wanted) == 0; };
    if (is(versioned_names.fresh))
        return take_tensor<DLManagedTensorVersioned>(capsule, versioned_names, request, on_refusal);
    if (is(legacy_names.fresh))
        return take_tensor<DLManagedTensor>(capsule, legacy_names, request, on_refusal);
    if (is(versioned_names.used) || is(legacy_names.used))
        refuse_used(name);
    return std::nullopt;
}

// ---------------------------------------------------------------- streams

// The queue that producers synchronize with if the caller names no queue. Not a default queue: the
// state of a queue that foreign code has seen must be queried each time, while others are cached.
Queue arrival_queue(const Device &device) {
    static LeafMutex mutex;
    // guarded by `mutex`; one per root device that tensors have come from
    static NoDestructor<std::vector<Queue>> queues;
    const auto find = [&] { return std::ranges::find(*queues, device, &Queue::device); };
    {
        const MutexLock lock(mutex);
        if (const auto found = find(); found != queues->end()) [[likely]]
            return *found;
    }
    Queue made = Queue::create(device);  // not under the lock, because it releases the GIL
    const MutexLock lock(mutex);
    const auto found = find();
    return found != queues->end() ? *found : queues->emplace_back(std::move(made));
}

// The device that the producer reports; nullopt if it reports none or an invalid one, in which case
// __dlpack__ may still work.
std::optional<DLDevice> announced_device(PyObject *object) {
    const Reference answer(PyObject_CallMethodNoArgs(object, device_method));
    int type = 0, id = 0;
    if (answer && PyTuple_Check(answer.get()) && PyArg_ParseTuple(answer.get(), "ii", &type, &id))
        return DLDevice{static_cast<DLDeviceType>(type), id};
    clear_answer();
    return std::nullopt;
}

// Pinned memory counts as host memory: its producer may have no stream for it.
bool has_streams(DLDeviceType type) {
    return type == kDLOneAPI || type == kDLCUDA || type == kDLCUDAManaged || type == kDLROCM;
}

// The queue that the producer must synchronize with; empty on the host and on unknown devices. For
// the latter, importing the tensor reports a better error.
Queue queue_for(std::optional<DLDevice> device, const ImportRequest &request) {
    if (!device || !has_streams(device->device_type))
        return {};
    if (request.queue)
        return request.queue;
    try {
        return arrival_queue(device_at(*device));
    } catch (const Error &) {
        return {};
    }
}

// dpctl and dpnp accept only a dpctl.SyclQueue. Not needed if dpctl is not imported. Returns
// nullptr without an exception if the conversion fails.
Reference as_dpctl_queue(PyObject *queue) {
    const Reference dpctl = imported_module("dpctl");
    if (!dpctl)
        return {};
    const Reference capsule(PyObject_CallMethod(queue, "_get_capsule", nullptr));
    Reference theirs(capsule ? PyObject_CallMethod(dpctl.get(), "SyclQueue", "O", capsule.get())
                             : nullptr);
    PyErr_Clear();
    return theirs;
}

// The forms in which producers accept a queue, the most likely first: an int for CUDA and HIP,
// several for SYCL. The last is no stream at all, which all producers accept.
std::vector<Reference> stream_forms(const Queue &queue) {
    std::vector<Reference> forms;
    if (queue && queue.backend().is_sycl()) {
        Reference ours(wrap_queue(queue));
        if (Reference theirs = as_dpctl_queue(ours.get()))
            forms.push_back(std::move(theirs));
        forms.push_back(std::move(ours));
    }
    if (queue)
        forms.emplace_back(PyLong_FromSize_t(exchange::stream_of(queue)));
    forms.emplace_back();
    return forms;
}

// ---------------------------------------------------------------- calling __dlpack__

// The keywords of a call. Old producers raise TypeError for the newer ones
// and are called with fewer.
struct Attempt {
    bool max_version, copy;
};
constexpr Attempt attempts[] = {{true, true}, {true, false}, {false, false}};

// A vectorcall with keyword arguments: names, and values at the same indices.
class Call {
public:
    explicit Call(PyObject *object) { values_[0] = object; }

    void add(PyObject *name, PyObject *value) {
        names_[count_] = name;
        values_[++count_] = value;
    }

    // A new reference, or nullptr with an exception set.
    PyObject *operator()() const {
        const Reference names(PyTuple_New(static_cast<Py_ssize_t>(count_)));
        if (!names)
            return nullptr;
        for (std::size_t i = 0; i < count_; ++i)
            PyTuple_SET_ITEM(names.get(), static_cast<Py_ssize_t>(i), Py_NewRef(names_[i]));
        return PyObject_VectorcallMethod(dlpack_method, values_.data(), 1, names.get());
    }

private:
    std::size_t count_ = 0;
    std::array<PyObject *, 3> names_{};
    std::array<PyObject *, 4> values_{};
};

const Interned stream_name = "stream", copy_name = "copy", version_name = "max_version";

// The tuple (major, minor); borrowed and immortal. nullptr with an exception
// set if memory runs out.
PyObject *newest_version() {
    static std::atomic<PyObject *> made{nullptr};
    if (PyObject *const known = made.load(std::memory_order_acquire)) [[likely]]
        return known;
    PyObject *const tuple = Py_BuildValue("(II)", version.major, version.minor);
    made.store(tuple, std::memory_order_release);  // racing threads store equal tuples
    return tuple;
}

PyObject *call_dlpack(PyObject *object, Attempt attempt, PyObject *stream) {
    PyObject *const newest = attempt.max_version ? newest_version() : nullptr;
    if (attempt.max_version && !newest)
        return nullptr;
    Call call(object);
    if (stream)
        call.add(stream_name, stream);
    if (attempt.max_version)
        call.add(version_name, newest);
    if (attempt.copy)
        call.add(copy_name, Py_False);
    return call();
}

struct Answer {
    Reference capsule;     // empty if the object does not support DLPack after all
    bool ordered = false;  // true if the producer has accepted the queue
};

// Throws the producer's message as an ExchangeError. Exceptions unrelated to
// the tensor pass through.
[[noreturn]] void refuse_with_words(PyObject *object) {
    const std::string words = take_words_about_value();
    refuse(Py_TYPE(object)->tp_name, ".__dlpack__() refused: ", words);
}

Answer ask(PyObject *object, const Queue &queue, const ImportRequest &request) {
    const std::vector<Reference> forms = stream_forms(queue);
    for (const Attempt attempt : attempts) {
        if (attempt.copy && request.copy_allowed)
            continue;
        for (const Reference &form : forms) {
            PyErr_Clear();  // of the previous attempt
            if (PyObject *capsule = call_dlpack(object, attempt, form.get()))
                return {Reference(capsule), static_cast<bool>(form)};
            if (PyErr_ExceptionMatches(PyExc_AttributeError) ||
                PyErr_ExceptionMatches(PyExc_NotImplementedError)) {
                PyErr_Clear();
                return {};
            }
            if (!PyErr_ExceptionMatches(PyExc_TypeError))
                refuse_with_words(object);
        }
    }
    refuse_with_words(object);
}

Array take_answer(PyObject *object, const Reference &answer, const ImportRequest &request) {
    if (PyCapsule_CheckExact(answer.get()))
        if (std::optional<Array> array = take_capsule(answer.get(), request, OnRefusal::free))
            return *std::move(array);
    refuse(Py_TYPE(object)->tp_name, ".__dlpack__() returned ", shown(answer.get()),
           ", which is no DLPack capsule");
}

// ------------------------------------------------------------ whose streams order later operations

const Interned sycl_queue_name = "sycl_queue";

// Records the library or the queue with which the producer continues to work. Skips tensors that
// Entrepot exported: their memory already knows its consumers.
void set_owner(PyObject *object, const Array &array) {
    const Memory &memory = array.memory();
    if (!memory.is_borrowed() || memory.is_shared() || memory.has_owner_stream() ||
        memory.device().backend().is_host())
        return;
    if (const std::optional<unsigned> library = library_of(Py_TYPE(object)))
        return memory.set_owner_library(*library);
    if (!memory.device().backend().is_sycl())
        return memory.set_owner_library(legacy_library);
    // arrays of dpnp and dpctl
    if (const Reference queue = find_attribute(object, sycl_queue_name))
        memory.set_owner_queue(queue_from(queue.get()));
}

// ---------------------------------------------------------------- the row of the table

bool probe(PyTypeObject *type) {
    return type == &PyCapsule_Type || _PyType_Lookup(type, dlpack_method) != nullptr;
}

std::optional<Array> read_object(PyObject *object, const ImportRequest &request) {
    if (PyCapsule_CheckExact(object))
        return take_capsule(object, request, OnRefusal::return_to_caller);
    const Queue queue = queue_for(announced_device(object), request);
    const Answer answer = ask(object, queue, request);
    if (!answer.capsule)
        return std::nullopt;
    Array array = take_answer(object, answer.capsule, request);
    set_owner(object, array);
    if (answer.ordered)
        exchange::wait_for_producer(array, queue);
    // without a stream, producers use the legacy default one
    else if (queue && !queue.backend().is_sycl())
        exchange::wait_for_producer(array, legacy_stream_of(array.memory().device()));
    return is_immutable(Py_TYPE(object)) ? array.as_read_only() : array;
}

}  // namespace

const Protocol dlpack_protocol{"dlpack", "__dlpack__", probe, read_object};

}  // namespace entrepot::python
