// Launch: a kernel run on arrays, ordered with all other work on their memory.
//
// Overview
//   A launch is an Operation (memory/operation.hpp) on the memory of the arrays. It waits for
//   conflicting accesses, is submitted, and logs its own accesses.
//
// Lock order
//   The caller holds no mutex. Waits release the GIL. The submission of the kernel keeps it.
//
// Fast paths
//   relaunch() omits the checks of launch(), for a kernel that was launched with such arguments
//   before.
//
// Lifetime
//   The caller keeps the arrays alive during the call. Afterwards the access log delays the release
//   of their memory. A captured launch gives the kernel and the memory to the graph.
//
// Graphs
//   While the thread records (graph.hpp), a launch is added to the recording and not submitted. The
//   functions then return the queue's last position.
#pragma once
#include <entrepot/array/array.hpp>
#include <entrepot/core/error.hpp>
#include <entrepot/core/small_vector.hpp>
#include <entrepot/device/program.hpp>

#include <array>
#include <cstddef>
#include <span>

#pragma GCC visibility push(default)
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

// An array of a launch, the kernel's access to it, and its position among the arguments.
struct ArrayUse {
    const Array *array = nullptr;
    Access access = Access::write;
    std::size_t position = 0;
};

// The arguments in the backend's form. The constructor takes their number.
//
// Throws (add): Error(value) if there are more arguments than that.
class LaunchArguments {
public:
    explicit LaunchArguments(std::size_t count)
        : count_(count), given_(count), uses_(count), scalars_(count) {}

    // The caller keeps `array` alive. If the kernel does not declare its accesses, arrays that are
    // not read-only count as written.
    void add(const Array &array) {
        check_room();
        uses_.emplace_back(&array, array.access(), given_.size());
        given_.emplace_back(EP_ARG_POINTER, sizeof(void *), array.data());
    }
    void add(const Array &&) = delete;
    void add(const Scalar &scalar) {
        check_room();  // and `scalars_` does not move
        const Scalar &kept = scalars_.emplace_back(scalar);
        given_.emplace_back(EP_ARG_BYTES, kept.size, kept.bytes.data());
    }
    void add(const LocalMemory &local) {
        check_room();
        given_.emplace_back(EP_ARG_LOCAL, local.bytes, nullptr);
    }
    // Passed by value; the caller keeps `bytes` alive.
    void add(std::span<const std::byte> bytes) {
        check_room();
        given_.emplace_back(EP_ARG_BYTES, bytes.size(), bytes.data());
    }

    std::span<const ep_argument> given() const noexcept { return given_; }
    std::span<const ArrayUse> uses() const noexcept { return uses_; }

private:
    void check_room() const {
        if (given_.size() == count_) [[unlikely]]
            throw Error(ErrorKind::value, "a launch of ", counted(count_, "argument"),
                        " was given another one; pass their number to LaunchArguments");
    }

    std::size_t count_;
    SmallVector<ep_argument, 16> given_;
    SmallVector<ArrayUse, 16> uses_;
    SmallVector<Scalar, 16> scalars_;
};

// Launches the kernel ("compute follows data").
//
// Requires: the queue's device reaches every array. This is memory of the queue's context,
//           host-accessible memory if the device reads it, or memory of a peer with access.
// Returns: the launch's position in the queue.
// Throws: KernelError if an array is not reachable.
Queue::Position launch(const Kernel &kernel, const Queue &queue, const ep_range &range,
                       std::span<const ep_argument> arguments, std::span<const ArrayUse> uses,
                       const ep_cooperation *cooperation = nullptr);
inline Queue::Position launch(const Kernel &kernel, const Queue &queue, const ep_range &range,
                              const LaunchArguments &arguments,
                              const ep_cooperation *cooperation = nullptr) {
    return launch(kernel, queue, range, arguments.given(), arguments.uses(), cooperation);
}

// Launches without checks: for kernels that Kernel::relaunch accepts and arrays of the queue's
// context.
Queue::Position relaunch(const Kernel &kernel, const Queue &queue, const ep_range &range,
                         std::span<const ep_argument> arguments, std::span<const ArrayUse> uses);

}  // namespace entrepot
#pragma GCC visibility pop
