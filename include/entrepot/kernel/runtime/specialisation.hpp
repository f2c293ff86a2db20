// Specialisation: a kernel compiled for the types of a launch's arguments and for a device, found again by a small key.
#pragma once
#include <entrepot/core/renewed_mutex.hpp>
#include <entrepot/device/program.hpp>
#include <entrepot/kernel/runtime/argument.hpp>
#include <entrepot/kernel/runtime/plan.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace entrepot::kernel {

// What is the same for all launches of a kernel.
struct Options {
    bool debug = false;      // bounds are checked, and a launch is waited for
    bool fast_math = false;  // as compilers have it
    std::optional<ep_dialect> dialect;
};

// The dialects that kernels are written in.
DialectMask dialects_of_kernels() noexcept;
// The row of a dialect that kernels are written in. Throws ValueError for one that they are not.
Dialect dialect_of(ep_dialect dialect);
// The dialect that a device's kernels are written in unless another one is asked for; nullopt where it builds none of them.
std::optional<ep_dialect> usual_dialect(const Device &device);
// The one that is asked for, else the usual one. Throws DeviceError where the device builds none, saying what it would need.
ep_dialect dialect_for(const Device &device, const Options &options);
Target target_for(const Device &device, ep_dialect dialect, std::uint32_t dimensions, const Options &options);

// The source that a launch would run. Throws CompileError.
Compiled translate(const std::shared_ptr<const syntax::Function> &function, std::span<const ArgumentType> types,
                   std::uint32_t dimensions, const Device &device, ep_dialect dialect, const Options &options,
                   const LocalSize &local_size = {});
// The fewest dimensions of a launch that has all whose ids and sizes the function asks about by constants. Throws CompileError.
std::uint32_t dimensions_asked(const std::shared_ptr<const syntax::Function> &function, std::span<const ArgumentType> types,
                               const Device &device, ep_dialect dialect, const Options &options);

struct Specialisation {
    std::vector<std::uint64_t> key;
    std::vector<ArgumentType> types;
    std::uint32_t dimensions = 1;  // of the launches
    LocalSize local_size{};        // of the launches; all 0: any
    bool has_siblings = false;     // of local sizes of their own, as the host has them for kernels that tell groups apart
    Compiled compiled;
    Kernel kernel;
    std::vector<Access> accesses;  // by argument
    bool rounds_up = false;        // work-items beyond the range that was asked for do nothing
    bool reports = false;          // as debug builds do
};

// By what a launch finds its code: the arguments' keys, the range's dimensions, device and context. On the stack, unless the
// arguments are many.
class Key {
public:
    Key(std::span<const Argument> arguments, std::uint32_t dimensions, const Device &device, const Context &context);
    std::span<const std::uint64_t> words() const noexcept { return {many_.empty() ? few_.data() : many_.data(), count_}; }

private:
    static constexpr std::size_t usual = 19;
    std::size_t count_;
    std::array<std::uint64_t, usual> few_;
    std::vector<std::uint64_t> many_;
};

// Local sizes that a kernel has code of their own for, with the same arguments: those of the first launches that give one. For
// all others one code serves, which reads the size.
inline constexpr std::size_t most_local_sizes = 4;

// All specialisations of one function: they are added, and never taken away while it lives. Any thread may look and add.
class Specialisations {
public:
    Specialisations(std::shared_ptr<const syntax::Function> function, Options options)
        : function_(std::move(function)), options_(options) {}
    ~Specialisations();
    Specialisations(const Specialisations &) = delete;
    Specialisations &operator=(const Specialisations &) = delete;

    const std::shared_ptr<const syntax::Function> &function() const noexcept { return function_; }
    const Options &options() const noexcept { return options_; }
    Plans &plans() noexcept { return plans_; }  // of launches of these

    // The code for a launch of that range; nullptr where there is none yet.
    const Specialisation *find(const Key &key, const ep_range &range) const noexcept;
    // Compiles, unless another thread just has; blocks. Throws CompileError where the kernel is refused, KernelError where its
    // device refuses it. What runs meanwhile on this thread, as a signal's handler in Python does, may make code here, too; it
    // must not wait for another thread that does, because that one waits for this call.
    const Specialisation &make(const Key &key, std::span<const Argument> arguments, const ep_range &range, const Device &device,
                               const Context &context);
    // The one that was made last; nullptr where there is none.
    const Specialisation *newest() const noexcept;
    std::size_t size() const noexcept;

private:
    struct Node {
        Specialisation made;
        Node *next;
    };

    std::size_t local_sizes(const Key &key) const noexcept;  // that there is code for

    std::shared_ptr<const syntax::Function> function_;
    Options options_;
    std::atomic<Node *> first_{nullptr};
    RenewedMutex making_;  // so that threads that need the same code compile it once
    Plans plans_;
};

}  // namespace entrepot::kernel
