// An extension that links libentrepot. It and Python use one library, so they share its pools,
// devices and access logs.
#include <entrepot/array/array.hpp>
#include <entrepot/array/copy.hpp>
#include <entrepot/device/registry.hpp>
#include <entrepot/exchange/dlpack.hpp>
#include <entrepot/exchange/stream.hpp>

#include <pybind11/pybind11.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace py = pybind11;
namespace dlpack = entrepot::dlpack;

namespace {

constexpr const char *unused = "dltensor_versioned", *used = "used_dltensor_versioned";

void release_unused(PyObject *capsule) {
    if (!PyCapsule_IsValid(capsule, unused))
        return;  // a consumer has taken the tensor
    auto *const tensor =
        static_cast<dlpack::DLManagedTensorVersioned *>(PyCapsule_GetPointer(capsule, unused));
    tensor->deleter(tensor);
}

// A capsule with the array, which entrepot.from_dlpack() takes.
py::object capsule_of(const entrepot::Array &array) {
    dlpack::DLManagedTensorVersioned *const tensor = dlpack::to_managed(array);
    PyObject *const capsule = PyCapsule_New(tensor, unused, release_unused);
    if (!capsule) {
        tensor->deleter(tensor);
        throw py::error_already_set();
    }
    return py::reinterpret_steal<py::object>(capsule);
}

// Imports the object. An array of Entrepot yields its own Memory, with its access log.
entrepot::Array array_of(const py::object &object) {
    const py::object capsule =
        object.attr("__dlpack__")(py::arg("max_version") = py::make_tuple(1, 0));
    void *const tensor = PyCapsule_GetPointer(capsule.ptr(), unused);
    if (!tensor || PyCapsule_SetName(capsule.ptr(), used) != 0)
        throw py::error_already_set();
    const entrepot::Array array =
        dlpack::from_managed(static_cast<dlpack::DLManagedTensorVersioned *>(tensor));
    // Without `stream`, libraries of CUDA and HIP order their work before the legacy default
    // stream.
    if (array.device().backend().has_streams())
        entrepot::exchange::wait_for_producer_stream(array, entrepot::legacy_stream);
    return array;
}

// Allocates from the device's current resource, which Python may have set.
py::object full(std::int64_t count, float value, const std::string &device) {
    const entrepot::Queue queue = entrepot::registry::select(device).default_queue();
    const entrepot::Array made = entrepot::Array::empty({&count, 1}, entrepot::dtypes::float32,
                                                        entrepot::UsmKind::host, queue);
    entrepot::fill(made, std::as_bytes(std::span(&value, 1)), queue);
    return capsule_of(made);
}

// Waits for the work that Python has submitted on the array. The wait releases the GIL.
float first_of(const py::object &object) {
    const entrepot::Array array = array_of(object);
    if (array.dtype() != entrepot::dtypes::float32 || array.size() == 0)
        throw py::value_error("first_of takes an array of float32 with elements");
    if (!array.is_host_accessible())
        throw py::value_error("first_of takes memory that the host can read; copy the array first");
    array.memory().wait_for_host(entrepot::Access::read);
    return *static_cast<const float *>(array.data());
}

}  // namespace

PYBIND11_MODULE(shared_pool, m) {
    py::register_exception<entrepot::Error>(m, "Error", PyExc_RuntimeError);
    m.def("full", &full, py::arg("count"), py::arg("value"), py::arg("device"));
    m.def("first_of", &first_of, py::arg("array"));
}
