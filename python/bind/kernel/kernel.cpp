#include "kernel.hpp"

#include "../array/create.hpp"
#include "../array/scalar.hpp"
#include "../array_object/array_object.hpp"
#include "../core/dtype.hpp"
#include "../device/convert.hpp"
#include "../init.hpp"
#include "../support/foreign_error.hpp"
#include "../support/gil.hpp"
#include "../support/guarded.hpp"
#include "../support/interned.hpp"
#include "../support/nb_cast.hpp"
#include "../support/parameters.hpp"
#include "../support/size_arg.hpp"
#include "ranges.hpp"
#include "struct_layout.hpp"

#include <kernel/compiler.hpp>
#include <kernel/frontend/functions.hpp>
#include <kernel/frontend/typed.hpp>

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <structmember.h>

#include <algorithm>
#include <cstdlib>
#include <new>
#include <optional>
#include <utility>

namespace nb = nanobind;

namespace entrepot::python {

PyTypeObject *python_kernel_type = nullptr;

// Limit on versions per kernel: a program whose captured values keep changing compiles each time,
// and only some versions are kept.
constexpr std::size_t max_versions = 64;

[[gnu::hot]] VersionPtr current_version(PythonKernel *kernel) {
    ENTREPOT_ASSERT(holds_gil());
    const Exclusive alone(reinterpret_cast<PyObject *>(kernel));
    std::vector<VersionPtr> &versions = kernel->versions;
    if (!versions.empty()) [[likely]]
        if (VersionPtr last = versions.back(); last->guards.hold()) [[likely]]
            return last;
    if (!kernel->function)  // tp_clear has run; other garbage may still launch
        throw Error(ErrorKind::kernel,
                    "the kernel is being garbage-collected and cannot be launched");
    Translated read = translate(kernel->function);
    const auto known = std::ranges::find(
        versions, read.captured, [](const VersionPtr &version) { return version->captured; });
    auto code = known != versions.end()
                    ? (*known)->code
                    : std::make_shared<Codes>(std::move(read.function), kernel->options);
    VersionPtr current(Version{std::move(read.guards), std::move(read.captured), std::move(code)});
    VersionPtr dropped;  // released once the list is consistent again
    if (known != versions.end() || versions.size() == max_versions) {
        const auto place = known != versions.end() ? known : versions.begin();
        dropped = std::move(*place);
        versions.erase(place);
    }
    versions.push_back(current);
    return current;
}

Codes::Newest Codes::newest() const noexcept {
    const kernel::Specializations *const code = newest_.load(std::memory_order_acquire);
    return code ? Newest{code->newest(), code->function()} : Newest{};
}

std::optional<kernel::ir::InferredType> Codes::known_type(const Variable &variable) const {
    const std::scoped_lock alone(mutex_);
    for (const auto &[known, type] : types_)
        if (known == variable)
            return type;
    return std::nullopt;
}

void Codes::remember_type(Variable variable, kernel::ir::InferredType type) {
    constexpr std::size_t max_types = 32;
    const std::scoped_lock alone(mutex_);
    if (types_.size() == max_types)
        types_.clear();
    types_.emplace_back(std::move(variable), std::move(type));
}

std::size_t Codes::size() const {
    const std::scoped_lock alone(mutex_);
    std::size_t count = plain_.size();
    for (const auto &each : split_)
        count += each->code.size();
    return count;
}

kernel::Specializations &Codes::of_structs(const std::vector<kernel::StructArgument> &structs) {
    const auto equal = [](const kernel::StructArgument &a, const kernel::StructArgument &b) {
        return kernel::same(a, b);
    };
    const std::scoped_lock alone(mutex_);
    for (const auto &each : split_)
        if (std::ranges::equal(each->structs, structs, equal))
            return each->code;
    split_.push_back(std::make_unique<Split>(
        structs, kernel::with_structs(*plain_.function(), structs), plain_.options()));
    return split_.back()->code;
}

const kernel::Specialization &specialization_for(const Version &version,
                                                 kernel::Specializations &code,
                                                 std::span<const kernel::Argument> arguments,
                                                 const ep_range &range, const Queue &queue) {
    const kernel::Key key(arguments, range.ndim, queue.device(), queue.context());
    if (const kernel::Specialization *made = code.find(key, range)) [[likely]]
        return *made;
    const ReleaseGil released;
    const kernel::Specialization &made =
        code.make(key, arguments, range, queue.device(), queue.context());
    version.code->set_newest(code);
    return made;
}

namespace {

PythonKernel *kernel_of(PyObject *self) { return reinterpret_cast<PythonKernel *>(self); }

const Interned simulated_name = "_simulated";

// ------------------------------------------------------------------------ life

std::optional<ep_dialect> dialect_arg(PyObject *name) {
    if (!name)
        return std::nullopt;
    if (!PyUnicode_Check(name))
        throw Error(ErrorKind::type, "dialect: one of ", names_of(kernel::kernel_dialects()),
                    " was expected, not ", shown(name));
    const char *const text = PyUnicode_AsUTF8(name);
    if (!text)
        throw PythonError{};
    return dialect_from(text, kernel::kernel_dialects());
}

// Throws: ValueError for a number that no GPU has.
std::uint32_t registers_arg(PyObject *number) {
    if (!number)
        return 0;
    const long count = PyLong_AsLong(number);
    if (count == -1 && PyErr_Occurred())
        throw PythonError{};
    if (count < 0 || count > 255)
        throw Error(ErrorKind::value, "max_registers: a work-item has up to 255 registers, not ",
                    count);
    return static_cast<std::uint32_t>(count);
}

std::vector<Signature> signatures_from(PyObject *tuple) {
    std::vector<Signature> signatures;
    for (Py_ssize_t i = 0; tuple && i < PyTuple_GET_SIZE(tuple); ++i)
        signatures.push_back(signature_from(PyTuple_GET_ITEM(tuple, i)));
    return signatures;
}

const Parameters of_new("PythonKernel", 1, 1,
                        {"function", "signatures", "debug", "fast_math", "dialect",
                         "max_registers"});

PyObject *create(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    return guarded([&] {
        const auto [function, signatures, debug, fast_math, dialect, max_registers] =
            of_new.read(args, kwargs);
        if (!PyFunction_Check(function))
            throw Error(ErrorKind::type, "a kernel is made of a Python function, not of a ",
                        Py_TYPE(function)->tp_name);
        const kernel::Options options{is_true(debug), is_true(fast_math),
                                      dialect_arg(unless_none(dialect)),
                                      registers_arg(unless_none(max_registers))};
        std::vector<Signature> given = signatures_from(unless_none(signatures));
        PyObject *const self = type->tp_alloc(type, 0);
        if (!self)
            throw PythonError{};
        PythonKernel *const made = kernel_of(self);
        made->function = Py_NewRef(function);
        made->options = options;
        new (&made->signatures) std::vector<Signature>(std::move(given));
        new (&made->versions) std::vector<VersionPtr>();
        return self;
    });
}

int traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(kernel_of(self)->function);
    for (const auto &version : kernel_of(self)->versions)
        if (const int stopped = version->guards.traverse(visit, arg))
            return stopped;
    return 0;
}

int clear(PyObject *self) {
    // Releasing the references may run Python code, which must see a kernel that no longer has
    // them.
    const std::vector<VersionPtr> versions = std::exchange(kernel_of(self)->versions, {});
    Py_CLEAR(kernel_of(self)->function);
    return 0;
}

void dealloc(PyObject *self) {
    PyObject_GC_UnTrack(self);
    PythonKernel *const kernel = kernel_of(self);
    PyTypeObject *const type = Py_TYPE(self);
    clear(self);
    kernel->versions.~vector();
    kernel->signatures.~vector();
    type->tp_free(self);
    Py_DECREF(type);
}

// --------------------------------------------------------------------- launching

bool is_simulated() {
    const char *const asked = std::getenv("ENTREPOT_SIMULATE");
    return asked && *asked && std::string_view(asked) != "0";
}

PyObject *subscript(PyObject *self, PyObject *index) {
    return guarded([&] {
        if (!is_simulated()) [[likely]]
            return launcher_for(self, index);
        const Reference simulated = checked(PyObject_GetAttr(self, simulated_name));
        return checked(PyObject_GetItem(simulated.get(), index)).release();
    });
}

// ------------------------------------------------------- inspection of compiled code

// Properties for which the code is compiled: those requested, or, without a signature, those of the
// last launch.
struct Request {
    std::shared_ptr<const kernel::syntax::Function> function;
    std::vector<kernel::ArgumentType> types;
    std::uint32_t dimensions = 1;
    kernel::LocalSize local_size{};
    bool coarsens = false;
    Device device;
    std::optional<ep_dialect> dialect;
};

std::uint32_t dimensions_from(PyObject *object) {
    if (!PyIndex_Check(object))
        throw Error(ErrorKind::type, "dimensions: an int from 1 to 3 was expected, not ",
                    shown(object));
    const long count = PyLong_AsLong(object);
    if (count == -1 && PyErr_Occurred())
        throw PythonError{};
    if (count < 1 || count > 3)
        throw Error(ErrorKind::value, "dimensions: a launch has 1 to 3, not ", count);
    return static_cast<std::uint32_t>(count);
}

// The given number of dimensions, which must suffice; else as many as the kernel queries.
std::uint32_t dimensions_for(const PythonKernel *kernel,
                             const std::shared_ptr<const kernel::syntax::Function> &function,
                             std::span<const kernel::ArgumentType> types, const Device &device,
                             ep_dialect dialect, PyObject *given) {
    const std::uint32_t least = without_gil([&] {
        return kernel::required_dimensions(function, types, device, dialect, kernel->options);
    });
    if (!unless_none(given))
        return least;
    const std::uint32_t dimensions = dimensions_from(given);
    if (dimensions < least)
        throw Error(
            ErrorKind::value, "dimensions: kernel '", function->name, "' asks about dimension ",
            least - 1, ", as get_global_id(", least - 1, ") does, and ", dimensions,
            " is too few for it: leave dimensions out, or give ", least, least == 2 ? " or 3" : "");
    return dimensions;
}

Request request_from(PythonKernel *kernel, const Version &version, PyObject *signature,
                     PyObject *dimensions, PyObject *device, PyObject *dialect, bool any_local) {
    Request request;
    request.dialect = dialect_arg(unless_none(dialect));
    request.device = unless_none(device) ? device_from(device) : registry::current_device();
    request.function = version.code->function();
    const auto [newest, newest_function] = version.code->newest();
    const bool is_of_launch = newest && !unless_none(signature);
    if (unless_none(signature)) {
        request.types = types_of(signature_from(signature));
    } else if (is_of_launch) {
        request.function = newest_function;
        request.types = newest->types;
        request.dimensions = newest->dimensions;
        request.local_size = newest->local_size;
        request.coarsens = newest->coarsens;
        if (!unless_none(device))
            request.device = newest->kernel.program().device();
    } else if (!kernel->signatures.empty()) {
        request.types = types_of(kernel->signatures.front());
    } else {
        throw Error(ErrorKind::kernel, "kernel '", version.code->function()->name,
                    "' has not been launched, and has no signature: give one, as in "
                    "\"void(float32[::1], int64)\"");
    }
    if (request.types.size() != request.function->parameters.size())
        throw Error(ErrorKind::type, "kernel '", request.function->name, "' has ",
                    request.function->parameters.size(), " parameters, and the signature ",
                    request.types.size());
    if (!request.dialect)
        request.dialect = kernel::dialect_for(request.device, kernel->options);
    if (any_local || unless_none(dimensions)) {
        request.local_size = {};
        request.coarsens = false;
    }
    if (!is_of_launch || unless_none(dimensions))
        request.dimensions = dimensions_for(kernel, request.function, request.types, request.device,
                                            *request.dialect, dimensions);
    return request;
}

nb::dict dict_of(const kernel::Compiled &compiled, const kernel::syntax::Function &function,
                 std::uint32_t dimensions) {
    nb::list parameters, written, names;
    for (const kernel::CompiledParameter &each : compiled.parameters)
        parameters.append(
            nb::make_tuple(kernel::CompiledParameter::names[static_cast<std::size_t>(each.what)],
                           each.argument, each.dimension, nb::steal(wrap_dtype(each.dtype))));
    for (const bool each : compiled.written)
        written.append(each);
    for (const kernel::syntax::Parameter &each : function.parameters)
        names.append(nb::str(each.name.c_str()));
    nb::dict made;
    made["source"] = nb::str(compiled.source.c_str(), compiled.source.size());
    made["name"] = nb::str(compiled.name.c_str());
    made["options"] = nb::str(compiled.options.c_str());
    made["arguments"] = nb::tuple(names);
    made["parameters"] = nb::tuple(parameters);
    made["written"] = nb::tuple(written);
    made["dimensions"] = dimensions;
    made["uses_groups"] = compiled.uses_groups;
    made["local_bytes"] = compiled.local_bytes;
    return made;
}

const Parameters of_translate("_translate", 4, 0,
                              {"dialect", "signature", "device", "dimensions", "any_local"});

PyObject *translated(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    return guarded([&] {
        const auto [dialect, signature, device, dimensions, any_local] =
            of_translate.read(args, nargs, kwnames);
        PythonKernel *const kernel = kernel_of(self);
        const VersionPtr version = current_version(kernel);
        const Request request = request_from(kernel, *version, signature, dimensions, device,
                                             dialect, is_true(any_local));
        const kernel::Compiled compiled = without_gil([&] {
            return kernel::translate(request.function, request.types, request.dimensions,
                                     request.device, *request.dialect, kernel->options,
                                     request.local_size, request.coarsens);
        });
        return dict_of(compiled, *request.function, request.dimensions).release().ptr();
    });
}

// Dtype of a number's variable; for a tuple, a tuple of these.
//
// Throws: TypeError for a tuple in a tuple.
nb::object stored_types(const kernel::ir::InferredType &type) {
    if (type.items.empty())
        return nb::steal(wrap_dtype(type.dtype));
    nb::list items;
    for (const kernel::ir::InferredType &item : type.items) {
        if (!item.items.empty())
            throw Error(ErrorKind::type, "the function returns a tuple in a tuple; return one "
                                         "tuple of numbers");
        items.append(nb::steal(wrap_dtype(item.dtype)));
    }
    return nb::tuple(items);
}

// Type of the variable in the kernel, compiled for the signature and the device; of a tuple, those
// of its items.
PyObject *type_of(PyObject *self, PyObject *const *args, Py_ssize_t nargs) {
    return guarded([&] {
        if (nargs != 3 || !PyUnicode_Check(args[0]) || !PyTuple_Check(args[1]))
            throw Error(ErrorKind::type,
                        "_type_of() takes a variable's name, a signature and a device");
        PythonKernel *const kernel = kernel_of(self);
        const VersionPtr version = current_version(kernel);
        const Codes::Variable variable{PyUnicode_AsUTF8(args[0]), types_of(signature_from(args[1])),
                                       device_from(args[2])};
        if (const auto known = version->code->known_type(variable))
            return stored_types(*known).release().ptr();
        const kernel::ir::Module module = without_gil([&] {
            const ep_dialect dialect = kernel::default_dialect(variable.device).value_or(EP_CPP);
            return kernel::lower(version->code->function(), variable.arguments,
                                 kernel::target_for(variable.device, dialect, 1, kernel->options));
        });
        const auto &names = module.kernel().names;
        const auto found = names.find(variable.name);
        if (found == names.end())
            throw Error(ErrorKind::type, "the function returns nothing");
        version->code->remember_type(variable, found->second);
        return stored_types(found->second).release().ptr();
    });
}

// Type for the simulator. NumPy types become a Dtype, and numbers made of literals only become
// Python's own classes. A tuple becomes a tuple of these, and an array None.
nb::object inferred_type_object(const kernel::ir::InferredType &type) {
    if (!type.items.empty()) {
        nb::list items;
        for (const kernel::ir::InferredType &item : type.items)
            items.append(inferred_type_object(item));
        return nb::tuple(items);
    }
    if (type.dtype.bits == 0)
        return nb::none();
    if (!type.is_weak)
        return nb::steal(wrap_dtype(type.dtype));
    PyTypeObject &python = type.dtype.code == TypeCode::boolean   ? PyBool_Type
                           : type.dtype.code == TypeCode::integer ? PyLong_Type
                           : type.dtype.code == TypeCode::complex ? PyComplex_Type
                                                                  : PyFloat_Type;
    return nb::borrow(reinterpret_cast<PyObject *>(&python));
}

// Returns ((file, first line, name), types of names, types of choices by position) for the kernel
// and its device functions. A function occurs once for each combination of argument types.
PyObject *types_for(PyObject *self, PyObject *arguments) {
    return guarded([&] {
        if (!PyTuple_Check(arguments))
            throw Error(ErrorKind::type, "_types() takes a tuple of arguments");
        PythonKernel *const kernel = kernel_of(self);
        const VersionPtr version = current_version(kernel);
        std::vector<PyObject *> objects;
        for (const nb::handle each : nb::borrow<nb::tuple>(arguments))
            objects.push_back(each.ptr());
        const CallArguments read(objects, *version->code->function(), kernel->signatures);
        std::vector<kernel::ArgumentType> types;
        for (const kernel::Argument &argument : read.all())
            types.push_back(argument.type());
        const kernel::ir::Module module = without_gil([&] {
            return kernel::typed(version->code->of(read.structs()).function(), types,
                                 kernel::target_for(registry::host(), EP_CPP, 3, kernel->options));
        });
        nb::list functions;
        for (const kernel::ir::Function &function : module.functions) {
            nb::dict names, choices;
            for (const auto &[name, type] : function.names)
                names[name.c_str()] = inferred_type_object(type);
            for (const auto &[at, type] : function.choices)
                choices[nb::make_tuple(at.line, at.column, at.end_line, at.end_column)] =
                    inferred_type_object(type);
            functions.append(
                nb::make_tuple(nb::make_tuple(function.source->file, function.source->first_line,
                                              function.source->name),
                               names, choices));
        }
        return functions.release().ptr();
    });
}

const Parameters of_specialize("_specialize", 2, 0, {"device", "dimensions"});

// Compiles for the signatures before the first launch.
PyObject *specialize(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    return guarded([&] {
        const auto [device, dimensions] = of_specialize.read(args, nargs, kwnames);
        PythonKernel *const kernel = kernel_of(self);
        const Queue queue = unless_none(device) ? queue_from(device) : registry::current_queue();
        const VersionPtr version = current_version(kernel);
        for (const Signature &signature : kernel->signatures) {
            if (signature.size() != version->code->function()->parameters.size())
                throw Error(ErrorKind::type, "kernel '", version->code->function()->name, "' has ",
                            version->code->function()->parameters.size(),
                            " parameters, and its signature (", text_of(signature), ") has ",
                            signature.size());
            const std::uint32_t count = dimensions_for(
                kernel, version->code->function(), types_of(signature), queue.device(),
                kernel::dialect_for(queue.device(), kernel->options), dimensions);
            specialization_for(*version, version->code->of({}), arguments_of(signature),
                               {count, {1, 1, 1}, {0, 0, 0}}, queue);
        }
        return Py_NewRef(Py_None);
    });
}

const Parameters of_resident("_max_resident_groups", 3, 2,
                             {"signature", "work_items", "local_memory"});

// Compiles for the signature, and asks how many groups of a cooperative launch run at once on the
// device of the current queue.
PyObject *max_resident_groups(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                              PyObject *kwnames) {
    return guarded([&] {
        const auto [given, items, local] = of_resident.read(args, nargs, kwnames);
        PythonKernel *const kernel = kernel_of(self);
        const Signature signature = signature_from(given);
        const std::uint64_t work_items = size_from(items, "work_items");
        const std::uint64_t local_memory =
            unless_none(local) ? size_from(local, "local_memory") : 0;
        const Queue queue = registry::current_queue();
        const VersionPtr version = current_version(kernel);
        const std::uint32_t dimensions =
            dimensions_for(kernel, version->code->function(), types_of(signature), queue.device(),
                           kernel::dialect_for(queue.device(), kernel->options), nullptr);
        const kernel::Specialization &made =
            specialization_for(*version, version->code->of({}), arguments_of(signature),
                               {dimensions, {1, 1, 1}, {0, 0, 0}}, queue);
        const std::uint64_t groups =
            without_gil([&] { return made.kernel.max_resident_groups(work_items, local_memory); });
        return checked(PyLong_FromUnsignedLongLong(groups)).release();
    });
}

PyObject *compiled_count(PyObject *self, void *) {
    return guarded([&] {
        const Exclusive alone(self);
        std::size_t count = 0;
        for (const auto &version : kernel_of(self)->versions)
            count += version->code->size();
        return checked(PyLong_FromSize_t(count)).release();
    });
}

// ---------------------------------------------------------------- for the simulator

// Returns (global, local); the local range is empty if it was not given.
PyObject *range_for(PyObject *, PyObject *index) {
    return guarded([&] {
        const ep_range range = range_of(index);
        nb::list global, local;
        for (std::uint32_t axis = 0; axis < range.ndim; ++axis) {
            global.append(range.global[axis]);
            if (range.local[axis] != 0)
                local.append(range.local[axis]);
        }
        return nb::make_tuple(nb::tuple(global), nb::tuple(local)).release().ptr();
    });
}

// Arguments of a launch after conversion: Arrays, numbers of their argument types, and local memory
// unchanged.
PyObject *arguments_for(PyObject *self, PyObject *const *args, Py_ssize_t nargs) {
    return guarded([&] {
        if (nargs != 3 || !PyUnicode_Check(args[0]) || !PyTuple_Check(args[1]) ||
            !PyTuple_Check(args[2]))
            throw Error(
                ErrorKind::type,
                "_arguments() takes a kernel's name, those of its parameters, and arguments");
        kernel::syntax::Function function;
        function.name = nb::cast<std::string>(nb::handle(args[0]));
        for (const nb::handle name : nb::borrow<nb::tuple>(args[1]))
            function.parameters.push_back({nb::cast<std::string>(name), {}});
        const nb::tuple given = nb::borrow<nb::tuple>(args[2]);
        std::vector<PyObject *> objects;
        for (const nb::handle each : given)
            objects.push_back(each.ptr());
        const CallArguments read(objects, function, kernel_of(self)->signatures);
        nb::list arguments;
        std::size_t place = 0;  // in read.all()
        for (std::size_t i = 0; i < objects.size(); ++i) {
            const kernel::Argument &each = read.all()[place];
            const bool is_struct =
                !read.structs().empty() && read.structs()[i].form != kernel::StructForm::none;
            place += is_struct ? kernel::argument_count(read.structs()[i]) : 1;
            if (is_struct)
                arguments.append(nb::handle(objects[i]));
            else if (each.kind == kernel::Argument::Kind::array)
                arguments.append(nb::steal(wrap(Array(*each.array))));
            else if (each.kind == kernel::Argument::Kind::scalar)
                arguments.append(nb::cast(TypedScalar{each.dtype, each.scalar}));
            else
                arguments.append(nb::handle(objects[i]));
        }
        return arguments.release().ptr();
    });
}

// -------------------------------------------------------------------- the type

PyMethodDef methods[] = {
    {"_range", range_for, METH_O,
     "_range($self, index, /)\n--\n\n"
     "The global and the local range of an index in brackets."},
    {"_arguments", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(arguments_for)),
     METH_FASTCALL,
     "_arguments($self, name, parameters, arguments, /)\n--\n\n"
     "The arguments of a launch, converted like those of the kernel."},
    {"_translate", with_keywords(translated), METH_FASTCALL | METH_KEYWORDS,
     "_translate($self, dialect=None, signature=None, device=None, dimensions=None, *, "
     "any_local=False)\n"
     "--\n\n"
     "The source of the kernel and its parameters, without building it.\n\n"
     "The source is for the local size of the last launch, or for any with ``any_local``."},
    {"_type_of", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(type_of)),
     METH_FASTCALL,
     "_type_of($self, variable, signature, device, /)\n--\n\n"
     "The type of a variable of the kernel, compiled for the signature and the device. A tuple "
     "has a tuple of types."},
    {"_types", types_for, METH_O,
     "_types($self, arguments, /)\n--\n\nThe types of the numbers in the kernel and its device "
     "functions for those arguments."},
    {"_specialize", with_keywords(specialize), METH_FASTCALL | METH_KEYWORDS,
     "_specialize($self, device=None, dimensions=None)\n--\n\n"
     "Compile the kernel for its signatures."},
    {"_max_resident_groups", with_keywords(max_resident_groups), METH_FASTCALL | METH_KEYWORDS,
     "_max_resident_groups($self, signature, work_items, local_memory=0)\n--\n\n"
     "The most groups of a cooperative launch on the current device."},
    {},
};

PyMemberDef members[] = {
    {"function", T_OBJECT, offsetof(PythonKernel, function), READONLY,
     "The Python function, as it was written."},
    {},
};

PyGetSetDef attributes[] = {
    {"specializations", compiled_count, nullptr,
     "Number of times that the kernel has been compiled in this process.", nullptr},
    {},
};

constexpr const char *type_doc =
    "PythonKernel(function, *, signatures=None, debug=False, fast_math=False, dialect=None, "
    "max_registers=0)\n"
    "--\n\n"
    "A Python function that is compiled for the arguments of its launches:\n"
    "``kernel[global, local](arguments…)``.";

PyType_Slot slots[] = {
    {Py_tp_doc, const_cast<char *>(type_doc)},
    {Py_tp_new, reinterpret_cast<void *>(create)},
    {Py_tp_dealloc, reinterpret_cast<void *>(dealloc)},
    {Py_tp_traverse, reinterpret_cast<void *>(traverse)},
    {Py_tp_clear, reinterpret_cast<void *>(clear)},
    {Py_tp_methods, methods},
    {Py_tp_members, members},
    {Py_tp_getset, attributes},
    {Py_mp_subscript, reinterpret_cast<void *>(subscript)},
    {},
};

PyType_Spec spec = {"entrepot._core.PythonKernel", sizeof(PythonKernel), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE |
                        Py_TPFLAGS_IMMUTABLETYPE,
                    slots};

LocalAccessor local_accessor(nb::handle shape, nb::handle dtype) {
    if (kernel::StructTypePtr type = struct_type_from(dtype.ptr()))
        return {extents_from(shape.ptr()), {}, std::move(type), Reference::borrow(dtype.ptr())};
    return {extents_from(shape.ptr()), dtype_from(dtype.ptr()), nullptr, {}};
}

}  // namespace

void init_kernel(nb::module_ &m) {
    using namespace nb::literals;
    python_kernel_type = reinterpret_cast<PyTypeObject *>(PyType_FromSpec(&spec));
    if (!python_kernel_type || !init_launcher_type(m.ptr()) ||
        PyModule_AddObjectRef(m.ptr(), "PythonKernel",
                              reinterpret_cast<PyObject *>(python_kernel_type)) < 0)
        nb::raise_python_error();
    nb::list names;
    for (const kernel::FunctionRow &row : kernel::functions())
        names.append(row.name);
    m.attr("kernel_function_names") = nb::tuple(names);
    nb::class_<LocalAccessor>(
        m, "LocalAccessor",
        "A kernel argument: an array in local memory, whose shape is set at launch.\n\n"
        "A launch raises ValueError for a negative extent, or more than 3 dimensions.\n\n"
        "Parameters\n"
        "----------\n"
        "shape : int or tuple of int\n"
        "    The extents of the array, in elements: an int or a tuple of up to 3 ints.\n"
        "dtype : dtype_like\n"
        "    The type of an element.\n\n"
        "Raises\n"
        "------\n"
        "TypeError\n"
        "    If ``shape`` is not made of ints, or ``dtype`` is not a type.\n"
        "KernelError\n"
        "    If ``dtype`` has fields that kernels do not support.\n\n"
        "Examples\n"
        "--------\n"
        ">>> from entrepot import kernel as ek\n"
        ">>> @ek.kernel\n"
        "... def reverse(numbers, shared):\n"
        "...     i = ek.get_local_id(0)\n"
        "...     shared[i] = numbers[i]\n"
        "...     ek.barrier(ek.CLK_LOCAL_MEM_FENCE)\n"
        "...     numbers[i] = shared[ek.get_local_size(0) - 1 - i]\n"
        ">>> numbers = ep.asarray(np.arange(4, dtype=\"int32\"))\n"
        ">>> reverse[4, 4](numbers, ek.LocalAccessor(4, \"int32\")).wait()\n"
        ">>> numbers.numpy().tolist()\n"
        "[3, 2, 1, 0]")
        .def(
            "__init__",
            [](LocalAccessor *self, nb::handle shape, nb::handle dtype) {
                new (self) LocalAccessor(local_accessor(shape, dtype));
            },
            "shape"_a, "dtype"_a, "Each work-group gets an array of this shape and dtype.")
        .def_prop_ro(
            "shape",
            [](const LocalAccessor &self) {
                nb::list shape;
                for (const std::int64_t extent : self.shape)
                    shape.append(extent);
                return nb::tuple(shape);
            },
            nb::sig("def shape(self) -> tuple[int, ...]"), "Extents, in elements.")
        .def_prop_ro(
            "dtype",
            [](const LocalAccessor &self) {
                return self.type ? nb::borrow(self.spelling.get())
                                 : nb::steal(wrap_dtype(self.dtype));
            },
            nb::sig("def dtype(self) -> Any"),
            "The type of an element, which is a Dtype or a structured dtype of NumPy.");
}

}  // namespace entrepot::python
