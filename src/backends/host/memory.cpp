// Memory: ordinary memory of the process, whatever kind is requested. The kind is not kept: every
// pointer is host memory.
#include "backends/host/native.hpp"
#include "backends/host/strided.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace entrepot::backends::host {
namespace {

// The alignment of malloc suffices for scalars; a cache line suits vectors and avoids false
// sharing.
constexpr std::size_t default_alignment = 64;
// Below these sizes a copy or fill finishes sooner than another thread wakes up. Measured: two
// processors become faster at 2 MiB (copies) and 4 MiB (fills); item by item, at 1 MiB.
constexpr std::uint64_t inline_bytes = std::uint64_t{4} << 20,
                        inline_strided_bytes = std::uint64_t{1} << 20;
// Share of a long copy: long enough to hide the overhead, short enough to spread evenly.
constexpr std::uint64_t share_bytes = std::uint64_t{512} << 10;

// Smallest block for which huge pages are requested, as NumPy does. A smaller one has few of them.
constexpr std::size_t min_huge_bytes = std::size_t{4} << 20;

// Requests huge pages for a block: they need fewer page faults, and the processor finds them
// faster. Some systems use them only if asked. An error is ignored, since the block is usable
// without them.
void request_huge_pages(void *block, std::size_t bytes) noexcept {
#ifdef MADV_HUGEPAGE
    static const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    if (bytes < min_huge_bytes)
        return;
    const auto begin = reinterpret_cast<std::uintptr_t>(block);
    const std::uintptr_t first = (begin + page - 1) / page * page;
    static_cast<void>(madvise(reinterpret_cast<void *>(first),
                              (begin + bytes) / page * page - first, MADV_HUGEPAGE));
#else
    static_cast<void>(block), static_cast<void>(bytes);
#endif
}

ep_status memory_allocate(ep_context context, ep_device device, ep_usm_kind kind, std::size_t bytes,
                          std::size_t alignment, ep_queue queue, void **pointer) {
    return guarded([&] {
        check_context(context);
        check_device(device);
        if (kind != EP_USM_HOST && kind != EP_USM_DEVICE && kind != EP_USM_SHARED)
            refuse(EP_INVALID, "memory of kind ", static_cast<int>(kind),
                   " was asked for: a kind is host, device or shared");
        if (alignment != 0 && !std::has_single_bit(alignment))
            refuse(EP_INVALID, "an alignment of ", alignment,
                   " bytes was asked for: it must be a power of two");
        if (queue != nullptr)
            refuse(EP_INVALID, "the host backend does not order allocations in a queue (it has not "
                               "the aspect EP_ORDERED_FREE)");
        // Linux would overcommit, and end the process when it touches the memory.
        if (bytes > total_memory())
            refuse(EP_OUT_OF_MEMORY, bytes, " bytes were asked for, and this machine has ",
                   total_memory(), " of memory and swap");
        void *found = nullptr;
        const std::size_t aligned =
            std::max(alignment == 0 ? default_alignment : alignment, sizeof(void *));
        if (posix_memalign(&found, aligned, std::max<std::size_t>(bytes, 1)) != 0)
            refuse(EP_OUT_OF_MEMORY, bytes, " bytes aligned to ", aligned,
                   " were asked for, and the process can get no such block");
        request_huge_pages(found, bytes);
        *pointer = found;
    });
}

ep_status memory_free(ep_context context, void *pointer, ep_queue queue) {
    return guarded([&] {
        check_context(context);
        if (queue != nullptr)
            refuse(EP_INVALID, "the host backend does not order releases in a queue (it has not "
                               "the aspect EP_ORDERED_FREE)");
        std::free(pointer);
    });
}

ep_status memory_query(ep_context context, const void *pointer, std::size_t, std::uint32_t,
                       ep_allocation *found) {
    return guarded([&] {
        check_context(context);
        *found = {pointer == nullptr ? EP_USM_UNKNOWN : EP_USM_HOST, nullptr, nullptr, 0, -1};
    });
}

// A copy of an item's value, for work that outlives the caller's.
class Item {
public:
    Item(const void *item, std::size_t size) : size_(size) {
        if (size > sizeof small_)
            large_ = std::make_unique<std::byte[]>(size);
        std::memcpy(large_ ? large_.get() : small_, item, size);
    }
    const std::byte *data() const noexcept { return large_ ? large_.get() : small_; }
    std::size_t size() const noexcept { return size_; }

private:
    std::size_t size_;
    std::byte small_[32];
    std::unique_ptr<std::byte[]> large_;
};

class Copy final : public Step {
public:
    Copy(void *to, const void *from, std::size_t bytes)
        : to_(static_cast<std::byte *>(to)), from_(static_cast<const std::byte *>(from)),
          bytes_(bytes) {}

    bool is_quick() const noexcept override {
        // Overlapping copies must be one memmove.
        const bool overlapping = to_ < from_ + bytes_ && from_ < to_ + bytes_;
        return bytes_ < inline_bytes || overlapping;
    }
    void run() const override { std::memmove(to_, from_, bytes_); }
    bool spread_over(Queue &queue) const override {
        return spread(queue, bytes_, share_bytes,
                      [to = to_, from = from_](std::uint64_t first, std::uint64_t last) {
                          std::memcpy(to + first, from + first, last - first);
                      });
    }

private:
    std::byte *to_;
    const std::byte *from_;
    std::size_t bytes_;
};

class Fill final : public Step {
public:
    Fill(void *to, Item item, std::uint64_t count)
        : to_(static_cast<std::byte *>(to)), item_(std::make_shared<const Item>(std::move(item))),
          count_(count) {}

    bool is_quick() const noexcept override { return count_ * item_->size() < inline_bytes; }
    void run() const override { repeat(to_, item_->data(), item_->size(), count_); }
    bool spread_over(Queue &queue) const override {
        const std::uint64_t share = std::max<std::uint64_t>(share_bytes / item_->size(), 1);
        return spread(queue, count_, share,
                      [to = to_, item = item_](std::uint64_t first, std::uint64_t last) {
                          repeat(to + first * item->size(), item->data(), item->size(),
                                 last - first);
                      });
    }

private:
    std::byte *to_;
    std::shared_ptr<const Item> item_;
    std::uint64_t count_;
};

// The source of a strided fill and the plan that points to it; must not be moved.
struct StridedFill {
    StridedFill(const ep_box &box, void *to, const std::int64_t *to_strides, const void *value)
        : item(value, box.itemsize), plan(box, to, to_strides, item.data(), standing) {}

    static constexpr std::int64_t standing[EP_MAX_NDIM] = {};
    const Item item;
    const StridedCopy plan;
};

class Strided final : public Step {
public:
    explicit Strided(std::shared_ptr<const StridedCopy> plan) : plan_(std::move(plan)) {}

    bool is_quick() const noexcept override {
        return plan_->bytes() < inline_strided_bytes || plan_->rows() <= 1;
    }
    void run() const override { plan_->copy_rows(0, plan_->rows()); }
    bool spread_over(Queue &queue) const override {
        const std::uint64_t share =
            std::max<std::uint64_t>(share_bytes / (plan_->bytes() / plan_->rows() + 1), 1);
        return spread(queue, plan_->rows(), share,
                      [plan = plan_](std::uint64_t first, std::uint64_t last) {
                          plan->copy_rows(first, last);
                      });
    }

private:
    std::shared_ptr<const StridedCopy> plan_;
};

// Plans of strided copies and fills; nullptr if the box is empty.
std::shared_ptr<const StridedCopy> plan_of(const ep_box &box, void *to,
                                           const std::int64_t *to_strides, const void *from,
                                           const std::int64_t *from_strides) {
    auto plan = std::make_shared<const StridedCopy>(box, to, to_strides, from, from_strides);
    return plan->is_empty() ? nullptr : plan;
}

std::shared_ptr<const StridedCopy> plan_of_fill(const ep_box &box, void *to,
                                                const std::int64_t *to_strides, const void *item) {
    const auto fill = std::make_shared<const StridedFill>(box, to, to_strides, item);
    return fill->plan.is_empty() ? nullptr : std::shared_ptr<const StridedCopy>{fill, &fill->plan};
}

Fill fill_of(void *to, const void *item, std::size_t itemsize, std::size_t count) {
    if (itemsize == 0)
        refuse(EP_INVALID, "items of 0 bytes cannot be filled");
    return {to, Item(item, itemsize), count};
}

ep_status memory_copy(ep_queue queue, void *to, const void *from, std::size_t bytes) {
    return guarded([&] {
        if (bytes != 0)
            object(queue).submit(Once(Copy(to, from, bytes)));
    });
}

ep_status memory_copy_strided(ep_queue queue, const ep_box *box, void *to,
                              const std::int64_t *to_strides, const void *from,
                              const std::int64_t *from_strides) {
    return guarded([&] {
        if (auto plan = plan_of(*box, to, to_strides, from, from_strides))
            object(queue).submit(Once(Strided(std::move(plan))));
    });
}

ep_status memory_fill(ep_queue queue, void *to, const void *item, std::size_t itemsize,
                      std::size_t count) {
    return guarded([&] {
        Fill fill = fill_of(to, item, itemsize, count);
        if (count != 0)
            object(queue).submit(Once(std::move(fill)));
    });
}

ep_status memory_fill_strided(ep_queue queue, const ep_box *box, void *to,
                              const std::int64_t *to_strides, const void *item) {
    return guarded([&] {
        if (auto plan = plan_of_fill(*box, to, to_strides, item))
            object(queue).submit(Once(Strided(std::move(plan))));
    });
}

// The host uses all memory of the process as it is.
ep_status memory_pin(ep_context context, void *, std::size_t, std::int32_t, std::int32_t *pinned) {
    return guarded([&] {
        check_context(context);
        *pinned = 0;
    });
}

ep_status memory_unpin(ep_context context, void *, std::size_t) {
    return guarded([&] { check_context(context); });
}

// A no-op: the C library decides what its allocator keeps.
ep_status memory_trim(ep_device device) {
    return guarded([&] { check_device(device); });
}

StepPtr strided_step(std::shared_ptr<const StridedCopy> plan) {
    return plan ? std::make_shared<const Strided>(std::move(plan)) : nullptr;
}

}  // namespace

StepPtr memory_step(const ep_node &node) {
    switch (node.kind) {
    case EP_NODE_COPY: {
        const auto &of = node.of.copy;
        return of.bytes == 0 ? nullptr : std::make_shared<const Copy>(of.to, of.from, of.bytes);
    }
    case EP_NODE_COPY_STRIDED: {
        const auto &of = node.of.copy_strided;
        return strided_step(plan_of(*of.box, of.to, of.to_strides, of.from, of.from_strides));
    }
    case EP_NODE_FILL: {
        const auto &of = node.of.fill;
        Fill fill = fill_of(of.to, of.item, of.itemsize, of.count);
        return of.count == 0 ? nullptr : std::make_shared<const Fill>(std::move(fill));
    }
    case EP_NODE_FILL_STRIDED: {
        const auto &of = node.of.fill_strided;
        return strided_step(plan_of_fill(*of.box, of.to, of.to_strides, of.item));
    }
    default:
        refuse(EP_INVALID, "a graph's node is of kind ", static_cast<int>(node.kind),
               ", which ep_node_kind has not");
    }
}

void fill_memory_functions(ep_backend &table) {
    table.memory_allocate = memory_allocate;
    table.memory_free = memory_free;
    table.memory_query = memory_query;
    table.memory_copy = memory_copy;
    table.memory_copy_strided = memory_copy_strided;
    table.memory_fill = memory_fill;
    table.memory_fill_strided = memory_fill_strided;
    table.memory_pin = memory_pin;
    table.memory_unpin = memory_unpin;
    table.memory_trim = memory_trim;
}

}  // namespace entrepot::backends::host
