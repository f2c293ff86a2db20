// Program and Kernel: source in one of a backend's dialects, and a function of it that a queue can
// run.
#pragma once
#include <entrepot/core/api.hpp>
#include <entrepot/device/queue.hpp>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#pragma GCC visibility push(default)
namespace entrepot {

struct DialectRow {
    ep_dialect dialect;
    const char *name;  // in Python: ep.Program(source, device, dialect="opencl-c")
    const char *doc;
};
ENTREPOT_LOCAL inline constexpr DialectRow dialect_table[] = {
    {EP_OPENCL_C, "opencl-c", "OpenCL C"},
    {EP_SYCL_SOURCE, "sycl", "SYCL C++ with free-function kernels, compiled by the SYCL runtime"},
    {EP_SPIRV, "spirv", "SPIR-V"},
    {EP_CUDA_CPP, "cuda", "CUDA C++"},
    {EP_PTX, "ptx", "PTX"},
    {EP_CUBIN, "cubin", "cubin"},
    {EP_HIP_CPP, "hip", "HIP C++"},
    {EP_HSACO, "hsaco", "code object"},
    {EP_CPP, "c++", "host C++"},
};

// A set of dialects: bit 1 << dialect of each, as a backend answers what a device builds.
using DialectMask = std::uint32_t;
ENTREPOT_LOCAL inline constexpr DialectMask every_dialect =
    (DialectMask{1} << EP_DIALECT_COUNT) - 1;

const char *name_of(ep_dialect dialect) noexcept;
// "'opencl-c', 'spirv'", or "none".
std::string names_of(DialectMask dialects);
// The dialect of that name. Throws: ValueError if the name is unknown, with the names that are
// known.
ep_dialect dialect_from(std::string_view name, DialectMask among = every_dialect);

class Kernel;

class Program {
public:
    // Builds for the device, in `context` (none: its default one). Without a dialect, the device's
    // only or first one in the order of dialect_table. Blocks for as long as the compiler takes.
    // Throws: KernelError with the build log. DeviceError if the device does not build the dialect,
    //         with those that it does.
    Program(std::string_view source, const Device &device, std::optional<ep_dialect> dialect = {},
            const std::string &options = {}, const Context &context = {});

    // Throws: KernelError with the name, if the program has no such kernel.
    Kernel kernel(const std::string &name) const;
    const std::string &log() const noexcept;
    const Device &device() const noexcept;
    const Context &context() const noexcept;
    ep_dialect dialect() const noexcept;

    Program() noexcept = default;

private:
    friend class Kernel;
    struct Record;
    std::shared_ptr<Record> record_;
};

class Kernel {
public:
    const std::string &name() const noexcept;
    const Program &program() const noexcept;
    const ep_kernel_info &info() const noexcept;
    ep_kernel handle() const noexcept;  // lives as long as this Kernel

    Kernel() noexcept = default;

    // Checks a launch without submitting it.
    // Returns: false if it has no work-items.
    // Throws: KernelError, as launch().
    bool check(const Queue &queue, const ep_range &range,
               std::span<const ep_argument> arguments) const;

    // Returns: the most groups of a cooperative launch on the program's device. Each has
    //          `work_items` and that much local memory beside the kernel's own.
    // Throws: KernelError if a group cannot have that size. DeviceError if the device has no
    //         cooperative launches.
    std::uint64_t max_resident_groups(std::uint64_t work_items,
                                      std::uint64_t local_memory = 0) const;

    // Submits the kernel to the queue and returns its position there. The caller orders the memory
    // that arguments point to (Operation). With a cooperation, the groups work together.
    // Throws: KernelError, with both numbers, if range or arguments contradict the kernel or the
    //         device. DeviceError if the device's groups do not work together in that way.
    Queue::Position launch(const Queue &queue, const ep_range &range,
                           std::span<const ep_argument> arguments,
                           const ep_cooperation *cooperation = nullptr) const;
    // Launches without checks.
    // Requires: this range with work-items, and arguments of these kinds and sizes, have been
    //           launched in the queue's context.
    Queue::Position relaunch(const Queue &queue, const ep_range &range,
                             std::span<const ep_argument> arguments) const {
        return submit(queue, range, arguments, nullptr);
    }

private:
    friend class Program;
    struct Record;
    Queue::Position submit(const Queue &queue, const ep_range &range,
                           std::span<const ep_argument> arguments,
                           const ep_cooperation *cooperation) const;

    std::shared_ptr<const Record> record_;
};

}  // namespace entrepot
#pragma GCC visibility pop
