// Makes entrepot::Array a parameter and result type of functions bound with nanobind.
//
//     m.def("scale", [](entrepot::Array x, double by) { … });
//
// With entrepot::ArrayWith<entrepot::writable | entrepot::on_host>, requirements are part of the
// type.
//
// An object without memory, such as a list, makes the overload not match, as nanobind's casters do.
// A refused array raises the refusal, unless another overload takes it without a conversion. Other
// exceptions of its protocols are raised too. Containers, whose casters must not throw, do not
// match in all these cases.
//
// Functions that throw python_error need entrepot::register_errors() in NB_MODULE.
#pragma once
#include <entrepot/python/array.hpp>

#include <nanobind/nanobind.h>

#include <exception>
#include <optional>
#include <utility>

#pragma GCC visibility push(hidden)
namespace entrepot {
inline namespace extension {

// Makes functions of the module raise the Python exception that is behind a python_error. NB_MODULE
// calls it once. It imports the package, so a missing or older one is an ImportError there.
inline void register_errors() {
    try {
        api();
    } catch (const python_error &) {
        nanobind::raise_python_error();
    }
    nanobind::register_exception_translator([](const std::exception_ptr &thrown, void *) {
        try {
            std::rethrow_exception(thrown);
        } catch (const python_error &) {
            if (!PyErr_Occurred())
                PyErr_SetString(PyExc_SystemError, "a Python exception was cleared");
        }
    });
}

}  // namespace extension
}  // namespace entrepot

namespace nanobind::detail {

template <class Array> struct entrepot_array_caster {
    using Value = Array;
    static constexpr auto Name = const_name("entrepot.Array");
    template <class T> using Cast = movable_cast_t<T>;

    bool from_python(handle source, uint8_t flags, cleanup_list *) noexcept {
        try {
            value_ = Value(source.ptr());
            return true;
        } catch (const entrepot::python_error &) {
            // Overloads are first tried without conversions, single functions with them only.
            const bool is_last = flags & static_cast<uint8_t>(cast_flags::convert);
            if (PyErr_ExceptionMatches(PyExc_TypeError) || (is_refusal() && !is_last)) {
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
    // InterfaceError and ExchangeError derive from these.
    static bool is_refusal() noexcept {
        return PyErr_ExceptionMatches(PyExc_ValueError) ||
               PyErr_ExceptionMatches(PyExc_BufferError);
    }

    Value &value() {
        if (raised_)
            throw std::move(*raised_);
        return value_;
    }

    Value value_;
    std::optional<python_error> raised_;  // nanobind's, which holds the exception
};

template <> struct type_caster<entrepot::Array> : entrepot_array_caster<entrepot::Array> {};
template <entrepot::requirement needs>
struct type_caster<entrepot::ArrayWith<needs>> : entrepot_array_caster<entrepot::ArrayWith<needs>> {
};

}  // namespace nanobind::detail

#pragma GCC visibility pop
