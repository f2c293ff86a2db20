// The adapter types: one row for each, made into a static type, so that
// creating an object touches no reference count of its type. Also allocation
// from a free list, garbage collection, constructors.
#include "object.hpp"

#include "../init.hpp"
#include "../memory/owner.hpp"
#include "../support/errors.hpp"
#include "../support/free_list.hpp"
#include "../support/gil.hpp"

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <string>
#include <utility>

namespace entrepot::python {
namespace {

using adapters::element_table;

constexpr const char *pointer_doc =
    "Pointer(pyobj=None)\n--\n\n"
    "An address to pass to a C function. It keeps the memory alive.\n\n"
    "``pyobj`` is one of these, tried in this order:\n\n"
    "- None, which is NULL\n"
    "- an adapter: its address is copied, its buffer is not\n"
    "- an int\n"
    "- a ctypes pointer (c_void_p, c_char_p, POINTER, a function): the address that it points to\n"
    "- an Array\n"
    "- an object with ``__cuda_array_interface__``\n"
    "- an object with a contiguous buffer, which is held as long as the adapter lives. A ctypes\n"
    "  number or structure is a buffer: its address is C's ``&x``.\n"
    "- an object with ``as_c_void_p()``\n"
    "- any other object that asarray accepts\n\n"
    "``p[n]`` is the pointer ``n`` bytes further on. Adapters are equal to adapters and ints with\n"
    "the same address.\n\n"
    "Raises TypeError for an object without an address, OverflowError for ints outside of 0 …\n"
    "2**64 - 1, ValueError for strided memory.";
constexpr const char *c_string_doc =
    "CStr(pyobj)\n"
    "--\n\n"
    "A C string, made from a str (as UTF-8), from bytes, or from an object that Pointer\n"
    "accepts.\n\n"
    "The adapter keeps that object alive. After a C function has written the string,\n"
    "``str()`` reads its new contents.";
constexpr const char *strings_doc =
    "ListOfBytes(pyobj)\n--\n\n"
    "An array of C strings, made from a list or tuple of bytes, str or CStr.\n\n"
    "The adapter keeps the strings alive. It can also be made from the address of such an array,\n"
    "as Pointer accepts it.";
constexpr const char *pointers_doc =
    "ListOfPointer(pyobj)\n--\n\n"
    "An array of addresses, made from a list or tuple of objects that Pointer accepts.\n\n"
    "The adapter keeps the objects alive. It can also be made from the address of such an array.";
constexpr const char *numbers_doc =
    "An array of C integers, made from a list or tuple of ints.\n\n"
    "It can also be made from the address of such an array, as Pointer accepts it.\n\n"
    "Raises TypeError for an element that is not an int, OverflowError for an element that does\n"
    "not fit; the message has the index.";
constexpr const char *number_doc =
    "The address of one C integer. Its ``value`` reads and writes the integer.\n\n"
    "It is made from a list of one int, by ``allocate()``, or from an object that Pointer\n"
    "accepts.";
constexpr const char *launch_doc =
    "HipModuleLaunchKernel_extra(pyobj)\n"
    "--\n\n"
    "The arguments of a kernel in the layout of hipModuleLaunchKernel, made from a list\n"
    "or tuple.\n\n"
    "The items are ctypes data, which are passed by value, and objects that Pointer\n"
    "accepts. They are laid out as the C ABI requires.\n\n"
    "Raises TypeError with the index of any other item: wrap numbers in ctypes.";
constexpr const char *device_array_doc =
    "DeviceArray(pyobj)\n--\n\n"
    "An address of device memory with a shape and a type, as hipMalloc returns it.\n\n"
    "It is made from an object that Pointer accepts. An Array, an object with\n"
    "``__cuda_array_interface__`` and other objects that asarray accepts give the shape and the\n"
    "type.\n\n"
    "Use ``configure()`` to change the description. A part, ``array[…]``, is a view as in NumPy,\n"
    "and keeps the whole array alive. If a driver knows the address, asarray(array) is an Array\n"
    "of the same memory.";

// Stores a string that was built at run time for as long as the types live.
const char *kept(std::string text) {
    static std::deque<std::string> texts;
    return texts.emplace_back(std::move(text)).c_str();
}

// A row of a type whose constructor requires its argument. All names begin with the module's name.
constexpr char module_name[] = "entrepot.adapters.";

AdapterRow row(const char *name, const char *base, decltype(AdapterRow::fill) fill,
               const adapters::ElementType *element, PyMethodDef *methods, PyGetSetDef *attributes,
               const char *doc) {
    return {kept(module_name + std::string(name)), base, fill, element, methods, attributes,
            Parameters<1>(name, 1, 1, {"pyobj"}),  doc};
}

AdapterRow list_row(const adapters::ElementType &element) {
    return row(element.list, "Pointer", fill_numbers, &element, list_methods, nullptr,
               kept(std::string(element.list) + "(pyobj)\n--\n\n" + numbers_doc));
}

AdapterRow single_row(const adapters::ElementType &element) {
    return row(element.single, element.list, fill_number, &element, single_methods,
               single_attributes,
               kept(std::string(element.single) + "(pyobj)\n--\n\n" + number_doc));
}

// A base stands before the types derived from it.
const std::array<AdapterRow, adapter_type_count> rows{{
    {kept(module_name + std::string("Pointer")), nullptr, fill_pointer, nullptr, pointer_methods,
     pointer_attributes, Parameters<1>("Pointer", 1, 0, {"pyobj"}), pointer_doc},
    row("CStr", "Pointer", fill_c_string, nullptr, c_string_methods, nullptr, c_string_doc),
    row("DeviceArray", "Pointer", fill_device_array, nullptr, device_array_methods,
        device_array_attributes, device_array_doc),
    row("ListOfBytes", "Pointer", fill_strings, nullptr, list_methods, nullptr, strings_doc),
    row("ListOfPointer", "Pointer", fill_pointers, nullptr, list_methods, nullptr, pointers_doc),
    list_row(element_table[0]),
    list_row(element_table[1]),
    list_row(element_table[2]),
    list_row(element_table[3]),
    list_row(element_table[4]),
    list_row(element_table[5]),
    single_row(element_table[0]),
    single_row(element_table[1]),
    single_row(element_table[2]),
    single_row(element_table[3]),
    single_row(element_table[4]),
    single_row(element_table[5]),
    row("HipModuleLaunchKernel_extra", "Pointer", fill_launch_arguments, nullptr, nullptr, nullptr,
        launch_doc),
}};

std::size_t number_of(const PyTypeObject *type) noexcept {
    return static_cast<std::size_t>(type - adapter_types.data());
}

// ---------------------------------------------------------------- objects

ObjectFreeList free_list;  // for all types but DeviceArray, whose objects are larger

bool is_plain(PyTypeObject *type) noexcept {
    return is_adapter_type(type) && type != device_array_type;
}

int traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(kept_by(*pointer_of(self)));
    return is_device_array(self) ? traverse_description(self, visit, arg) : 0;
}

// Called by the garbage collector. Other garbage may still use the adapter, so it becomes NULL.
int clear(PyObject *self) {
    entrepot_pointer &pointer = *pointer_of(self);
    const Owner former(pointer.handle, pointer.release);
    pointer.address = pointer.handle = nullptr;
    pointer.release = nullptr;
    pointer.length = -1;
    if (is_device_array(self))
        clear_description(self);
    return 0;
}

void dealloc(PyObject *self) {
    PyTypeObject *const type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    if (pointer_of(self)->weak_references)
        PyObject_ClearWeakRefs(self);
    {
        const Owner last(pointer_of(self)->handle, pointer_of(self)->release);
    }
    if (is_device_array(self))
        destroy_description(self);
    if (!is_plain(type) || !free_list.put(self))
        type->tp_free(self);
}

PyObject *new_adapter(PyTypeObject *type, PyObject *, PyObject *) {
    return guarded([&] { return blank(type).release(); });
}

// ---------------------------------------------------------------- constructors

void fill(PyObject *self, const AdapterRow &row, PyObject *source) {
    drain_released();
    if (!source || source == Py_None)
        return row.fill(self, row, Py_None);
    with_subject([&] { row.fill(self, row, source); }, short_name(row));
}

int init(PyObject *self, PyObject *args, PyObject *kwargs) {
    return guarded([&] {
        const AdapterRow &row = row_of(Py_TYPE(self));
        PyObject *const source = row.parameters.read(args, kwargs)[0];
        if (source != self)  // otherwise there is nothing to change
            fill(self, row, source);
    });
}

PyObject *vectorcall(PyObject *type, PyObject *const *args, std::size_t nargsf, PyObject *kwnames) {
    return guarded([&] {
        auto *const exact = reinterpret_cast<PyTypeObject *>(type);
        const AdapterRow &row = rows[number_of(exact)];
        const Py_ssize_t nargs = PyVectorcall_NARGS(nargsf);
        PyObject *const source =
            nargs == 1 && !kwnames ? args[0] : row.parameters.read(args, nargs, kwnames)[0];
        Reference self = blank(exact);
        fill(self.get(), row, source);
        return self.release();
    });
}

// ---------------------------------------------------------------- types

PyNumberMethods numbers{};
PyMappingMethods pointer_mapping{}, string_mapping{}, list_mapping{}, device_mapping{};
PySequenceMethods list_sequence{};
PyBufferProcs string_buffer{};

void fill_slots() {
    numbers.nb_bool = pointer_bool;
    numbers.nb_int = pointer_int;
    numbers.nb_index = pointer_int;
    pointer_mapping.mp_subscript = pointer_subscript;
    string_mapping.mp_subscript = c_string_subscript;
    string_mapping.mp_length = c_string_length;
    list_mapping.mp_subscript = list_subscript;
    list_mapping.mp_length = list_length;
    list_sequence.sq_item = list_item;  // used by iteration
    list_sequence.sq_length = list_length;
    device_mapping.mp_subscript = device_array_subscript;
    device_mapping.mp_length = device_array_length;
    string_buffer = {c_string_buffer, c_string_release_buffer};
}

// Sets the slots that a type does not inherit. `row.fill` identifies the type.
void set_own_slots(PyTypeObject &type, const AdapterRow &row) {
    if (row.fill == fill_pointer) {
        type.tp_repr = pointer_repr;
        type.tp_as_number = &numbers;
        type.tp_richcompare = pointer_compare;
        type.tp_hash = pointer_hash;
        type.tp_as_mapping = &pointer_mapping;
    } else if (row.fill == fill_c_string) {
        type.tp_repr = c_string_repr;
        type.tp_str = c_string_str;
        type.tp_as_mapping = &string_mapping;
        type.tp_as_buffer = &string_buffer;
    } else if (row.fill == fill_device_array) {
        type.tp_repr = device_array_repr;
        type.tp_as_mapping = &device_mapping;
    } else if (row.fill != fill_launch_arguments) {
        type.tp_as_mapping = &list_mapping;
        type.tp_as_sequence = &list_sequence;
    }
}

void describe(PyTypeObject &type, const AdapterRow &row) {
    const struct {
        PyVarObject value;
    } head = {PyVarObject_HEAD_INIT(nullptr, 0)};
    type.ob_base = head.value;
    type.tp_name = row.name;
    type.tp_basicsize =
        row.fill == fill_device_array ? sizeof(entrepot_device_array) : sizeof(entrepot_pointer);
    type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC;
    type.tp_doc = row.doc;
    type.tp_base = row.base ? adapter_type(row.base) : nullptr;
    type.tp_methods = row.methods;
    type.tp_getset = row.attributes;
    type.tp_new = new_adapter;
    type.tp_init = init;
    // not inherited: a subclass is called through its own __new__ and __init__
    type.tp_vectorcall = vectorcall;
    type.tp_dealloc = dealloc;
    type.tp_traverse = traverse;
    type.tp_clear = clear;
    type.tp_free = PyObject_GC_Del;
    type.tp_weaklistoffset = offsetof(entrepot_pointer, weak_references);
    set_own_slots(type, row);
}

PyObject *mark_freed_from_python(PyObject *, PyObject *object) {
    mark_freed(object);
    Py_RETURN_NONE;
}

PyObject *device_array_from_python(PyObject *, PyObject *args) {
    unsigned long long address = 0;
    Py_ssize_t bytes = 0;
    if (!PyArg_ParseTuple(args, "Kn:_device_array", &address, &bytes))
        return nullptr;
    return guarded([&] {
        return device_array(reinterpret_cast<void *>(static_cast<std::uintptr_t>(address)),
                            static_cast<std::size_t>(bytes))
            .release();
    });
}

PyMethodDef functions[] = {
    {"_device_array", device_array_from_python, METH_VARARGS,
     "_device_array($module, address, nbytes, /)\n--\n\n"
     "A DeviceArray of memory that a native allocator returned. It does not own the memory."},
    {"_mark_freed", mark_freed_from_python, METH_O,
     "_mark_freed($module, obj, /)\n--\n\n"
     "Mark the memory as freed by a native deallocator, so that later use is refused."},
    {},
};

}  // namespace

std::array<PyTypeObject, adapter_type_count> adapter_types{};

const char *short_name(const AdapterRow &row) noexcept { return row.name + sizeof module_name - 1; }

const AdapterRow &row_of(PyTypeObject *type) noexcept {
    while (!is_adapter_type(type))
        type = type->tp_base;
    return rows[number_of(type)];
}

PyTypeObject *adapter_type(std::string_view name) noexcept {
    for (std::size_t i = 0; i < rows.size(); ++i)
        if (name == short_name(rows[i]))
            return &adapter_types[i];
    return nullptr;
}

bool is_adapter(PyObject *object) noexcept {
    return is_adapter_type(Py_TYPE(object)) || PyType_IsSubtype(Py_TYPE(object), pointer_type);
}

Reference blank(PyTypeObject *type) {
    PyObject *self = is_plain(type) ? free_list.take() : nullptr;
    if (self) [[likely]] {
        PyObject_Init(self, type);
        std::memset(reinterpret_cast<char *>(self) + sizeof(PyObject), 0,
                    sizeof(entrepot_pointer) - sizeof(PyObject));
        PyObject_GC_Track(self);
    } else {
        self = checked(type->tp_alloc(type, 0)).release();
    }
    pointer_of(self)->length = -1;
    Reference result(self);
    if (is_device_array(self))
        construct_description(self);
    return result;
}

Reference made(PyTypeObject *type, PyObject *source) {
    const AdapterRow &row = row_of(type);
    Reference self = blank(type);
    row.fill(self.get(), row, source);
    return self;
}

bool init_adapter_types(PyObject *module) {
    assert(rows[2].fill == fill_device_array);  // and none is derived from it: is_device_array
    assert(rows[4].fill == fill_pointers);
    fill_slots();
    for (std::size_t i = 0; i < rows.size(); ++i) {
        describe(adapter_types[i], rows[i]);
        if (PyModule_AddType(module, &adapter_types[i]) < 0)
            return false;
    }
    return PyModule_AddFunctions(module, functions) == 0;
}

void init_adapters(nanobind::module_ &m) {
    if (!init_adapter_types(m.ptr()))
        nanobind::raise_python_error();
}

}  // namespace entrepot::python
