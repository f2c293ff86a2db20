// FreeList: memory of destroyed objects of one layout, for reuse. Creating and destroying an object
// through it takes a third of the allocator's time.
#pragma once
#include <Python.h>

#include "gil.hpp"

#include <array>
#include <cstddef>

namespace entrepot::python {

// Protected by the GIL. Without a GIL it is always empty. Such an interpreter's allocator has free
// lists for each thread, and a thread-local list could not be emptied when its thread ends.
class FreeList {
public:
    PyObject *take() noexcept { return count_ ? objects_[--count_] : nullptr; }
    // Returns true if the list took the object; otherwise the caller frees it.
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
