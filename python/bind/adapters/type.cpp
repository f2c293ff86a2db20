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
    "``p[n]`` is the pointer ``n`` bytes further on. Adapters are equal to adapters and ints\n"
    "with the same address.\n\n"
    "Parameters\n"
    "----------\n"
    "pyobj : object, optional\n"
    "    The object with the address, by default None. The first match is used:\n\n"
    "    - None, which is NULL.\n"
    "    - An adapter: its address is copied, its buffer is not.\n"
    "    - An int.\n"
    "    - A ctypes pointer (c_void_p, c_char_p, POINTER, a function): the address that it\n"
    "      points to.\n"
    "    - An Array.\n"
    "    - An object with ``__cuda_array_interface__``.\n"
    "    - An object with a contiguous buffer, which is held as long as the adapter lives.\n"
    "      A ctypes number or structure is a buffer: its address is C's ``&x``.\n"
    "    - An object with ``as_c_void_p()``.\n"
    "    - Any other object that asarray accepts.\n\n"
    "Raises\n"
    "------\n"
    "TypeError\n"
    "    If the object has no address.\n"
    "OverflowError\n"
    "    If an int is outside of 0 … 2**64 - 1.\n"
    "ValueError\n"
    "    If the memory is strided, or is that of a DeviceArray that has been freed.\n\n"
    "Examples\n"
    "--------\n"
    ">>> from entrepot.adapters import Pointer\n"
    ">>> memory = bytearray(b\"text\")\n"
    ">>> pointer = Pointer(memory)\n"
    ">>> pointer[2] == int(pointer) + 2\n"
    "True\n"
    ">>> Pointer(None).is_ptr_null\n"
    "True";
constexpr const char *c_string_doc =
    "CStr(pyobj)\n--\n\n"
    "A C string, made from a str, from bytes, or from an object that Pointer accepts.\n\n"
    "The adapter keeps that object alive. After a C function has written the string,\n"
    "``str()`` reads its new contents.\n\n"
    "Parameters\n"
    "----------\n"
    "pyobj : str, bytes or object\n"
    "    The text, or an object that Pointer accepts. A str is encoded as UTF-8. None is\n"
    "    NULL: ``malloc()`` can then allocate a string.\n\n"
    "Raises\n"
    "------\n"
    "TypeError\n"
    "    If the object is neither text nor an object that Pointer accepts.\n"
    "OverflowError\n"
    "    If an int is outside of 0 … 2**64 - 1.\n"
    "ValueError\n"
    "    If a str has a NUL inside, if the memory is strided, or if it is that of a\n"
    "    DeviceArray that has been freed.\n\n"
    "Examples\n"
    "--------\n"
    ">>> from entrepot.adapters import CStr\n"
    ">>> name = CStr(\"gfx90a\")\n"
    ">>> len(name), str(name), bytes(name)\n"
    "(6, 'gfx90a', b'gfx90a')";
constexpr const char *strings_doc =
    "ListOfBytes(pyobj)\n--\n\n"
    "An array of C strings, made from a list or tuple of bytes, str or CStr.\n\n"
    "The adapter keeps the strings alive.\n\n"
    "Parameters\n"
    "----------\n"
    "pyobj : list, tuple or object\n"
    "    The strings: bytes, str (as UTF-8) or CStr. It can also be the address of an array\n"
    "    of C strings, as Pointer accepts it.\n\n"
    "Raises\n"
    "------\n"
    "TypeError\n"
    "    If an element is not bytes, a str or a CStr, or if ``pyobj`` is one text in place of\n"
    "    a list.\n"
    "ValueError\n"
    "    If a str contains a NUL, or a CStr is not terminated by one. The message has the\n"
    "    index.\n\n"
    "Examples\n"
    "--------\n"
    ">>> from entrepot.adapters import ListOfBytes\n"
    ">>> options = ListOfBytes([\"-O3\", b\"--std=c++17\"])\n"
    ">>> options[0], len(options)\n"
    "(b'-O3', 2)";
constexpr const char *pointers_doc =
    "ListOfPointer(pyobj)\n--\n\n"
    "An array of addresses, made from a list or tuple of objects that Pointer accepts.\n\n"
    "The adapter keeps the objects alive.\n\n"
    "Parameters\n"
    "----------\n"
    "pyobj : list, tuple or object\n"
    "    The objects that Pointer accepts. It can also be the address of an array of\n"
    "    addresses.\n\n"
    "Raises\n"
    "------\n"
    "TypeError\n"
    "    If an element has no address, or if ``pyobj`` is one text in place of a list.\n"
    "OverflowError\n"
    "    If an int is outside of 0 … 2**64 - 1.\n"
    "ValueError\n"
    "    If an element's memory is strided, or is that of a DeviceArray that has been freed.\n\n"
    "Examples\n"
    "--------\n"
    ">>> from entrepot.adapters import ListOfPointer, Pointer\n"
    ">>> blocks = [bytearray(8), bytearray(8)]\n"
    ">>> pointers = ListOfPointer(blocks)\n"
    ">>> pointers[1] == Pointer(blocks[1])\n"
    "True";
constexpr const char *numbers_doc =
    "An array of C integers, made from a list or tuple of ints.\n\n"
    "Parameters\n"
    "----------\n"
    "pyobj : list, tuple or object\n"
    "    The ints. It can also be the address of an array of such integers, as Pointer\n"
    "    accepts it.\n\n"
    "Raises\n"
    "------\n"
    "TypeError\n"
    "    If an element is not an int. The message has the index.\n"
    "OverflowError\n"
    "    If an element does not fit the C integer. The message has the index.\n"
    "ValueError\n"
    "    If the elements of an object's memory have another size, or are floating-point\n"
    "    numbers. Memory of bytes is accepted.\n\n"
    "Examples\n"
    "--------\n"
    ">>> from entrepot.adapters import ListOfInt, ListOfUInt64\n"
    ">>> ListOfInt([1, 2, -3]).to_list()\n"
    "[1, 2, -3]\n"
    ">>> ListOfUInt64([2**64 - 1])[0]\n"
    "18446744073709551615";
constexpr const char *number_doc =
    "The address of one C integer. Its ``value`` reads and writes the integer.\n\n"
    "``allocate()`` makes one whose integer is 0.\n\n"
    "Parameters\n"
    "----------\n"
    "pyobj : list, tuple or object\n"
    "    One int in a list or tuple, or an object that Pointer accepts.\n\n"
    "Raises\n"
    "------\n"
    "TypeError\n"
    "    If the element is not an int.\n"
    "OverflowError\n"
    "    If the element does not fit the C integer.\n"
    "ValueError\n"
    "    If the list does not have one element. Also if an object's memory is too small for\n"
    "    the integer, has elements of another size, or has floating-point numbers.\n\n"
    "Examples\n"
    "--------\n"
    ">>> from entrepot.adapters import PointerToInt\n"
    ">>> count = PointerToInt([5])\n"
    ">>> count.value += 1\n"
    ">>> count.value, count[0]\n"
    "(6, 6)";
constexpr const char *launch_doc =
    "HipModuleLaunchKernel_extra(pyobj)\n--\n\n"
    "The arguments of a kernel in the layout of hipModuleLaunchKernel, made from a list.\n\n"
    "The arguments are laid out as the C ABI requires.\n\n"
    "Parameters\n"
    "----------\n"
    "pyobj : list, tuple or object\n"
    "    The arguments in order. NumPy's numbers, Scalar objects and ctypes data are passed\n"
    "    by value. Other objects are passed as the address that Pointer makes of them; an int\n"
    "    is an address. In place of a list it can be the address of such a block.\n\n"
    "Raises\n"
    "------\n"
    "TypeError\n"
    "    If an item is anything else, such as a float: wrap numbers in ctypes. The message\n"
    "    has the index.\n"
    "OverflowError\n"
    "    If an int is outside of 0 … 2**64 - 1. The message has the index.\n\n"
    "Examples\n"
    "--------\n"
    ">>> import ctypes\n"
    ">>> from entrepot.adapters import HipModuleLaunchKernel_extra, Pointer\n"
    ">>> extra = HipModuleLaunchKernel_extra([ctypes.c_float(2.0), Pointer(0x1000)])\n"
    ">>> extra.is_owner\n"
    "True";
constexpr const char *device_array_doc =
    "DeviceArray(pyobj)\n--\n\n"
    "An address of device memory with a shape and a type, as hipMalloc returns it.\n\n"
    "Use ``configure()`` to change the description. A part, ``array[…]``, is a view as in\n"
    "NumPy, and keeps the whole array alive. If a driver knows the address, asarray(array) is\n"
    "an Array of the same memory.\n\n"
    "Parameters\n"
    "----------\n"
    "pyobj : object\n"
    "    An object that Pointer accepts; its memory may be strided. An Array, an object with\n"
    "    ``__cuda_array_interface__`` and other objects that asarray accepts give the shape\n"
    "    and the type.\n\n"
    "Raises\n"
    "------\n"
    "TypeError\n"
    "    If the object has no address.\n"
    "OverflowError\n"
    "    If an int is outside of 0 … 2**64 - 1.\n"
    "ValueError\n"
    "    If the object is a DeviceArray that has been freed.\n\n"
    "Examples\n"
    "--------\n"
    ">>> from entrepot.adapters import DeviceArray\n"
    ">>> array = DeviceArray(np.zeros((3, 20), \"float32\"))\n"
    ">>> array.shape, array.strides, array.typestr\n"
    "((3, 20), (80, 4), '<f4')\n"
    ">>> int(array[1]) - int(array)\n"
    "80\n"
    ">>> ep.asarray(array[1]).shape\n"
    "(20,)";

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
