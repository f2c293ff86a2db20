// Planning of strided copies and fills for backends that run them as kernels: a box is reduced to
// the fewest dimensions and the widest units.
#pragma once
#include "boundary.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

namespace entrepot::backends {

// One loop of a nest; steps are in bytes.
struct Loop {
    std::int64_t count;
    std::int64_t to_step, from_step;
};

// Units of 1, 2, 4, 8 or 16 bytes in nested loops, the outermost first. In a fill, `from` moves
// with `to` and is never read.
struct LoopNest {
    char *to;
    const char *from;
    std::size_t unit = 1;
    std::vector<Loop> loops;

    bool is_empty = false;
    // True if both sides are one block of bytes.
    bool is_contiguous() const noexcept;
    std::size_t bytes() const noexcept;
};

// Refuses a box that the contract does not allow.
LoopNest plan_copy(const ep_box &box, void *to, const std::int64_t *to_steps, const void *from,
                   const std::int64_t *from_steps);

// A fill has one nest for each distinct unit of the item: `values[i]` is written along `nests[i]`.
struct Fill {
    using Value = std::array<unsigned char, 16>;
    std::vector<LoopNest> nests;
    std::vector<Value> values;
};
Fill plan_fill(const ep_box &box, void *to, const std::int64_t *to_steps, const void *item);

namespace loop_nests {

constexpr std::size_t widest_unit = 16;

inline void require_box(const ep_box &box) {
    if (box.ndim > EP_MAX_NDIM)
        refuse(EP_INVALID, "a box of ", box.ndim, " dimensions was given, and there may be ",
               EP_MAX_NDIM);
    if (box.itemsize == 0)
        refuse(EP_INVALID, "a box of items of 0 bytes was given");
    for (std::size_t i = 0; i < box.ndim; ++i)
        if (box.shape[i] < 0)
            refuse(EP_INVALID, "dimension ", i, " of the box has the negative extent ",
                   box.shape[i]);
}

// Loops over whole items, sorted by the steps of `to`, all forward and of more than one round.
inline LoopNest nest_of_items(const ep_box &box, void *to, const std::int64_t *to_steps,
                              const void *from, const std::int64_t *from_steps) {
    require_box(box);
    LoopNest nest{static_cast<char *>(to), static_cast<const char *>(from), 1, {}};
    for (std::size_t i = 0; i < box.ndim; ++i) {
        Loop loop{box.shape[i], to_steps[i], from_steps[i]};
        nest.is_empty |= loop.count == 0;
        if (loop.count <= 1)
            continue;
        if (loop.to_step < 0) {
            nest.to += (loop.count - 1) * loop.to_step;
            nest.from += (loop.count - 1) * loop.from_step;
            loop.to_step = -loop.to_step;
            loop.from_step = -loop.from_step;
        }
        nest.loops.push_back(loop);
    }
    std::stable_sort(nest.loops.begin(), nest.loops.end(),
                     [](const Loop &a, const Loop &b) { return a.to_step > b.to_step; });
    return nest;
}

// Joins an outer loop with the one inside it if the outer step equals the whole extent of the inner
// loop.
inline void join_loops(LoopNest &nest) {
    std::vector<Loop> joined;
    for (const Loop &inner : nest.loops) {
        if (!joined.empty()) {
            Loop &outer = joined.back();
            if (outer.to_step == inner.to_step * inner.count &&
                outer.from_step == inner.from_step * inner.count) {
                outer = {outer.count * inner.count, inner.to_step, inner.from_step};
                continue;
            }
        }
        joined.push_back(inner);
    }
    nest.loops = std::move(joined);
}

inline bool is_multiple(const LoopNest &nest, std::size_t bytes) {
    std::uint64_t all =
        reinterpret_cast<std::uintptr_t>(nest.to) | reinterpret_cast<std::uintptr_t>(nest.from);
    for (std::size_t i = 0; i + 1 < nest.loops.size(); ++i)
        all |= static_cast<std::uint64_t>(nest.loops[i].to_step) |
               static_cast<std::uint64_t>(nest.loops[i].from_step);
    return all % bytes == 0;
}

// Doubles the unit once if the innermost loop is contiguous and all addresses stay aligned.
inline bool widen_unit(LoopNest &nest) {
    if (nest.unit == widest_unit || nest.loops.empty())
        return false;
    Loop &inner = nest.loops.back();
    const auto unit = static_cast<std::int64_t>(nest.unit);
    if (inner.to_step != unit || inner.from_step != unit || inner.count % 2 != 0 ||
        !is_multiple(nest, 2 * nest.unit))
        return false;
    nest.unit *= 2;
    inner = {inner.count / 2, 2 * unit, 2 * unit};
    if (inner.count == 1)
        nest.loops.pop_back();
    return true;
}

// The shortest prefix whose repetition, by a power of two, is the item.
inline std::size_t period_of(const unsigned char *item, std::size_t itemsize) {
    std::size_t period = itemsize;
    while (period % 2 == 0 && std::memcmp(item, item + period / 2, period / 2) == 0)
        period /= 2;
    return period;
}

}  // namespace loop_nests

inline bool LoopNest::is_contiguous() const noexcept {
    const auto step = static_cast<std::int64_t>(unit);
    return loops.empty() ||
           (loops.size() == 1 && loops[0].to_step == step && loops[0].from_step == step);
}

inline std::size_t LoopNest::bytes() const noexcept {
    std::size_t all = unit;
    for (const Loop &loop : loops)
        all *= static_cast<std::size_t>(loop.count);
    return all;
}

inline LoopNest plan_copy(const ep_box &box, void *to, const std::int64_t *to_steps,
                          const void *from, const std::int64_t *from_steps) {
    LoopNest nest = loop_nests::nest_of_items(box, to, to_steps, from, from_steps);
    if (box.itemsize > 1)
        nest.loops.push_back({static_cast<std::int64_t>(box.itemsize), 1, 1});
    loop_nests::join_loops(nest);
    while (loop_nests::widen_unit(nest)) {
    }
    return nest;
}

inline Fill plan_fill(const ep_box &box, void *to, const std::int64_t *to_steps, const void *item) {
    const auto *bytes = static_cast<const unsigned char *>(item);
    const std::size_t period = loop_nests::period_of(bytes, box.itemsize);
    LoopNest items = loop_nests::nest_of_items(box, to, to_steps, to, to_steps);
    if (box.itemsize > period) {
        const auto step = static_cast<std::int64_t>(period);
        items.loops.push_back({static_cast<std::int64_t>(box.itemsize / period), step, step});
    }
    loop_nests::join_loops(items);

    std::size_t unit = 1;
    std::uint64_t aligned = reinterpret_cast<std::uintptr_t>(items.to) | period;
    for (const Loop &loop : items.loops)
        aligned |= static_cast<std::uint64_t>(loop.to_step);
    while (unit < loop_nests::widest_unit && aligned % (2 * unit) == 0)
        unit *= 2;

    Fill fill;
    for (std::size_t offset = 0; offset < period; offset += unit) {
        LoopNest nest = items;
        nest.unit = unit;
        nest.to += offset;
        nest.from = nest.to;
        while (loop_nests::widen_unit(nest)) {
        }
        Fill::Value value;
        for (std::size_t i = 0; i < value.size(); ++i)
            value[i] = bytes[offset + i % unit];
        fill.nests.push_back(std::move(nest));
        fill.values.push_back(value);
    }
    return fill;
}

}  // namespace entrepot::backends
