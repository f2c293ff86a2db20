// Plan: what launches that are alike have in common, checked and laid out once.
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

// Launches are alike that have the same range, run in the same context, and have arguments of the same kinds: arrays of the same
// types and layouts of which no two share an element, and local memory of the same shape. Which arrays they are, and what
// numbers, each launch says anew.
class Plan {
public:
    // Of a launch that has been made; `chosen` is what its range came to.
    Plan(const Specialisation &made, const Queue &queue, const ep_range &asked, const ep_range &chosen,
         std::span<const Argument> arguments);
    Plan(const Plan &) = delete;
    Plan &operator=(const Plan &) = delete;

    const Specialisation &made() const noexcept { return made_; }
    // Whether that launch is like the one that this was made of.
    bool serves(const Queue &queue, const ep_range &asked, std::span<const Argument> arguments) const noexcept;
    // Hands it to the queue, and returns the position there. One at a time.
    Queue::Position launch(const Queue &queue, std::span<const Argument> arguments);

private:
    struct Alike {
        Argument::Kind kind;
        bool read_only;
        Dtype dtype;
        Layout layout;    // of an array, or of local memory
        ByteRange bytes;  // that an array reaches, from its first element
    };
    // A parameter that is each launch's own.
    struct Given {
        std::uint32_t parameter, argument;
    };

    static bool is_alike(const Alike &expected, const Argument &argument, const Context &context) noexcept;
    bool are_apart(std::span<const Argument> arguments) const noexcept;
    bool are_those_of_last(std::span<const Argument> arguments) const noexcept;

    const Specialisation &made_;
    const Context context_;
    const Device device_;
    const ep_range asked_, chosen_;
    std::vector<Alike> alike_;             // by argument
    std::vector<ep_argument> parameters_;  // of the last launch; extents and strides are those of `alike_`
    std::vector<Given> given_;
    std::vector<ArrayUse> uses_;
};

// A few plans of one function's launches. One thread has a plan at a time; another one that would use it does without.
class Plans {
    struct alignas(64) Slot {  // a cache line each, for threads that launch different things
        std::atomic<bool> is_taken{false};
        std::uint8_t launches_without = 0;  // that came here since the plan was used
        std::unique_ptr<Plan> plan;
    };

public:
    // A plan, until this ends; or none.
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

    Use find(const Queue &queue, const ep_range &asked, std::span<const Argument> arguments) noexcept;
    // Makes one of a launch that was made without, unless that cannot be, or there is one in its place that is used.
    void keep(const Specialisation &made, const Queue &queue, const ep_range &asked, const ep_range &chosen,
              std::span<const Argument> arguments) noexcept;

private:
    Slot *take(const ep_range &asked, std::span<const Argument> arguments) noexcept;

    static constexpr unsigned slot_bits = 3;
    std::array<Slot, 1u << slot_bits> slots_;
};

}  // namespace entrepot::kernel
