#include "ffi/signature.hpp"

#include <entrepot/core/error.hpp>

#include "ffi/form.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

namespace entrepot::ffi {

struct PreparedSignature {
    mutable ffi_cif cif{};
    Type result = Kind::none;
    std::vector<Type> arguments;  // own the forms that cif points to
    std::vector<ffi_type *> types;
};

namespace {

const char *reason_of(ffi_status status) {
    switch (status) {
    case FFI_BAD_TYPEDEF:
        return "a type is malformed";
    case FFI_BAD_ABI:
        return "the calling convention is unknown";
    default:
        return "an argument cannot be passed so";
    }
}

}  // namespace

Signature::Signature(const Type &result, std::span<const Type> arguments, std::size_t fixed) {
    auto prepared = std::make_shared<PreparedSignature>();
    prepared->result = result;
    prepared->arguments.assign(arguments.begin(), arguments.end());
    for (const Type &argument : prepared->arguments)
        prepared->types.push_back(libffi_type(argument));
    const auto count = static_cast<unsigned>(arguments.size());
    const ffi_status status =
        fixed == all
            ? ffi_prep_cif(&prepared->cif, FFI_DEFAULT_ABI, count, libffi_type(prepared->result),
                           prepared->types.data())
            : ffi_prep_cif_var(&prepared->cif, FFI_DEFAULT_ABI, static_cast<unsigned>(fixed), count,
                               libffi_type(prepared->result), prepared->types.data());
    if (status != FFI_OK)
        throw Error(ErrorKind::value, "libffi refuses the signature: ", reason_of(status));
    prepared_ = std::move(prepared);
}

void Signature::call(void *function, void *result, void **arguments) const noexcept {
    ffi_call(&prepared_->cif, reinterpret_cast<void (*)()>(function), result, arguments);
}

std::size_t Signature::result_size() const noexcept {
    return std::max(prepared_->result.size(), sizeof(ffi_arg));
}

struct Closure::Made {
    std::shared_ptr<const PreparedSignature> signature;
    Body body;
    void *context;
    ffi_closure *writable = nullptr;
    void *address = nullptr;

    static void enter(ffi_cif *, void *result, void **arguments, void *self) {
        const Made &made = *static_cast<const Made *>(self);
        if (const std::size_t size = made.signature->result.size())
            std::memset(result, 0, std::max(size, sizeof(ffi_arg)));
        made.body(made.context, result, arguments);
    }

    ~Made() {
        if (writable)
            ffi_closure_free(writable);
    }
};

Closure::Closure(const Signature &signature, Body body, void *context)
    : made_(new Made{signature.prepared_, body, context}) {
    made_->writable =
        static_cast<ffi_closure *>(ffi_closure_alloc(sizeof(ffi_closure), &made_->address));
    if (!made_->writable)
        throw Error(ErrorKind::device, "the system gives no executable memory for a callback");
    if (ffi_prep_closure_loc(made_->writable, &made_->signature->cif, Made::enter, made_.get(),
                             made_->address) != FFI_OK)
        throw Error(ErrorKind::device, "libffi makes no function of the callback's signature");
}

Closure::~Closure() = default;

void *Closure::address() const noexcept { return made_->address; }

void Closure::leak() noexcept { (void)made_.release(); }

}  // namespace entrepot::ffi
