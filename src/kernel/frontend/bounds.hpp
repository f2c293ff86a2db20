// Lower bounds of integers. Proved and assumed bounds are separate types without conversions. Only
// a proof may justify C's division, the range of a variable or the bound of a slice.
#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>

namespace entrepot::kernel {

// A lower bound that holds for every input, even if calculations wrap.
struct Proved {
    std::int64_t least = INT64_MIN;

    bool is_non_negative() const { return least >= 0; }
    bool is_positive() const { return least >= 1; }
};

// A lower bound of a count: an integer made of ids, sizes, extents, loop variables and constants
// only. Array elements and arguments are excluded. Sums and products of counts wrap only beyond
// 2**63 work-items, elements or rounds. An index that is a count therefore needs no test for
// negative values. The bound may be used for no other purpose.
struct Assumed {
    std::int64_t least;
    // The order grows with each product, and with a sum of two counts of equal order. The order of
    // a variable that a loop multiplies or doubles grows with each walk. Such a variable wraps
    // after a few rounds and is not a count.
    int order = 1;

    bool operator==(const Assumed &) const = default;
};

inline bool is_non_negative(const std::optional<Assumed> &bound) {
    return bound && bound->least >= 0;
}

// Bound of a value that is one of two values.
inline std::optional<Assumed> weaker(const std::optional<Assumed> &a,
                                     const std::optional<Assumed> &b) {
    return a && b
               ? std::optional(Assumed{std::min(a->least, b->least), std::max(a->order, b->order)})
               : std::nullopt;
}

}  // namespace entrepot::kernel
