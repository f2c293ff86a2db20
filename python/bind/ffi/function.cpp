// ForeignFunction: a C function that Python calls. The first call reads the
// declaration and opens the library.
#include "library.hpp"

#include "ctype.hpp"
#include "declared.hpp"

#include "../adapters/object.hpp"
#include "../memory/owner.hpp"
#include "../support/errors.hpp"
#include "../support/gil.hpp"
#include "../support/guarded.hpp"
#include "../support/interned.hpp"
#include "../support/load_number.hpp"

#include <entrepot/core/error.hpp>

#include <ffi/signature.hpp>
#include <structmember.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <limits>
#include <optional>

namespace entrepot::python {
namespace {

enum class PassMode : std::uint8_t {
    value,     // by value; includes addresses that C may read or write
    in,        // an address that C reads from
    out,       // an address that C writes to
    inout,     // both
    freed,     // an address that C frees; its adapter is marked as freed unless the call failed
    sync,      // a pointer to a function that C calls only during the call
    returned,  // C writes to memory of the call, and its value is returned
};

struct PassModeRow {
    const char *name;
    PassMode mode;
};
constexpr PassModeRow pass_mode_table[] = {
    {"value", PassMode::value},      {"in", PassMode::in},       {"out", PassMode::out},
    {"inout", PassMode::inout},      {"freed", PassMode::freed}, {"sync", PassMode::sync},
    {"returned", PassMode::returned}};

using adapters::Integer;

constexpr std::size_t no_parameter = static_cast<std::size_t>(-1);

struct Parameter {
    PyObject *name;
    const char *text;
    PassMode mode;
    const CTypeObject *ctype;
    // of a returned DeviceArray or CStr: the parameter with its size
    std::size_t bytes_of = no_parameter;
    bool is_text = false;  // a CStr, whose memory the call allocates
    std::size_t cell;      // offset of its value in the frame
    std::size_t target;    // of a returned value: offset of the memory that C writes to
};

// A check before the call: the caller's memory for a parameter is as large as C expects.
struct SizeCheck {
    std::size_t index;                          // of the parameter with the memory
    std::size_t size_parameter = no_parameter;  // the parameter with the size that C expects
    std::size_t unit = 1;                       // bytes per unit of that size
    bool counts_elements = false;               // the size counts elements
    // function that returns a reason to refuse the argument, or nullptr
    PyObject *refusal = nullptr;
};

// Everything that a call needs; created once and never freed.
struct Plan {
    const char *name;
    void *address;
    std::vector<Parameter> parameters;
    std::vector<std::size_t> inputs;  // parameters without PassMode::returned
    std::vector<SizeCheck> size_checks;
    std::size_t returned_count = 0;
    bool is_freeing = false;
    const CTypeObject *result;
    std::size_t result_cell, frame_size;
    std::optional<ffi::Signature> signature;
    PyObject *success;  // the success status; nullptr if the library has no statuses
    bool has_status;    // the result is a status
};

struct FunctionObject {
    PyObject_HEAD vectorcallfunc vectorcall;
    PyObject *library;      // entrepot.ffi.Library
    PyObject *declaration;  // the Python function that declares it
    PyObject *symbol;       // used if the library has no symbol of the function's name; or None
    PyObject *weak_references;
    std::atomic<const Plan *> plan;
};

FunctionObject &function_of(PyObject *self) noexcept {
    return *reinterpret_cast<FunctionObject *>(self);
}

constexpr std::size_t max_parameters = 32;
constexpr std::size_t inline_frame = 512;
constexpr std::size_t cell_size = 16;

std::size_t padded(std::size_t bytes) {
    return (std::max<std::size_t>(bytes, 1) + cell_size - 1) / cell_size * cell_size;
}

// ---------------------------------------------------------------- plans

PassMode pass_mode_named(const char *name) {
    for (const PassModeRow &row : pass_mode_table)
        if (std::strcmp(row.name, name) == 0)
            return row.mode;
    throw Error(ErrorKind::value, "nothing is passed '", name, "'");
}

const CTypeObject *retained_ctype(PyObject *ctype) {
    (void)ctype_of(ctype);
    return reinterpret_cast<const CTypeObject *>(Py_NewRef(ctype));
}

// Bytes of an element if the address is that of an array; 0 if the element type is unknown.
std::size_t element_size_of(const CTypeObject &ctype) {
    if (const RecordLayout *const layout = layout_of(ctype.type))
        return layout->size;
    return static_cast<std::size_t>(
        size_of_element(row_of(reinterpret_cast<PyTypeObject *>(ctype.type))));
}

// Adds the check of a parameter whose memory the caller passes, or may pass instead of the returned
// text.
void add_size_check(Plan &plan, const Parameter &parameter, Py_ssize_t by, Py_ssize_t unit,
                    PyObject *refusal) {
    SizeCheck check{plan.parameters.size()};
    if (by >= 0 && (parameter.mode != PassMode::returned || parameter.is_text)) {
        check.size_parameter = static_cast<std::size_t>(by);
        check.counts_elements = unit == 0;
        check.unit = unit == 0 ? element_size_of(*parameter.ctype) : static_cast<std::size_t>(unit);
        if (check.unit == 0)
            throw Error(
                ErrorKind::type, plan.name, "(), ", parameter.text,
                ": the size of its elements is unknown; count those of a list or of records, as "
                "In[ListOfInt](count=\"n\"), else bytes, as In[Pointer](bytes=\"4 * n\")");
    }
    check.refusal = refusal == Py_None ? nullptr : Py_NewRef(refusal);
    if (check.size_parameter != no_parameter || check.refusal)
        plan.size_checks.push_back(check);
}

// Format of the tuple:
// - name, mode, ctype;
// - index of the size parameter, or -1;
// - bytes per unit of that size, or 0 for elements of the ctype;
// - refusal function, or None.
void add_parameter(Plan &plan, PyObject *tuple) {
    PyObject *name = nullptr, *ctype = nullptr, *refusal = nullptr;
    const char *mode = nullptr;
    Py_ssize_t by = -1, unit = 1;
    if (!PyArg_ParseTuple(tuple, "UsOnnO", &name, &mode, &ctype, &by, &unit, &refusal))
        throw PythonError{};
    Parameter parameter{};
    parameter.name = Py_NewRef(name);
    PyUnicode_InternInPlace(&parameter.name);
    parameter.text = PyUnicode_AsUTF8(parameter.name);
    parameter.mode = pass_mode_named(mode);
    parameter.ctype = retained_ctype(ctype);
    if (parameter.ctype->c_kind == CKind::array && parameter.mode != PassMode::returned)
        throw Error(ErrorKind::type, parameter.text,
                    ": C passes no arrays, but the address of the first element: declare a "
                    "pointer, as In[ListOfInt] or In[CStr]");
    parameter.bytes_of =
        parameter.mode == PassMode::returned ? static_cast<std::size_t>(by) : no_parameter;
    if (parameter.bytes_of != no_parameter && unit != 1)
        throw Error(ErrorKind::type, plan.name, "(), ", parameter.text,
                    ": a returned value takes bytes=\"n\", without a factor or count=");
    if (parameter.ctype->c_kind != CKind::address && (by >= 0 || refusal != Py_None))
        throw Error(ErrorKind::type, plan.name, "(), ", parameter.text,
                    ": is not an address, and bytes=, count= and refusal= are for addresses, such "
                    "as In[ListOfInt]");
    if (parameter.mode == PassMode::returned && refusal != Py_None)
        throw Error(ErrorKind::type, plan.name, "(), ", parameter.text,
                    ": refusal= checks an argument of the caller, and this is returned; declare "
                    "In[…], Out[…] or InOut[…]");
    parameter.is_text = parameter.bytes_of != no_parameter &&
                        parameter.ctype->type == reinterpret_cast<PyObject *>(adapter_type("CStr"));
    add_size_check(plan, parameter, by, unit, refusal);
    plan.parameters.push_back(parameter);
}

// If the function returns a value, it must be known which value means that the memory was freed.
void check_freeing(const Plan &plan) {
    if (plan.is_freeing && plan.result->c_kind != CKind::none && !(plan.success && plan.has_status))
        throw Error(ErrorKind::type, plan.name,
                    "(): it is unknown which returned value means that the memory of a Freed[…] is "
                    "freed; let it return an "
                    "enum, and name its success: Library(…, status=(\"result\", \"OK\"))");
}

// The size must be a number that is available before the call.
void check_size_parameter(const Plan &plan, std::size_t index, std::size_t by) {
    const Parameter &measure = plan.parameters[by];
    const CTypeObject &ctype = *measure.ctype;
    const bool is_address = ctype.c_kind == CKind::address &&
                            plan.parameters[index].bytes_of == no_parameter &&
                            row_of(reinterpret_cast<PyTypeObject *>(ctype.type)).element;
    const bool is_number = ctype.c_kind == CKind::number && !ffi::is_floating(ctype.kind);
    if (measure.mode == PassMode::returned || !(is_number || is_address))
        throw Error(ErrorKind::type, plan.name, "(), ", plan.parameters[index].text, ": '",
                    measure.text,
                    "' is not a length; use an integer argument, or the address of an integer, as "
                    "InOut[ListOfInt]");
}

ffi::Type type_of(const Parameter &parameter) {
    return parameter.mode == PassMode::returned ? ffi::Type(ffi::Kind::pointer)
                                                : ffi_type_of(*parameter.ctype);
}

void lay_out(Plan &plan) {
    std::size_t size = 0;
    const auto place = [&](std::size_t bytes) { return std::exchange(size, size + padded(bytes)); };
    plan.result_cell = place(std::max<std::size_t>(plan.signature->result_size(), 8));
    for (Parameter &parameter : plan.parameters) {
        const bool is_returned = parameter.mode == PassMode::returned;
        parameter.cell = place(is_returned ? sizeof(void *)
                                           : std::max<std::size_t>(size_of(*parameter.ctype), 8));
        // A record that is returned allocates its own memory.
        parameter.target = is_returned && parameter.ctype->c_kind != CKind::record
                               ? place(size_of(*parameter.ctype))
                               : 0;
    }
    plan.frame_size = size;
}

const Interned plan_name("_plan");

// Calls the library's `_plan(function)`, which returns (address, name, parameters, result, success
// or None, whether the result is a status).
std::unique_ptr<Plan> new_plan(FunctionObject &function) {
    const Reference told = checked(PyObject_CallMethodOneArg(
        function.library, plan_name, reinterpret_cast<PyObject *>(&function)));
    PyObject *address = nullptr, *name = nullptr, *parameters = nullptr, *result = nullptr,
             *success = nullptr;
    int has_status = 0;
    if (!PyArg_ParseTuple(told.get(), "OUO!OOp", &address, &name, &PyTuple_Type, &parameters,
                          &result, &success, &has_status))
        throw PythonError{};
    auto plan = std::make_unique<Plan>();
    plan->name = PyUnicode_AsUTF8(Py_NewRef(name));
    plan->address = PyLong_AsVoidPtr(address);
    if (PyErr_Occurred())
        throw PythonError{};
    if (PyTuple_GET_SIZE(parameters) > static_cast<Py_ssize_t>(max_parameters))
        throw Error(ErrorKind::value, plan->name, "(): has more than ", max_parameters,
                    " parameters");
    std::vector<ffi::Type> types;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(parameters); ++i) {
        add_parameter(*plan, PyTuple_GET_ITEM(parameters, i));
        types.push_back(type_of(plan->parameters.back()));
        if (plan->parameters.back().mode == PassMode::returned)
            ++plan->returned_count;
        else
            plan->inputs.push_back(static_cast<std::size_t>(i));
        plan->is_freeing |= plan->parameters.back().mode == PassMode::freed;
    }
    for (std::size_t i = 0; i < plan->parameters.size(); ++i)
        if (plan->parameters[i].bytes_of != no_parameter)
            check_size_parameter(*plan, i, plan->parameters[i].bytes_of);
    for (const SizeCheck &check : plan->size_checks)
        if (check.size_parameter != no_parameter)
            check_size_parameter(*plan, check.index, check.size_parameter);
    plan->result = retained_ctype(result);
    plan->signature.emplace(ffi_type_of(*plan->result), types);
    plan->success = success == Py_None ? nullptr : Py_NewRef(success);
    plan->has_status = has_status != 0;
    check_freeing(*plan);
    lay_out(*plan);
    return plan;
}

const Plan &plan_of(FunctionObject &function) {
    if (const Plan *plan = function.plan.load(std::memory_order_acquire)) [[likely]]
        return *plan;
    std::unique_ptr<Plan> made = new_plan(function);
    const Plan *first = nullptr;
    if (function.plan.compare_exchange_strong(first, made.get(), std::memory_order_acq_rel))
        return *made.release();
    return *first;  // another thread was first; leaks the plan made here, which is small
}

// ---------------------------------------------------------------- calls

Integer integer_at(ffi::Kind kind, const std::byte *from) {
    const int bits = 8 * static_cast<int>(ffi::size_of(kind));
    if (!ffi::row_of(kind).is_signed)
        return {load_unsigned(from, bits), false};
    const std::int64_t number = load_signed(from, bits);
    return {static_cast<std::uint64_t>(number), number < 0};
}

// `bytes` is the size of the argument's memory; -1 if the argument is NULL.
[[noreturn, gnu::noinline]] void refuse_length(const Plan &plan, const SizeCheck &check,
                                               const Integer &count, Py_ssize_t bytes) {
    const char *const name = plan.parameters[check.index].text;
    const char *const measure = plan.parameters[check.size_parameter].text;
    const std::string said = (count.is_negative ? "-" : "") +
                             std::to_string(count.is_negative ? 0 - count.bits : count.bits);
    if (count.is_negative)
        throw Error(ErrorKind::value, Subject{plan.name, measure}, ": ", said, " is no number of ",
                    check.counts_elements ? "elements" : "bytes", " for '", name, "'");
    const Subject subject{plan.name, name};
    if (bytes < 0)
        throw Error(ErrorKind::value, subject, ": is NULL, and '", measure, "' says ", said,
                    "; pass as many, or 0 for ", measure);
    const auto there = static_cast<std::size_t>(bytes) / (check.counts_elements ? check.unit : 1);
    const std::string each = check.counts_elements || check.unit == 1
                                 ? ""
                                 : " of " + std::to_string(check.unit) + " bytes";
    throw Error(ErrorKind::value, subject, ": has ", there,
                check.counts_elements ? " element" : " byte", there == 1 ? "" : "s", ", and '",
                measure, "' says ", said, each, "; pass as many, or a smaller ", measure);
}

// The argument values of one call in the layout for C, and references to the memory they point to.
class Frame {
public:
    explicit Frame(const Plan &plan) : plan_(plan), memory_(inline_) {
        if (plan.frame_size > inline_frame) [[unlikely]] {
            large_.resize(plan.frame_size / sizeof(std::max_align_t) + 1);
            memory_ = reinterpret_cast<std::byte *>(large_.data());
        }
        const std::size_t count = plan.parameters.size();
        std::fill_n(held_, count, nullptr);
        for (std::size_t i = 0; i < count; ++i)
            values_[i] = memory_ + plan.parameters[i].cell;
    }
    ~Frame() {
        for (std::size_t i = plan_.parameters.size(); i-- > 0;)
            if (held_[i] && may_decref())
                Py_DECREF(held_[i]);
    }
    Frame(const Frame &) = delete;
    Frame &operator=(const Frame &) = delete;

    void set(std::size_t index, PyObject *value) {
        const Parameter &parameter = plan_.parameters[index];
        Reference held;
        const Subject subject{plan_.name, parameter.text};
        if (parameter.mode == PassMode::returned)
            set_output(parameter, value, values_[index], subject, held);
        else if (parameter.mode == PassMode::sync && PyCallable_Check(value) && !is_adapter(value))
            set_callback(parameter, value, values_[index], held);
        else
            store(*parameter.ctype, value, values_[index], subject, held, use_of(parameter));
        held_[index] = held.release();
    }

    // Prepares the memory that C writes a returned value to.
    void allocate_output(std::size_t index) {
        const Parameter &parameter = plan_.parameters[index];
        void *target = memory_ + parameter.target;
        if (parameter.is_text) {
            held_[index] = new_text(parameter).release();
            target = pointer_of(held_[index])->address;
        } else if (parameter.ctype->c_kind == CKind::record) {
            held_[index] =
                new_record(reinterpret_cast<PyTypeObject *>(parameter.ctype->type)).release();
            target = pointer_of(held_[index])->address;
        } else {
            std::memset(target, 0, size_of(*parameter.ctype));
        }
        std::memcpy(values_[index], &target, sizeof target);
    }

    // Checks that the arguments' memory is as large as the size parameters say.
    void check_sizes() const {
        if (!plan_.size_checks.empty())
            check_all_sizes();
    }

    // Marks the objects whose memory C has freed.
    void mark_freed_arguments() const {
        for (std::size_t i = 0; i < plan_.parameters.size(); ++i)
            if (plan_.parameters[i].mode == PassMode::freed && held_[i])
                mark_freed(held_[i]);
    }

    void call() {
        // Local copy: the compiler need not reload it after the call.
        const ffi::Signature &signature = *plan_.signature;
        void *const address = plan_.address;
        const ReleaseGil released;
        signature.call(address, memory_ + plan_.result_cell, values_);
    }

    Reference result() const { return load(*plan_.result, memory_ + plan_.result_cell, nullptr); }

    Reference returned(std::size_t index) {
        const Parameter &parameter = plan_.parameters[index];
        if (parameter.ctype->c_kind == CKind::record || parameter.is_text)
            return Reference(std::exchange(held_[index], nullptr));
        const std::byte *const target = memory_ + parameter.target;
        if (parameter.bytes_of == no_parameter)
            return load(*parameter.ctype, target, nullptr);
        void *address = nullptr;
        std::memcpy(&address, target, sizeof address);
        return address ? device_array(address, count_at(parameter.bytes_of)->bits)
                       : Reference::borrow(Py_None);
    }

private:
    // A CStr with as many zeros as the caller allows C to write.
    Reference new_text(const Parameter &parameter) const {
        const Reference bytes =
            load(*plan_.parameters[parameter.bytes_of].ctype, values_[parameter.bytes_of], nullptr);
        const Reference zeros = checked(
            PyObject_CallOneArg(reinterpret_cast<PyObject *>(&PyByteArray_Type), bytes.get()));
        return checked(PyObject_CallOneArg(parameter.ctype->type, zeros.get()));
    }

    // The value of a size parameter, or the host integer that it points to; empty if that is
    // unknown. Not inlined, to keep calls without size parameters small.
    [[gnu::noinline]] std::optional<Integer> count_at(std::size_t index) const {
        const CTypeObject &ctype = *plan_.parameters[index].ctype;
        if (ctype.c_kind != CKind::address)
            return integer_at(ctype.kind, static_cast<const std::byte *>(values_[index]));
        const adapters::ElementType *const element =
            row_of(reinterpret_cast<PyTypeObject *>(ctype.type)).element;
        PyObject *const held = held_[index];
        if (!element || !held || bytes_of(held) < element->size)
            return std::nullopt;
        return element->load(pointer_of(held)->address);
    }

    [[gnu::noinline]] void check_all_sizes() const {
        for (const SizeCheck &check : plan_.size_checks) {
            const std::optional<Integer> count = check.size_parameter == no_parameter
                                                     ? std::nullopt
                                                     : count_at(check.size_parameter);
            if (count)
                check_length(check, *count);
            if (check.refusal)
                call_refusal(check, count);
        }
    }

    // NULL is an array of 0 elements. For an output it may mean that the value is not wanted.
    void check_length(const SizeCheck &check, const Integer &count) const {
        if (count.is_negative)
            refuse_length(plan_, check, count, 0);
        const void *address = nullptr;
        std::memcpy(&address, values_[check.index], sizeof address);
        if (!address) {
            if (count.bits && check.counts_elements &&
                plan_.parameters[check.index].mode == PassMode::in)
                refuse_length(plan_, check, count, -1);
            return;
        }
        PyObject *const held = held_[check.index];
        if (!held)
            return;
        std::size_t asked = 0;
        if (__builtin_mul_overflow(count.bits, check.unit, &asked))
            asked = std::numeric_limits<std::size_t>::max();
        const Py_ssize_t plain = Py_IS_TYPE(held, pointer_type) ? pointer_of(held)->length : -1;
        if (plain >= 0 && static_cast<std::size_t>(plain) >= asked) [[likely]]
            return;
        const Py_ssize_t bytes = extent_of_held(held);
        if (bytes >= 0 && static_cast<std::size_t>(bytes) < asked)
            refuse_length(plan_, check, count, bytes);
    }

    // Number of elements that the size stands for; -1 if an adapter cannot have as many.
    static Py_ssize_t length_of(const CTypeObject &ctype, const SizeCheck &check,
                                const Integer &count) {
        Py_ssize_t bytes = 0;
        if (__builtin_mul_overflow(count.bits, check.unit, &bytes))
            return -1;
        return bytes / static_cast<Py_ssize_t>(std::max<std::size_t>(element_size_of(ctype), 1));
    }

    // Refuses arguments that would make the library abort the process. The refusal function gets
    // the value as C will see it, not the caller's object.
    void call_refusal(const SizeCheck &check, const std::optional<Integer> &count) const {
        const Parameter &parameter = plan_.parameters[check.index];
        Target target;
        std::memcpy(&target.address, values_[check.index], sizeof target.address);
        Reference found = Reference::borrow(Py_None);
        if (target.address) {
            PyObject *const held = held_[check.index];
            target.owner = held ? keep(held) : Owner();
            found = blank(reinterpret_cast<PyTypeObject *>(parameter.ctype->type));
            python::set(found.get(), std::move(target),
                        count ? length_of(*parameter.ctype, check, *count) : -1);
        }
        const Reference why = checked(PyObject_CallOneArg(check.refusal, found.get()));
        if (why.get() == Py_None)
            return;
        const char *const text = PyUnicode_AsUTF8(why.get());
        if (!text)
            throw PythonError{};
        throw Error(ErrorKind::value, Subject{plan_.name, parameter.text}, ": ", text);
    }

    static Use use_of(const Parameter &parameter) {
        if (parameter.mode == PassMode::freed)
            return Use::free;
        return parameter.mode == PassMode::out || parameter.mode == PassMode::inout ? Use::write
                                                                                    : Use::read;
    }

    // An output parameter whose memory the caller passes.
    static void set_output(const Parameter &parameter, PyObject *value, void *cell,
                           const Subject &subject, Reference &held) {
        check_no_handle(value, subject);
        if (!parameter.is_text)
            check_room(value, size_of(*parameter.ctype), subject);
        Argument taken =
            argument(value, adapter_type("Pointer"), Use::write, subject.owner, subject.name);
        std::memcpy(cell, &taken.address, sizeof taken.address);
        held = std::move(taken.held);
    }

    static void set_callback(const Parameter &parameter, PyObject *callable, void *cell,
                             Reference &held) {
        held = wrap_callable(reinterpret_cast<PyTypeObject *>(parameter.ctype->type), callable);
        std::memcpy(cell, &pointer_of(held.get())->address, sizeof(void *));
    }

    const Plan &plan_;
    std::byte *memory_;
    void *values_[max_parameters];
    PyObject *held_[max_parameters];
    std::vector<std::max_align_t> large_;
    alignas(16) std::byte inline_[inline_frame];
};

[[noreturn, gnu::noinline]] void refuse_count(const Plan &plan, std::size_t count) {
    std::string names;
    for (const std::size_t index : plan.inputs)
        names += std::string(names.empty() ? "" : ", ") + plan.parameters[index].text;
    throw Error(ErrorKind::type, plan.name, "() takes ", plan.inputs.size(), " argument",
                plan.inputs.size() == 1 ? "" : "s", names.empty() ? "" : " (", names,
                names.empty() ? "" : ")", " but ", count, " were given",
                plan.returned_count ? "; or, with the out-parameters, all that C takes" : "");
}

std::size_t index_named(const Plan &plan, PyObject *name) {
    for (std::size_t i = 0; i < plan.parameters.size(); ++i)
        if (plan.parameters[i].name == name)
            return i;
    for (std::size_t i = 0; i < plan.parameters.size(); ++i)
        if (PyUnicode_Compare(plan.parameters[i].name, name) == 0)
            return i;
    const char *text = PyUnicode_AsUTF8(name);
    if (!text)
        throw PythonError{};
    std::string names;
    for (const Parameter &each : plan.parameters)
        names += std::string(names.empty() ? "" : ", ") + each.text;
    throw Error(ErrorKind::type, plan.name, "() got an unexpected keyword argument '", text,
                "'; it takes ", names);
}

using ArgumentValues =
    std::array<PyObject *, max_parameters>;  // by parameter; nullptr if not given

// Positional arguments are the parameters that callers pass, or all parameters of the C function.
// Any parameter can be given by name.
void assign_arguments(const Plan &plan, PyObject *const *args, std::size_t count, PyObject *kwnames,
                      ArgumentValues &given) {
    const std::size_t total = plan.parameters.size(),
                      named = kwnames ? static_cast<std::size_t>(PyTuple_GET_SIZE(kwnames)) : 0;
    std::fill_n(given.begin(), total, nullptr);
    const bool is_all = count == total;
    if (count > plan.inputs.size() && !is_all)
        refuse_count(plan, count);
    for (std::size_t i = 0; i < count; ++i)
        given[is_all ? i : plan.inputs[i]] = args[i];
    for (std::size_t i = 0; i < named; ++i) {
        const std::size_t index =
            index_named(plan, PyTuple_GET_ITEM(kwnames, static_cast<Py_ssize_t>(i)));
        if (given[index])
            throw Error(ErrorKind::type, plan.name, "() got '", plan.parameters[index].text,
                        "' by position and by name");
        given[index] = args[count + i];
    }
    for (const std::size_t index : plan.inputs)
        if (!given[index])
            throw Error(ErrorKind::type, plan.name, "() is missing its argument '",
                        plan.parameters[index].text, "'");
}

// Order: the status, the result if it is not a status, the values that C wrote. Libraries without
// statuses return a single value alone.
PyObject *results(const Plan &plan, Frame &frame, const ArgumentValues *given) {
    const bool has_result = plan.result->c_kind != CKind::none;
    const bool has_own = has_result && !(plan.success && plan.has_status);
    std::size_t written = 0;
    if (plan.returned_count)
        for (std::size_t i = 0; i < plan.parameters.size(); ++i)
            written += plan.parameters[i].mode == PassMode::returned && !(given && (*given)[i]);
    if (plan.is_freeing && !plan.success)
        frame.mark_freed_arguments();
    if (!plan.success && written == 0)
        return frame.result().release();
    Reference tuple = checked(
        PyTuple_New(static_cast<Py_ssize_t>((plan.success ? 1 : 0) + (has_own ? 1 : 0) + written)));
    Py_ssize_t at = 0;
    if (plan.success) {
        Reference status = plan.has_status ? frame.result() : Reference::borrow(plan.success);
        if (plan.is_freeing && status.get() == plan.success)
            frame.mark_freed_arguments();
        PyTuple_SET_ITEM(tuple.get(), at++, status.release());
    }
    if (has_own)
        PyTuple_SET_ITEM(tuple.get(), at++, frame.result().release());
    if (written)
        for (std::size_t i = 0; i < plan.parameters.size(); ++i)
            if (plan.parameters[i].mode == PassMode::returned && !(given && (*given)[i]))
                PyTuple_SET_ITEM(tuple.get(), at++, frame.returned(i).release());
    return tuple.release();
}

PyObject *call_positional(const Plan &plan, PyObject *const *args) {
    Frame frame(plan);
    for (std::size_t next = 0; next < plan.inputs.size(); ++next)
        frame.set(plan.inputs[next], args[next]);
    // After the other parameters, because they may contain the sizes.
    for (std::size_t i = 0, left = plan.returned_count; left; ++i)
        if (plan.parameters[i].mode == PassMode::returned) {
            frame.allocate_output(i);
            --left;
        }
    frame.check_sizes();
    frame.call();
    return results(plan, frame, nullptr);
}

PyObject *call_with_keywords(const Plan &plan, PyObject *const *args, std::size_t count,
                             PyObject *kwnames) {
    ArgumentValues given;
    assign_arguments(plan, args, count, kwnames, given);
    Frame frame(plan);
    for (std::size_t i = 0; i < plan.parameters.size(); ++i)
        if (given[i])
            frame.set(i, given[i]);
    for (std::size_t i = 0; i < plan.parameters.size(); ++i)
        if (!given[i])
            frame.allocate_output(i);
    frame.check_sizes();
    frame.call();
    return results(plan, frame, &given);
}

PyObject *call(PyObject *self, PyObject *const *args, std::size_t nargsf, PyObject *kwnames) {
    return guarded([&] {
        const Plan &plan = plan_of(function_of(self));
        const auto count = static_cast<std::size_t>(PyVectorcall_NARGS(nargsf));
        if (!kwnames && count == plan.inputs.size()) [[likely]]
            return call_positional(plan, args);
        return call_with_keywords(plan, args, count, kwnames);
    });
}

// ---------------------------------------------------------------- the type

PyObject *function_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static const char *const names[] = {"library", "declaration", "symbol", nullptr};
    PyObject *library = nullptr, *declaration = nullptr, *symbol = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|O", const_cast<char **>(names), &library,
                                     &declaration, &symbol))
        return nullptr;
    PyObject *made = type->tp_alloc(type, 0);
    if (made) {
        FunctionObject &function = function_of(made);
        function.vectorcall = call;
        function.library = Py_NewRef(library);
        function.declaration = Py_NewRef(declaration);
        function.symbol = Py_NewRef(symbol);
    }
    return made;
}

int function_traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(function_of(self).library);
    Py_VISIT(function_of(self).declaration);
    return 0;
}

// Sets members to None, not nullptr: other garbage may still use the function's name.
int function_clear(PyObject *self) {
    for (PyObject *FunctionObject::*member :
         {&FunctionObject::library, &FunctionObject::declaration})
        Py_XSETREF(function_of(self).*member, Py_NewRef(Py_None));
    return 0;
}

void function_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    if (function_of(self).weak_references)
        PyObject_ClearWeakRefs(self);
    Py_CLEAR(function_of(self).library);
    Py_CLEAR(function_of(self).declaration);
    Py_CLEAR(function_of(self).symbol);
    type->tp_free(self);
    Py_DECREF(type);
}

const Interned name_name("__name__"), doc_name("__doc__"), module_name("__module__"),
    signature_name("_signature");

template <const Interned &name> PyObject *of_declaration(PyObject *self, void *) {
    return PyObject_GetAttr(function_of(self).declaration, name);
}

PyObject *signature(PyObject *self, void *) {
    return PyObject_CallMethodOneArg(function_of(self).library, signature_name, self);
}

PyObject *function_repr(PyObject *self) {
    const Reference name(of_declaration<name_name>(self, nullptr));
    return name ? PyUnicode_FromFormat("<C function %U>", name.get()) : nullptr;
}

PyGetSetDef attributes[] = {
    {"__name__", of_declaration<name_name>, nullptr, nullptr, nullptr},
    {"__qualname__", of_declaration<name_name>, nullptr, nullptr, nullptr},
    {"__doc__", of_declaration<doc_name>, nullptr, nullptr, nullptr},
    {"__module__", of_declaration<module_name>, nullptr, nullptr, nullptr},
    {"__signature__", signature, nullptr, nullptr, nullptr},
    {},
};
PyMemberDef members[] = {
    {"declaration", T_OBJECT, offsetof(FunctionObject, declaration), READONLY,
     "The Python function that declares it."},
    {"symbol", T_OBJECT, offsetof(FunctionObject, symbol), READONLY,
     "The name of the function in older libraries; None if the name is the same."},
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(FunctionObject, vectorcall), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(FunctionObject, weak_references), READONLY,
     nullptr},
    {},
};
PyType_Slot slots[] = {
    {Py_tp_new, reinterpret_cast<void *>(function_new)},
    {Py_tp_call, reinterpret_cast<void *>(PyVectorcall_Call)},
    {Py_tp_dealloc, reinterpret_cast<void *>(function_dealloc)},
    {Py_tp_traverse, reinterpret_cast<void *>(function_traverse)},
    {Py_tp_clear, reinterpret_cast<void *>(function_clear)},
    {Py_tp_repr, reinterpret_cast<void *>(function_repr)},
    {Py_tp_members, members},
    {Py_tp_getset, attributes},
    {},
};
PyType_Spec spec{"entrepot._core.ForeignFunction", sizeof(FunctionObject), 0,
                 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL, slots};

}  // namespace

bool init_function(PyObject *module) {
    auto *type = reinterpret_cast<PyTypeObject *>(PyType_FromSpec(&spec));
    return type && PyModule_AddObjectRef(module, "ForeignFunction",
                                         reinterpret_cast<PyObject *>(type)) == 0;
}

}  // namespace entrepot::python
