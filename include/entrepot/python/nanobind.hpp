// Makes entrepot::Array a parameter and result type of functions bound with nanobind.
//
//     m.def("scale", [](entrepot::Array x, double by) { … });
//
// An object whose memory cannot be viewed makes the overload not match, as nanobind's casters do.
// To report the reason, take a nanobind::object and construct the Array from it.
//
// Other exceptions, such as an interrupt or running out of memory, are raised. Inside a container,
// whose casters must not throw, they make the overload not match too.
#pragma once
#include <entrepot/python/array.hpp>

#include <nanobind/nanobind.h>

#include <optional>
#include <utility>

namespace nanobind::detail {

template <> struct type_caster<entrepot::Array> {
    using Value = entrepot::Array;
    static constexpr auto Name = const_name("entrepot.Array");
    template <class T> using Cast = movable_cast_t<T>;

    bool from_python(handle source, uint8_t, cleanup_list *) noexcept {
        try {
            value_ = entrepot::Array(source.ptr());
            return true;
        } catch (const entrepot::python_error &) {
            if (!is_refusal()) {
                raised_.emplace();
                return true;  // no other overload is tried; value() raises the exception
            }
            PyErr_Clear();
            return false;
        }
    }

    // Used by containers, whose casters must not throw.
    template <class> bool can_cast() const noexcept { return !raised_; }

    explicit operator Value *() { return &value(); }
    explicit operator Value &() { return value(); }
    explicit operator Value &&() { return std::move(value()); }

    static handle from_cpp(const entrepot::Array &array, rv_policy, cleanup_list *) noexcept {
        return array.object();
    }
    static handle from_cpp(const entrepot::Array *array, rv_policy, cleanup_list *) noexcept {
        return array ? array->object() : none().release().ptr();
    }

private:
    // InterfaceError and ExchangeError derive from these.
    static bool is_refusal() noexcept {
        return PyErr_ExceptionMatches(PyExc_TypeError) ||
               PyErr_ExceptionMatches(PyExc_ValueError) ||
               PyErr_ExceptionMatches(PyExc_BufferError);
    }

    Value &value() {
        if (raised_)
            throw std::move(*raised_);
        return value_;
    }

    Value value_;
    std::optional<python_error> raised_;
};

}  // namespace nanobind::detail
