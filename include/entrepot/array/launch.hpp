// Launch: a kernel run on arrays, in the right order with everything else that uses their memory.
#pragma once
#include <entrepot/array/array.hpp>
#include <entrepot/device/program.hpp>

#include <array>
#include <span>
#include <variant>

namespace entrepot {

// A scalar or a struct, by value.
struct Scalar {
    std::array<std::byte, 16> bytes{};
    std::size_t size = 0;
};

// Bytes of local memory, for each work-group.
struct LocalMemory {
    std::size_t bytes = 0;
};

using LaunchArgument = std::variant<const Array *, Scalar, LocalMemory, std::span<const std::byte>>;

// Arrays that are not read-only count as written. Every array must be reachable by the queue's device: memory of the queue's
// context, host-accessible memory where the device reads it, or memory of a peer that it reaches. Throws KernelError where one is
// not ("compute follows data").
void launch(const Kernel &kernel, const Queue &queue, const ep_range &range, std::span<const LaunchArgument> arguments,
            const ep_cooperation *cooperation = nullptr);

// An array of a launch, what the kernel does with it, and at which place of the call it was given.
struct ArrayUse {
    const Array *array = nullptr;
    Access access = Access::write;
    std::size_t position = 0;
};

// The same for who knows what the kernel does with its arrays: the arguments in the backend's form, and the arrays that their
// pointers are of. The launch's position in the queue.
Queue::Position launch(const Kernel &kernel, const Queue &queue, const ep_range &range, std::span<const ep_argument> arguments,
                       std::span<const ArrayUse> uses, const ep_cooperation *cooperation = nullptr);

// The same for what Kernel::relaunch takes, and arrays of the queue's context.
Queue::Position relaunch(const Kernel &kernel, const Queue &queue, const ep_range &range, std::span<const ep_argument> arguments,
                         std::span<const ArrayUse> uses);

}  // namespace entrepot
