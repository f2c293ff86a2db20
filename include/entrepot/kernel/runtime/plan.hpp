// Cached checks and parameters that similar launches of a kernel share.
#pragma once
#include <entrepot/kernel/runtime/argument.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace entrepot::kernel {

struct Specialisation;

// State shared by launches with the same range, context and kinds of arguments. Arrays must have
// the same types and layouts, and no two may share an element. Local memory must have the same
// shape. Array addresses and scalar values may differ from launch to launch.
class Plan {
public:
    // Built from a completed launch; `chosen` is the range after fitting.
    Plan(const Specialisation &made, const Queue &queue, const ep_range &asked,
         const ep_range &chosen, std::span<const Argument> arguments);
    Plan(const Plan &) = delete;
    Plan &operator=(const Plan &) = delete;

    const Specialisation &made() const noexcept { return made_; }
    // True if this launch is similar to the one that the plan was built from.
    bool serves(const Queue &queue, const ep_range &asked,
                std::span<const Argument> arguments) const noexcept;
    // Submits a launch.
    // Returns: the position in the queue.
    // Thread safety: one call at a time.
    Queue::Position launch(const Queue &queue, std::span<const Argument> arguments);

private:
    struct Alike {
        Argument::Kind kind;
        bool read_only;
        Dtype dtype;
        Layout layout;    // of an array, or of local memory
        ByteRange bytes;  // reached by the array, relative to its first element
    };
    // A parameter whose value differs from launch to launch.
    struct Given {
        std::uint32_t parameter, argument;
    };

    static bool is_alike(const Alike &expected, const Argument &argument,
                         const Context &context) noexcept;
    bool are_apart(std::span<const Argument> arguments) const noexcept;
    bool are_those_of_last(std::span<const Argument> arguments) const noexcept;

    const Specialisation &made_;
    const Context context_;
    const Device device_;
    const ep_range asked_, chosen_;
    std::vector<Alike> alike_;  // by argument
    // of the last launch; extents and strides are those of `alike_`
    std::vector<ep_argument> parameters_;
    std::vector<Given> given_;
    std::vector<ArrayUse> uses_;
};

// Small cache of plans for one function. If another thread is using the matching plan, the launch
// proceeds without one.
class Plans {
    struct alignas(64) Slot {  // one cache line each, to avoid false sharing between threads
        std::atomic<bool> is_taken{false};
        // Launches that mapped to this slot since the plan was last used.
        std::uint8_t launches_without = 0;
        std::unique_ptr<Plan> plan;
    };

public:
    // Exclusive use of a plan for the lifetime of this object; may be empty.
    class Use {
    public:
        Use(Use &&other) noexcept : slot_(std::exchange(other.slot_, nullptr)) {}
        Use &operator=(Use &&) = delete;
        ~Use() { release(); }

        void release() noexcept {
            if (slot_)
                std::exchange(slot_, nullptr)->is_taken.store(false, std::memory_order_release);
        }

        explicit operator bool() const noexcept { return slot_ != nullptr; }
        Plan *operator->() const noexcept { return slot_->plan.get(); }

    private:
        friend class Plans;
        explicit Use(Slot *slot) noexcept : slot_(slot) {}

        Slot *slot_;
    };

    Use find(const Queue &queue, const ep_range &asked,
             std::span<const Argument> arguments) noexcept;
    // Stores a plan for a launch that was made without one. No-op if the launch cannot be planned
    // or the slot's plan is in use.
    void keep(const Specialisation &made, const Queue &queue, const ep_range &asked,
              const ep_range &chosen, std::span<const Argument> arguments) noexcept;

private:
    Slot *take(const ep_range &asked, std::span<const Argument> arguments) noexcept;

    static constexpr unsigned slot_bits = 3;
    std::array<Slot, 1u << slot_bits> slots_;
};

}  // namespace entrepot::kernel
