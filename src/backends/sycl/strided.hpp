// Strided copies and fills: a box is reduced to the fewest dimensions and the widest units, and a kernel walks what is left.
#pragma once
#include "native.hpp"

namespace entrepot::backends::sycl {

// One loop of a walk; the steps of both sides are in bytes.
struct Loop {
    std::int64_t count;
    std::int64_t to_step, from_step;
};

// Units of 1, 2, 4, 8 or 16 bytes, one after the other through nested loops, the outermost first. In a fill, `from` moves
// with `to` and is never read.
struct Walk {
    char *to;
    const char *from;
    std::size_t unit = 1;
    std::vector<Loop> loops;

    bool is_empty = false;
    // Whether both sides are one block of bytes.
    bool is_contiguous() const noexcept;
    std::size_t bytes() const noexcept;
};

// Refuses a box that the contract does not allow.
Walk plan_copy(const ep_box &box, void *to, const std::int64_t *to_steps, const void *from, const std::int64_t *from_steps);

// A fill is one walk for each unit of the item that differs: `values[i]` goes where `walks[i]` leads.
struct Fill {
    using Value = std::array<unsigned char, 16>;
    std::vector<Walk> walks;
    std::vector<Value> values;
};
Fill plan_fill(const ep_box &box, void *to, const std::int64_t *to_steps, const void *item);

// Submit a walk that is not contiguous.
void submit_copy(ep_queue queue, ::sycl::queue &native, const Walk &walk);
void submit_fill(ep_queue queue, ::sycl::queue &native, const Walk &walk, const Fill::Value &value);

}  // namespace entrepot::backends::sycl
