// Bounds: what an integer is at least. A bound that is assumed has another type than one that is proved, and neither converts to
// the other: only a proof may choose C's division, the range of a variable or the bound of a slice.
#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>

namespace entrepot::kernel {

// Holds for every input: calculations that wrap are accounted for.
struct Proved {
    std::int64_t least = INT64_MIN;

    bool is_natural() const { return least >= 0; }
    bool is_positive() const { return least >= 1; }
};

// Holds for a count: an integer that is made of ids, sizes, extents, loop variables and constants, and of no element of an array
// and no argument. Sums and products of such wrap only beyond 2**63 work-items, elements or rounds. A count that is an index
// needs no test whether it counts from the end; nothing else may rest on the bound.
struct Assumed {
    std::int64_t least;
    // Grows with each product, and with a sum of two counts of one order. The order of a variable that a loop multiplies or
    // doubles therefore grows with each walk over the function: it wraps after a few rounds, and is no count.
    int order = 1;

    bool operator==(const Assumed &) const = default;
};

inline bool is_natural(const std::optional<Assumed> &bound) { return bound && bound->least >= 0; }

// Of a value that is one of two.
inline std::optional<Assumed> weaker(const std::optional<Assumed> &a, const std::optional<Assumed> &b) {
    return a && b ? std::optional(Assumed{std::min(a->least, b->least), std::max(a->order, b->order)}) : std::nullopt;
}

}  // namespace entrepot::kernel
