// FreeList: objects of a dead type's instances, kept for the next ones: creating and destroying an object through it costs a
// third of what the allocator asks.
#pragma once
#include <Python.h>

#include <cstddef>

namespace entrepot::python {

// Not thread-safe: declare it ENTREPOT_GIL_GUARDED (gil.hpp).
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
    static constexpr std::size_t capacity = 64;
    PyObject *objects_[capacity];
    std::size_t count_ = 0;
};

}  // namespace entrepot::python
