// A kernel compiled for the types of a launch's arguments and for a device, found again by a
// compact key.
#pragma once
#include "core/renewed_mutex.hpp"
#include "kernel/codegen/emit.hpp"
#include "kernel/frontend/syntax.hpp"
#include "kernel/ir/target.hpp"
#include "kernel/ir/types.hpp"
#include "kernel/runtime/argument.hpp"
#include "kernel/runtime/plan.hpp"
#include <entrepot/device/program.hpp>

#include <algorithm>
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

// Options that apply to all launches of a kernel.
struct Options {
    bool debug = false;      // checks bounds; launches wait
    bool fast_math = false;  // as the compiler option of that name
    std::optional<ep_dialect> dialect;
    std::uint32_t max_registers = 0;  // of a work-item, on CUDA devices; 0: the compiler chooses
};

// Dialects supported for kernels.
DialectMask kernel_dialects() noexcept;
// Maps a backend's dialect to the compiler's.
// Throws: ValueError if kernels do not support it.
Dialect dialect_of(ep_dialect dialect);
// Default dialect of a device's kernels; nullopt if the device builds none of the supported
// dialects.
std::optional<ep_dialect> default_dialect(const Device &device);
// The dialect in `options`, else the device's default.
// Throws: DeviceError if the device builds no supported dialect; the message says what is missing.
ep_dialect dialect_for(const Device &device, const Options &options);
Target target_for(const Device &device, ep_dialect dialect, std::uint32_t dimensions,
                  const Options &options);

// Source that a launch would run.
// Throws: CompileError if the kernel is refused.
Compiled translate(const std::shared_ptr<const syntax::Function> &function,
                   std::span<const ArgumentType> types, std::uint32_t dimensions,
                   const Device &device, ep_dialect dialect, const Options &options,
                   const LocalSize &local_size = {}, bool coarsens = false);
// Fewest dimensions of a launch that cover all ids and sizes that the function queries by
// constants.
// Throws: CompileError if the kernel is refused.
std::uint32_t required_dimensions(const std::shared_ptr<const syntax::Function> &function,
                                  std::span<const ArgumentType> types, const Device &device,
                                  ep_dialect dialect, const Options &options);

struct Specialization {
    std::vector<std::uint64_t> key;
    std::vector<ArgumentType> types;
    std::uint32_t dimensions = 1;  // of the launches
    LocalSize local_size{};        // of the launches; all 0: any
    // Has specializations by local size: host code of kernels that tell groups apart.
    bool has_siblings = false;
    bool coarsens = false;  // Target::coarsens of the code
    Compiled compiled;
    Kernel kernel;
    std::vector<Access> accesses;  // by argument
    bool rounds_up = false;        // work-items beyond the requested range do nothing
    bool reports = false;          // debug builds
    bool counts_arrivals = false;  // at grid barriers
};

inline bool has_local_range(const ep_range &range) noexcept {
    return std::any_of(range.local, range.local + range.ndim,
                       [](std::uint64_t extent) { return extent != 0; });
}
// Throws: KernelError if the range has a local range that does not divide it.
void check_local_range(const ep_range &range, std::string_view name);

// True if threads shall execute several work-items each in a launch of a coarsenable kernel. Enough
// threads remain to fill the device then, and groups that the kernel tells apart can be divided.
bool should_coarsen(const ep_range &range, const Device &device, bool uses_groups) noexcept;

// Lookup key of a specialization: the arguments' keys, the number of dimensions, the device and the
// context. Stored inline unless there are many arguments.
class Key {
public:
    Key(std::span<const Argument> arguments, std::uint32_t dimensions, const Device &device,
        const Context &context);
    std::span<const std::uint64_t> words() const noexcept {
        return {many_.empty() ? few_.data() : many_.data(), count_};
    }

private:
    static constexpr std::size_t inline_words = 19;
    std::size_t count_;
    std::array<std::uint64_t, inline_words> few_;
    std::vector<std::uint64_t> many_;
};

// Maximum number of local sizes with specialized code, for the same arguments. The first launches
// that give a local size get it. All others share code that reads the size at run time.
inline constexpr std::size_t max_local_sizes = 4;

// All specializations of one function. They are only added, never removed.
// Thread safety: thread-safe.
class Specializations {
public:
    Specializations(std::shared_ptr<const syntax::Function> function, Options options)
        : function_(std::move(function)), options_(options) {}
    ~Specializations();
    Specializations(const Specializations &) = delete;
    Specializations &operator=(const Specializations &) = delete;

    const std::shared_ptr<const syntax::Function> &function() const noexcept { return function_; }
    const Options &options() const noexcept { return options_; }
    PlanCache &plans() noexcept { return plans_; }  // of launches of these specializations

    // Code for a launch of that range; nullptr if it has not been compiled. Lock-free.
    // Lifetime: the result lives as long as this object.
    const Specialization *find(const Key &key, const ep_range &range) const noexcept;
    // Compiles the code, unless another thread has just done so. Code that interrupts this thread
    // meanwhile, such as a Python signal handler, may call make() too. It must not wait for another
    // thread that calls make(), because that thread waits for this call.
    // Throws: CompileError if the kernel is refused, KernelError if the device refuses it.
    // Blocks: for the compiler, and for other threads in make().
    const Specialization &make(const Key &key, std::span<const Argument> arguments,
                               const ep_range &range, const Device &device, const Context &context);
    // The specialization that was made last; nullptr before the first.
    const Specialization *newest() const noexcept;
    std::size_t size() const noexcept;

private:
    struct Node {
        Specialization made;
        Node *next;
    };

    std::size_t local_sizes(const Key &key) const noexcept;  // number of local sizes with code
    // True if the code for these arguments needs a fixed local size.
    bool has_tiles(const Key &key) const noexcept;

    std::shared_ptr<const syntax::Function> function_;
    Options options_;
    std::atomic<Node *> first_{nullptr};  // list of all code; written with make_mutex_ held
    RenewedMutex make_mutex_;             // threads that need the same code compile it once
    PlanCache plans_;
};

}  // namespace entrepot::kernel
