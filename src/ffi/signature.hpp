// Signature: result and arguments of a C function, prepared once for any number of calls. Closures:
// C functions that are made at run time and call back into C++.
#pragma once
#include "ffi/type.hpp"

#include <cstddef>
#include <memory>
#include <span>

namespace entrepot::ffi {

struct PreparedSignature;

class Signature {
public:
    // Arguments from `fixed` on are variadic ones. Throws ValueError if libffi cannot pass these
    // types.
    static constexpr std::size_t all = static_cast<std::size_t>(-1);
    Signature(const Type &result, std::span<const Type> arguments, std::size_t fixed = all);

    // Takes the address of each argument. The result has room for result_size() bytes. Integers
    // narrower than a register are widened to one; on little-endian machines they can be read by
    // their own size.
    void call(void *function, void *result, void **arguments) const noexcept;

    std::size_t result_size() const noexcept;

private:
    friend class Closure;
    std::shared_ptr<const PreparedSignature> prepared_;
};

// Owns a C function pointer.
class Closure {
public:
    // Must not throw through C. The result is zeroed before the call.
    using Body = void (*)(void *context, void *result, void **arguments) noexcept;

    // Throws DeviceError if the system provides no executable memory.
    Closure(const Signature &signature, Body body, void *context);
    ~Closure();
    Closure(const Closure &) = delete;
    Closure &operator=(const Closure &) = delete;

    void *address() const noexcept;
    // For addresses that C code may still hold: the memory is kept until process exit, and calls
    // still reach the body.
    void leak() noexcept;

private:
    struct Made;
    std::unique_ptr<Made> made_;
};

}  // namespace entrepot::ffi
