// Makes entrepot::Array a parameter and result type of functions bound with nanobind.
//
//     m.def("scale", [](entrepot::Array x, double by) { … });
//
// An object whose memory cannot be viewed makes the overload not match, as nanobind's casters do; to report the reason itself,
// take a nanobind::object and construct the Array from it.
#pragma once
#include <entrepot/python/array.hpp>

#include <nanobind/nanobind.h>

namespace nanobind::detail {

template <> struct type_caster<entrepot::Array> {
    NB_TYPE_CASTER(entrepot::Array, const_name("entrepot.Array"))

    bool from_python(handle source, uint8_t, cleanup_list *) noexcept {
        try {
            value = entrepot::Array(source.ptr());
            return true;
        } catch (...) {
            // Not convertible: nanobind tries the next overload, and reports what the function takes.
            PyErr_Clear();
            return false;
        }
    }

    static handle from_cpp(const entrepot::Array &array, rv_policy, cleanup_list *) noexcept { return array.object(); }
};

}  // namespace nanobind::detail
