// Errors: one exception type whose kind is a row of a table. The Python exceptions are made from
// the same table.
#pragma once
#include <entrepot/core/api.hpp>
#include <entrepot/core/text.hpp>

#include <array>
#include <cstdint>
#include <ostream>
#include <stdexcept>

#pragma GCC visibility push(default)
namespace entrepot {

enum class ErrorKind : std::uint8_t {
    entrepot,    // base of the package's errors
    exchange,    // memory cannot be imported or exported
    interface,   // a malformed SUAI, CAI or array interface
    device,      // a device, driver or queue is absent or reported an error
    kernel,      // a program's source or launch was refused
    allocation,  // out of memory
    library,     // a shared library or a function of it is missing
    type,        // from here on Python's own
    value,
    index,
    overflow,
    assertion,  // of a kernel with debug checks
};

struct ErrorRow {
    ErrorKind kind;
    const char *name;  // in Python; the package's errors are attributes of `entrepot`
    const char *base;  // the package's base class, nullptr for Python's own
    const char *also;  // a further base class from Python, which peers raise; or nullptr
    const char *doc;
};

ENTREPOT_LOCAL inline constexpr std::array<ErrorRow, 12> error_table{{
    {ErrorKind::entrepot, "EntrepotError", nullptr, "Exception",
     "The root of all errors that Entrepot defines."},
    {ErrorKind::exchange, "ExchangeError", "EntrepotError", "BufferError",
     "Memory cannot be imported or exported as asked: the message names the protocol, the reason "
     "and what to do."},
    {ErrorKind::interface, "InterfaceError", "ExchangeError", "ValueError",
     "A SUAI, CAI or NumPy array interface says something malformed or untrue."},
    {ErrorKind::device, "DeviceError", "EntrepotError", nullptr,
     "A device, driver or queue is absent or reported an error."},
    {ErrorKind::kernel, "KernelError", "EntrepotError", nullptr,
     "A program's source, or the launch of a kernel, was refused."},
    {ErrorKind::allocation, "USMAllocationError", "EntrepotError", "MemoryError",
     "Memory could not be allocated: the message gives the bytes asked for and what there was."},
    {ErrorKind::library, "LibraryError", "EntrepotError", "ImportError",
     "A shared library, or a function of it, is not there: the message lists what was tried."},
    {ErrorKind::type, "TypeError", nullptr, nullptr, nullptr},
    {ErrorKind::value, "ValueError", nullptr, nullptr, nullptr},
    {ErrorKind::index, "IndexError", nullptr, nullptr, nullptr},
    {ErrorKind::overflow, "OverflowError", nullptr, nullptr, nullptr},
    {ErrorKind::assertion, "AssertionError", nullptr, nullptr, nullptr},
}};

// Name of the Python exception: "DeviceError".
inline const char *name_of(ErrorKind kind) noexcept {
    return error_table[static_cast<std::size_t>(kind)].name;
}

// Formats a pointer or handle for messages.
struct Hex {
    std::uintptr_t value;
    explicit Hex(const void *pointer) : value(reinterpret_cast<std::uintptr_t>(pointer)) {}
};

inline std::ostream &operator<<(std::ostream &out, Hex hex) {
    const auto flags = out.flags();
    out << "0x" << std::hex << hex.value;
    out.flags(flags);
    return out;
}

class Error : public std::runtime_error {
public:
    // The message is the concatenation of the parts.
    template <class... Parts>
    explicit Error(ErrorKind kind, const Parts &...parts)
        : std::runtime_error(sentence_of(parts...)), kind_(kind) {}

    ErrorKind kind() const noexcept { return kind_; }

private:
    ErrorKind kind_;
};

}  // namespace entrepot
#pragma GCC visibility pop
