// Checks properties of a torch.Tensor through PyTorch's C++ functions if
// possible, otherwise in Python.
//
// In Python, the two checks of a float tensor take longer than the whole import (75 ns). The C++
// functions behind them are exported, take one pointer and return a bool. The pointer is stored in
// the object, and its `_cdata` attribute shows it.
#include "torch_properties.hpp"

#include "../support/reference.hpp"
#include "protocol.hpp"

#include <entrepot/core/error.hpp>

#include <dlfcn.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

namespace entrepot::python {
namespace {

// Argument of the C++ function: the c10::TensorImpl, or an at::Tensor, a pointer to one that is
// passed by its address.
enum class Argument { impl, handle };

struct Property {
    const char *name;
    std::uint32_t codes;  // bit 1 << TypeCode for each code that can have the property
    const char *meaning, *resolve;
    const char *library, *symbol;
    Argument argument;
};

constexpr std::uint32_t bit_of(TypeCode code) {
    return std::uint32_t{1} << static_cast<unsigned>(code);
}
constexpr std::uint32_t every_code = ~std::uint32_t{0},
                        differentiable = ~(bit_of(TypeCode::boolean) | bit_of(TypeCode::integer) |
                                           bit_of(TypeCode::unsigned_integer));

constexpr std::array<Property, 3> properties{{
    {"requires_grad", differentiable, "requires a gradient, which a view would bypass", ".detach()",
     "libc10.so", "_ZNK3c1010TensorImpl13requires_gradEv", Argument::impl},
    {"is_neg", every_code, "is negated lazily: its bytes have the other sign", ".resolve_neg()",
     "libtorch_cpu.so", "_ZN2at6native6is_negERKNS_6TensorE", Argument::handle},
    {"is_conj", bit_of(TypeCode::complex), "is conjugated lazily: its bytes are not conjugated",
     ".resolve_conj()", "libtorch_cpu.so", "_ZN2at6native7is_conjERKNS_6TensorE", Argument::handle},
}};

[[gnu::noinline]] bool ask_in_python(PyObject *tensor, const char *name) {
    const Reference value(PyObject_GetAttrString(tensor, name));
    const Reference answer(value && PyCallable_Check(value.get()) ? PyObject_CallNoArgs(value.get())
                                                                  : Py_XNewRef(value.get()));
    if (!answer)
        throw PythonError{};
    return answer.get() == Py_True;
}

// Offset in the object of the pointer that `_cdata` shows; 0 if it is not found or ambiguous.
std::size_t find_impl(PyObject *tensor) {
    const Reference shown(PyObject_GetAttrString(tensor, "_cdata"));
    void *const impl = shown ? PyLong_AsVoidPtr(shown.get()) : nullptr;
    PyErr_Clear();
    std::size_t found = 0;
    const auto size = static_cast<std::size_t>(Py_TYPE(tensor)->tp_basicsize);
    for (std::size_t offset = sizeof(PyObject); impl && offset + sizeof impl <= size;
         offset += sizeof impl)
        if (std::memcmp(reinterpret_cast<const char *>(tensor) + offset, &impl, sizeof impl) == 0) {
            if (found)
                return 0;
            found = offset;
        }
    return found;
}

using Function = bool (*)(const void *);

Function find_function(const Property &property) {
    void *const library = dlopen(property.library, RTLD_LAZY | RTLD_NOLOAD);
    return library ? reinterpret_cast<Function>(dlsym(library, property.symbol)) : nullptr;
}

// The functions for each property, found with the first tensor. A function is not used if it cannot
// be found or its result differs from Python's.
class TensorPredicates {
public:
    explicit TensorPredicates(PyObject *tensor) : impl_(find_impl(tensor)) {
        for (std::size_t i = 0; impl_ && i < properties.size(); ++i) {
            functions_[i] = find_function(properties[i]);
            if (functions_[i] && ask(tensor, i) != ask_in_python(tensor, properties[i].name))
                functions_[i] = nullptr;
        }
    }

    bool ask(PyObject *tensor, std::size_t i) const {
        if (!functions_[i]) [[unlikely]]
            return ask_in_python(tensor, properties[i].name);
        const char *const handle = reinterpret_cast<const char *>(tensor) + impl_;
        return functions_[i](properties[i].argument == Argument::handle
                                 ? handle
                                 : *reinterpret_cast<const void *const *>(handle));
    }

private:
    std::size_t impl_;
    std::array<Function, properties.size()> functions_{};
};

std::atomic<const TensorPredicates *> found{nullptr};

// Not a static initializer: this runs Python code, which can release the GIL to a thread that waits
// for the static. Threads that race find the same functions.
[[gnu::noinline]] const TensorPredicates *find_predicates(PyObject *tensor) {
    auto made = std::make_unique<const TensorPredicates>(tensor);
    const TensorPredicates *first = nullptr;
    return found.compare_exchange_strong(first, made.get(), std::memory_order_acq_rel)
               ? made.release()
               : first;
}

[[noreturn, gnu::noinline]] void refuse(const Property &property) {
    throw Error(ErrorKind::exchange, "DLPack C exchange API: the torch.Tensor ", property.meaning,
                "; pass tensor", property.resolve);
}

}  // namespace

[[gnu::hot]] void require_plain_tensor(PyObject *tensor, TypeCode code) {
    const TensorPredicates *predicates = found.load(std::memory_order_acquire);
    if (!predicates) [[unlikely]]
        predicates = find_predicates(tensor);
    for (std::size_t i = 0; i < properties.size(); ++i)
        if (properties[i].codes & bit_of(code) && predicates->ask(tensor, i)) [[unlikely]]
            refuse(properties[i]);
}

}  // namespace entrepot::python
