// ForeignFunction: a C function as Python calls it. What its declaration says is read at the first call, and the library opened.
#include "library.hpp"

#include "declared.hpp"
#include "form.hpp"

#include "../adapters/adapters.hpp"
#include "../errors.hpp"
#include "../gil.hpp"
#include "../interned.hpp"

#include <entrepot/core/error.hpp>

#include <entrepot/ffi/signature.hpp>
#include <structmember.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <optional>

namespace entrepot::python {
namespace {

enum class Passed : std::uint8_t {
    value,     // as C has it; addresses that C may read or write
    in,        // an address that C reads from
    out,       // an address that C writes to
    inout,     // both
    freed,     // an address that is given back: what has it is told so, unless the call returns a status that says otherwise
    sync,      // a pointer to a function that C calls only until it returns
    returned,  // written by C into memory of the call's, and returned
};

struct PassedRow {
    const char *name;
    Passed passed;
};
constexpr PassedRow passed_table[] = {{"value", Passed::value},      {"in", Passed::in},       {"out", Passed::out},
                                      {"inout", Passed::inout},      {"freed", Passed::freed}, {"sync", Passed::sync},
                                      {"returned", Passed::returned}};

constexpr std::size_t nothing = static_cast<std::size_t>(-1);

struct Parameter {
    PyObject *name;
    const char *text;
    Passed passed;
    const FormObject *form;
    std::size_t bytes_of = nothing;  // of a returned DeviceArray or CStr: the parameter that holds its bytes
    bool is_text = false;            // a CStr, whose bytes the call brings
    std::size_t cell;                // offset of its value in the frame
    std::size_t target;              // of a returned value: offset of what C writes to
};

// All that a call needs; made once, kept for good.
struct Plan {
    const char *name;
    void *address;
    std::vector<Parameter> parameters;
    std::vector<std::size_t> taken;  // those that callers give
    std::size_t returned_count = 0;
    bool is_freeing = false;
    const FormObject *result;
    std::size_t result_cell, frame_size;
    std::optional<ffi::Signature> signature;
    PyObject *success;  // nullptr: the library has no statuses
    bool has_status;    // the result is one
};

struct FunctionObject {
    PyObject_HEAD vectorcallfunc vectorcall;
    PyObject *library;      // entrepot.ffi.Library
    PyObject *declaration;  // the Python function that declares it
    PyObject *symbol;       // of libraries that have none by the function's name; None
    PyObject *weak_references;
    std::atomic<const Plan *> plan;
};

FunctionObject &function_of(PyObject *self) noexcept { return *reinterpret_cast<FunctionObject *>(self); }

constexpr std::size_t most_parameters = 32;
constexpr std::size_t inline_frame = 512;
constexpr std::size_t word = 16;

std::size_t padded(std::size_t bytes) { return (std::max<std::size_t>(bytes, 1) + word - 1) / word * word; }

// ---------------------------------------------------------------- plans

Passed passed_named(const char *name) {
    for (const PassedRow &row : passed_table)
        if (std::strcmp(row.name, name) == 0)
            return row.passed;
    throw Error(ErrorKind::value, "nothing is passed '", name, "'");
}

const FormObject *kept_form(PyObject *form) {
    (void)form_of(form);
    return reinterpret_cast<const FormObject *>(Py_NewRef(form));
}

// (name, passed, form, index of the parameter with the bytes or -1)
Parameter parameter_from(PyObject *tuple) {
    PyObject *name = nullptr, *form = nullptr;
    const char *passed = nullptr;
    Py_ssize_t bytes_of = -1;
    if (!PyArg_ParseTuple(tuple, "UsOn", &name, &passed, &form, &bytes_of))
        throw PythonError{};
    Parameter parameter{};
    parameter.name = Py_NewRef(name);
    PyUnicode_InternInPlace(&parameter.name);
    parameter.text = PyUnicode_AsUTF8(parameter.name);
    parameter.passed = passed_named(passed);
    parameter.form = kept_form(form);
    if (parameter.form->how == How::array && parameter.passed != Passed::returned)
        throw Error(ErrorKind::type, parameter.text,
                    ": C passes no arrays, but the address of the first element: declare a "
                    "pointer, as In[ListOfInt] or In[CStr]");
    parameter.bytes_of = static_cast<std::size_t>(bytes_of);
    parameter.is_text = bytes_of >= 0 && parameter.form->type == reinterpret_cast<PyObject *>(adapter_type("CStr"));
    return parameter;
}

ffi::Type type_of(const Parameter &parameter) {
    return parameter.passed == Passed::returned ? ffi::Type(ffi::Kind::pointer) : ffi_type_of(*parameter.form);
}

void lay_out(Plan &plan) {
    std::size_t size = 0;
    const auto place = [&](std::size_t bytes) { return std::exchange(size, size + padded(bytes)); };
    plan.result_cell = place(std::max<std::size_t>(plan.signature->result_size(), 8));
    for (Parameter &parameter : plan.parameters) {
        const bool is_returned = parameter.passed == Passed::returned;
        parameter.cell = place(is_returned ? sizeof(void *) : std::max<std::size_t>(size_of(*parameter.form), 8));
        // A record that is returned has memory of its own.
        parameter.target = is_returned && parameter.form->how != How::record ? place(size_of(*parameter.form)) : 0;
    }
    plan.frame_size = size;
}

const Interned plan_name("_plan");

// What the library's `_plan(function)` says: (address, name, parameters, result, success or None, whether the result is a
// status).
std::unique_ptr<Plan> new_plan(FunctionObject &function) {
    const Reference told =
        checked(PyObject_CallMethodOneArg(function.library, plan_name, reinterpret_cast<PyObject *>(&function)));
    PyObject *address = nullptr, *name = nullptr, *parameters = nullptr, *result = nullptr, *success = nullptr;
    int has_status = 0;
    if (!PyArg_ParseTuple(told.get(), "OUO!OOp", &address, &name, &PyTuple_Type, &parameters, &result, &success, &has_status))
        throw PythonError{};
    auto plan = std::make_unique<Plan>();
    plan->name = PyUnicode_AsUTF8(Py_NewRef(name));
    plan->address = PyLong_AsVoidPtr(address);
    if (PyErr_Occurred())
        throw PythonError{};
    if (PyTuple_GET_SIZE(parameters) > static_cast<Py_ssize_t>(most_parameters))
        throw Error(ErrorKind::value, plan->name, "(): has more than ", most_parameters, " parameters");
    std::vector<ffi::Type> types;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(parameters); ++i) {
        plan->parameters.push_back(parameter_from(PyTuple_GET_ITEM(parameters, i)));
        types.push_back(type_of(plan->parameters.back()));
        if (plan->parameters.back().passed == Passed::returned)
            ++plan->returned_count;
        else
            plan->taken.push_back(static_cast<std::size_t>(i));
        plan->is_freeing |= plan->parameters.back().passed == Passed::freed;
    }
    plan->result = kept_form(result);
    plan->signature.emplace(ffi_type_of(*plan->result), types);
    plan->success = success == Py_None ? nullptr : Py_NewRef(success);
    plan->has_status = has_status != 0;
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
    return *first;  // another thread was faster; what this one made is small, and left
}

// ---------------------------------------------------------------- calls

// The values of one call, where C finds them, and what keeps what they point to.
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
            if (held_[i] && may_let_go())
                Py_DECREF(held_[i]);
    }
    Frame(const Frame &) = delete;
    Frame &operator=(const Frame &) = delete;

    void set(std::size_t index, PyObject *value) {
        const Parameter &parameter = plan_.parameters[index];
        Reference held;
        const Subject subject{plan_.name, parameter.text};
        if (parameter.passed == Passed::returned)
            set_given(parameter, value, values_[index], subject, held);
        else if (parameter.passed == Passed::sync && PyCallable_Check(value) && !is_adapter(value))
            set_called(parameter, value, values_[index], held);
        else
            store(*parameter.form, value, values_[index], subject, held, use_of(parameter));
        held_[index] = held.release();
    }

    // Memory for what C is to write.
    void prepare(std::size_t index) {
        const Parameter &parameter = plan_.parameters[index];
        void *target = memory_ + parameter.target;
        if (parameter.is_text) {
            held_[index] = new_text(parameter).release();
            target = pointer_of(held_[index])->address;
        } else if (parameter.form->how == How::record) {
            held_[index] = new_record(reinterpret_cast<PyTypeObject *>(parameter.form->type)).release();
            target = pointer_of(held_[index])->address;
        } else {
            std::memset(target, 0, size_of(*parameter.form));
        }
        std::memcpy(values_[index], &target, sizeof target);
    }

    // Of the objects whose memory C has taken back.
    void tell_freed() const {
        for (std::size_t i = 0; i < plan_.parameters.size(); ++i)
            if (plan_.parameters[i].passed == Passed::freed && held_[i])
                mark_freed(held_[i]);
    }

    void call() {
        // Through a local: the compiler need not read it again after the call.
        const ffi::Signature &signature = *plan_.signature;
        void *const address = plan_.address;
        const ReleaseGil released;
        signature.call(address, memory_ + plan_.result_cell, values_);
    }

    Reference result() const { return load(*plan_.result, memory_ + plan_.result_cell, nullptr); }

    Reference returned(std::size_t index) {
        const Parameter &parameter = plan_.parameters[index];
        if (parameter.form->how == How::record || parameter.is_text)
            return Reference(std::exchange(held_[index], nullptr));
        const std::byte *const target = memory_ + parameter.target;
        if (parameter.bytes_of == nothing)
            return load(*parameter.form, target, nullptr);
        void *address = nullptr;
        std::memcpy(&address, target, sizeof address);
        std::uint64_t bytes = 0;
        std::memcpy(&bytes, values_[parameter.bytes_of], size_of(*plan_.parameters[parameter.bytes_of].form));
        return address ? device_array(address, bytes) : Reference::borrow(Py_None);
    }

private:
    // As many zeros as the caller says that C may write.
    Reference new_text(const Parameter &parameter) const {
        const Reference bytes = load(*plan_.parameters[parameter.bytes_of].form, values_[parameter.bytes_of], nullptr);
        const Reference zeros = checked(PyObject_CallOneArg(reinterpret_cast<PyObject *>(&PyByteArray_Type), bytes.get()));
        return checked(PyObject_CallOneArg(parameter.form->type, zeros.get()));
    }

    static Use use_of(const Parameter &parameter) {
        if (parameter.passed == Passed::freed)
            return Use::free;
        return parameter.passed == Passed::out || parameter.passed == Passed::inout ? Use::write : Use::read;
    }

    // An out-parameter whose memory the caller brings.
    static void set_given(const Parameter &parameter, PyObject *value, void *cell, const Subject &subject, Reference &held) {
        if (!parameter.is_text)
            check_room(value, size_of(*parameter.form), subject);
        Argument taken = argument(value, adapter_type("Pointer"), Use::write, subject.owner, subject.name);
        std::memcpy(cell, &taken.address, sizeof taken.address);
        held = std::move(taken.held);
    }

    static void set_called(const Parameter &parameter, PyObject *callable, void *cell, Reference &held) {
        held = wrap_callable(reinterpret_cast<PyTypeObject *>(parameter.form->type), callable);
        std::memcpy(cell, &pointer_of(held.get())->address, sizeof(void *));
    }

    const Plan &plan_;
    std::byte *memory_;
    void *values_[most_parameters];
    PyObject *held_[most_parameters];
    std::vector<std::max_align_t> large_;
    alignas(16) std::byte inline_[inline_frame];
};

[[noreturn, gnu::noinline]] void refuse_count(const Plan &plan, std::size_t count) {
    std::string names;
    for (const std::size_t index : plan.taken)
        names += std::string(names.empty() ? "" : ", ") + plan.parameters[index].text;
    throw Error(ErrorKind::type, plan.name, "() takes ", plan.taken.size(), " argument", plan.taken.size() == 1 ? "" : "s",
                names.empty() ? "" : " (", names, names.empty() ? "" : ")", " but ", count, " were given",
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
    throw Error(ErrorKind::type, plan.name, "() got an unexpected keyword argument '", text, "'; it takes ", names);
}

using Given = std::array<PyObject *, most_parameters>;  // by parameter; nullptr: not given

// By position those that callers give, or all that C takes; by name any.
void sort(const Plan &plan, PyObject *const *args, std::size_t count, PyObject *kwnames, Given &given) {
    const std::size_t total = plan.parameters.size(), named = kwnames ? static_cast<std::size_t>(PyTuple_GET_SIZE(kwnames)) : 0;
    std::fill_n(given.begin(), total, nullptr);
    const bool is_all = count == total;
    if (count > plan.taken.size() && !is_all)
        refuse_count(plan, count);
    for (std::size_t i = 0; i < count; ++i)
        given[is_all ? i : plan.taken[i]] = args[i];
    for (std::size_t i = 0; i < named; ++i) {
        const std::size_t index = index_named(plan, PyTuple_GET_ITEM(kwnames, static_cast<Py_ssize_t>(i)));
        if (given[index])
            throw Error(ErrorKind::type, plan.name, "() got '", plan.parameters[index].text, "' by position and by name");
        given[index] = args[count + i];
    }
    for (const std::size_t index : plan.taken)
        if (!given[index])
            throw Error(ErrorKind::type, plan.name, "() is missing its argument '", plan.parameters[index].text, "'");
}

// The status first, then what C has written. Libraries without statuses give what they return, alone where that is all.
PyObject *results(const Plan &plan, Frame &frame, const Given *given) {
    const bool has_result = plan.result->how != How::none;
    const bool has_own = has_result && !(plan.success && plan.has_status);
    std::size_t written = 0;
    if (plan.returned_count)
        for (std::size_t i = 0; i < plan.parameters.size(); ++i)
            written += plan.parameters[i].passed == Passed::returned && !(given && (*given)[i]);
    if (plan.is_freeing && !plan.success)
        frame.tell_freed();
    if (!plan.success && written == 0)
        return frame.result().release();
    Reference tuple = checked(PyTuple_New(static_cast<Py_ssize_t>((plan.success ? 1 : 0) + (has_own ? 1 : 0) + written)));
    Py_ssize_t at = 0;
    if (plan.success) {
        Reference status = plan.has_status ? frame.result() : Reference::borrow(plan.success);
        if (plan.is_freeing && status.get() == plan.success)
            frame.tell_freed();
        PyTuple_SET_ITEM(tuple.get(), at++, status.release());
    }
    if (has_own)
        PyTuple_SET_ITEM(tuple.get(), at++, frame.result().release());
    if (written)
        for (std::size_t i = 0; i < plan.parameters.size(); ++i)
            if (plan.parameters[i].passed == Passed::returned && !(given && (*given)[i]))
                PyTuple_SET_ITEM(tuple.get(), at++, frame.returned(i).release());
    return tuple.release();
}

PyObject *call_simply(const Plan &plan, PyObject *const *args) {
    Frame frame(plan);
    for (std::size_t next = 0; next < plan.taken.size(); ++next)
        frame.set(plan.taken[next], args[next]);
    for (std::size_t i = 0, left = plan.returned_count; left; ++i)  // some need to know of the others how long they are
        if (plan.parameters[i].passed == Passed::returned) {
            frame.prepare(i);
            --left;
        }
    frame.call();
    return results(plan, frame, nullptr);
}

PyObject *call_with_names(const Plan &plan, PyObject *const *args, std::size_t count, PyObject *kwnames) {
    Given given;
    sort(plan, args, count, kwnames, given);
    Frame frame(plan);
    for (std::size_t i = 0; i < plan.parameters.size(); ++i)
        if (given[i])
            frame.set(i, given[i]);
    for (std::size_t i = 0; i < plan.parameters.size(); ++i)
        if (!given[i])
            frame.prepare(i);
    frame.call();
    return results(plan, frame, &given);
}

PyObject *call(PyObject *self, PyObject *const *args, std::size_t nargsf, PyObject *kwnames) {
    try {
        const Plan &plan = plan_of(function_of(self));
        const auto count = static_cast<std::size_t>(PyVectorcall_NARGS(nargsf));
        if (!kwnames && count == plan.taken.size()) [[likely]]
            return call_simply(plan, args);
        return call_with_names(plan, args, count, kwnames);
    } catch (...) {
        raise_current();
        return nullptr;
    }
}

// ---------------------------------------------------------------- the type

PyObject *function_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static const char *const names[] = {"library", "declaration", "symbol", nullptr};
    PyObject *library = nullptr, *declaration = nullptr, *symbol = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|O", const_cast<char **>(names), &library, &declaration, &symbol))
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

// Leaves None: others of the garbage may still ask for its name.
int function_clear(PyObject *self) {
    for (PyObject *FunctionObject::*member : {&FunctionObject::library, &FunctionObject::declaration})
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

const Interned name_name("__name__"), doc_name("__doc__"), module_name("__module__"), signature_name("_signature");

template <const Interned &name> PyObject *of_declaration(PyObject *self, void *) {
    return PyObject_GetAttr(function_of(self).declaration, name);
}

PyObject *signature(PyObject *self, void *) { return PyObject_CallMethodOneArg(function_of(self).library, signature_name, self); }

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
    {"declaration", T_OBJECT, offsetof(FunctionObject, declaration), READONLY, "The Python function that declares it."},
    {"symbol", T_OBJECT, offsetof(FunctionObject, symbol), READONLY, "What older libraries call it; None: as it is called."},
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(FunctionObject, vectorcall), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(FunctionObject, weak_references), READONLY, nullptr},
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
    return type && PyModule_AddObjectRef(module, "ForeignFunction", reinterpret_cast<PyObject *>(type)) == 0;
}

}  // namespace entrepot::python
