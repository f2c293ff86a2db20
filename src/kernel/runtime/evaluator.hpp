// Evaluator: the values that integer expressions of a kernel have for a work-item of one launch.
#pragma once
#include "kernel/passes/accesses.hpp"
#include "kernel/runtime/argument.hpp"
#include <entrepot/core/assert.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <span>

namespace entrepot::kernel {

// Evaluates expressions of constants, sizes, ids, extents, strides and scalar arguments, in which
// `id` of an extent or stride is the argument's place. Integers only: anything else, and overflow,
// is unknown.
class Evaluator {
public:
    using Known = std::optional<std::int64_t>;
    using Id = std::array<std::int64_t, 3>;

    // `asked` is the range of the launch; `chosen` is the same with the size of groups where the
    // kernel depends on it.
    // Lifetime: borrows all of them.
    Evaluator(const ep_range &asked, const ep_range &chosen, std::span<const Argument> arguments)
        : asked_(asked), chosen_(chosen), arguments_(arguments) {}

    // `id`: ids of the work-item; nullptr if they are unknown.
    // Returns: nullopt if the value is unknown, overflows or is no integer.
    Known operator()(const ir::Expression &expression, const Id *id) const;

    // Work-items of a group along the axis; 0: unknown.
    std::int64_t local_size(std::uint32_t axis) const {
        ENTREPOT_ASSERT(axis < 3);
        return axis < asked_.ndim ? static_cast<std::int64_t>(chosen_.local[axis]) : 1;
    }
    std::int64_t global_size(std::uint32_t axis) const {
        ENTREPOT_ASSERT(axis < 3);
        return axis < asked_.ndim ? static_cast<std::int64_t>(asked_.global[axis]) : 1;
    }

private:
    Known evaluated(const ir::Expression &expression, const Id *id) const;
    Known index(const ir::Expression &expression, const Id *id) const;

    const ep_range &asked_, &chosen_;
    const std::span<const Argument> arguments_;
};

}  // namespace entrepot::kernel
