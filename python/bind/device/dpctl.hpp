// dpctl's types, recognized without importing dpctl, and the C functions that it exports for them.
#pragma once
#include <Python.h>

#include <cstddef>
#include <optional>

namespace entrepot::python {

// The address of the SYCL object that a dpctl object wraps, valid while `object` lives. Returns
// nullptr if `object` is not an instance of that dpctl type. dpctl's functions do not touch
// reference counts and cannot fail.
void *dpctl_queue(PyObject *object) noexcept;    // sycl::queue *
void *dpctl_context(PyObject *object) noexcept;  // sycl::context *
void *dpctl_device(PyObject *object) noexcept;   // sycl::device *
void *dpctl_event(PyObject *object) noexcept;    // sycl::event *

// The contents of the SUAI dict of dpctl's raw memory. Reading them directly is faster than letting
// dpctl create the dict. Empty for other objects, and for classes that override the interface.
struct DpctlMemory {
    void *data;
    std::size_t bytes;
    void *queue;  // sycl::queue *
};
std::optional<DpctlMemory> dpctl_memory(PyObject *object) noexcept;

}  // namespace entrepot::python
