// Errors: one exception type whose kind is a row of a table; the Python exceptions are made from the same table.
#pragma once
#include <entrepot/core/text.hpp>

#include <array>
#include <cstdint>
#include <ostream>
#include <stdexcept>

namespace entrepot {

enum class ErrorKind : std::uint8_t {
    entrepot,    // the root of the package's own
    exchange,    // memory cannot be taken in or given out
    interface,   // a malformed SUAI, CAI or array interface
    device,      // a device, a driver or a queue reported an error, or is not there
    kernel,      // a program's source or launch was refused
    allocation,  // out of memory
    library,     // a shared library, or a function of it, is not there
    type,        // from here on Python's own, where a person expects them
    value,
    index,
    overflow,
};

struct ErrorRow {
    ErrorKind kind;
    const char *name;  // in Python; of the package's own: an attribute of `entrepot`
    const char *base;  // the package's base class, nullptr for Python's own
    const char *also;  // a base of Python's, so that users of the peers catch what they always caught; nullptr: none
    const char *doc;
};

inline constexpr std::array<ErrorRow, 11> error_table{{
    {ErrorKind::entrepot, "EntrepotError", nullptr, "Exception", "The root of all errors that Entrepot defines."},
    {ErrorKind::exchange, "ExchangeError", "EntrepotError", "BufferError",
     "Memory cannot be taken in or given out as asked: the message names the protocol, the reason and what to do."},
    {ErrorKind::interface, "InterfaceError", "ExchangeError", "ValueError",
     "A SUAI, CAI or NumPy array interface says something malformed or untrue."},
    {ErrorKind::device, "DeviceError", "EntrepotError", nullptr, "A device, driver or queue is absent or reported an error."},
    {ErrorKind::kernel, "KernelError", "EntrepotError", nullptr, "A program's source, or the launch of a kernel, was refused."},
    {ErrorKind::allocation, "USMAllocationError", "EntrepotError", "MemoryError",
     "Memory could not be allocated: the message gives the bytes asked for and what there was."},
    {ErrorKind::library, "LibraryError", "EntrepotError", "ImportError",
     "A shared library, or a function of it, is not there: the message lists what was tried."},
    {ErrorKind::type, "TypeError", nullptr, nullptr, nullptr},
    {ErrorKind::value, "ValueError", nullptr, nullptr, nullptr},
    {ErrorKind::index, "IndexError", nullptr, nullptr, nullptr},
    {ErrorKind::overflow, "OverflowError", nullptr, nullptr, nullptr},
}};

// A pointer or handle as messages show it.
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
    // The message is the parts streamed one after the other.
    template <class... Parts>
    explicit Error(ErrorKind kind, const Parts &...parts) : std::runtime_error(sentence_of(parts...)), kind_(kind) {}

    ErrorKind kind() const noexcept { return kind_; }

private:
    ErrorKind kind_;
};

}  // namespace entrepot
