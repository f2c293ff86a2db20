#include "arguments.hpp"

#include "language.hpp"
#include "struct_layout.hpp"

#include "../array/create.hpp"
#include "../array/scalar.hpp"
#include "../array_object/array_object.hpp"
#include "../core/dtype.hpp"
#include "../device/convert.hpp"
#include "../exchange/fast_import.hpp"
#include "../exchange/routes.hpp"
#include "../support/errors.hpp"
#include "../support/foreign_error.hpp"
#include "../support/gil.hpp"
#include "../support/interned.hpp"
#include "../support/nb_cast.hpp"
#include "../support/reference.hpp"

#include <array/reach.hpp>
#include <entrepot/array/copy.hpp>
#include <entrepot/memory/operation.hpp>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <string_view>
#include <utility>

namespace entrepot::python {
namespace {

using kernel::Argument;

struct KindRow {
    std::string_view name;
    Argument::Kind kind;
};
constexpr KindRow kinds[] = {{"array", Argument::Kind::array},
                             {"scalar", Argument::Kind::scalar},
                             {"local", Argument::Kind::local}};

// Argument type of a Python number; nullopt for other objects. NumPy scalars are excluded, although
// some of them derive from float.
std::optional<Dtype> dtype_of_number(PyObject *object) {
    if (PyLong_CheckExact(object))
        return dtypes::int64;
    if (PyFloat_CheckExact(object))
        return dtypes::float64;
    if (PyBool_Check(object))
        return dtypes::boolean;
    if (PyComplex_CheckExact(object))
        return dtypes::complex128;
    return std::nullopt;
}

// Argument type of an instance of a class derived from Python's numbers, such as an enumeration.
std::optional<Dtype> dtype_of_derived(PyObject *object) {
    if (PyLong_Check(object))
        return dtypes::int64;
    if (PyFloat_Check(object))
        return dtypes::float64;
    return PyComplex_Check(object) ? std::optional(dtypes::complex128) : std::nullopt;
}

template <class T> T value_in(const Scalar &scalar) {
    T value;
    std::memcpy(&value, scalar.bytes.data(), sizeof value);
    return value;
}

template <class T> Scalar scalar_of(const T &value) {
    Scalar scalar;
    std::memcpy(scalar.bytes.data(), &value, sizeof value);
    scalar.size = sizeof value;
    return scalar;
}

// Converts a number for devices without float64.
Argument narrowed(const Argument &wide) {
    if (wide.dtype == dtypes::float64)
        return Argument(dtypes::float32,
                        scalar_of(static_cast<float>(value_in<double>(wide.scalar))));
    const auto parts = value_in<std::array<double, 2>>(wide.scalar);
    return Argument(dtypes::complex64, scalar_of(std::array{static_cast<float>(parts[0]),
                                                            static_cast<float>(parts[1])}));
}

bool fits(const DeclaredParameter &declared, const Array &array) {
    return declared.kind == Argument::Kind::array && declared.dtype == array.dtype() &&
           declared.ndim == array.ndim() &&
           (!declared.contiguous || array.layout().is_c_contiguous());
}

// True if the two have the same elements in the same order.
bool is_same(const Array &one, const Array &other) {
    return one.data() == other.data() && one.layout() == other.layout() &&
           one.dtype() == other.dtype();
}

// True if the array spans fewer bytes than its elements would need separately, as broadcast arrays
// do.
bool repeats_elements(const Array &array) {
    return array.layout().byte_range(array.itemsize()).size() / array.itemsize() < array.size();
}

PyTypeObject *struct_array_type() {
    return reinterpret_cast<PyTypeObject *>(language().struct_array);
}

const Interned dtype_name = "dtype";

// Class of NumPy's structured dtypes, once a launch has had one; nullptr before.
std::atomic<PyTypeObject *> struct_dtype_type{nullptr};

Reference dtype_attribute(PyObject *object) {
    Reference dtype(PyObject_GetAttr(object, dtype_name));
    PyErr_Clear();
    return dtype;
}

// Records the class of the dtype of an array that has fields.
void learn_struct_dtype(PyObject *object) {
    if (const Reference dtype = dtype_attribute(object))
        struct_dtype_type.store(Py_TYPE(dtype.get()), std::memory_order_relaxed);
}

// True if the array probably has fields. An import that fails is much slower.
bool has_struct_dtype(PyObject *object) {
    PyTypeObject *const known = struct_dtype_type.load(std::memory_order_relaxed);
    if (!known) [[likely]]
        return false;
    const Reference dtype = dtype_attribute(object);
    return dtype && Py_IS_TYPE(dtype.get(), known);
}

// True for an instance of StructArray and for NumPy's records. Other arrays of structs are found
// when their import fails.
bool may_be_struct(PyObject *object) {
    return Py_IS_TYPE(object, struct_array_type()) ||
           std::string_view(Py_TYPE(object)->tp_name) == "numpy.void";
}

std::string text_of(const Array &array) {
    return text_of(
        Signature{{Argument::Kind::array, array.dtype(), static_cast<std::uint32_t>(array.ndim()),
                   array.layout().is_c_contiguous()}});
}

}  // namespace

// ------------------------------------------------------------------ signatures

Signature signature_from(PyObject *entries) {
    Signature signature;
    if (!PyTuple_Check(entries))
        throw Error(ErrorKind::type, "a signature is a tuple of parameters, not ", shown(entries));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(entries); ++i) {
        const char *kind = nullptr;
        PyObject *dtype = nullptr;
        unsigned int ndim = 0;
        int contiguous = 0;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(entries, i), "sOIp", &kind, &dtype, &ndim,
                              &contiguous))
            throw PythonError{};
        const auto *const row = std::ranges::find(kinds, std::string_view(kind), &KindRow::name);
        if (row == std::end(kinds))
            throw Error(ErrorKind::value, "a parameter is 'array', 'scalar' or 'local', not '",
                        kind, "'");
        signature.push_back({row->kind, dtype_from(dtype), ndim, contiguous != 0});
    }
    return signature;
}

std::string text_of(const Signature &signature) {
    std::string text;
    for (const DeclaredParameter &each : signature) {
        text += (text.empty() ? "" : ", ") + name_of(each.dtype);
        if (each.kind == Argument::Kind::scalar)
            continue;
        text += "[";
        for (std::uint32_t axis = 0; axis < each.ndim; ++axis)
            text += axis == 0 ? ":" : ", :";
        text += each.contiguous && each.ndim != 0 ? ":1]" : "]";
        if (each.kind == Argument::Kind::local)
            text += " in local memory";
    }
    return text;
}

std::vector<Argument> arguments_of(const Signature &signature) {
    std::vector<Argument> arguments;
    for (const DeclaredParameter &each : signature) {
        Argument argument(each.dtype, Scalar());
        argument.kind = each.kind;
        argument.ndim = each.ndim;
        argument.declared_contiguous = each.contiguous || each.kind == Argument::Kind::local;
        argument.no_alias = each.kind != Argument::Kind::scalar;
        arguments.push_back(argument);
    }
    return arguments;
}

std::vector<kernel::ArgumentType> types_of(const Signature &signature) {
    std::vector<kernel::ArgumentType> types;
    for (const Argument &argument : arguments_of(signature))
        types.push_back(argument.type());
    return types;
}

// -------------------------------------------------------------------- arguments

inline void CallArguments::add_array(const Array &array) {
    if (array.dtype().lanes != 1 && kernel::lanes_are_named(array.dtype().lanes)) [[unlikely]]
        return add_fields(array, kernel::vector_type(array.dtype()));
    const kernel::Argument &argument = all_.emplace_back(array);
    if (first_on_device_ && array.device() == first_on_device_->array->device()) [[likely]]
        return;
    if (array.device().backend().is_host())
        has_host_memory_ = true;
    else if (!first_on_device_)
        first_on_device_ = &argument;
    else
        has_other_devices_ = true;
}

[[gnu::hot]] CallArguments::CallArguments(std::span<PyObject *const> given,
                                          const kernel::syntax::Function &function,
                                          std::span<const Signature> signatures)
    : function_(&function), all_(given.size()) {
    ENTREPOT_ASSERT(holds_gil());
    if (given.size() != function.parameters.size()) [[unlikely]] {
        std::string names;
        for (const kernel::syntax::Parameter &parameter : function.parameters)
            names += (names.empty() ? " (" : ", ") + parameter.name;
        throw Error(ErrorKind::type, "kernel '", function.name, "' takes ",
                    counted(function.parameters.size(), "argument"), names,
                    names.empty() ? "" : ")", ", and ", given.size(), " were given");
    }
    const Signature *const signature = matching_signature(given, signatures);
    for (std::size_t i = 0; i < given.size(); ++i) {
        parameter_ = i;
        if (!signature && is_array(given[i])) [[likely]]
            add_array(array_of(given[i]));
        else
            add(given[i], signature ? &(*signature)[i] : nullptr);
    }
}

// Each array is released immediately, like one that a caller drops: a launch holds references to
// the memory that it needs.
[[gnu::hot]] CallArguments::~CallArguments() {
    ENTREPOT_ASSERT(holds_gil());
    for (Array &array : imported_)
        fast_import::release(std::move(array).take_memory());
}

// The first signature that matches the arrays of the call. If none matches, the first one, whose
// mismatch is then reported.
const Signature *CallArguments::matching_signature(std::span<PyObject *const> given,
                                                   std::span<const Signature> signatures) const {
    if (signatures.empty()) [[likely]]
        return nullptr;
    for (const Signature &signature : signatures) {
        bool fit = signature.size() == given.size();
        for (std::size_t i = 0; fit && i < given.size(); ++i) {
            if (is_array(given[i]))
                fit = fits(signature[i], array_of(given[i]));
            else if (try_cast<LocalAccessor>(given[i]))
                fit = signature[i].kind == Argument::Kind::local;
            else if (signature[i].kind == Argument::Kind::array && signatures.size() > 1)
                fit = !dtype_of_number(given[i]) && fits(signature[i], imported(given[i], i));
        }
        if (fit)
            return &signature;
    }
    if (signatures.front().size() != given.size())
        throw Error(ErrorKind::type, "kernel '", function_->name, "' has the signature (",
                    text_of(signatures.front()), "), and ", given.size(), " arguments were given");
    return &signatures.front();
}

std::string CallArguments::argument_name(std::size_t position) const {
    return sentence_of("kernel '", function_->name, "': argument ", position, " (",
                       function_->parameters[position].name, ")");
}

void CallArguments::refuse(PyObject *object, const DeclaredParameter &declared) const {
    throw Error(ErrorKind::type, argument_name(parameter_), " is ",
                is_array(object) ? text_of(array_of(object))
                                 : sentence_of("a ", Py_TYPE(object)->tp_name),
                ", and the signature says ", text_of(Signature{declared}));
}

void CallArguments::add(PyObject *object, const DeclaredParameter *declared) {
    if (is_array(object)) {
        if (declared && !fits(*declared, array_of(object))) [[unlikely]]
            refuse(object, *declared);
        add_array(array_of(object));
        return;
    }
    if (!declared && is_array_type(Py_TYPE(object))) [[likely]]
        return add_imported(object, nullptr);
    if (declared && declared->kind == Argument::Kind::scalar) {
        add_declared(object, declared->dtype);
        return;
    }
    if (const std::optional<Dtype> dtype = dtype_of_number(object)) {
        if (declared)
            refuse(object, *declared);
        add_number(object, *dtype);
    } else if (const auto *const local = try_cast<LocalAccessor>(object)) {
        if (declared &&
            (declared->kind != Argument::Kind::local || declared->dtype != local->dtype))
            refuse(object, *declared);
        add_local(*local);
    } else if (may_be_struct(object) && add_split(object, declared)) {
        return;
    } else if (const std::optional<TypedScalar> typed = typed_scalar_from(object)) {
        if (declared)
            refuse(object, *declared);
        all_.emplace_back(typed->dtype, typed->scalar);
    } else if (const std::optional<Dtype> of_base = dtype_of_derived(object);
               of_base && !declared) {
        add_number(object, *of_base);
    } else {
        refuse_local_memory(object);
        add_imported(object, declared);
    }
}

void CallArguments::refuse_local_memory(PyObject *object) const {
    if (try_cast<LocalMemory>(object))
        throw Error(ErrorKind::type, argument_name(parameter_),
                    " is an entrepot.LocalMemory, which does not know its elements' type: give "
                    "entrepot.kernel.LocalAccessor(shape, "
                    "dtype)");
}

// Converts a number to the type in the signature.
void CallArguments::add_declared(PyObject *object, Dtype dtype) {
    const std::optional<TypedScalar> typed =
        dtype_of_number(object) ? std::nullopt : typed_scalar_from(object);
    try {
        all_.emplace_back(dtype, typed && typed->dtype == dtype ? typed->scalar
                                                                : scalar_from(object, dtype));
    } catch (const Error &error) {
        throw Error(error.kind(), argument_name(parameter_), ", which the signature says is ",
                    dtype, ": ", error.what());
    }
}

void CallArguments::add_number(PyObject *object, Dtype dtype) {
    int overflow = 0;
    if (dtype == dtypes::int64)
        PyLong_AsLongLongAndOverflow(object, &overflow);
    if (overflow != 0)
        throw Error(ErrorKind::overflow, argument_name(parameter_),
                    " is an integer that does not fit int64; entrepot.Scalar(value, 'uint64') is "
                    "one of another type");
    has_floats_ |= dtype == dtypes::float64 || dtype == dtypes::complex128;
    all_.emplace_back(dtype, scalar_from(object, dtype));
}

void CallArguments::refuse_sequence(PyObject *object, std::size_t position) const {
    if (!PyList_Check(object) && !PyTuple_Check(object))
        return;
    throw Error(ErrorKind::type, argument_name(position), " is a ", Py_TYPE(object)->tp_name,
                ", and a kernel takes arrays and numbers: make an array of it, as in numpy.array(",
                function_->parameters[position].name, ", 'float32')");
}

// Imports the object; errors name the argument.
Array CallArguments::imported(PyObject *object, std::size_t position) const {
    refuse_sequence(object, position);
    try {
        return import_array(object, for_an_operand);
    } catch (const Error &error) {
        throw Error(error.kind(), argument_name(position), ": ", error.what());
    }
}

// Adds the numbers of a struct, or the arrays of the fields of an array of structs.
// Returns: false if the object has no fields.
bool CallArguments::add_split(PyObject *object, const DeclaredParameter *declared) {
    const Reference split = checked(PyObject_CallOneArg(language().split_struct, object));
    if (split.get() == Py_None)
        return false;
    if (PyUnicode_Check(split.get()))
        throw Error(ErrorKind::kernel, argument_name(parameter_), ": ",
                    PyUnicode_AsUTF8(split.get()));
    if (declared)
        throw Error(ErrorKind::type, argument_name(parameter_),
                    " is a struct, which signatures do not name: leave the signature out");
    kernel::StructTypePtr type = struct_type_of(PyTuple_GET_ITEM(split.get(), 0));
    PyObject *const parts = PyTuple_GET_ITEM(split.get(), 1);
    if (!is_array(parts)) {
        add_numbers_of(parts, std::move(type));
        return true;
    }
    watched_ |= python::is_watched(array_of(parts)) && !Py_IS_TYPE(object, struct_array_type());
    add_fields(array_of(parts), std::move(type));
    return true;
}

// `whole`: an array of vectors, or the bytes of an array of structs.
void CallArguments::add_fields(const Array &whole, kernel::StructTypePtr type) {
    const StructElements elements(whole, *type);
    const kernel::StructForm form =
        elements.is_contiguous() ? kernel::StructForm::contiguous : kernel::StructForm::array;
    structs_.resize(function_->parameters.size());
    structs_[parameter_] = {form, type};
    const std::uint32_t id =
        whole.layout().may_overlap_itself() ? 0 : static_cast<std::uint32_t>(parameter_ + 1);
    try {
        kernel::for_each_number(*type, [&](const std::string &, const auto &field) {
            fields_.push_back(std::make_unique<Array>(elements.field(field)));
            add_array(*fields_.back());
            all_.data()[all_.size() - 1].struct_id = id;
        });
    } catch (const Error &error) {
        throw Error(ErrorKind::kernel, argument_name(parameter_), ": ", error.what());
    }
}

// Local memory of structs is one array for each number.
void CallArguments::add_local(const LocalAccessor &local) {
    if (!local.type) {
        all_.emplace_back(Argument::local(local.dtype, local.shape));
        return;
    }
    structs_.resize(function_->parameters.size());
    structs_[parameter_] = {kernel::StructForm::array, local.type};
    kernel::for_each_number(*local.type, [&](const std::string &, const auto &field) {
        std::vector<std::int64_t> shape = local.shape;
        shape.insert(shape.end(), field.extents.begin(), field.extents.end());
        all_.emplace_back(Argument::local(field.dtype, shape));
    });
}

void CallArguments::add_numbers_of(PyObject *numbers, kernel::StructTypePtr type) {
    structs_.resize(function_->parameters.size());
    structs_[parameter_] = {kernel::StructForm::value, std::move(type)};
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(numbers); ++i) {
        const std::optional<TypedScalar> typed = typed_scalar_from(PyTuple_GET_ITEM(numbers, i));
        ENTREPOT_ASSERT(typed);
        all_.emplace_back(typed->dtype, typed->scalar);
    }
}

void CallArguments::add_imported(PyObject *object, const DeclaredParameter *declared) {
    if (imported_.size() == 0)
        imported_.reserve(function_->parameters.size());
    if (has_struct_dtype(object) && add_split(object, declared)) [[unlikely]]
        return;
    std::optional<Array> found;
    try {
        found = imported(object, parameter_);
    } catch (const Error &) {
        if (!add_split(object, declared))
            throw;
        learn_struct_dtype(object);
        return;
    }
    const Array &array = imported_.emplace_back(*std::move(found));
    if (declared && !fits(*declared, array))
        throw Error(ErrorKind::type, argument_name(parameter_), " is ", text_of(array),
                    ", and the signature says ", text_of(Signature{*declared}));
    watched_ |= python::is_watched(array);
    add_array(array);
}

// ----------------------------------------------------------------------- device

[[gnu::hot]] Queue CallArguments::queue() const {
    if (has_host_memory_ || has_other_devices_)
        require_one_context();
    return first_on_device_ ? first_on_device_->array->queue() : registry::current_queue();
}

void CallArguments::require_one_context() const {
    if (!first_on_device_)
        return;
    const Array &first = *first_on_device_->array;
    const auto is_elsewhere = [&](const Argument &each) {
        return each.kind == Argument::Kind::array && !each.array->device().backend().is_host() &&
               (each.array->device() != first.device() || each.array->context() != first.context());
    };
    const Argument *const elsewhere = std::ranges::find_if(all_, is_elsewhere);
    if (elsewhere == all_.end()) [[likely]]
        return;
    const auto shown = [&](const Argument &each) {
        const auto position = static_cast<std::size_t>(&each - all_.data());
        return sentence_of("argument ", position, " (", function_->parameters[position].name,
                           ") is in ", each.array->context(), " on ", each.array->device());
    };
    throw Error(ErrorKind::kernel, "launch of '", function_->name, "': ", shown(*first_on_device_),
                ", and ", shown(*elsewhere),
                ": compute follows data, so all arrays have to be on one device; move one with "
                ".to(device), or name the queue with "
                "queue=");
}

[[gnu::hot]] void CallArguments::allocate_copies(const Queue &queue) {
    if (has_floats_ && !queue.device().has(EP_FP64)) [[unlikely]]
        for (Argument &argument : all_)
            if (argument.kind == Argument::Kind::scalar &&
                (argument.dtype == dtypes::float64 || argument.dtype == dtypes::complex128))
                argument = narrowed(argument);
    if (!has_host_memory_) [[likely]]
        return;
    for (std::size_t i = 0; i < all_.size(); ++i) {
        const Argument &argument = all_[i];
        if (argument.kind == Argument::Kind::array &&
            argument.array->device().backend().is_host() && argument.array->size() != 0 &&
            !reaches(queue, *argument.array)) [[unlikely]]
            copies_.push_back({i, argument.array, nullptr});
    }
    for (Copy &copy : copies_) {
        if (copy.on_device)
            continue;
        const std::vector<Copy *> together = overlapping(copy);
        const bool is_one_array = std::ranges::all_of(
            together, [&](const Copy *each) { return is_same(*each->host, *copy.host); });
        if (is_one_array && !repeats_elements(*copy.host))
            allocate_one(together, queue);
        else
            allocate_overlapping(together, queue);
    }
    for (const Copy &copy : copies_) {
        Argument &argument = all_[copy.position];
        const bool read_only = argument.read_only;
        argument = Argument(*copy.on_device);
        argument.read_only = read_only;
    }
}

// The copies that share elements with `first`, directly or through others; `first` comes first.
std::vector<CallArguments::Copy *> CallArguments::overlapping(Copy &first) {
    std::vector<Copy *> found{&first};
    for (std::size_t i = 0; i < found.size(); ++i)
        for (Copy &other : copies_)
            if (may_overlap(*found[i]->host, *other.host) &&
                std::ranges::find(found, &other) == found.end())
                found.push_back(&other);
    return found;
}

// Allocates one array, even if it was passed several times.
void CallArguments::allocate_one(std::span<Copy *const> copies, const Queue &queue) {
    const Array &host = *copies.front()->host;
    const Array on_device = without_gil(
        [&] { return Array::empty(host.shape(), host.dtype(), UsmKind::device, queue); });
    for (Copy *const each : copies)
        each->on_device = std::make_unique<Array>(on_device);
    transfers_.push_back({host, on_device});
}

// Allocates the bytes from the first to the last element, and makes views with the strides of the
// host arrays. Each element has the same offset from an aligned address as on the host.
void CallArguments::allocate_overlapping(std::span<Copy *const> copies, const Queue &queue) {
    constexpr std::uintptr_t alignment = 64;
    std::byte *begin = nullptr, *end = nullptr;
    for (const Copy *const each : copies) {
        const ByteRange range = each->host->layout().byte_range(each->host->itemsize());
        std::byte *const data = static_cast<std::byte *>(each->host->data());
        begin = begin ? std::min(begin, data + range.begin) : data + range.begin;
        end = std::max(end, data + range.end);
    }
    const std::int64_t shape[] = {end - begin};
    const auto skipped =
        static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(begin) % alignment);
    const std::int64_t room[] = {skipped + shape[0]};
    const Array block = without_gil(
        [&] { return Array::empty(room, dtypes::uint8, UsmKind::device, queue, alignment); });
    std::byte *const start = static_cast<std::byte *>(block.data()) + skipped;
    for (Copy *const each : copies) {
        const Array &host = *each->host;
        each->on_device = std::make_unique<Array>(
            block.memory(), start + (static_cast<std::byte *>(host.data()) - begin), host.dtype(),
            host.layout(), false, queue);
    }
    transfers_.push_back(
        {Array(copies.front()->host->memory(), begin, dtypes::uint8, Layout(shape)),
         Array(block.memory(), start, dtypes::uint8, Layout(shape), false, queue)});
}

void CallArguments::copy_to_device(const kernel::Compiled &compiled, const Queue &queue) const {
    ENTREPOT_ASSERT(!has_gil || !holds_gil());
    if (copies_.empty()) [[likely]]
        return;
    const auto is_untracked = [](const Copy &each) {
        return each.host->memory().is_borrowed() || each.host->memory().has_escaped();
    };
    for (const Copy &each : copies_)
        if (compiled.written[each.position] && each.host->layout().may_overlap_itself())
            throw Error(ErrorKind::kernel, "launch of '", function_->name, "': argument ",
                        each.position, " (", function_->parameters[each.position].name,
                        ") is written, several of its elements share one place in memory, and ",
                        queue.device(),
                        " cannot read host memory: copy it there with to_device() and give that");
    const bool is_captured = queue.capture() != 0;
    const bool waits = !is_captured && std::ranges::any_of(copies_, is_untracked);
    for (const Copy &each : copies_) {
        Operation(queue).wait_for_conflicts(Access::read, each.host->memory());
        if (is_captured) [[unlikely]]
            each.host->memory().keep_for_graph(queue);
    }
    if (waits)
        queue.wait();
    for (const Transfer &each : transfers_) {
        const Submitted done = copy(each.on_device, each.host, queue);
        if (waits)
            done.wait();
    }
}

[[gnu::hot]] void CallArguments::copy_back(const kernel::Compiled &compiled,
                                           const Queue &queue) const {
    for (std::size_t i = 0; i < copies_.size(); ++i) {
        const Copy &each = copies_[i];
        const auto is_back = [&](const Copy &other) {
            return compiled.written[other.position] && is_same(*other.host, *each.host);
        };
        if (compiled.written[each.position] &&
            std::none_of(copies_.begin(), copies_.begin() + i, is_back))
            copy(*each.host, *each.on_device, queue);
    }
}

}  // namespace entrepot::python
