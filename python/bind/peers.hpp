// dpctl's own types, known without importing dpctl, and the C functions that it publishes for reading them.
#pragma once
#include <Python.h>

#include <cstddef>
#include <optional>

namespace entrepot::python {

// The address of the SYCL object that a dpctl object wraps; nullptr where `object` is not of that dpctl type (or of a class
// derived from it). It lives as long as `object`. dpctl's functions do not touch reference counts and cannot fail.
void *dpctl_queue(PyObject *object) noexcept;    // sycl::queue *
void *dpctl_context(PyObject *object) noexcept;  // sycl::context *
void *dpctl_device(PyObject *object) noexcept;   // sycl::device *
void *dpctl_event(PyObject *object) noexcept;    // sycl::event *

// What dpctl's raw memory would say in its SUAI dict, which takes it longer to make than us to read. None for other objects,
// and for those of a class with an interface of its own.
struct DpctlMemory {
    void *data;
    std::size_t bytes;
    void *queue;  // sycl::queue *
};
std::optional<DpctlMemory> dpctl_memory(PyObject *object) noexcept;

}  // namespace entrepot::python
