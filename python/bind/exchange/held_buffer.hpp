// Buffers that are held for as long as a view of ours lives: until then the exporter may neither move nor free them.
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

// Asks the object for its buffer. Where it refuses, its words are said again as the speaker's refusal.
HeldBuffer hold_buffer(const exchange::Speaker &speaker, PyObject *object, int flags);

// The buffer that such an owner holds; nullptr where the owner is something else.
const Py_buffer *held_view(Owner::Release release, void *handle) noexcept;
inline const Py_buffer *held_view(const Owner &owner) noexcept { return held_view(owner.release_function(), owner.handle()); }

}  // namespace entrepot::python
