// Cached checks and parameters that similar launches of a kernel share.
//
// Overview
//   The first launch of a kind checks indices, chooses the local range and builds the parameters. A
//   Plan keeps the results. A later launch with the same ArgumentKeys replaces the addresses and
//   scalars in the parameters, and submits.
//
// Concurrency
//   A launch writes to its plan. PlanCache::find() leases the plan to one launch at a time; other
//   launches proceed without a plan. No thread waits for another.
#pragma once
#include "kernel/runtime/argument.hpp"
#include <entrepot/core/assert.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace entrepot::kernel {

struct Specialization;

// State shared by launches with the same range, context and kinds of arguments. Arrays must have
// the same types and layouts, and no two may share an element. Local memory must have the same
// shape. Array addresses and scalar values may differ from launch to launch.
class Plan {
public:
    // `asked` is the requested range, `threads` that of the threads with a local range.
    //
    // Requires: a launch with these arguments has passed its checks.
    // Lifetime: `made` outlives the plan.
    Plan(const Specialization &made, const Queue &queue, const ep_range &asked,
         const ep_range &threads, std::span<const Argument> arguments);
    Plan(const Plan &) = delete;
    Plan &operator=(const Plan &) = delete;

    const Specialization &made() const noexcept { return made_; }
    // True if this launch passes the checks and has the parameters of the one that the plan was
    // built from, except for addresses and scalars.
    bool matches(const Queue &queue, const ep_range &asked,
                 std::span<const Argument> arguments) const noexcept;
    // Submits a launch.
    //
    // Requires: matches() is true for the arguments.
    // Returns: the position in the queue.
    // Thread safety: none; the caller holds the plan's lease.
    Queue::Position launch(const Queue &queue, std::span<const Argument> arguments);

private:
    // Properties of an argument that all launches of the plan share.
    struct ArgumentKey {
        Argument::Kind kind;
        bool read_only;
        Dtype dtype;
        Layout layout;    // of an array, or of local memory
        ByteRange bytes;  // reached by the array, relative to its first element
    };
    // A parameter whose value differs from launch to launch.
    struct PerLaunchParameter {
        std::uint32_t parameter, argument;
    };

    static bool matches_key(const ArgumentKey &expected, const Argument &argument,
                            const Context &context) noexcept;
    // True if no two of the arrays share an element.
    bool no_alias(std::span<const Argument> arguments) const noexcept;
    // True if the arrays start at the same addresses as in the last launch, so that no_alias()
    // holds.
    bool same_buffers_as_last(std::span<const Argument> arguments) const noexcept;

    const Specialization &made_;
    const Context context_;
    const Device device_;
    const ep_range asked_, threads_;
    std::vector<ArgumentKey> argument_keys_;  // by argument
    // of the last launch; extents and strides are those of `argument_keys_`
    std::vector<ep_argument> parameters_;
    std::vector<PerLaunchParameter> per_launch_;
    std::vector<ArrayUse> uses_;
};

// Direct-mapped cache of plans for one function.
//
// Thread safety: thread-safe.
class PlanCache {
    struct alignas(64) Slot {  // one cache line each, to avoid false sharing between threads
        std::atomic<bool> is_locked{false};  // guards what follows
        // Launches that mapped to this slot since the plan was last used.
        std::uint8_t misses = 0;
        std::unique_ptr<Plan> plan;
    };

public:
    // Lock of a plan for the lifetime of this object; may be empty.
    class Lease {
    public:
        Lease(Lease &&other) noexcept : slot_(std::exchange(other.slot_, nullptr)) {}
        Lease &operator=(Lease &&) = delete;
        ~Lease() { release(); }

        void release() noexcept {
            if (slot_)
                std::exchange(slot_, nullptr)->is_locked.store(false, std::memory_order_release);
        }

        explicit operator bool() const noexcept { return slot_ != nullptr; }
        // Requires: the lease is not empty.
        Plan *operator->() const noexcept {
            ENTREPOT_ASSERT(slot_ && slot_->plan);
            return slot_->plan.get();
        }

    private:
        friend class PlanCache;
        explicit Lease(Slot *slot) noexcept : slot_(slot) {}

        Slot *slot_;
    };

    // Returns: an empty lease if no plan matches, or another thread has leased its slot.
    Lease find(const Queue &queue, const ep_range &asked,
               std::span<const Argument> arguments) noexcept;
    // Stores a plan for a launch that was made without one. No-op if launches of this kind cannot
    // share a plan, the slot is leased, or its plan has been used lately.
    //
    // Lifetime: `made` outlives the cache.
    void insert(const Specialization &made, const Queue &queue, const ep_range &asked,
                const ep_range &threads, std::span<const Argument> arguments) noexcept;

private:
    // Locks the only slot that a launch may use. Returns: nullptr if it is locked.
    Slot *lock_slot(const ep_range &asked, std::span<const Argument> arguments) noexcept;

    static constexpr unsigned slot_bits = 3;
    std::array<Slot, 1u << slot_bits> slots_;
};

}  // namespace entrepot::kernel
