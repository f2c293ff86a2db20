#include "kernel/runtime/specialization.hpp"
#include "kernel/compiler.hpp"
#include "kernel/ir/error.hpp"
#include "kernel/passes/coarsen.hpp"

#include <algorithm>
#include <cstdint>

namespace entrepot::kernel {
namespace {

// Dialects supported for kernels, best first.
struct DialectPair {
    ep_dialect of_backend;
    Dialect dialect;
};
constexpr DialectPair dialects[] = {
    {EP_OPENCL_C, Dialect::opencl_c}, {EP_SYCL_SOURCE, Dialect::sycl}, {EP_CUDA_CPP, Dialect::cuda},
    {EP_HIP_CPP, Dialect::hip},       {EP_CPP, Dialect::cpp},
};

void check_local_memory(const Compiled &compiled, const syntax::Function &function,
                        const Device &device) {
    if (compiled.local_bytes > device.info().local_memory)
        throw Error(ErrorKind::kernel, "kernel '", function.name, "' needs ", compiled.local_bytes,
                    in_language_of(function, " bytes of local memory, and "), device, " has ",
                    device.info().local_memory, in_language_of(function, " for each work-group"));
}

bool has(const Compiled &compiled, CompiledParameter::What what) noexcept {
    return std::ranges::any_of(compiled.parameters,
                               [&](const CompiledParameter &each) { return each.what == what; });
}

// True if the code was coarsened exactly if a launch of this range would be. The local size is
// checked separately.
bool matches_range(const Specialization &made, const ep_range &range) noexcept {
    return !made.compiled.can_coarsen ||
           made.coarsens ==
               should_coarsen(range, made.kernel.program().device(), made.compiled.uses_groups);
}

bool is_fixed(const LocalSize &size) noexcept { return size[0] != 0; }

// True if the range gives a local size that can be launched.
bool divides(const ep_range &range) noexcept {
    for (std::uint32_t axis = 0; axis < range.ndim; ++axis)
        if (range.local[axis] == 0 || range.global[axis] % range.local[axis] != 0)
            return false;
    return true;
}

}  // namespace

void check_local_range(const ep_range &range, std::string_view name) {
    if (!has_local_range(range))
        return;
    for (std::uint32_t axis = 0; axis < range.ndim; ++axis)
        if (range.local[axis] == 0 || range.global[axis] % range.local[axis] != 0)
            throw Error(
                ErrorKind::kernel, "kernel '", name, "': dimension ", axis, " has ",
                range.global[axis], " work-items, which work-groups of ", range.local[axis],
                " do not divide; round the range up and let the work-items beyond do nothing",
                range.ndim == 1 ? ". A range of two dimensions is kernel[(rows, columns), None]"
                                : "");
}

DialectMask kernel_dialects() noexcept {
    DialectMask dialects_written = 0;
    for (const DialectPair &pair : dialects)
        dialects_written |= DialectMask{1} << pair.of_backend;
    return dialects_written;
}

Dialect dialect_of(ep_dialect dialect) {
    for (const DialectPair &pair : dialects)
        if (pair.of_backend == dialect)
            return pair.dialect;
    throw Error(ErrorKind::value, "dialect: kernels are written in one of ",
                names_of(kernel_dialects()), ", not in '", entrepot::name_of(dialect), "'");
}

std::optional<ep_dialect> default_dialect(const Device &device) {
    std::uint32_t mask = 0;
    device.backend().call(&ep_backend::program_dialects, device.handle(), &mask);
    for (const DialectPair &pair : dialects)
        if (mask & (1u << pair.of_backend))
            return pair.of_backend;
    return std::nullopt;
}

ep_dialect dialect_for(const Device &device, const Options &options) {
    const std::optional<ep_dialect> dialect =
        options.dialect ? options.dialect : default_dialect(device);
    if (!dialect)
        const Program refused("", device);  // throws, with the reason
    return *dialect;
}

Target target_for(const Device &device, ep_dialect dialect, std::uint32_t dimensions,
                  const Options &options) {
    const bool host = device.backend().is_host();
    Target target;
    target.dialect = dialect_of(dialect);
    target.dimensions = dimensions;
    target.fp64 = device.has(EP_FP64);
    target.fp16 = host || target.dialect == Dialect::cuda || target.dialect == Dialect::hip ||
                  device.has(EP_FP16);
    target.atomic64 = host || device.has(EP_ATOMIC64);
    target.vectorizes_items = !host && device.info().type == EP_CPU;
    target.max_work_group = device.info().max_work_group;
    target.local_memory = device.info().local_memory;
    target.debug = options.debug;
    target.fast_math = options.fast_math;
    target.max_registers = options.max_registers;
    return target;
}

Compiled translate(const std::shared_ptr<const syntax::Function> &function,
                   std::span<const ArgumentType> types, std::uint32_t dimensions,
                   const Device &device, ep_dialect dialect, const Options &options,
                   const LocalSize &local_size, bool coarsens) {
    Target target = target_for(device, dialect, dimensions, options);
    target.local_size = local_size;
    target.coarsens = coarsens;
    return compile(function, {types.begin(), types.end()}, target);
}

std::uint32_t required_dimensions(const std::shared_ptr<const syntax::Function> &function,
                                  std::span<const ArgumentType> types, const Device &device,
                                  ep_dialect dialect, const Options &options) {
    return lower(function, {types.begin(), types.end()}, target_for(device, dialect, 1, options))
        .dimensions;
}

bool should_coarsen(const ep_range &range, const Device &device, bool uses_groups) noexcept {
    constexpr std::uint64_t threads_of_multiprocessor = 2048, threads_of_warp = 32;
    std::uint64_t items = 1, group = 1;
    for (std::uint32_t axis = 0; axis < range.ndim; ++axis) {
        if (__builtin_mul_overflow(items, range.global[axis], &items) ||
            __builtin_mul_overflow(group, range.local[axis], &group))
            return false;
    }
    const bool can_divide = range.local[0] % coarsened_items == 0 &&
                            group >= coarsened_items * threads_of_warp &&
                            group <= device.info().max_work_group;
    return (can_divide || !uses_groups) && range.global[0] >= coarsened_items &&
           items >= coarsened_items * threads_of_multiprocessor * device.info().compute_units;
}

Key::Key(std::span<const Argument> arguments, std::uint32_t dimensions, const Device &device,
         const Context &context)
    : count_(arguments.size() + 3) {
    if (count_ > inline_words)
        many_.resize(count_);
    std::uint64_t *word = many_.empty() ? few_.data() : many_.data();
    *word++ = reinterpret_cast<std::uintptr_t>(device.record());
    *word++ = reinterpret_cast<std::uintptr_t>(context.record());
    *word++ = dimensions;
    for (const Argument &argument : arguments)
        *word++ = argument.key();
}

Specializations::~Specializations() {
    for (Node *node = first_.load(std::memory_order_acquire); node;)
        delete std::exchange(node, node->next);
}

const Specialization *Specializations::find(const Key &key, const ep_range &range) const noexcept {
    const std::span<const std::uint64_t> words = key.words();
    const Specialization *general = nullptr;
    std::size_t sizes = 0;
    for (const Node *node = first_.load(std::memory_order_acquire); node; node = node->next) {
        const Specialization &made = node->made;
        if (!std::ranges::equal(made.key, words) || !matches_range(made, range))
            continue;
        if (!made.has_siblings || std::ranges::equal(made.local_size, range.local))
            return &made;
        if (is_fixed(made.local_size))
            ++sizes;
        else
            general = &made;
    }
    return sizes >= max_local_sizes || !divides(range) ? general : nullptr;
}

std::size_t Specializations::local_sizes(const Key &key) const noexcept {
    const std::span<const std::uint64_t> words = key.words();
    std::size_t count = 0;
    for (const Node *node = first_.load(std::memory_order_acquire); node; node = node->next)
        count += is_fixed(node->made.local_size) && std::ranges::equal(node->made.key, words);
    return count;
}

bool Specializations::has_tiles(const Key &key) const noexcept {
    const std::span<const std::uint64_t> words = key.words();
    for (const Node *node = first_.load(std::memory_order_acquire); node; node = node->next)
        if (node->made.compiled.has_tiles && std::ranges::equal(node->made.key, words))
            return true;
    return false;
}

const Specialization &Specializations::make(const Key &key, std::span<const Argument> arguments,
                                            const ep_range &range, const Device &device,
                                            const Context &context) {
    const std::unique_lock alone = make_mutex_.lock();
    if (const Specialization *made = find(key, range))
        return *made;
    check_local_range(range, function_->name);
    auto node = std::make_unique<Node>();
    Specialization &made = node->made;
    made.key.assign(key.words().begin(), key.words().end());
    for (const Argument &argument : arguments)
        made.types.push_back(argument.type());
    const ep_dialect dialect = dialect_for(device, options_);
    made.dimensions = range.ndim;
    if (divides(range) &&
        (dialect != EP_CPP || local_sizes(key) < max_local_sizes || has_tiles(key)))
        std::ranges::copy(range.local, made.local_size.begin());
    const auto translated = [&](bool coarsened) {
        made.coarsens = coarsened;
        made.compiled = translate(function_, made.types, range.ndim, device, dialect, options_,
                                  made.local_size, coarsened);
    };
    translated(should_coarsen(range, device, false));
    if (made.coarsens && made.compiled.uses_groups && !should_coarsen(range, device, true))
        translated(false);
    made.has_siblings = made.compiled.has_tiles || (dialect == EP_CPP && made.compiled.uses_groups);
    // The text of a kernel that does not tell groups apart is the same for every size.
    if (!made.has_siblings)
        made.local_size = {};
    check_local_memory(made.compiled, *function_, device);
    const Program program(made.compiled.source, device, dialect, made.compiled.options, context);
    made.kernel = program.kernel(made.compiled.name);
    for (const bool written : made.compiled.written)
        made.accesses.push_back(written ? Access::write : Access::read);
    made.rounds_up = has(made.compiled, CompiledParameter::What::global_size);
    made.reports = has(made.compiled, CompiledParameter::What::report);
    made.counts_arrivals = has(made.compiled, CompiledParameter::What::arrivals);

    // Made by a handler on this thread while the compiler ran.
    if (const Specialization *same = find(key, range))
        return *same;
    node->next = first_.load(std::memory_order_acquire);
    first_.store(node.get(), std::memory_order_release);
    return node.release()->made;
}

const Specialization *Specializations::newest() const noexcept {
    const Node *const node = first_.load(std::memory_order_acquire);
    return node ? &node->made : nullptr;
}

std::size_t Specializations::size() const noexcept {
    std::size_t count = 0;
    for (const Node *node = first_.load(std::memory_order_acquire); node; node = node->next)
        ++count;
    return count;
}

}  // namespace entrepot::kernel
