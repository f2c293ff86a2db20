// Held buffers: while a view exists, the exporter may neither move nor free the memory.
#pragma once
#include <Python.h>

#include <entrepot/exchange/foreign_layout.hpp>
#include <entrepot/memory/memory.hpp>

namespace entrepot::python {

// `view` lives as long as `owner`, which releases it with the GIL held.
struct HeldBuffer {
    Owner owner;
    const Py_buffer *view;
};

// Requests the object's buffer. If the object refuses, throws its message as the speaker's refusal.
HeldBuffer hold_buffer(const exchange::Speaker &speaker, PyObject *object, int flags);

// The buffer that the owner holds; nullptr if the owner holds something else.
const Py_buffer *held_view(Owner::Release release, void *handle) noexcept;
inline const Py_buffer *held_view(const Owner &owner) noexcept {
    return held_view(owner.release_function(), owner.handle());
}

}  // namespace entrepot::python
