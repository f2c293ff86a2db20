// Pointers to functions: Python callables that C calls, and C functions that Python calls.
#include "declared.hpp"

#include "../adapters/adapters.hpp"
#include "../support/errors.hpp"
#include "../support/gil.hpp"
#include "../support/guarded.hpp"

#include <entrepot/core/error.hpp>

#include <algorithm>
#include <cstring>

namespace entrepot::python {
namespace {

DeclaredBase pointer_base{};
PyTypeObject *const function_pointer_type = reinterpret_cast<PyTypeObject *>(&pointer_base);

// The context of a closure. C may call the closure on any thread.
struct Target {
    const CallbackType *callback;
    PyObject *callable;
};

struct FunctionPointerObject {
    entrepot_pointer pointer;
    ffi::Closure *closure;  // if it wraps a Python callable
    Target *target;
};
FunctionPointerObject &object_of(PyObject *self) noexcept {
    return *reinterpret_cast<FunctionPointerObject *>(self);
}

const CallbackType &callback_of_class(PyTypeObject *type) {
    if (const CallbackType *found = callback_of(reinterpret_cast<PyObject *>(type)))
        return *found;
    throw Error(ErrorKind::type, type->tp_name,
                " is the pointer to no function itself; its subclasses are");
}

// ---------------------------------------------------------------- C calls Python

Reference result_of(const Target &target, void **arguments) {
    const auto count = static_cast<Py_ssize_t>(target.callback->parameters.size());
    Reference values = checked(PyTuple_New(count));
    for (Py_ssize_t i = 0; i < count; ++i)
        PyTuple_SET_ITEM(
            values.get(), i,
            load(*target.callback->parameters[static_cast<std::size_t>(i)], arguments[i], nullptr)
                .release());
    return checked(PyObject_CallObject(target.callable, values.get()));
}

// A returned address must stay valid after the call. The callable must ensure
// that; it cannot be checked here.
void store_result(const Target &target, PyObject *value, void *result) {
    const CTypeObject &ctype = *target.callback->result;
    if (ctype.c_kind == CKind::none)
        return;
    Reference held;
    store(ctype, value, result, {target.callback->name.c_str(), "return"}, held);
}

// The result was zeroed before. C gets zero if Python raised or has been finalized.
void enter(void *context, void *result, void **arguments) noexcept {
    if (!Py_IsInitialized() || is_finalizing())
        return;
    const AcquireGil acquired;
    const SetErrorAside aside;
    // a copy: the callable may free the wrapper
    const Target target = *static_cast<Target *>(context);
    const Reference callable = Reference::borrow(target.callable);
    try {
        const Reference value = result_of(target, arguments);
        store_result(target, value.get(), result);
    } catch (...) {
        raise_current();
        PyErr_WriteUnraisable(callable.get());
    }
}

void set_callable(PyObject *self, const CallbackType &callback, PyObject *callable) {
    auto target = std::make_unique<Target>(Target{&callback, callable});
    auto closure = std::make_unique<ffi::Closure>(*callback.signature, enter, target.get());
    FunctionPointerObject &object = object_of(self);
    object.pointer.address = closure->address();
    Py_INCREF(callable);
    object.closure = closure.release();
    object.target = target.release();
}

// ---------------------------------------------------------------- Python calls C

constexpr std::size_t cell_size = 16;  // size and alignment for any scalar

PyObject *call(PyObject *self, PyObject *args, PyObject *kwargs) {
    return guarded([&] {
        const CallbackType &callback = callback_of_class(Py_TYPE(self));
        void *const address = object_of(self).pointer.address;
        const std::size_t count = callback.parameters.size();
        if (!address)
            throw Error(ErrorKind::value, callback.name, " is NULL, and cannot be called");
        if ((kwargs && PyDict_GET_SIZE(kwargs)) ||
            static_cast<std::size_t>(PyTuple_GET_SIZE(args)) != count)
            throw Error(ErrorKind::type, callback.name, "() takes ", count,
                        " arguments by position, not ", PyTuple_GET_SIZE(args),
                        kwargs && PyDict_GET_SIZE(kwargs) ? " and some by name" : "");
        std::size_t bytes = 0;
        std::vector<std::size_t> offsets;
        for (const CTypeObject *parameter : callback.parameters) {
            offsets.push_back(bytes);
            bytes += (std::max<std::size_t>(size_of(*parameter), 1) + cell_size - 1) / cell_size *
                     cell_size;
        }
        std::vector<std::max_align_t> memory(bytes / sizeof(std::max_align_t) + 1);
        std::vector<void *> values(count);
        std::vector<Reference> held(count);
        for (std::size_t i = 0; i < count; ++i) {
            values[i] = reinterpret_cast<std::byte *>(memory.data()) + offsets[i];
            store(*callback.parameters[i], PyTuple_GET_ITEM(args, static_cast<Py_ssize_t>(i)),
                  values[i], {callback.name.c_str(), callback.names[i].c_str()}, held[i]);
        }
        std::vector<std::max_align_t> result(
            callback.signature->result_size() / sizeof(std::max_align_t) + 1);
        const Reference alive = Reference::borrow(self);
        without_gil([&] { callback.signature->call(address, result.data(), values.data()); });
        return load(*callback.result, result.data(), nullptr).release();
    });
}

// ---------------------------------------------------------------- objects

PyObject *pointer_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    PyObject *given = nullptr;
    if (kwargs && PyDict_GET_SIZE(kwargs)) {
        PyErr_Format(PyExc_TypeError, "%s() takes no keyword arguments", type->tp_name);
        return nullptr;
    }
    if (!PyArg_UnpackTuple(args, type->tp_name, 1, 1, &given))
        return nullptr;
    return guarded([&] {
        const CallbackType &callback = callback_of_class(type);
        Reference made = checked(type->tp_alloc(type, 0));
        object_of(made.get()).pointer.length = -1;
        // not ctypes functions
        if (PyCallable_Check(given) && !is_adapter(given) && !PyObject_CheckBuffer(given))
            set_callable(made.get(), callback, given);
        else
            become_function(made.get(), given);
        return made.release();
    });
}

int pointer_init(PyObject *, PyObject *, PyObject *) { return 0; }

int pointer_traverse(PyObject *self, visitproc visit, void *arg) {
    if (object_of(self).target)
        Py_VISIT(object_of(self).target->callable);
    const traverseproc base = function_pointer_type->tp_base->tp_traverse;
    return base ? base(self, visit, arg) : 0;
}

// Keeps the callable: C may call the closure until dealloc.
int pointer_clear(PyObject *self) {
    const inquiry base = function_pointer_type->tp_base->tp_clear;
    return base ? base(self) : 0;
}

void pointer_dealloc(PyObject *self) {
    PyObject_GC_UnTrack(self);
    FunctionPointerObject &object = object_of(self);
    object.pointer.address = object.closure ? nullptr : object.pointer.address;
    const std::unique_ptr<ffi::Closure> closure(std::exchange(object.closure, nullptr));
    const std::unique_ptr<Target> target(std::exchange(object.target, nullptr));
    if (closure && is_finalizing()) {  // other threads and C exit handlers may still call it
        closure->leak();
        (void)const_cast<std::unique_ptr<Target> &>(target).release();
    } else if (target) {
        Py_DECREF(target->callable);
    }
    function_pointer_type->tp_base->tp_dealloc(self);
}

PyObject *pointer_repr(PyObject *self) {
    const FunctionPointerObject &object = object_of(self);
    if (object.target)
        return PyUnicode_FromFormat("<%s at %p: %R>", Py_TYPE(self)->tp_name,
                                    object.pointer.address, object.target->callable);
    return object.pointer.address
               ? PyUnicode_FromFormat("<%s at %p>", Py_TYPE(self)->tp_name, object.pointer.address)
               : PyUnicode_FromFormat("<%s at 0x0>", Py_TYPE(self)->tp_name);
}

constexpr const char *pointer_doc =
    "A pointer to a C function.\n\n"
    "C may call a Python callable as long as this object lives. If the callable raises,\n"
    "sys.unraisablehook reports the exception and C gets zero.\n\n"
    "Call the object to call the C function from Python.\n\n"
    "Parameters\n"
    "----------\n"
    "pyobj : callable or object\n"
    "    A Python callable, or an object that Pointer accepts other than an array (CAI,\n"
    "    DLPack, SUAI), which is data.\n\n"
    "Raises\n"
    "------\n"
    "TypeError\n"
    "    If the object is neither callable nor accepted, or if the class is FunctionPointer\n"
    "    itself.\n\n"
    "Examples\n"
    "--------\n"
    ">>> from entrepot import hip\n"
    ">>> function = hip.hipHostFn_t(lambda data: print(\"done\"))\n"
    ">>> function(None)  # as C would\n"
    "done";

// make_callback(name, result, parameters, dict): a parameter is (name, ctype).
PyObject *make_callback(PyObject *, PyObject *args) {
    PyObject *name = nullptr, *result = nullptr, *parameters = nullptr, *dict = nullptr;
    if (!PyArg_ParseTuple(args, "UOO!O!", &name, &result, &PyTuple_Type, &parameters, &PyDict_Type,
                          &dict))
        return nullptr;
    return guarded([&] {
        auto made = std::make_unique<CallbackType>();
        made->name = PyUnicode_AsUTF8(name);
        std::vector<Reference> references;
        std::vector<ffi::Type> types;
        const auto add = [&](PyObject *ctype) {
            const CTypeObject &known = ctype_of(ctype);
            references.push_back(Reference::borrow(ctype));
            return &known;
        };
        made->result = add(result);
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(parameters); ++i) {
            const char *parameter = nullptr;
            PyObject *ctype = nullptr;
            if (!PyArg_ParseTuple(PyTuple_GET_ITEM(parameters, i), "sO", &parameter, &ctype))
                throw PythonError{};
            made->names.emplace_back(parameter);
            made->parameters.push_back(add(ctype));
            if (made->parameters.back()->c_kind == CKind::array)
                throw Error(ErrorKind::type, made->name, "() parameter '", parameter,
                            "': C passes no arrays; declare a Pointer");
            types.push_back(ffi_type_of(*made->parameters.back()));
        }
        made->signature.emplace(ffi_type_of(*made->result), types);
        Reference type = make_declared(pointer_base, made.get(), name, dict);
        (void)made.release();
        for (Reference &each : references)
            (void)each.release();  // owned by the class
        return type.release();
    });
}

PyMethodDef functions[] = {
    {"make_callback", make_callback, METH_VARARGS,
     "Make the class of a function pointer. For entrepot.ffi."},
    {},
};

}  // namespace

const CallbackType *callback_of(PyObject *type) noexcept {
    auto *class_ = reinterpret_cast<PyTypeObject *>(type);
    return PyType_IsSubtype(class_, function_pointer_type)
               ? static_cast<const CallbackType *>(declared_of(class_))
               : nullptr;
}

Reference wrap_callable(PyTypeObject *type, PyObject *callable) {
    return checked(PyObject_CallOneArg(reinterpret_cast<PyObject *>(type), callable));
}

bool init_callback(PyObject *module) {
    function_pointer_type->tp_name = "entrepot._core.FunctionPointer";
    function_pointer_type->tp_basicsize = sizeof(FunctionPointerObject);
    function_pointer_type->tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC;
    function_pointer_type->tp_doc = pointer_doc;
    function_pointer_type->tp_new = pointer_new;
    function_pointer_type->tp_init = pointer_init;
    function_pointer_type->tp_dealloc = pointer_dealloc;
    function_pointer_type->tp_traverse = pointer_traverse;
    function_pointer_type->tp_clear = pointer_clear;
    function_pointer_type->tp_repr = pointer_repr;
    function_pointer_type->tp_call = call;
    return ready_declared_base(pointer_base, adapter_type("Pointer")) &&
           PyModule_AddObjectRef(module, "FunctionPointer",
                                 reinterpret_cast<PyObject *>(function_pointer_type)) == 0 &&
           PyModule_AddFunctions(module, functions) == 0;
}

}  // namespace entrepot::python
