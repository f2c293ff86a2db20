// FreeList: objects of a dead type's instances, kept for the next ones: creating and destroying an object through it costs a
// third of what the allocator asks.
#pragma once
#include <Python.h>

#include "gil.hpp"

#include <array>
#include <cstddef>

namespace entrepot::python {

// Guarded by the GIL. Where there is none it keeps nothing: the allocator of such an interpreter has lists for each thread
// itself, and a list of ours could not be emptied when its thread ends.
class FreeList {
public:
    PyObject *take() noexcept { return count_ ? objects_[--count_] : nullptr; }
    // Whether the list kept it.
    bool give(PyObject *object) noexcept {
        if (count_ == capacity)
            return false;
        objects_[count_++] = object;
        return true;
    }

private:
    static constexpr std::size_t capacity = has_gil ? 64 : 0;
    std::array<PyObject *, capacity> objects_;
    std::size_t count_ = 0;
};

}  // namespace entrepot::python
