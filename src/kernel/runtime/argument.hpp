// One argument of a kernel launch, with the properties that select the code to run.
#pragma once
#include "kernel/ir/types.hpp"
#include <entrepot/array/array.hpp>
#include <entrepot/array/launch.hpp>

#include <cstdint>
#include <span>

namespace entrepot::kernel {

// Maximum number of dimensions of local memory sized at launch.
inline constexpr std::size_t max_local_ndim = 3;

struct Argument {
    enum class Kind : std::uint8_t { array, scalar, local };

    Argument() = default;
    // Constructs in place: copying a temporary would load across stores of other widths and stall
    // store forwarding.
    // Lifetime: borrows `given`, which outlives the argument.
    explicit Argument(const Array &given) noexcept
        : kind(Kind::array), read_only(given.read_only()), dtype(given.dtype()),
          ndim(static_cast<std::uint32_t>(given.ndim())), array(&given) {}
    Argument(Dtype type, const Scalar &value) noexcept : dtype(type), scalar(value) {}
    // Throws: ValueError for more than max_local_ndim dimensions or a negative extent.
    static Argument local(Dtype dtype, Extents shape);

    Kind kind = Kind::scalar;
    bool declared_contiguous = false;  // for a parameter of a signature, which has no Array
    bool read_only = false;
    bool no_alias = false;  // no other array of the launch shares an element with it
    Dtype dtype{};
    std::uint32_t ndim = 0;
    // Equal and not 0 for the fields of one array of structs, which share no element.
    std::uint32_t struct_id = 0;
    const Array *array = nullptr;  // borrowed; nullptr unless it is an argument of kind array
    Scalar scalar;
    std::int64_t extents[max_local_ndim];  // of local memory

    bool is_contiguous() const noexcept {
        return array ? array->layout().is_c_contiguous() : declared_contiguous;
    }
    // Part of the key of compiled code: equal for two arguments that the same code accepts.
    std::uint64_t key() const noexcept {
        return static_cast<std::uint64_t>(kind) | std::uint64_t{is_contiguous()} << 2 |
               std::uint64_t{read_only} << 3 | std::uint64_t{no_alias} << 4 |
               std::uint64_t{static_cast<std::uint8_t>(dtype.code)} << 8 |
               std::uint64_t{dtype.bits} << 16 | std::uint64_t{dtype.lanes} << 24 |
               std::uint64_t{ndim} << 40;
    }
    bool is_field_beside(const Argument &other) const noexcept {
        return struct_id != 0 && struct_id == other.struct_id;
    }
    ArgumentType type() const;
    // Size in bytes of local memory: at least one element, because drivers refuse 0 bytes.
    // Requires: kind is local.
    std::size_t local_bytes() const noexcept;
};

// Alias analysis of a launch: sets `no_alias` for the arrays that share no element with another
// array. With many arrays it is conservative and sets none.
void find_aliases(std::span<Argument> arguments) noexcept;

}  // namespace entrepot::kernel
