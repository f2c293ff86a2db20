// DeviceArray: an address with a shape and a dtype. The driver is asked about the memory only when
// the array is first exported or imported as an Array.
#include "object.hpp"

#include "../array/create.hpp"
#include "../array/methods.hpp"
#include "../array_object/array_object.hpp"
#include "../exchange/exports.hpp"
#include "../exchange/host_sync.hpp"
#include "../exchange/interface_dict.hpp"
#include "../exchange/protocol.hpp"
#include "../exchange/routes.hpp"
#include "../memory/owner.hpp"
#include "../support/attribute.hpp"
#include "../support/errors.hpp"
#include "../support/foreign_error.hpp"
#include "../support/gil.hpp"

#include <adapters/locate.hpp>
#include <entrepot/exchange/cai.hpp>
#include <entrepot/exchange/stream.hpp>

#include <cstdint>
#include <limits>
#include <new>
#include <string>
#include <string_view>

namespace entrepot::python {
namespace {

using adapters::speaker;
constexpr exchange::Speaker configure_speaker{"configure", ErrorKind::value};
constexpr const char *cai_attribute = "__cuda_array_interface__";

// The known elements. Until `configure` describes them there are zero elements.
struct Description {
    Dtype dtype = dtypes::uint8;
    Layout layout{0};
    bool is_known = false;
    Memory memory;  // of a root; empty until a driver has been asked
    std::optional<std::uintptr_t> stream;
};
static_assert(sizeof(Description) <= sizeof(entrepot_device_array::description),
              "published, so subclasses are laid out by it");

Description &description_of(PyObject *self) noexcept {
    return *std::launder(reinterpret_cast<Description *>(
        reinterpret_cast<entrepot_device_array *>(self)->description));
}

bool is_read_only(PyObject *self) noexcept {
    return (pointer_of(self)->flags & ENTREPOT_ADAPTER_READ_ONLY) != 0;
}

// The elements as an Array without memory, for computations with shapes.
Array elements_of(PyObject *self) {
    const Exclusive exclusive(self);
    const Description &description = description_of(self);
    return Array(Memory(), pointer_of(self)->address, description.dtype, description.layout,
                 is_read_only(self));
}

void describe(PyObject *self, Target &&target, Description &&description) {
    set(self, std::move(target));
    const Exclusive exclusive(self);
    std::swap(description_of(self), description);
}

// ---------------------------------------------------------------- types of elements

// A character of the struct module, or F and D, which only NumPy uses.
std::optional<Dtype> dtype_from_character(std::string_view text) {
    const std::string_view format = text == "F" ? "Zf" : text == "D" ? "Zd" : text;
    for (const DtypeRow &row : dtype_table)
        if (!row.format.empty() && row.format == format)
            return row.dtype;
    if (text == "l" || text == "L")
        return dtype_from_format(text == "l" ? "l" : "L", sizeof(long));
    return std::nullopt;
}

std::string_view text_of(PyObject *object, const char *name) {
    Py_ssize_t length = 0;
    const char *const text =
        PyUnicode_Check(object) ? PyUnicode_AsUTF8AndSize(object, &length) : nullptr;
    if (!text) {
        PyErr_Clear();
        throw Error(ErrorKind::type, name, " is a str, such as '<f4', not ", shown(object));
    }
    return {text, static_cast<std::size_t>(length)};
}

// ---------------------------------------------------------------- construction

void fill_from_device_array(PyObject *self, PyObject *source) {
    make_ready(source);
    Description description;
    {
        const Exclusive exclusive(source);
        const Description &known = description_of(source);
        description = {known.dtype, known.layout, known.is_known, {}, known.stream};
    }
    describe(self,
             {pointer_of(source)->address, depend_on(root_of(source)), -1, is_read_only(source)},
             std::move(description));
}

void fill_from_array(PyObject *self, const Array &array) {
    synchronize_for_host(array);
    describe(self, {array.data(), Owner(), -1, array.read_only()},
             {array.dtype(), array.layout(), true, array.memory(), {}});
}

bool fill_from_cai(PyObject *self, PyObject *source) {
    Reference value = find_attribute(source, cai_attribute_name);
    if (!value)
        return false;
    const InterfaceDict dict(cai::speaker, std::move(value));
    dict.check_no_mask();
    dict.check_no_offset();
    PyObject *const data = dict.find(Key::data);
    if (!data)
        throw cai::speaker.refusal("'data' is missing");
    const DataEntry entry = dict.data_entry(data);
    Numbers shape, strides;
    dict.read_shape(shape);
    const Dtype dtype = dtype_from_words(dict.typestr());
    const std::int64_t *const in_bytes =
        dict.read_strides(strides, shape.count) ? strides.values.data() : nullptr;
    Layout layout =
        exchange::layout_of_bytes(cai::speaker, shape.extents(), in_bytes, dtype.itemsize());
    PyObject *const stream = dict.find(Key::stream);
    const auto number =
        stream ? std::optional(dict.address(stream, "'stream' must be None or")) : std::nullopt;
    describe(self, {entry.pointer, keep(source), -1, entry.flag},
             {dtype, std::move(layout), true, {}, number});
    return true;
}

// Reads NumPy arrays by their fields, because the buffer protocol cannot express dtypes such as
// bfloat16. Empty for other arrays: they are read as buffers, which report the reason of a refusal.
std::optional<Array> elements_of_numpy(PyObject *source) {
    try {
        return numpy_protocol.probe(Py_TYPE(source)) ? numpy_protocol.read(source, {})
                                                     : std::nullopt;
    } catch (const Error &) {
        return std::nullopt;
    }
}

// The memory is host memory, so no driver is asked. Elements without a Dtype,
// such as records, become bytes.
bool fill_from_buffer(PyObject *self, PyObject *source) {
    if (!has_buffer(source))
        return false;
    std::optional<Array> known = elements_of_numpy(source);
    if (!known)
        known = elements_in_buffer(source);
    if (known) {
        fill_from_array(self, *known);
        return true;
    }
    Target target;
    find_buffer(source, target);
    const std::int64_t bytes = target.bytes;
    Memory memory = Memory::borrow_host(target.address, static_cast<std::size_t>(bytes),
                                        std::move(target.owner));
    target.owner = Owner();
    describe(self, std::move(target),
             {dtypes::uint8, Layout(Extents(&bytes, 1)), true, std::move(memory), {}});
    return true;
}

// ---------------------------------------------------------------- the memory

Memory memory_of(PyObject *self, const exchange::Reach &reach) {
    PyObject *const root = root_of(self);
    {
        const Exclusive exclusive(root);
        if (description_of(root).memory)
            return description_of(root).memory;
    }
    PyObject *const producer = kept_by(*pointer_of(root));
    Memory located = adapters::locate(reach, producer ? keep(producer) : Owner());
    const Exclusive exclusive(root);
    Memory &kept = description_of(root).memory;
    if (!kept)
        kept = located;
    return kept;
}

bool is_host(const Memory &memory) { return memory.device().backend().is_host(); }

// The elements as an Array with their memory.
Array array_from(PyObject *self) {
    check_not_freed(self);
    const Array elements = elements_of(self);
    if (!description_of(self).is_known)
        throw speaker.refusal("nothing is known of the elements at ", Hex(elements.data()),
                              "; say it first: configure(shape=…, typestr=…, _force=True)");
    if (elements.size() == 0)
        return Array(Memory::borrow_host(elements.data(), 0, Owner()), elements.data(),
                     elements.dtype(), elements.layout(), elements.read_only());
    exchange::check_alignment(speaker, elements.data(), elements.dtype());
    const exchange::Reach reach =
        exchange::reach_of(speaker, elements.layout(), elements.data(), elements.itemsize());
    Memory memory = memory_of(self, reach);
    if (!exchange::is_inside(reach, memory.data(), static_cast<std::int64_t>(memory.nbytes())))
        throw speaker.refusal("elements of ", elements.layout(), " need the ", reach.bytes,
                              " bytes from ", Hex(reach.lowest), ", but the allocation there has ",
                              memory.nbytes(), " bytes from ", Hex(memory.data()));
    Array array(std::move(memory), elements.data(), elements.dtype(), elements.layout(),
                elements.read_only());
    if (description_of(self).stream && !is_host(array.memory()))
        exchange::wait_for_producer_stream(array, *description_of(self).stream);
    return array;
}

bool is_ours(PyTypeObject *type) noexcept { return PyType_IsSubtype(type, device_array_type); }

std::optional<Array> read(PyObject *object, const ImportRequest &request) {
    Array array = array_from(object);
    return request.queue ? array.on(request.queue) : array;
}

// ---------------------------------------------------------------- configure

// Arguments of configure(); borrowed, nullptr if not given.
struct Options {
    PyObject *typestr, *shape, *strides, *itemsize, *read_only, *stream, *force;
};

const Parameters of_configure("configure", 0, 0,
                              {"typestr", "shape", "strides", "itemsize", "read_only", "stream",
                               "_force"});

std::int64_t integer_from(PyObject *object, const char *name) {
    if (PyBool_Check(object) || !PyIndex_Check(object))
        throw Error(ErrorKind::type, name, " is an int, not ", shown(object));
    const Py_ssize_t number = PyNumber_AsSsize_t(object, PyExc_OverflowError);
    if (number == -1 && PyErr_Occurred())
        throw PythonError{};
    return number;
}

Dtype unsigned_of(std::int64_t itemsize) {
    if (itemsize != 1 && itemsize != 2 && itemsize != 4 && itemsize != 8)
        throw Error(ErrorKind::value, "configure: there is no integer of ", itemsize,
                    " bytes; name the type with typestr=");
    return {TypeCode::unsigned_integer, static_cast<std::uint8_t>(8 * itemsize)};
}

// An item size that differs from the dtype's selects an unsigned integer if no typestr is given.
Dtype dtype_for(const Options &options, Dtype current) {
    if (!options.itemsize)
        return options.typestr ? dtype_from_words(text_of(options.typestr, "typestr")) : current;
    const std::int64_t itemsize = integer_from(options.itemsize, "itemsize");
    if (!options.typestr)
        return itemsize == current.itemsize() ? current : unsigned_of(itemsize);
    const Dtype dtype = dtype_from_words(text_of(options.typestr, "typestr"));
    if (dtype.itemsize() != itemsize)
        throw Error(ErrorKind::value, "configure: itemsize=", itemsize, " contradicts ", dtype,
                    ", whose items have ", dtype.itemsize(), " bytes; itemsize may be left out");
    return dtype;
}

Layout layout_for(const Options &options, const Array &current, Dtype dtype) {
    if (!options.shape && !options.strides) {
        if (dtype.itemsize() == current.itemsize())
            return current.layout();
        return exchange::layout_of_elements(configure_speaker, current.shape(), nullptr);
    }
    const std::vector<std::int64_t> shape =
        options.shape ? extents_from(options.shape)
                      : std::vector<std::int64_t>(current.shape().begin(), current.shape().end());
    if (!options.strides || options.strides == Py_None)
        return exchange::layout_of_elements(configure_speaker, shape, nullptr);
    const std::vector<std::int64_t> strides = extents_from(options.strides);
    if (strides.size() != shape.size())
        throw configure_speaker.refusal("there are ", strides.size(), " strides for the ",
                                        shape.size(), " axes of the shape");
    return exchange::layout_of_bytes(configure_speaker, shape, strides.data(), dtype.itemsize());
}

std::optional<std::uintptr_t> stream_from(PyObject *object) {
    if (object == Py_None)
        return std::nullopt;
    if (PyBool_Check(object) || !PyIndex_Check(object))
        throw Error(ErrorKind::type, "configure: stream is an int or None, not ", shown(object));
    const Reference index = checked(PyNumber_Index(object));
    const std::size_t number = PyLong_AsSize_t(index.get());
    if (number == std::numeric_limits<std::size_t>::max() && PyErr_Occurred()) {
        PyErr_Clear();
        throw Error(ErrorKind::overflow, "configure: stream=", shown(object), " is no stream");
    }
    if (number == 0)
        throw configure_speaker.refusal("stream=0 may mean two streams: 1 is the legacy default "
                                        "stream, 2 that of the thread, and None says "
                                        "that there is nothing to wait for");
    return number;
}

// Not called with _force=True.
void check_bytes(const Array &current, Dtype dtype, const Layout &layout) {
    const std::int64_t before = current.nbytes(), after = layout.nbytes(dtype.itemsize());
    if (before != after)
        throw configure_speaker.refusal(layout, " of ", dtype, " are ", after,
                                        " bytes, and the array has ", before,
                                        "; pass _force=True if that is meant");
    const ByteRange had = current.layout().byte_range(current.itemsize()),
                    has = layout.byte_range(dtype.itemsize());
    if (layout.size() != 0 && (has.begin < had.begin || has.end > had.end))
        throw configure_speaker.refusal("the strides lead to bytes ", has.begin, " to ", has.end,
                                        " from the first element, and the array has ", had.begin,
                                        " to ", had.end, "; pass _force=True if that is meant");
}

// All checks run before the first change, so a call that raises has changed nothing.
void reconfigure(PyObject *self, const Options &options) {
    check_not_freed(self);
    const Array current = elements_of(self);
    const Dtype dtype = dtype_for(options, current.dtype());
    Layout layout = layout_for(options, current, dtype);
    if (!is_true(options.force))
        check_bytes(current, dtype, layout);
    else
        (void)layout.nbytes(dtype.itemsize());
    const bool read_only = options.read_only ? is_true(options.read_only) : current.read_only();
    const bool changes_elements =
        options.typestr || options.shape || options.strides || options.itemsize;
    const std::optional<std::uintptr_t> stream =
        options.stream ? stream_from(options.stream) : std::nullopt;

    const Exclusive exclusive(self);
    Description &description = description_of(self);
    description.dtype = dtype;
    description.layout = std::move(layout);
    description.is_known |= changes_elements;
    if (options.stream)
        description.stream = stream;
    entrepot_pointer &pointer = *pointer_of(self);
    pointer.flags = (pointer.flags & ~static_cast<unsigned>(ENTREPOT_ADAPTER_READ_ONLY)) |
                    (read_only ? unsigned{ENTREPOT_ADAPTER_READ_ONLY} : 0u);
}

PyObject *configure(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    return guarded([&] {
        const auto [typestr, shape, strides, itemsize, read_only, stream, force] =
            of_configure.read(args, nargs, kwnames);
        reconfigure(self, {typestr, shape, strides, itemsize, read_only, stream, force});
        return Py_NewRef(self);
    });
}

// ---------------------------------------------------------------- exports

PyObject *dlpack(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    return guarded([&] {
        const Reference array = checked(wrap(array_from(self)));
        return dlpack_export(array.get(), args, nargs, kwnames);
    });
}

PyObject *dlpack_device_of(PyObject *self, PyObject *) {
    return guarded([&] {
        const Reference array = checked(wrap(array_from(self)));
        return dlpack_device(array.get(), nullptr);
    });
}

// Empty if no Array was ever made from it; then Entrepot has no pending work on the memory.
Memory known_memory_of(PyObject *self) {
    PyObject *const root = root_of(self);
    const Exclusive exclusive(root);
    return description_of(root).memory;
}

void check_not_host(PyObject *self) {
    const Memory memory = known_memory_of(self);
    if (!memory || !is_host(memory))
        return;
    PyErr_Format(
        PyExc_AttributeError,
        "%s: this DeviceArray is memory of the host; entrepot.asarray(array) hands that on",
        cai_attribute);
    throw PythonError{};
}

// NumPy calls this after the buffer protocol and the array interface have refused. If it failed
// without raising, NumPy would create an object array with this DeviceArray as its only element.
PyObject *numpy_asks_for(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                         PyObject *kwnames) {
    return guarded([&] {
        const Array array = array_from(self);
        if (!array.is_host_accessible())
            throw Error(ErrorKind::exchange, "NumPy: this DeviceArray is ", array.kind(),
                        " memory of ", array.device(),
                        ", which the host cannot reach; copy it with "
                        "entrepot.asarray(array).copy_to_host(), or with hipMemcpy");
        const Reference wrapped = checked(wrap(Array(array)));
        return numpy_asks(wrapped.get(), args, nargs, kwnames);
    });
}

PyObject *get_cai(PyObject *self, void *) {
    return guarded([&] {
        check_not_freed(self);
        check_not_host(self);
        synchronize_address_for_host(self);
        const Array elements = elements_of(self);
        Reference dict =
            interface_dict_of(elements, elements.itemsize(), cai::version, cai_attribute);
        const std::optional<std::uintptr_t> stream = description_of(self).stream;
        set_entry(dict, Key::stream,
                  stream ? Reference(PyLong_FromSize_t(*stream)) : Reference::borrow(Py_None));
        return dict.release();
    });
}

// ---------------------------------------------------------------- attributes

template <auto get> PyObject *getter(PyObject *self, void *) {
    return guarded([&] { return get(elements_of(self)); });
}

PyObject *shape_of(const Array &a) { return tuple_of(a.shape()).release(); }
PyObject *strides_of(const Array &a) { return tuple_of(a.strides(), a.itemsize()).release(); }
PyObject *rank_of(const Array &a) { return PyLong_FromSize_t(a.ndim()); }
PyObject *size_of(const Array &a) { return PyLong_FromLongLong(a.size()); }
PyObject *itemsize_of(const Array &a) { return PyLong_FromLongLong(a.itemsize()); }
std::string typestr_or_name(Dtype dtype) {
    const std::optional<std::string_view> typestr = typestr_of(dtype);
    return typestr ? std::string(*typestr) : name_of(dtype);
}
PyObject *typestr_of_array(const Array &a) {
    return PyUnicode_FromString(typestr_or_name(a.dtype()).c_str());
}

PyObject *get_stream(PyObject *self, void *) {
    const Exclusive exclusive(self);
    const std::optional<std::uintptr_t> stream = description_of(self).stream;
    return stream ? PyLong_FromSize_t(*stream) : Py_NewRef(Py_None);
}

PyObject *get_is_freed(PyObject *self, void *) {
    return PyBool_FromLong((pointer_of(root_of(self))->flags & ENTREPOT_ADAPTER_FREED) != 0);
}

}  // namespace

Dtype dtype_from_words(std::string_view text) {
    if (!text.empty() && std::string_view("<>=|").find(text[0]) != std::string_view::npos)
        return dtype_from_typestr(text);
    if (const std::optional<Dtype> named = dtype_from_name(text))
        return *named;
    if (const std::optional<Dtype> found = dtype_from_character(text))
        return *found;
    if (const std::optional<Dtype> found = dtype_from_kind_and_size(text))
        return *found;
    throw Error(ErrorKind::value, "'", text, "' names no type; '<f4', 'float32' and 'f' do");
}

const Protocol device_array_protocol{"entrepot.adapters", nullptr, is_ours, read};

PyMethodDef device_array_methods[] = {
    {"configure", with_keywords(configure), METH_FASTCALL | METH_KEYWORDS,
     "configure($self, /, *, typestr=..., shape=..., strides=..., itemsize=..., read_only=..., "
     "stream=..., _force=False)\n--\n\n"
     "Describe the elements at the address.\n\n"
     "Arguments that are left out keep their values. The number of bytes must not change,\n"
     "unless ``_force=True``. A call that raises has changed nothing.\n\n"
     "Parameters\n"
     "----------\n"
     "typestr : str, optional\n"
     "    The type of an element: the array interface's type string or NumPy's name of a type\n"
     "    (``'<f4'``, ``'float32'``).\n"
     "shape : int or sequence of int, optional\n"
     "    The extent of each axis, in elements. Without ``strides`` the elements are\n"
     "    C-contiguous.\n"
     "strides : sequence of int or None, optional\n"
     "    The distance between neighbors along each axis, in bytes. None is C-contiguous.\n"
     "itemsize : int, optional\n"
     "    The bytes of an element. It may be left out if there is a typestr. Without a\n"
     "    typestr, another size than the present one selects an unsigned integer of that size.\n"
     "read_only : bool, optional\n"
     "    True if the memory must not be written.\n"
     "stream : int or None, optional\n"
     "    The stream that consumers synchronize with: 1 is the legacy default stream, 2 the\n"
     "    thread's. None if there is no work to wait for.\n"
     "_force : bool, optional\n"
     "    True if the number of bytes may change. The default is False.\n\n"
     "Returns\n"
     "-------\n"
     "DeviceArray\n"
     "    The array itself.\n\n"
     "Raises\n"
     "------\n"
     "TypeError\n"
     "    If an argument has the wrong type.\n"
     "ValueError\n"
     "    If arguments contradict each other or the size of the memory, if ``stream`` is 0, or\n"
     "    if the array has been freed.\n"
     "OverflowError\n"
     "    If ``stream`` is negative, or has more than 64 bits.\n\n"
     "Examples\n"
     "--------\n"
     ">>> from entrepot.adapters import DeviceArray\n"
     ">>> array = DeviceArray(bytearray(240))\n"
     ">>> array.configure(typestr=\"float32\", shape=(3, 20)).strides\n"
     "(80, 4)"},
    {"__dlpack__", with_keywords(dlpack), METH_FASTCALL | METH_KEYWORDS,
     "__dlpack__($self, /, *, stream=None, max_version=None, dl_device=None, copy=None)\n--\n\n"
     "A DLPack capsule of the same memory, like that of entrepot.Array.\n\n"
     "Raises BufferError (ExchangeError) with the reason if the memory cannot be exported."},
    {"__dlpack_device__", dlpack_device_of, METH_NOARGS,
     "__dlpack_device__($self, /)\n--\n\n"
     "Device type and device id, in DLPack's numbering."},
    {"__array__", with_keywords(numpy_asks_for), METH_FASTCALL | METH_KEYWORDS,
     "__array__($self, dtype=None, copy=None)\n--\n\n"
     "A numpy.ndarray of the same memory.\n\n"
     "Raises ExchangeError for memory that the host cannot access."},
    {},
};

PyGetSetDef device_array_attributes[] = {
    {"shape", getter<shape_of>, nullptr,
     "Extent of each axis, in elements; (0,) if the shape is unknown.", nullptr},
    {"strides", getter<strides_of>, nullptr,
     "Distance between neighbors along each axis, in bytes.", nullptr},
    {"typestr", getter<typestr_of_array>, nullptr,
     "The type of an element, as a type string of the array interface.", nullptr},
    {"size", getter<size_of>, nullptr, "Number of elements.", nullptr},
    {"itemsize", getter<itemsize_of>, nullptr, "Bytes of an element.", nullptr},
    {"rank", getter<rank_of>, nullptr, "Number of axes.", nullptr},
    {"stream_as_int", get_stream, nullptr, "The stream that consumers synchronize with, or None.",
     nullptr},
    {"is_freed", get_is_freed, nullptr,
     "True if the memory has been freed; every later use is refused.", nullptr},
    {"__cuda_array_interface__", get_cai, nullptr,
     "The CUDA array interface, version 3, in a new dict.\n\n"
     "Raises AttributeError for host memory.",
     nullptr},
    {},
};

void fill_device_array(PyObject *self, const AdapterRow &, PyObject *source) {
    if (is_device_array(source))
        return fill_from_device_array(self, source);
    Target target;
    if (find_plain(source, target))
        return describe(self, std::move(target), {});
    if (is_array(source))
        return fill_from_array(self, array_of(source));
    if (fill_from_cai(self, source) || fill_from_buffer(self, source))
        return;
    if (find_void_pointer(source, target))
        return describe(self, std::move(target), {});
    fill_from_array(self, array_for(source));
}

PyObject *device_array_repr(PyObject *self) {
    return guarded([&] {
        const Array elements = elements_of(self);
        const Reference shape = tuple_of(elements.shape());
        return PyUnicode_FromFormat(
            "<%s %s shape=%R typestr='%s'%s%s>", _PyType_Name(Py_TYPE(self)), HexText(self).text,
            shape.get(), typestr_or_name(elements.dtype()).c_str(),
            elements.read_only() ? " read-only" : "",
            pointer_of(root_of(self))->flags & ENTREPOT_ADAPTER_FREED ? " freed" : "");
    });
}

Py_ssize_t device_array_length(PyObject *self) {
    const Array elements = elements_of(self);
    if (elements.ndim() == 0) {
        PyErr_SetString(PyExc_TypeError, "len() of a DeviceArray without axes");
        return -1;
    }
    return elements.shape()[0];
}

PyObject *device_array_subscript(PyObject *self, PyObject *index) {
    return guarded([&] {
        check_not_freed(self);
        const Array part = selected(elements_of(self), index);
        Reference result = blank(device_array_type);
        describe(result.get(), {part.data(), depend_on(root_of(self)), -1, part.read_only()},
                 {part.dtype(),
                  part.layout(),
                  description_of(self).is_known,
                  {},
                  description_of(self).stream});
        return result.release();
    });
}

void construct_description(PyObject *self) {
    new (reinterpret_cast<entrepot_device_array *>(self)->description) Description;
}

void destroy_description(PyObject *self) noexcept { description_of(self).~Description(); }

int traverse_description(PyObject *self, visitproc visit, void *arg) {
    const Memory &memory = description_of(self).memory;
    // A shared Memory is not visited: each of its users would report its owner's one reference.
    if (memory && !memory.is_shared())
        Py_VISIT(kept_object(memory.owner()));
    return 0;
}

void clear_description(PyObject *self) noexcept { description_of(self).memory = Memory(); }

void synchronize_address_for_host(PyObject *self) {
    const Memory memory = known_memory_of(self);
    if (!memory)
        return;
    memory.mark_escaped();
    const Access access = is_read_only(self) ? Access::read : Access::write;
    if (!memory.is_ready_for_host(access))
        memory.wait_for_host(access);
}

bool has_known_memory(PyObject *self) noexcept {
    const Exclusive exclusive(self);
    return static_cast<bool>(description_of(self).memory);
}

void check_contiguous(PyObject *adapter) {
    if (!is_device_array(adapter)) [[likely]]
        return;
    const Exclusive exclusive(adapter);
    check_contiguous(description_of(adapter).layout,
                     ": entrepot.asarray(array).to(); int(array) is the address of its first "
                     "element, where that is meant");
}

Py_ssize_t bytes_of_device_array(PyObject *self) {
    const Exclusive exclusive(self);
    const Description &description = description_of(self);
    const bool is_one_piece = description.is_known && description.layout.is_c_contiguous();
    return is_one_piece ? description.layout.nbytes(description.dtype.itemsize()) : -1;
}

PyObject *root_of(PyObject *adapter) noexcept {
    PyObject *root = nullptr;
    for (PyObject *each = adapter; each; each = depended_on(*pointer_of(each)))
        if (is_device_array(each))
            root = each;
    return root;
}

Reference device_array(void *address, std::size_t bytes) {
    const auto extent = static_cast<std::int64_t>(bytes);
    Reference self = blank(device_array_type);
    describe(self.get(), {address, Owner(), -1, false},
             {dtypes::uint8, Layout(Extents(&extent, 1)), true, {}, {}});
    return self;
}

void mark_freed(PyObject *object) noexcept {
    PyObject *const root = is_adapter(object) ? root_of(object) : nullptr;
    if (!root)
        return;
    const Exclusive exclusive(root);
    pointer_of(root)->flags |= ENTREPOT_ADAPTER_FREED;
    description_of(root).memory = Memory();
}

}  // namespace entrepot::python
