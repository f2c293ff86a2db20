// Internal header of the adapters: the table of types, construction of adapter objects, and the
// conversion of any Python object to a target address.
#pragma once
#include "adapters.hpp"

#include "../support/guarded.hpp"
#include "../support/interned.hpp"
#include "../support/parameters.hpp"

#include <adapters/elements.hpp>
#include <entrepot/array/array.hpp>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

namespace entrepot::python {

// ---------------------------------------------------------------- types

struct AdapterRow {
    const char *name;  // with its module
    const char *base;  // nullptr: object
    // Points `self` to `source`. Throws Error without naming the subject, or PythonError.
    void (*fill)(PyObject *self, const AdapterRow &row, PyObject *source);
    const adapters::ElementType *element;  // integer lists only, otherwise nullptr
    PyMethodDef *methods;
    PyGetSetDef *attributes;
    Parameters<1> parameters;  // of its constructor
    const char *doc;
};

// Defined in type.cpp, in the order of the table of rows.
constexpr std::size_t adapter_type_count = 18;
extern std::array<PyTypeObject, adapter_type_count> adapter_types;
inline PyTypeObject *const pointer_type = &adapter_types[0],
                           *const c_string_type = &adapter_types[1],
                           *const device_array_type = &adapter_types[2],
                           *const pointer_list_type = &adapter_types[4];

// Row of an adapter type, or of the adapter type that a subclass derives from.
const AdapterRow &row_of(PyTypeObject *type) noexcept;
const char *short_name(const AdapterRow &row) noexcept;  // without the module

// True if `type` is one of the adapter types itself, not a subclass.
inline bool is_adapter_type(const PyTypeObject *type) noexcept {
    const auto first = reinterpret_cast<std::uintptr_t>(adapter_types.data()),
               address = reinterpret_cast<std::uintptr_t>(type);
    return address >= first && address < first + sizeof adapter_types;
}

// Bytes of one element of a list type; 0 for the other types.
Py_ssize_t size_of_element(const AdapterRow &row) noexcept;

inline bool is_device_array(PyObject *object) noexcept {
    PyTypeObject *const type = Py_TYPE(object);
    return type == device_array_type ||
           (!is_adapter_type(type) && PyType_IsSubtype(type, device_array_type));
}

// A new NULL adapter of an adapter type or a subclass. Does not call the subclass's __new__.
Reference blank(PyTypeObject *type);
// A new adapter that points to `source`. Requires: `type` is an adapter type, not a subclass.
Reference made(PyTypeObject *type, PyObject *source);

bool init_adapter_types(PyObject *module);

// ---------------------------------------------------------------- what an object owns

// The address that an adapter points to, with its owner.
struct Target {
    void *address = nullptr;
    Owner owner;            // owns the memory
    Py_ssize_t bytes = -1;  // of host memory, starting at the address; -1 if unknown
    bool is_read_only = false;
};

// Points `self` to `target` and releases its previous memory. Throws BufferError if the object has
// exported buffers, or other adapters depend on its memory.
void set(PyObject *self, Target &&target, Py_ssize_t length = -1, unsigned flags = 0);

// Zeroed memory that an adapter allocated, which owns `pinned`. Throws MemoryError.
struct OwnBlock {
    void *data = nullptr;
    Owner owner;
};
OwnBlock new_block(std::size_t bytes, std::size_t alignment, Reference pinned);
// Returns an Owner that keeps `adapter` alive. While it exists, set() on `adapter` throws.
Owner depend_on(PyObject *adapter);

// True if the object's memory is a block of new_block().
bool is_owner(const entrepot_pointer &pointer) noexcept;
// True if the adapter's memory may be freed together with the adapter. This includes every subclass
// from outside: its storage is unknown here (a closure, part of another record, a Cython field).
bool keeps_memory(PyObject *adapter) noexcept;
// Borrowed: the adapter whose memory this one points into; nullptr if there is no such adapter.
PyObject *depended_on(const entrepot_pointer &pointer) noexcept;
// True if pointing the adapter to something else can release its memory.
bool may_lose_memory(PyObject *adapter) noexcept;
// Borrowed: the object that keeps the memory alive; nullptr if there is no such object. It is the
// owner itself, the exporter of a held buffer, or the tuple that a block pins.
PyObject *kept_by(const entrepot_pointer &pointer) noexcept;

// The address as text, in the format of every repr.
struct HexText {
    char text[2 + 16 + 1];
    explicit HexText(PyObject *adapter) noexcept {
        std::snprintf(text, sizeof text, "%#zx",
                      reinterpret_cast<std::size_t>(pointer_of(adapter)->address));
        if (!pointer_of(adapter)->address)
            std::strcpy(text, "0x0");
    }
};

// ---------------------------------------------------------------- target.cpp: objects as targets

// Converts `object` by the documented rules of Pointer, in their order. The parts are separate
// functions because DeviceArray also reads shape and type.
Target target_of(PyObject *object);
// Tries every conversion except asarray(). Returns false if only asarray() is
// left; the caller then uses target_of_import(array_for(object)).
bool find_target(PyObject *object, Target &target);
Target target_of_import(const Array &array);

// Target of a pointer to a function: as target_of(), but CAI and arrays of every protocol are
// refused, because they are data.
Target target_of_function(PyObject *object);

// Bytes of host memory from the adapter's address on, if its end is known; otherwise -1.
Py_ssize_t bytes_of(PyObject *adapter) noexcept;

// Converts None, an adapter, an int or a ctypes pointer. Returns false for any other object.
bool find_plain(PyObject *object, Target &target);
// True if the object exports a buffer. Throws TypeError for NumPy scalars, which are ambiguous.
bool has_buffer(PyObject *object);
// Converts an object with a contiguous buffer; the target holds the buffer.
bool find_buffer(PyObject *object, Target &target);
// Converts an object with as_c_void_p(), such as an adapter of another library.
bool find_void_pointer(PyObject *object, Target &target);
// Imports the object with asarray(). Throws TypeError if it supports no protocol; `expected` names
// the alternative that the message mentions first.
Array array_for(PyObject *object, const char *expected = nullptr);
Target target_of_array(const Array &array, Owner owner);

extern const Interned cai_attribute_name;

// Throws ValueError if the adapter is a freed DeviceArray or points into one.
void check_not_freed(PyObject *adapter);
// Throws ValueError if an address in the list that the adapter was made from belongs to a freed
// DeviceArray. Also looks at the adapter whose memory this one points into.
void check_pins_not_freed(PyObject *adapter);
void check_nothing_freed(PyObject *adapter);  // both
// Calls check_not_freed before an adapter's address is used. For a DeviceArray, it waits for
// Entrepot's pending work.
void make_ready(PyObject *adapter);
// Throws ValueError unless C-contiguous: a C function that gets a pointer cannot be told strides.
void check_contiguous(const Layout &layout, const char *remedy);
void check_contiguous(PyObject *adapter);  // only a DeviceArray has strides

// ---------------------------------------------------------------- argument.cpp

// Same as argument(), but the errors do not name the function and the argument.
Argument argument_of(PyObject *object, PyTypeObject *type, Use use = Use::read);

// True if C would read past the end of the argument's string.
bool is_unterminated(const Argument &argument) noexcept;

// The object that must be stored to keep the argument's memory alive beyond the call. The caller's
// own adapter is not enough, because it may be pointed to something else later.
Reference pin_of(Argument &&argument, PyObject *object);

// Runs `body`; prefixes the message of an Error with the subject.
template <class Body, class... Subject> auto with_subject(Body body, const Subject &...subject) {
    try {
        return body();
    } catch (const Error &error) {
        throw Error(error.kind(), subject..., ": ", error.what());
    }
}

// ---------------------------------------------------------------- functions of the rows, by file

// pointer.cpp
void fill_pointer(PyObject *self, const AdapterRow &row, PyObject *source);
extern PyMethodDef pointer_methods[];
extern PyGetSetDef pointer_attributes[];
PyObject *pointer_repr(PyObject *self);
PyObject *pointer_compare(PyObject *self, PyObject *other, int operation);
Py_hash_t pointer_hash(PyObject *self);
int pointer_bool(PyObject *self);
PyObject *pointer_int(PyObject *self);
PyObject *pointer_subscript(PyObject *self, PyObject *offset);

// c_string.cpp
void fill_c_string(PyObject *self, const AdapterRow &row, PyObject *source);
extern PyMethodDef c_string_methods[];
PyObject *c_string_repr(PyObject *self);
PyObject *c_string_str(PyObject *self);
Py_ssize_t c_string_length(PyObject *self);
PyObject *c_string_subscript(PyObject *self, PyObject *index);
int c_string_buffer(PyObject *self, Py_buffer *view, int flags);
void c_string_release_buffer(PyObject *self, Py_buffer *view);

// lists.cpp
void fill_numbers(PyObject *self, const AdapterRow &row, PyObject *source);
void fill_number(PyObject *self, const AdapterRow &row, PyObject *source);
void fill_strings(PyObject *self, const AdapterRow &row, PyObject *source);
void fill_pointers(PyObject *self, const AdapterRow &row, PyObject *source);
extern PyMethodDef list_methods[], single_methods[];
extern PyGetSetDef single_attributes[];
Py_ssize_t list_length(PyObject *self);
PyObject *list_item(PyObject *self, Py_ssize_t index);
PyObject *list_subscript(PyObject *self, PyObject *index);

// launch_arguments.cpp
void fill_launch_arguments(PyObject *self, const AdapterRow &row, PyObject *source);

// device_array.cpp
void fill_device_array(PyObject *self, const AdapterRow &row, PyObject *source);
extern PyMethodDef device_array_methods[];
extern PyGetSetDef device_array_attributes[];
PyObject *device_array_repr(PyObject *self);
Py_ssize_t device_array_length(PyObject *self);
PyObject *device_array_subscript(PyObject *self, PyObject *index);
void construct_description(PyObject *self);
void destroy_description(PyObject *self) noexcept;
int traverse_description(PyObject *self, visitproc visit, void *arg);
void clear_description(PyObject *self) noexcept;
// Called before the address is exposed to work that Entrepot does not track. Waits, without the
// GIL, for Entrepot's pending accesses to the memory.
void synchronize_address_for_host(PyObject *device_array);
bool has_known_memory(PyObject *device_array) noexcept;
// Bytes of the elements; -1 if the elements are unknown or not contiguous.
Py_ssize_t bytes_of_device_array(PyObject *device_array);
// Accepts the spellings of HIP Python: a typestr with or without byte order, a NumPy name, a
// character of the struct module. HIP Python's arrays use all of them in their interface.
// Throws: ValueError.
Dtype dtype_from_words(std::string_view text);
// Borrowed: the DeviceArray that owns the memory that `adapter` points into, possibly `adapter`
// itself; nullptr if no DeviceArray is involved.
PyObject *root_of(PyObject *adapter) noexcept;

}  // namespace entrepot::python
