// What the files of this folder share: the types as rows, objects made blank and given what they stand for, objects as targets.
#pragma once
#include "adapters.hpp"

#include "../guarded.hpp"
#include "../interned.hpp"
#include "../parameters.hpp"

#include <entrepot/adapters/elements.hpp>
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
    // Makes the object stand for what the source is. Throws Error without the subject, or PythonError.
    void (*fill)(PyObject *self, const AdapterRow &row, PyObject *source);
    const adapters::ElementType *element;  // of the lists of integers; else nullptr
    PyMethodDef *methods;
    PyGetSetDef *attributes;
    Parameters<1> parameters;  // of its constructor
    const char *doc;
};

// type.cpp: the types, in the order of their rows.
constexpr std::size_t adapter_type_count = 18;
extern std::array<PyTypeObject, adapter_type_count> adapter_types;
inline PyTypeObject *const pointer_type = &adapter_types[0], *const c_string_type = &adapter_types[1],
                           *const device_array_type = &adapter_types[2], *const pointer_list_type = &adapter_types[4];

// Of an adapter type, or of a subclass.
const AdapterRow &row_of(PyTypeObject *type) noexcept;
const char *short_name(const AdapterRow &row) noexcept;  // without the module

// One of the rows, not derived from one.
inline bool is_adapter_type(const PyTypeObject *type) noexcept {
    const auto first = reinterpret_cast<std::uintptr_t>(adapter_types.data()), address = reinterpret_cast<std::uintptr_t>(type);
    return address >= first && address < first + sizeof adapter_types;
}

// Of a list's element; 0 of what is no list.
Py_ssize_t size_of_element(const AdapterRow &row) noexcept;

inline bool is_device_array(PyObject *object) noexcept {
    PyTypeObject *const type = Py_TYPE(object);
    return type == device_array_type || (!is_adapter_type(type) && PyType_IsSubtype(type, device_array_type));
}

// A new object that stands for NULL, of an adapter type or a subclass, whose own __new__ is not asked.
Reference blank(PyTypeObject *type);
// Of an adapter type itself, made from the source.
Reference made(PyTypeObject *type, PyObject *source);

bool init_adapter_types(PyObject *module);

// ---------------------------------------------------------------- what an object keeps

// What an object stands for, seen as a pointer.
struct Target {
    void *address = nullptr;
    Owner owner;            // keeps the memory
    Py_ssize_t bytes = -1;  // of host memory from the address on; -1: not known
    bool is_read_only = false;
};

// Throws BufferError while others hold buffers of the object, or stand for a part of its memory.
void set(PyObject *self, Target &&target, Py_ssize_t length = -1, unsigned flags = 0);

// Memory of an adapter's own, zeros, with objects that live as long as it. Throws MemoryError.
struct OwnBlock {
    void *data = nullptr;
    Owner owner;
};
OwnBlock new_block(std::size_t bytes, std::size_t alignment, Reference pinned);
// Keeps an adapter for others that stand for its memory: meanwhile it stands for nothing else.
Owner depend_on(PyObject *adapter);

// Whether the object's memory is such a block.
bool is_owner(const entrepot_pointer &pointer) noexcept;
// Whether memory may go, or be freed, with the adapter, whatever it keeps: objects of types derived from ours have storage that
// nobody here knows of (a closure, a part of another record, a field of a Cython class).
bool keeps_memory(PyObject *adapter) noexcept;
// The adapter whose memory it stands for a part of, borrowed; nullptr where that is no adapter's.
PyObject *depended_on(const entrepot_pointer &pointer) noexcept;
// Whether its memory goes when it is made to stand for something else.
bool may_lose_memory(PyObject *adapter) noexcept;
// What the object keeps, borrowed: an object, the exporter of a held buffer, what a block pins; nullptr where there is none.
PyObject *kept_by(const entrepot_pointer &pointer) noexcept;

// The address as every repr shows it.
struct HexText {
    char text[2 + 16 + 1];
    explicit HexText(PyObject *adapter) noexcept {
        std::snprintf(text, sizeof text, "%#zx", reinterpret_cast<std::size_t>(pointer_of(adapter)->address));
        if (!pointer_of(adapter)->address)
            std::strcpy(text, "0x0");
    }
};

// ---------------------------------------------------------------- target.cpp: objects as targets

// The documented conversions of Pointer, in their order. The parts are there for DeviceArray, which looks for more.
Target target_of(PyObject *object);
// All of them but the last, whatever asarray takes: false where it comes to that, which is target_of_import(array_for(object)).
bool find_target(PyObject *object, Target &target);
Target target_of_import(const Array &array);

// Of a pointer to a function: the documented conversions without CAI, and without arrays of any protocol, which are data.
Target target_of_function(PyObject *object);

// Of host memory that the adapter knows the end of, from its address on; else -1.
Py_ssize_t bytes_of(PyObject *adapter) noexcept;

// None, an adapter, an int, a ctypes pointer. False where it is none of these.
bool find_plain(PyObject *object, Target &target);
// Whether there is a buffer that somebody means. Throws TypeError for the numbers of NumPy.
bool has_buffer(PyObject *object);
// A contiguous buffer, held.
bool find_buffer(PyObject *object, Target &target);
// What as_c_void_p() says: the adapters of other libraries.
bool find_void_pointer(PyObject *object, Target &target);
// Throws TypeError where it speaks no protocol; `expected` is what else might have been meant, and is said first.
Array array_for(PyObject *object, const char *expected = nullptr);
Target target_of_array(const Array &array, Owner owner);

extern const Interned cai_attribute_name;

// Throws ValueError: a DeviceArray that has been given back, or an adapter that stands for a part of one.
void check_not_freed(PyObject *adapter);
// The same of what it lists, where it, or the adapter whose memory it stands for, has been made from a list of addresses.
void check_pins_not_freed(PyObject *adapter);
void check_nothing_freed(PyObject *adapter);  // both
// Calls check_not_freed before an adapter's address is used. For a DeviceArray, it waits for Entrepot's pending work.
void make_ready(PyObject *adapter);
// Throws ValueError: whoever takes a pointer reads on from there, and elements elsewhere cannot be described to it.
void check_contiguous(const Layout &layout, const char *remedy);
void check_contiguous(PyObject *adapter);  // of which DeviceArrays alone have strides

// ---------------------------------------------------------------- argument.cpp

// As `argument`, without the names.
Argument argument_of(PyObject *object, PyTypeObject *type, Use use = Use::read);

// Whether C would read on behind the end of a string that it takes there.
bool is_unterminated(const Argument &argument) noexcept;

// What keeps the argument's memory for longer than a call: the caller's own adapter may stand for something else by then.
Reference pin_of(Argument &&argument, PyObject *object);

// Says the subject before what was thrown inside.
template <class Body, class... Subject> auto with_subject(Body body, const Subject &...subject) {
    try {
        return body();
    } catch (const Error &error) {
        throw Error(error.kind(), subject..., ": ", error.what());
    }
}

// ---------------------------------------------------------------- the rows' functions, by the file that has them

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
// Whoever gets the address uses it in work that we do not see: waits, without the GIL, until ours on the memory is done.
void give_address_its_turn(PyObject *device_array);
bool has_known_memory(PyObject *device_array) noexcept;
// -1 where nothing is known of its elements, or others lie between them.
Py_ssize_t bytes_of_device_array(PyObject *device_array);
// A typestr, with or without its byte order, a name of NumPy's, or a character of the struct module: HIP Python takes all of
// them, and its arrays write them into their interface. Throws ValueError.
Dtype dtype_from_words(std::string_view text);
// The array whose memory a sub-array, or another adapter, stands for a part of, or itself; nullptr where there is none. Borrowed.
PyObject *root_of(PyObject *adapter) noexcept;

}  // namespace entrepot::python
