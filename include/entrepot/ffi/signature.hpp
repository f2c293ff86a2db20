// Signature: result and arguments of a C function, prepared once for any number of calls; and closures, C functions that are
// made at run time and lead back to whoever made them.
#pragma once
#include <entrepot/ffi/type.hpp>

#include <cstddef>
#include <memory>
#include <span>

namespace entrepot::ffi {

struct PreparedSignature;

class Signature {
public:
    // Arguments from `fixed` on are those that a variadic function has besides. Throws ValueError where libffi knows no way to
    // pass these.
    static constexpr std::size_t all = static_cast<std::size_t>(-1);
    Signature(const Type &result, std::span<const Type> arguments, std::size_t fixed = all);

    // A value per argument, by address. The result has room for result_size() bytes; integers narrower than a register come
    // widened to one, so read them by their own size on little-endian machines.
    void call(void *function, void *result, void **arguments) const noexcept;

    std::size_t result_size() const noexcept;

private:
    friend class Closure;
    std::shared_ptr<const PreparedSignature> prepared_;
};

// A C function pointer that is valid for as long as this lives.
class Closure {
public:
    // Nothing may be thrown through C. The result is zeroed before the body runs.
    using Body = void (*)(void *context, void *result, void **arguments) noexcept;

    // Throws DeviceError where the system gives no executable memory.
    Closure(const Signature &signature, Body body, void *context);
    ~Closure();
    Closure(const Closure &) = delete;
    Closure &operator=(const Closure &) = delete;

    void *address() const noexcept;
    // C may still hold the address: the memory is kept for as long as the process lives, and calls go on to the body.
    void leak() noexcept;

private:
    struct Made;
    std::unique_ptr<Made> made_;
};

}  // namespace entrepot::ffi
