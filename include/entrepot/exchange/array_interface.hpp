// NumPy's array interface, version 3, in both its forms: the dict `__array_interface__` and the
// struct behind `__array_struct__`.
//
// This header knows the protocol and no Python. python/bind/exchange/array_interface.cpp turns dict
// and capsule into a Descriptor.
#pragma once
#include <entrepot/array/array.hpp>
#include <entrepot/core/api.hpp>
#include <entrepot/exchange/foreign_layout.hpp>

#include <string_view>

#pragma GCC visibility push(default)
namespace entrepot::array_interface {

inline constexpr int version = 3;
ENTREPOT_LOCAL inline constexpr exchange::Speaker speaker{"array interface", ErrorKind::interface};

// Contents of the dict or the struct, not yet verified. Strides and offset are in bytes.
struct Descriptor {
    void *data = nullptr;
    bool read_only = true;
    std::string_view typestr;
    Extents shape{};
    // as many as the shape has extents; nullptr: C-contiguous
    const std::int64_t *strides = nullptr;
    std::int64_t offset = 0;         // from `data`; nonzero only if `data` is a buffer
    std::int64_t buffer_bytes = -1;  // size if `data` is a buffer; -1 if it is a pointer
};

// Ownership: the Array holds `owner`; if verify throws, `owner` is released.
// Throws: InterfaceError for any of
// - a typestr that is not a plain type in native byte order,
// - invalid shape or strides, or strides that are no multiple of the item size,
// - misaligned items, or elements outside the buffer,
// - an offset beside a pointer.
Array verify(const Descriptor &descriptor, Owner owner, const Queue &queue = {});

// The struct of `__array_struct__`, under the names of NumPy's documentation.
struct PyArrayInterface {
    int two;        // 2: a check that the capsule holds this struct
    int nd;         // number of dimensions
    char typekind;  // the second character of a typestr
    int itemsize;   // bytes
    int flags;      // of Flag
    std::intptr_t *shape;
    std::intptr_t *strides;  // bytes
    void *data;              // the first element
    void *descr;             // with has_descr: a PyObject *
};

enum Flag : int {
    c_contiguous = 0x1,
    f_contiguous = 0x2,
    aligned = 0x100,
    not_swapped = 0x200,
    writeable = 0x400,
    has_descr = 0x800,
};

// The struct as a Descriptor. `typestr` receives text that the Descriptor points to.
//
// Lifetime: the struct and `typestr` must outlive the Descriptor.
// Throws: InterfaceError if the struct is a different one or its elements are byte-swapped.
Descriptor describe(const PyArrayInterface &interface, char (&typestr)[16]);

// The flags that an array is exported with.
int flags_of(const Array &array) noexcept;

}  // namespace entrepot::array_interface
#pragma GCC visibility pop
