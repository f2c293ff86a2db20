// Argument: one argument of a kernel's launch, and what of it decides which code runs.
#pragma once
#include <entrepot/array/array.hpp>
#include <entrepot/array/launch.hpp>
#include <entrepot/kernel/compiler/compiler.hpp>

#include <cstdint>
#include <span>

namespace entrepot::kernel {

// Local memory sized at launch has up to this many dimensions.
inline constexpr std::size_t max_local_ndim = 3;

struct Argument {
    enum class Kind : std::uint8_t { array, scalar, local };

    Argument() = default;
    // (Made where it is to be: put together elsewhere first, a copy of it waits for stores of other widths.)
    explicit Argument(const Array &given) noexcept
        : kind(Kind::array), read_only(given.read_only()), dtype(given.dtype()), ndim(static_cast<std::uint32_t>(given.ndim())),
          array(&given) {}
    Argument(Dtype type, const Scalar &value) noexcept : dtype(type), scalar(value) {}
    // Throws ValueError for more than max_local_ndim dimensions, or an extent that is negative.
    static Argument local(Dtype dtype, Extents shape);

    Kind kind = Kind::scalar;
    bool declared_contiguous = false;  // of what is no Array, but a parameter of a signature
    bool read_only = false;
    bool apart = false;  // no other array of the launch has an element of it
    Dtype dtype{};
    std::uint32_t ndim = 0;
    const Array *array = nullptr;  // the caller keeps it
    Scalar scalar;
    std::int64_t extents[max_local_ndim];  // of local memory

    bool is_contiguous() const noexcept { return array ? array->layout().is_c_contiguous() : declared_contiguous; }
    // Equal for two arguments that the same code serves.
    std::uint64_t key() const noexcept {
        return static_cast<std::uint64_t>(kind) | std::uint64_t{is_contiguous()} << 2 | std::uint64_t{read_only} << 3 |
               std::uint64_t{apart} << 4 | std::uint64_t{static_cast<std::uint8_t>(dtype.code)} << 8 |
               std::uint64_t{dtype.bits} << 16 | std::uint64_t{dtype.lanes} << 24 | std::uint64_t{ndim} << 40;
    }
    ArgumentType type() const;
    std::size_t local_bytes() const noexcept;  // at least one element's, for no driver takes none
};

// Finds out which arrays share no element with another one of the launch.
void find_overlaps(std::span<Argument> arguments) noexcept;

}  // namespace entrepot::kernel
