// C exchange API → Array: types that publish DLPack's function table, each looked up once.
#include "../errors.hpp"
#include "../owner.hpp"
#include "../reference.hpp"
#include "foreign_error.hpp"
#include "managed_tensor.hpp"
#include "protocol.hpp"
#include "stream.hpp"

#include <entrepot/device/registry.hpp>
#include <entrepot/exchange/c_exchange_api.hpp>
#include <entrepot/exchange/dlpack.hpp>

#include <array>
#include <atomic>
#include <string_view>

namespace entrepot::python {
namespace {

using namespace dlpack;

template <class... Parts> [[noreturn]] void refuse(const Parts &...parts) {
    throw Error(ErrorKind::exchange, "DLPack C exchange API: ", parts...);
}

// ---------------------------------------------------------------- what a table forgets to say

// A property of an object that changes what its bytes mean, and that the table's functions do not look at.
struct LazyProperty {
    const char *name;
    bool (*can_have)(TypeCode code);
    const char *meaning, *resolve;
};

constexpr bool is_differentiable(TypeCode code) {
    return code != TypeCode::boolean && code != TypeCode::integer && code != TypeCode::unsigned_integer;
}

// PyTorch's functions give out the bytes as they are: without them asked, values would silently be wrong.
constexpr std::array<LazyProperty, 3> torch_properties{{
    {"requires_grad", is_differentiable, "requires a gradient, which a view would bypass", ".detach()"},
    {"is_neg", [](TypeCode) { return true; }, "is negated lazily: its bytes have the other sign", ".resolve_neg()"},
    {"is_conj", [](TypeCode code) { return code == TypeCode::complex; }, "is conjugated lazily: its bytes are not conjugated",
     ".resolve_conj()"},
}};

// Producers that are known. All others are asked for a managed tensor, which has flags, and believed.
struct KnownProducer {
    const char *module, *type;
    bool always_writable;  // so that nothing is lost in a lent tensor, which has no flags and costs 15 ns less
    const std::array<LazyProperty, 3> *properties;
};
constexpr KnownProducer known_producers[] = {{"torch", "Tensor", true, &torch_properties}};

// Answers a property by the shortest way that its descriptor offers: the C function itself, not an attribute's lookup.
class Question {
  public:
    Question() = default;
    Question(PyTypeObject *type, const char *name) : name_(PyUnicode_InternFromString(name)), descriptor_(_PyType_Lookup(type, name_)) {
        Py_XINCREF(descriptor_);
    }

    bool exists() const noexcept { return descriptor_ != nullptr; }

    bool ask(PyObject *object) const {
        const Reference answer = Reference(call(object));
        if (!answer)
            throw PythonError{};
        return answer.get() == Py_True;
    }

  private:
    PyObject *call(PyObject *object) const {
        if (Py_IS_TYPE(descriptor_, &PyGetSetDescr_Type)) {
            const PyGetSetDef &property = *reinterpret_cast<PyGetSetDescrObject *>(descriptor_)->d_getset;
            return property.get(object, property.closure);
        }
        if (Py_IS_TYPE(descriptor_, &PyMethodDescr_Type)) {
            const PyMethodDef &method = *reinterpret_cast<PyMethodDescrObject *>(descriptor_)->d_method;
            if (method.ml_flags == METH_NOARGS)
                return method.ml_meth(object, nullptr);
        }
        const Reference value = Reference(PyObject_GetAttr(object, name_));
        return value && PyCallable_Check(value.get()) ? PyObject_CallNoArgs(value.get()) : Py_XNewRef(value.get());
    }

    PyObject *name_ = nullptr, *descriptor_ = nullptr;  // kept as long as the process
};

// ---------------------------------------------------------------- producers by type

struct Producer {
    PyTypeObject *type;  // held, so that no new type at its address is taken for it
    const DLPackExchangeAPI *api;
    bool lends;
    const std::array<LazyProperty, 3> *properties;
    std::array<Question, 3> questions;
    const Producer *next;
};
std::atomic<const Producer *> producers{nullptr};  // never freed: the types with such a table are few

PyObject *own_attribute(PyTypeObject *type, const char *name) {
#if PY_VERSION_HEX >= 0x030C0000
    const Reference dict = Reference(PyType_GetDict(type));
    return dict ? PyDict_GetItemString(dict.get(), name) : nullptr;
#else
    return type->tp_dict ? PyDict_GetItemString(type->tp_dict, name) : nullptr;
#endif
}

// Of the type itself: a table that a subclass inherits knows nothing of what the subclass changed.
const DLPackExchangeAPI *published_by(PyTypeObject *type) {
    PyObject *const capsule = own_attribute(type, "__dlpack_c_exchange_api__");
    if (!capsule || !PyCapsule_IsValid(capsule, exchange_api_capsule))
        return nullptr;
    return find_compatible(static_cast<const DLPackExchangeAPIHeader *>(PyCapsule_GetPointer(capsule, exchange_api_capsule)));
}

const KnownProducer *find_known(PyTypeObject *type) {
    PyObject *const module = own_attribute(type, "__module__");
    const std::string_view name = type->tp_name;
    for (const KnownProducer &known : known_producers)
        if (module && PyUnicode_Check(module) && PyUnicode_CompareWithASCIIString(module, known.module) == 0 && name == known.type)
            return &known;
    return nullptr;
}

const Producer *remember(PyTypeObject *type, const DLPackExchangeAPI *api) {
    const KnownProducer *const known = find_known(type);
    auto *const fresh = new Producer{type, api, known && known->always_writable && api->dltensor_from_py_object_no_sync,
                                     known ? known->properties : nullptr, {}, nullptr};
    for (std::size_t i = 0; known && i < known->properties->size(); ++i)
        fresh->questions[i] = Question(type, (*known->properties)[i].name);
    Py_INCREF(type);
    fresh->next = producers.load(std::memory_order_acquire);
    while (!producers.compare_exchange_weak(fresh->next, fresh, std::memory_order_release, std::memory_order_acquire)) {
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

void check_properties(PyObject *object, const Producer &producer, DLDataType dtype) {
    for (std::size_t i = 0; producer.properties && i < producer.properties->size(); ++i) {
        const LazyProperty &property = (*producer.properties)[i];
        if (property.can_have(static_cast<TypeCode>(dtype.code)) && producer.questions[i].exists() && producer.questions[i].ask(object)) [[unlikely]]
            refuse("the ", producer.type->tp_name, " ", property.meaning, "; pass tensor", property.resolve);
    }
}

void check_status(int status, PyObject *object) {
    if (status == 0) [[likely]]
        return;
    refuse("the table of ", Py_TYPE(object)->tp_name, " refused: ", PyErr_Occurred() ? take_words_about_value() : "it set no exception");
}

Array read_lent(PyObject *object, const Producer &producer) {
    DLTensor tensor;
    check_status(producer.api->dltensor_from_py_object_no_sync(object, &tensor), object);
    check_properties(object, producer, tensor.dtype);
    return verify(read(tensor, 0), keep(object));
}

Array read_managed(PyObject *object, const Producer &producer) {
    DLManagedTensorVersioned *managed = nullptr;
    check_status(producer.api->managed_tensor_from_py_object_no_sync(object, &managed), object);
    Owner owner = keep_tensor(managed);
    check_properties(object, producer, managed->dl_tensor.dtype);
    return take(*managed, std::move(owner));
}

// Nothing was synchronised: what the producer still does, it does on its current stream.
void order_behind_current_work(PyObject *object, const Producer &producer, const Array &array) {
    const DLDevice device = device_of(array);
    void *stream = nullptr;
    check_status(producer.api->current_work_stream(device.device_type, device.device_id, &stream), object);
    if (stream)
        order_behind_producer(array, Queue::from_native(array.device().backend(), stream));
}

std::optional<Array> read_object(PyObject *object, const ImportRequest &) {
    const Producer *const producer = find_producer(Py_TYPE(object));
    if (!producer)
        return std::nullopt;
    Array array = producer->lends ? read_lent(object, *producer) : read_managed(object, *producer);
    if (array.device() != registry::host()) [[unlikely]]
        order_behind_current_work(object, *producer, array);
    return array;
}

bool probe(PyTypeObject *type) { return find_producer(type) != nullptr; }

}  // namespace

const Protocol c_exchange_api_protocol{"c_exchange_api", nullptr, probe, read_object};

}  // namespace entrepot::python
