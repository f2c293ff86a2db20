// Import by the C exchange API: types that publish DLPack's function table, each looked up once.
#include "../array_object/array_object.hpp"
#include "../memory/owner.hpp"
#include "../support/errors.hpp"
#include "../support/foreign_error.hpp"
#include "../support/gil.hpp"
#include "../support/reference.hpp"
#include "fast_import.hpp"
#include "managed_tensor.hpp"
#include "protocol.hpp"
#include "stream.hpp"
#include "stream_libraries.hpp"
#include "torch_properties.hpp"

#include <entrepot/device/registry.hpp>
#include <entrepot/exchange/c_exchange_api.hpp>
#include <entrepot/exchange/dlpack.hpp>

#include <atomic>
#include <optional>
#include <string_view>

namespace entrepot::python {
namespace {

using namespace dlpack;

template <class... Parts> [[noreturn]] void refuse(const Parts &...parts) {
    throw Error(ErrorKind::exchange, "DLPack C exchange API: ", parts...);
}

// ---------------------------------------------------------------- producers by type

// Known producers. All others are asked for a managed tensor, which has flags, and trusted.
struct KnownProducer {
    const char *module, *type;
    bool always_writable;  // a borrowed tensor, which has no flags and is 15 ns cheaper, loses
                           // nothing
    void (*require_plain)(PyObject *tensor, TypeCode code);  // checks that the functions omit
    bool waits_for_cai_stream;  // see StreamLibrary; torch.as_tensor() ignores the stream of CAI
};
constexpr KnownProducer known_producers[] = {
    {"torch", "Tensor", true, require_plain_tensor, false}};

// A stream library backed by a producer's table: its current stream is current_work_stream.
struct ProducerLibrary : StreamLibrary {
    const DLPackExchangeAPI *api = nullptr;
    bool needs_gil = true;  // for each call; otherwise only for the first call for a device
    // Devices for which it has answered: the lower 32 bits are CUDA devices,
    // the upper 32 bits ROCm.
    mutable std::atomic<std::uint64_t> has_answered{0};

    static std::uint64_t bit_of(DLDevice device) noexcept {
        if ((device.device_type != kDLCUDA && device.device_type != kDLROCM) ||
            static_cast<std::uint32_t>(device.device_id) >= 32)
            return 0;
        return std::uint64_t{1} << (device.device_id + (device.device_type == kDLROCM ? 32 : 0));
    }
    bool answers_without_gil(DLDevice device) const noexcept {
        return !needs_gil && (has_answered.load(std::memory_order_relaxed) & bit_of(device)) != 0;
    }
    void note_answer_for(DLDevice device) const noexcept {
        const std::uint64_t bit = bit_of(device);
        if ((has_answered.load(std::memory_order_relaxed) & bit) != bit) [[unlikely]]
            has_answered.fetch_or(bit, std::memory_order_relaxed);
    }
};

struct Producer {
    PyTypeObject *type;  // owned, so that a new type at the same address is not mistaken for it
    const DLPackExchangeAPI *api;
    const KnownProducer *known;  // or nullptr
    bool can_borrow;
    const ProducerLibrary *streams;
    unsigned library;  // number of the stream library
    const Producer *next;
};
std::atomic<const Producer *> producers{nullptr};  // never freed, because such types are few

Reference own_attribute(PyTypeObject *type, const char *name) {
#if PY_VERSION_HEX >= 0x030C0000
    const Reference dict(PyType_GetDict(type));
#else
    const Reference dict = Reference::borrow(type->tp_dict);
#endif
    return dict ? item_of(dict.get(), name) : Reference();
}

// Looks at the type's own dict only: an inherited table does not know what a subclass has changed.
const DLPackExchangeAPI *published_by(PyTypeObject *type) {
    const Reference capsule = own_attribute(type, "__dlpack_c_exchange_api__");
    if (!capsule || !PyCapsule_IsValid(capsule.get(), exchange_api_capsule))
        return nullptr;
    return find_compatible(static_cast<const DLPackExchangeAPIHeader *>(
        PyCapsule_GetPointer(capsule.get(), exchange_api_capsule)));
}

const KnownProducer *find_known(PyTypeObject *type) {
    const Reference module = own_attribute(type, "__module__");
    const std::string_view name = type->tp_name;
    for (const KnownProducer &known : known_producers)
        if (module && PyUnicode_Check(module.get()) &&
            PyUnicode_CompareWithASCIIString(module.get(), known.module) == 0 && name == known.type)
            return &known;
    return nullptr;
}

// Asks the table for its current stream. A table that fails sets a Python
// exception, which is cleared.
// Requires: the GIL, unless library.answers_without_gil(device).
bool ask_current_stream(const ProducerLibrary &library, DLDevice device, void *&stream) {
    const bool may_fail = !library.answers_without_gil(device);
    std::optional<SetErrorAside> aside;
    if (may_fail)
        aside.emplace();
    HangOnForcedUnwind hang;  // callers are noexcept
    const int failed =
        library.api->current_work_stream(device.device_type, device.device_id, &stream);
    hang.dismiss();
    if (!failed) {
        library.note_answer_for(device);
        return true;
    }
    stream = nullptr;
    if (may_fail)
        PyErr_Clear();
    return false;
}

// The device in DLPack; nullopt if DLPack has no name for it.
std::optional<DLDevice> name_of(const Device &device) {
    try {
        return device.backend().is_host() ? std::nullopt
                                          : std::optional(dlpack::device_of(device.root()));
    } catch (const Error &) {
        return std::nullopt;
    }
}

bool current_stream_of_producer(const StreamLibrary &self, const Device &device,
                                std::uintptr_t &stream) noexcept {
    const auto &library = static_cast<const ProducerLibrary &>(self);
    const std::optional<DLDevice> named = name_of(device);
    if (!named)
        return false;
    void *answer = nullptr;
    const bool answered = with_gil_if(!library.answers_without_gil(*named),
                                      [&] { return ask_current_stream(library, *named, answer); });
    stream = reinterpret_cast<std::uintptr_t>(answer);
    // NULL: CUDA's default; invalid for SYCL
    return answered && (stream != 0 || !device.backend().is_sycl());
}

// The current stream of known producers, for graph captures (registry::ForeignQueue).
// Thread safety: thread-safe.
// GIL: optional. Without it, only producers that have already answered for this device are called,
//      because a failing producer sets a Python exception.
void *current_stream_of_known(const char *backend, std::uint32_t number) {
    const DLDevice device{std::string_view(backend) == "hip" ? kDLROCM : kDLCUDA,
                          static_cast<std::int32_t>(number)};
    const bool may_fail = !is_finalizing() && holds_gil();
    void *stream = nullptr;
    for (const Producer *each = producers.load(std::memory_order_acquire); each && !stream;
         each = each->next)
        if (each->known && (may_fail || each->streams->answers_without_gil(device)))
            ask_current_stream(*each->streams, device, stream);
    return stream;
}

// Types that publish one table are of one library.
const ProducerLibrary *find_library(const DLPackExchangeAPI *api, const KnownProducer *known) {
    for (const Producer *each = producers.load(std::memory_order_acquire); each; each = each->next)
        if (each->api == api && each->known == known)
            return each->streams;
    return nullptr;
}

const ProducerLibrary &make_library(PyTypeObject *type, const DLPackExchangeAPI *api,
                                    const KnownProducer *known) {
    auto *const streams = new ProducerLibrary;
    streams->name = type->tp_name;
    streams->current_stream = current_stream_of_producer;
    streams->api = api;
    if (known) {
        streams->needs_gil = false;
        streams->waits_for_cai_stream = known->waits_for_cai_stream;
        streams->frees_in_stream_order = streams->takes_exports = true;
    }
    return *streams;
}

const Producer *remember(PyTypeObject *type, const DLPackExchangeAPI *api) {
    const KnownProducer *const known = find_known(type);
    const bool can_borrow = fast_import::is_on && known && known->always_writable &&
                            api->dltensor_from_py_object_no_sync;
    const ProducerLibrary *streams = find_library(api, known);
    if (!streams)
        streams = &make_library(type, api, known);
    auto *const fresh = new Producer{
        type, api, known, can_borrow, streams, register_stream_library(*streams), nullptr};
    Py_INCREF(type);
    if (known)
        registry::set_foreign_queue(current_stream_of_known);
    fresh->next = producers.load(std::memory_order_acquire);
    while (!producers.compare_exchange_weak(fresh->next, fresh, std::memory_order_release,
                                            std::memory_order_acquire)) {
    }
    return fresh;
}

const Producer *find_producer(PyTypeObject *type) {
    for (const Producer *each = producers.load(std::memory_order_acquire); each; each = each->next)
        if (each->type == type)
            return each;
    const DLPackExchangeAPI *const api = published_by(type);
    return api ? remember(type, api) : nullptr;
}

// ---------------------------------------------------------------- reading

void check_plain(PyObject *object, const Producer &producer, TypeCode code) {
    if (producer.known)
        producer.known->require_plain(object, code);
}

[[noreturn]] void refuse_as_told(PyObject *object) {
    refuse("the table of ", Py_TYPE(object)->tp_name,
           " refused: ", PyErr_Occurred() ? take_words_about_value() : "it set no exception");
}

inline void check_status(int status, PyObject *object) {
    if (status != 0) [[unlikely]]
        refuse_as_told(object);
}

// The table synchronizes nothing: pending work of the producer is on its current stream of the
// device. An operation waits for that stream itself. For memory that is kept longer, records what
// the stream holds now.
[[gnu::always_inline]] inline void order_behind_current_work(PyObject *object,
                                                             const Producer &producer,
                                                             DLDevice device, const Array &array,
                                                             const ImportRequest &request) {
    const Memory &memory = array.memory();
    if (memory.is_borrowed() && !memory.is_shared() && !memory.has_owner_stream()) [[likely]] {
        memory.set_owner_library(producer.library);
        if (request.for_one_operation && producer.library != legacy_library)
            return memory.set_for_one_operation();
    }
    void *stream = nullptr;
    check_status(producer.api->current_work_stream(device.device_type, device.device_id, &stream),
                 object);
    producer.streams->note_answer_for(device);
    // NULL: CUDA's legacy default stream; no queue for SYCL
    if (stream || device.device_type != kDLOneAPI)
        exchange::wait_for_producer_stream(array, reinterpret_cast<std::uintptr_t>(stream));
}

// The fast import of PyTorch's tensors (fast_import.hpp). Calls nothing but the producer.
[[gnu::hot]] std::optional<Array> read_borrowed_tensor(PyObject *object, const Producer &producer,
                                                       const ImportRequest &request) {
    DLTensor tensor;
    check_status(producer.api->dltensor_from_py_object_no_sync(object, &tensor), object);
    producer.known->require_plain(object, static_cast<TypeCode>(tensor.dtype.code));
    const auto borrow = [&](exchange::Reach reach) {
        return fast_import::borrow_unverified(reach, tensor.device, keep(object));
    };
    Array array = read(tensor, 0, borrow);
    if (tensor.device.device_type != kDLCPU)
        order_behind_current_work(object, producer, tensor.device, array, request);
    return array;
}

[[gnu::noinline]] Array read_managed(PyObject *object, const Producer &producer,
                                     const ImportRequest &request) {
    DLManagedTensorVersioned *managed = nullptr;
    check_status(producer.api->managed_tensor_from_py_object_no_sync(object, &managed), object);
    if (!managed) [[unlikely]]
        refuse("the table of ", Py_TYPE(object)->tp_name, " gave no tensor and reported no error");
    Owner owner = keep_tensor(managed);
    Array array = take(*managed, std::move(owner));
    check_plain(object, producer, array.dtype().code);
    const DLDevice device = device_of(array);
    if (device.device_type != kDLCPU)
        order_behind_current_work(object, producer, device, array, request);
    return array;
}

[[gnu::hot]] std::optional<Array> read_object(PyObject *object, const ImportRequest &request) {
    const Producer *const producer = find_producer(Py_TYPE(object));
    if (!producer)
        return std::nullopt;
    if (producer->can_borrow)
        return read_borrowed_tensor(object, *producer, request);
    return read_managed(object, *producer, request);
}

bool probe(PyTypeObject *type) { return find_producer(type) != nullptr; }

}  // namespace

std::optional<unsigned> library_of_producer(PyTypeObject *type) {
    const Producer *const producer = find_producer(type);
    return producer ? std::optional(producer->library) : std::nullopt;
}

const Protocol c_exchange_api_protocol{"c_exchange_api", nullptr, probe, read_object};

}  // namespace entrepot::python
