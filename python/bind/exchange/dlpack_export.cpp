// Export to DLPack: __dlpack__ with all its keywords, __dlpack_device__, and capsules that free a
// tensor that no consumer has taken.
#include "exports.hpp"

#include "../array_object/array_object.hpp"
#include "../device/convert.hpp"
#include "../support/errors.hpp"
#include "../support/gil.hpp"
#include "../support/guarded.hpp"
#include "../support/interned.hpp"
#include "../support/parameters.hpp"
#include "../support/reference.hpp"
#include "../support/release.hpp"
#include "protocol.hpp"
#include "stream.hpp"

#include <entrepot/array/copy.hpp>
#include <entrepot/exchange/dlpack.hpp>

#include <array>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace entrepot::python {
namespace {

using namespace dlpack;

template <class... Parts> [[noreturn]] void refuse(const Parts &...parts) {
    throw Error(ErrorKind::exchange, "__dlpack__: ", parts...);
}

// ---------------------------------------------------------------- what the consumer asks for

// Borrowed; None if not given.
struct Keywords {
    PyObject *stream = Py_None, *max_version = Py_None, *dl_device = Py_None, *copy = Py_None;
};

const Parameters of_dlpack("__dlpack__", 0, 0, {"max_version", "dl_device", "copy", "stream"});

Keywords parse(PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    const auto [max_version, dl_device, copy, stream] = of_dlpack.read(args, nargs, kwnames);
    const auto or_none = [](PyObject *value) { return value ? value : Py_None; };
    return {or_none(stream), or_none(max_version), or_none(dl_device), or_none(copy)};
}

// An int, or the value of an enumeration member that is not an int (the array API allows it).
long number_of(PyObject *object) {
    if (PyLong_Check(object)) [[likely]]
        return PyLong_AsLong(object);
    const Reference value = Reference(PyObject_GetAttrString(object, "value"));
    if (!value) {
        PyErr_Clear();
        return PyLong_AsLong(object);
    }
    return PyLong_AsLong(value.get());
}

struct Pair {
    long first, second;
};

Pair pair_of(PyObject *object, const char *keyword) {
    if (!PyTuple_Check(object) || PyTuple_GET_SIZE(object) != 2)
        throw Error(ErrorKind::type, "__dlpack__: ", keyword,
                    " is a tuple of two ints or None, not a ", Py_TYPE(object)->tp_name);
    const Pair pair{number_of(PyTuple_GET_ITEM(object, 0)), number_of(PyTuple_GET_ITEM(object, 1))};
    if ((pair.first == -1 || pair.second == -1) && PyErr_Occurred())
        throw PythonError{};
    return pair;
}

// The minor version to write; nullopt if the consumer supports legacy capsules only.
std::optional<std::uint32_t> minor_version(PyObject *max_version) {
    if (max_version == Py_None)
        return std::nullopt;
    const Pair asked = pair_of(max_version, "max_version");
    if (asked.first < version.major)
        return std::nullopt;
    return asked.first == version.major && asked.second >= 0 && asked.second < version.minor
               ? static_cast<std::uint32_t>(asked.second)
               : version.minor;
}

std::optional<DLDevice> wanted_device(PyObject *dl_device) {
    if (dl_device == Py_None)
        return std::nullopt;
    const Pair asked = pair_of(dl_device, "dl_device");
    if (!std::in_range<std::int32_t>(asked.first) || !std::in_range<std::int32_t>(asked.second))
        refuse("dl_device is (", asked.first, ", ", asked.second,
               "): pass two integers that fit 32 bits");
    return DLDevice{static_cast<DLDeviceType>(asked.first),
                    static_cast<std::int32_t>(asked.second)};
}

bool wants_copy(PyObject *copy) {
    if (copy == Py_None || copy == Py_False) [[likely]]
        return false;  // None leaves the choice to the producer, and Entrepot does not copy
    const int truth = PyObject_IsTrue(copy);
    if (truth < 0)
        throw PythonError{};
    return truth == 1;
}

// ---------------------------------------------------------------- where the memory is given

constexpr DLDevice cpu{kDLCPU, 0};
constexpr std::string_view cuda = "cuda";

bool is_on_host(const Array &array) {
    return array.is_host_accessible() || array.device() == registry::host();
}

// Managed memory also counts as device memory, for consumers that do not know kDLCUDAManaged.
bool is_managed_as_device(const Array &array, DLDevice wanted) {
    return wanted.device_type == kDLCUDA && array.kind() == UsmKind::shared &&
           array.device().backend().name() == cuda && device_at(wanted) == array.device();
}

// The DLPack device of the array without a copy.
DLDevice device_without_copy(const Array &array, std::optional<DLDevice> wanted) {
    if (!wanted) [[likely]]
        return device_of(array);
    if (*wanted == cpu && is_on_host(array))
        return cpu;
    if (*wanted == cpu)
        refuse("dl_device=", cpu, " was asked for, but the array is ", array.kind(), " memory of ",
               array.device(),
               ", which the host cannot reach; pass copy=True, or export array.to('host')");
    const DLDevice own = device_of(array);
    if (is_managed_as_device(array, *wanted))
        return *wanted;
    if (own != *wanted)
        refuse("dl_device=", *wanted, " was asked for, but the array is on ", own, " (",
               array.device(), "); pass copy=True, or export array.to(device)");
    return own;
}

struct ExportedCopy {
    Array array;
    DLDevice device;
};

// The queue for a copy if the consumer requests no device: the array's own. If DLPack cannot name
// its device, the default context of the root device is used.
Queue queue_for_copy(const Array &array) {
    if (array.device() == registry::host())
        return registry::host().default_queue();
    return array.context().is_default() ? array.queue() : array.device().root().default_queue();
}

ExportedCopy copy_for(const Array &array, std::optional<DLDevice> wanted) {
    const auto copy = [&](UsmKind kind, const Queue &queue) {
        return without_gil([&] { return copy_to(array, kind, queue); });
    };
    if (wanted && *wanted == cpu)
        return {copy(UsmKind::host, registry::host().default_queue()), cpu};
    if (wanted) {
        const Device device = device_at(*wanted);
        const UsmKind named = kind_of(*wanted);
        const UsmKind kind = named != UsmKind::unknown         ? named
                             : array.device().root() == device ? array.kind()
                                                               : UsmKind::device;
        return {copy(kind, device.default_queue()), *wanted};
    }
    Array copied = copy(array.kind(), queue_for_copy(array));
    const DLDevice device = device_of(copied);
    return {std::move(copied), device};
}

// ---------------------------------------------------------------- capsules

constexpr CapsuleNames names_of(const DLManagedTensorVersioned *) { return versioned_names; }
constexpr CapsuleNames names_of(const DLManagedTensor *) { return legacy_names; }

// A capsule that no consumer has renamed still owns its tensor. A consumer that restores the name
// may use its own string, so names are compared by value.
template <class Managed> void destroy_capsule(PyObject *capsule) {
    constexpr const char *fresh = names_of(static_cast<Managed *>(nullptr)).fresh;
    const char *const name = PyCapsule_GetName(capsule);
    if (!name || (name != fresh && std::strcmp(name, fresh) != 0))
        return;
    auto *const managed = static_cast<Managed *>(PyCapsule_GetPointer(capsule, name));
    managed->deleter(managed);
}

template <class Managed> PyObject *capsule_of(Managed *managed) {
    PyObject *const capsule =
        PyCapsule_New(managed, names_of(managed).fresh, destroy_capsule<Managed>);
    if (!capsule) {
        managed->deleter(managed);
        throw PythonError{};
    }
    return capsule;
}

PyObject *capsule_of(const Array &array, DLDevice device, std::uint64_t flags,
                     PyObject *max_version) {
    if (const std::optional<std::uint32_t> minor = minor_version(max_version))
        return capsule_of(to_managed(array, device, flags, *minor));
    return capsule_of(to_legacy(array, device));
}

PyObject *export_copy(const Array &array, const Keywords &keywords) {
    const ExportedCopy copied = copy_for(array, wanted_device(keywords.dl_device));
    order_consumer(copied.array, copied.device, keywords.stream);
    return capsule_of(copied.array, copied.device, flag_is_copied, keywords.max_version);
}

PyObject *export_view(const Array &array, const Keywords &keywords) {
    const DLDevice device = device_without_copy(array, wanted_device(keywords.dl_device));
    // Held until the capsule owns the memory: Memory::record_consumer. A consumer on the host is
    // not recorded, and a second reference would keep the earlier consumers.
    Memory held;
    if (device.device_type != kDLCPU)
        held = array.memory();
    order_consumer(array, device, keywords.stream);
    return capsule_of(array, device, 0, keywords.max_version);
}

// ---------------------------------------------------------------- __dlpack_device__

// Caches the tuples that were returned.
class DeviceTuples {
public:
    PyObject *find(DLDevice device) {
        for (const Entry &entry : entries_)
            if (entry.device == device)
                return Py_NewRef(entry.tuple.get());
        Reference tuple(
            Py_BuildValue("(ii)", static_cast<int>(device.device_type), device.device_id));
        if (!tuple)
            throw PythonError{};
        entries_.push_back({device, CachedReference(tuple.get())});
        return tuple.release();
    }

private:
    struct Entry {
        DLDevice device;
        CachedReference tuple;
    };
    std::vector<Entry> entries_;
};

ENTREPOT_GIL_GUARDED DeviceTuples device_tuples;

}  // namespace

PyObject *dlpack_export(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                        PyObject *kwnames) {
    return guarded([&] {
        drain_released();
        const Keywords keywords = parse(args, nargs, kwnames);
        return wants_copy(keywords.copy) ? export_copy(array_of(self), keywords)
                                         : export_view(array_of(self), keywords);
    });
}

PyObject *dlpack_device(PyObject *self, PyObject *) {
    return guarded([&] { return device_tuples.find(device_of(array_of(self))); });
}

}  // namespace entrepot::python
