// Makes entrepot::Array a parameter and result type of functions bound with nanobind.
//
//     m.def("scale", [](entrepot::Array x, double by) { … });
//
// An object without memory, such as a list, makes the overload not match, as nanobind's casters do.
// One whose memory is refused raises the refusal, which has the reason, and so do other exceptions
// of its protocols. Inside a container, whose casters must not throw, both make the overload not
// match.
//
// Functions that throw python_error need entrepot::register_errors() in NB_MODULE.
#pragma once
#include <entrepot/python/array.hpp>

#include <nanobind/nanobind.h>

#include <exception>
#include <optional>
#include <utility>

namespace entrepot {
inline namespace extension {

// Functions of the module raise the Python exception that is behind a python_error. Call it in
// NB_MODULE.
inline void register_errors() {
    nanobind::register_exception_translator([](const std::exception_ptr &thrown, void *) {
        try {
            std::rethrow_exception(thrown);
        } catch (const python_error &) {  // the exception is set
        }
    });
}

}  // namespace extension
}  // namespace entrepot

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
            if (PyErr_ExceptionMatches(PyExc_TypeError)) {  // the object has no memory
                PyErr_Clear();
                return false;
            }
            raised_.emplace();
            return true;  // no other overload is tried; value() raises the exception
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
    Value &value() {
        if (raised_)
            throw std::move(*raised_);
        return value_;
    }

    Value value_;
    std::optional<python_error> raised_;
};

}  // namespace nanobind::detail
