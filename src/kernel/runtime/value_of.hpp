// Converts a parameter of a compiled function to the backend's form.
#pragma once
#include "kernel/runtime/specialization.hpp"
#include <entrepot/core/assert.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <span>

namespace entrepot::kernel {

// True if the range has no work-items.
inline bool is_empty(const ep_range &range) noexcept {
    return std::find(range.global, range.global + range.ndim, 0u) != range.global + range.ndim;
}

// Layout of an array or of local memory. A scalar has the layout of one element.
inline Layout layout_of(const Argument &argument) {
    switch (argument.kind) {
    case Argument::Kind::array:
        return argument.array->layout();
    case Argument::Kind::local:
        return Layout(Extents(argument.extents, argument.ndim));
    default:
        return Layout();
    }
}

// Work-items of a group; 0 if the device chooses.
inline std::uint64_t group_size(const ep_range &range) noexcept {
    return std::accumulate(range.local, range.local + range.ndim, std::uint64_t{1},
                           std::multiplies<>());
}

// Memory that a launch gives its kernel; null where the kernel needs none.
struct LaunchMemory {
    void *report = nullptr;    // of a debug build
    void *arrivals = nullptr;  // of grid barriers
};

// Value for a launch of the range `asked` in groups of `group` work-items.
//
// Requires: `parameter` was compiled for these arguments.
// Lifetime: the result points into the argument, its array or the range.
inline ep_argument value_of(const CompiledParameter &parameter, std::span<const Argument> arguments,
                            const ep_range &asked, std::uint64_t group,
                            const LaunchMemory &memory) {
    using What = CompiledParameter::What;
    if (parameter.what == What::global_size)
        return {EP_ARG_BYTES, sizeof(std::uint64_t), asked.global + parameter.dimension};
    if (parameter.what == What::scratch)
        return {EP_ARG_LOCAL, parameter.dimension * group, nullptr};
    if (parameter.what == What::arrays)
        return {EP_ARG_LOCAL, parameter.dimension, nullptr};
    if (parameter.what == What::report)
        return {EP_ARG_POINTER, sizeof(void *), memory.report};
    if (parameter.what == What::arrivals)
        return {EP_ARG_POINTER, sizeof(void *), memory.arrivals};
    ENTREPOT_ASSERT(parameter.argument < arguments.size());
    const Argument &argument = arguments[parameter.argument];
    const bool is_array = argument.kind == Argument::Kind::array;
    switch (parameter.what) {
    case What::pointer:
        if (is_array)
            return {EP_ARG_POINTER, sizeof(void *), argument.array->data()};
        [[fallthrough]];
    case What::local:
        return {EP_ARG_LOCAL, argument.local_bytes(), nullptr};
    case What::extent: {
        const std::int64_t *extents = is_array ? argument.array->shape().data() : argument.extents;
        return {EP_ARG_BYTES, sizeof(std::int64_t), extents + parameter.dimension};
    }
    case What::stride:
        return {EP_ARG_BYTES, sizeof(std::int64_t),
                argument.array->strides().data() + parameter.dimension};
    default:
        return {EP_ARG_BYTES, argument.scalar.size, argument.scalar.bytes.data()};
    }
}

}  // namespace entrepot::kernel
