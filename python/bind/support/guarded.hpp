// guarded: runs the body of a method and converts C++ exceptions into Python ones.
#pragma once
#include "errors.hpp"

namespace entrepot::python {

template <class Body> PyObject *guarded(Body body) noexcept {
    try {
        return body();
    } catch (...) {
        raise_current();
        return nullptr;
    }
}

}  // namespace entrepot::python
