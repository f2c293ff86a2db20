#include "kernel/runtime/launch.hpp"
#include <entrepot/array/copy.hpp>
#include <entrepot/core/assert.hpp>
#include <entrepot/core/small_vector.hpp>
#include <entrepot/core/text.hpp>
#include <entrepot/memory/current.hpp>
#include <kernel/ir/error.hpp>
#include <kernel/ir/walk.hpp>
#include <kernel/runtime/evaluator.hpp>
#include <kernel/runtime/lost_updates.hpp>
#include <kernel/runtime/value_of.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace entrepot::kernel {
namespace {

std::uint64_t largest_divisor(std::uint64_t number, std::uint64_t most) noexcept {
    if (number <= most)
        return std::max<std::uint64_t>(number, 1);
    for (std::uint64_t divisor = most; divisor > 1; --divisor)
        if (number % divisor == 0)
            return divisor;
    return 1;
}

// Maximum number of work-items of a group along an axis of the launch, at most `most`. A device
// limit of 0 means none.
std::uint64_t max_along(std::uint32_t axis, const ep_range &range, std::uint64_t most,
                        const std::uint64_t (&most_items)[3]) noexcept {
    const std::uint64_t most_here = most_items[3 - range.ndim + axis];
    return most_here ? std::min(most, most_here) : most;
}

// Chooses the largest group that the device supports, starting with the last dimension, so that
// neighbors in memory stay together.
void choose_group(ep_range &range, std::uint64_t most,
                  const std::uint64_t (&most_items)[3]) noexcept {
    for (std::uint32_t axis = range.ndim; axis-- > 0;) {
        range.local[axis] =
            largest_divisor(range.global[axis], max_along(axis, range, most, most_items));
        most /= range.local[axis];
    }
}

// Default group size for kernels that do not tell groups apart: a few warps.
constexpr std::uint64_t default_group_size = 256;
// Limit of CUDA and HIP for the number of groups in any dimension but the last.
constexpr std::uint64_t max_groups = 65535;

void choose_rounded_group(ep_range &range, std::uint64_t most,
                          const std::uint64_t (&most_items)[3]) noexcept {
    std::uint64_t &last = range.local[range.ndim - 1];
    std::fill(range.local, range.local + range.ndim, 1);
    last = std::min(default_group_size, most ? most : default_group_size);
    for (std::uint32_t axis = 0; axis + 1 < range.ndim; ++axis) {
        const std::uint64_t most_here = max_along(axis, range, default_group_size, most_items);
        for (; range.global[axis] > max_groups * range.local[axis] && last > 1 &&
               range.local[axis] * 2 <= most_here;
             last /= 2)
            range.local[axis] *= 2;
    }
}

// For kernels whose work-items beyond the requested range do nothing.
void round_up(ep_range &range, std::uint64_t most, const std::uint64_t (&most_items)[3]) noexcept {
    if (!has_local_range(range))
        choose_rounded_group(range, most, most_items);
    for (std::uint32_t axis = 0; axis < range.ndim; ++axis)
        range.global[axis] =
            (range.global[axis] + range.local[axis] - 1) / range.local[axis] * range.local[axis];
}

// Threads of a launch, each of which executes several work-items along the first dimension. A local
// range for which they need too many registers becomes smaller, if the kernel cannot tell.
ep_range threads_of(const Specialization &made, ep_range range) noexcept {
    const std::uint64_t items = made.compiled.items_per_thread;
    if (items == 1)
        return range;
    if (made.compiled.uses_groups)
        range.local[0] /= items;
    else
        for (std::uint32_t axis = 0; axis < range.ndim; ++axis)
            while (range.local[axis] % 2 == 0 &&
                   group_size(range) > made.kernel.info().max_work_group)
                range.local[axis] /= 2;
    ENTREPOT_ASSERT(range.local[0] != 0);
    const std::uint64_t of_group = items * range.local[0];
    range.global[0] = (range.global[0] + of_group - 1) / of_group * range.local[0];
    return range;
}

// Line of the kernel's source with a caret, for messages.
std::string source_line(const Source &function, std::int32_t line, std::size_t column) {
    const std::string text(function.line(line));
    if (text.empty())
        return {};
    return "\n    " + text + "\n    " + std::string(std::min(column, text.size()), ' ') + "^";
}

// Memory of the launch itself. The resource that the program has chosen is for its own arrays,
// whose number and bytes it may check or limit.
Memory allocate_for_launch(std::size_t bytes, UsmKind kind, const Queue &queue,
                           std::size_t alignment = 0) {
    return Memory::allocate(bytes, kind, queue, alignment, default_resource());
}

// ------------------------------------------------------- reports of debug builds

// A block of report_words int64, accessible to device and host.
class Report {
public:
    explicit Report(const Queue &queue)
        : memory_(allocate_for_launch(report_words * sizeof(std::int64_t), UsmKind::host, queue)) {
        memory_.wait_for_host(Access::write);
        std::memset(memory_.data(), 0, memory_.nbytes());
    }
    void *data() const noexcept { return memory_.data(); }

    void throw_if_any(std::span<const Check> checks, const Source &kernel,
                      std::uint32_t ndim) const {
        std::int64_t words[report_words];
        std::memcpy(words, memory_.data(), sizeof words);
        const auto [found, number, first, second, third, index, extent] = std::to_array(words);
        if (found == 0)
            return;
        ENTREPOT_ASSERT(number >= 0 && static_cast<std::size_t>(number) < checks.size());
        const Check &check = checks[static_cast<std::size_t>(number)];
        const Source &source = check.source ? *check.source : kernel;
        const std::string what =
            check.is_assertion
                ? "assertion failed" + (check.message.empty() ? "" : ": " + check.message)
                : sentence_of("index ", index, " is out of bounds for an axis of ",
                              counted(extent, "element"));
        std::int64_t item[] = {first, second, third};
        if (kernel.wording && kernel.wording->x_first)
            std::reverse(item, item + ndim);
        throw Error(check.is_assertion ? ErrorKind::assertion : ErrorKind::index, source.file, ":",
                    check.at.line, ": ", what, in_language_of(kernel, ", in work-item "),
                    tuple_text(item), " of kernel '", kernel.name, "'",
                    source_line(source, check.at.line, static_cast<std::size_t>(check.at.column)));
    }

private:
    Memory memory_;
};

// ------------------------------------------------------- indices that every work-item uses

std::string text_of(const Source &source, const std::uint64_t (&extents)[3], std::uint32_t ndim) {
    std::int64_t numbers[3];
    std::ranges::copy(extents, numbers);
    return indices_in_language_of(source, {numbers, ndim});
}

// Text for an access that every work-item makes, such as "offset 9 is out of bounds for 'a', which
// has 8 elements".
template <class... Place>
std::string out_of_bounds(const Source &source, const char *what, std::int64_t value,
                          std::string_view array, std::int64_t count, const ep_range &asked,
                          const Place &...place) {
    return sentence_of(what, ' ', value, " is out of bounds for ", place..., '\'', array,
                       "', which has ", count, count == 1 ? " element" : " elements", "; every ",
                       in_language_of(source, "work-item of the range "),
                       text_of(source, asked.global, asked.ndim));
}

[[noreturn, gnu::cold]] void refuse(const Reach::Axis &axis, std::int64_t index,
                                    std::int64_t extent, const syntax::Function &function,
                                    const ep_range &asked) {
    throw Error(ErrorKind::index, function.file, ":", axis.at.line, ": ",
                out_of_bounds(function, "index", index, function.parameters[axis.argument].name,
                              extent, asked, "axis ", axis.axis, " of "),
                " makes this access: launch fewer, or guard it with a condition",
                source_line(function, axis.at.line, static_cast<std::size_t>(axis.at.column)));
}

// Throws: IndexError if a work-item certainly leaves an array. Work-items beyond the requested
//   range do nothing.
[[gnu::hot]] void check_reach(const Specialization &made, const syntax::Function &function,
                              const ep_range &asked, std::span<const Argument> arguments) {
    if (is_empty(asked))
        return;
    for (const Reach &reach : made.compiled.reach) {
        std::int64_t least = reach.constant, most = reach.constant;
        bool wraps = false;
        for (std::uint32_t axis = 0; axis < asked.ndim; ++axis) {
            std::int64_t change = 0;
            wraps |= __builtin_mul_overflow(
                reach.by_id[axis], static_cast<std::int64_t>(asked.global[axis] - 1), &change);
            wraps |= __builtin_add_overflow(least, std::min<std::int64_t>(change, 0), &least);
            wraps |= __builtin_add_overflow(most, std::max<std::int64_t>(change, 0), &most);
        }
        if (wraps) [[unlikely]]
            continue;
        for (const Reach::Axis &axis : reach.axes) {
            const Argument &argument = arguments[axis.argument];
            const bool is_array = argument.kind == Argument::Kind::array;
            const std::int64_t extent =
                (is_array ? argument.array->shape().data() : argument.extents)[axis.axis];
            if (most >= extent || least < (axis.counts_from_end ? -extent : 0)) [[unlikely]]
                refuse(axis, most >= extent ? most : least, extent, function, asked);
        }
    }
}

// Ids and sizes that an index depends on.
struct Dependence {
    bool on_groups = false;
    std::array<bool, 3> on_axis{};
};

Dependence dependence_of(const ir::Expression &index) {
    Dependence found;
    ir::for_each_within(index, [&](const ir::Expression &each) {
        if (each.op != ir::Op::index)
            return;
        found.on_axis[each.number] = true;
        found.on_groups |=
            each.text.starts_with("local_") || each.text == "group_id" || each.text == "num_groups";
    });
    return found;
}

// Says which work-items make the access, and what to change.
std::string remedy(const CertainAccess &access, const ep_range &asked, const ep_range &chosen) {
    if (dependence_of(access.index).on_groups)
        return in_language_of(
            *access.source,
            sentence_of(", in groups of ", text_of(*access.source, chosen.local, chosen.ndim),
                        has_local_range(asked)
                            ? ", makes this access: give a smaller local range"
                            : " that the runtime chose, makes this access: give a local range",
                        ", make the array larger"));
    if (access.array.space == Space::local)
        return in_language_of(*access.source, " makes this access: index local memory by " +
                                                  named("get_local_id") + ", launch fewer");
    return " makes this access: launch fewer";
}

[[noreturn, gnu::cold]] void refuse(const CertainAccess &access, std::int64_t value,
                                    const Layout &layout, const ep_range &asked,
                                    const ep_range &chosen) {
    const std::string &name = access.array.name;
    throw Error(
        ErrorKind::index, access.source->file, ":", access.at.line, ": ",
        access.axis
            ? out_of_bounds(*access.source, "index", value, name, layout.shape()[*access.axis],
                            asked, "axis ", *access.axis, " of ")
            : out_of_bounds(*access.source, "offset", value, name, layout.size(), asked),
        remedy(access, asked, chosen), ", or guard it with a condition",
        source_line(*access.source, access.at.line, static_cast<std::size_t>(access.at.column)));
}

// Ids along an axis at which ids of the range, and ids within groups, are least or greatest.
class Corners {
public:
    Corners(const Evaluator &evaluator, std::uint32_t axis, const Dependence &dependence) {
        const std::int64_t size = evaluator.global_size(axis), local = evaluator.local_size(axis);
        if (!dependence.on_axis[axis] || size == 1)
            return;
        ids_[count_++] = size - 1;
        if (!dependence.on_groups || local <= 1 || local >= size)
            return;
        ids_[count_++] = local - 1;
        ids_[count_++] = size - local;
    }

    const std::int64_t *begin() const { return ids_.data(); }
    const std::int64_t *end() const { return ids_.data() + count_; }

private:
    std::array<std::int64_t, 4> ids_{};
    std::size_t count_ = 1;
};

// Requires: the range is not empty.
// Throws: IndexError if a work-item at a corner of the range or of a group certainly leaves an
//   array.
[[gnu::cold]] void check_accesses(const Specialization &made, const ep_range &asked,
                                  const ep_range &chosen, std::span<const Argument> arguments) {
    ENTREPOT_ASSERT(!is_empty(asked));
    const Evaluator evaluator(asked, chosen, arguments);
    for (const CertainAccess &access : made.compiled.accesses) {
        const auto &[name, space, argument, shape] = access.array;
        const Layout layout = argument ? layout_of(arguments[*argument]) : Layout(shape);
        ByteRange valid = layout.byte_range(1);  // offsets
        if (access.axis) {
            const std::int64_t extent = layout.shape()[*access.axis];
            valid = {access.counts_from_end ? -extent : 0, extent};
        }
        const Dependence dependence = dependence_of(access.index);
        const Corners seconds(evaluator, 1, dependence), thirds(evaluator, 2, dependence);
        for (const std::int64_t first : Corners(evaluator, 0, dependence))
            for (const std::int64_t second : seconds)
                for (const std::int64_t third : thirds) {
                    const Evaluator::Id item{first, second, third};
                    const Evaluator::Known value = evaluator(access.index, &item);
                    if (value && (*value < valid.begin || *value >= valid.end))
                        refuse(access, *value, layout, asked, chosen);
                }
    }
}

// ---------------------------------------------------------------- parameters

// The launch's arguments in the order of the compiled function's parameters.
class Parameters {
public:
    Parameters(const Specialization &made, std::span<const Argument> arguments,
               const ep_range &asked, std::uint64_t group, const LaunchMemory &memory = {})
        : given_(made.compiled.parameters.size()), uses_(arguments.size()) {
        for (const CompiledParameter &parameter : made.compiled.parameters)
            given_.emplace_back(value_of(parameter, arguments, asked, group, memory));
        for (std::size_t i = 0; i < arguments.size(); ++i)
            if (arguments[i].kind == Argument::Kind::array)
                uses_.emplace_back(arguments[i].array, made.accesses[i], i);
    }

    // Adds memory of the launch itself, which is freed after the launch like that of an argument.
    void add_use(const Array &array) { uses_.emplace_back(&array, Access::write, uses_.size()); }

    std::span<const ep_argument> given() const noexcept { return given_; }
    std::span<const ArrayUse> uses() const noexcept { return uses_; }

private:
    SmallVector<ep_argument, 24> given_;
    SmallVector<ArrayUse, 8> uses_;
};

// ------------------------------------------------------- grid barriers

// A count of arrivals for the grid barriers of one launch. It is zero when the kernel begins,
// because the queue fills it before.
Array arrivals_for(const Queue &queue) {
    const std::int64_t one = 1;
    const Array count =
        Array::empty({&one, 1}, dtypes::uint64, UsmKind::device, queue, 0, allocate_for_launch);
    const std::uint64_t none = 0;
    fill(count, std::as_bytes(std::span(&none, 1)), queue);
    return count;
}

// All groups of the launch run at once, so that they may wait for each other.
Queue::Position launch_together(const Specialization &made, const Queue &queue,
                                const ep_range &asked, const ep_range &threads,
                                std::span<const Argument> arguments, LaunchMemory memory) {
    constexpr ep_cooperation together{1, {}};
    std::optional<Array> arrivals;
    if (made.counts_arrivals) {
        arrivals = arrivals_for(queue);
        memory.arrivals = arrivals->data();
    }
    Parameters parameters(made, arguments, asked, group_size(threads), memory);
    if (arrivals)
        parameters.add_use(*arrivals);
    return launch(made.kernel, queue, threads, parameters.given(), parameters.uses(), &together);
}

}  // namespace

ep_range choose_local_range(const Specialization &made, std::string_view name, ep_range range,
                            const Device &device) {
    ENTREPOT_ASSERT(range.ndim >= 1 && range.ndim <= 3);
    check_local_range(range, name);
    if (has_local_range(range)) {
        if (!made.compiled.uses_groups && device.backend().is_host())
            std::fill(std::begin(range.local), std::end(range.local), 0);
    } else if (made.compiled.uses_groups) {
        choose_group(range, made.kernel.info().max_work_group, device.info().max_work_items);
    }
    if (made.rounds_up)
        round_up(range, made.kernel.info().max_work_group, device.info().max_work_items);
    return range;
}

Queue::Position launch(const Specialization &made, const syntax::Function &function,
                       const Queue &queue, const ep_range &range,
                       std::span<const Argument> arguments, PlanCache *plans) {
    ENTREPOT_ASSERT(made.accesses.size() == arguments.size());
    const ep_range chosen = choose_local_range(made, function.name, range, queue.device());
    const std::uint64_t group = group_size(chosen);
    check_reach(made, function, range, arguments);
    if (!made.compiled.accesses.empty() && !is_empty(range)) [[unlikely]]
        check_accesses(made, range, chosen, arguments);
    if (!made.compiled.lost_updates.empty()) [[unlikely]]
        refuse_lost_updates(made.compiled.lost_updates, range, chosen, arguments);
    const ep_range threads = threads_of(made, chosen);
    const auto submit = [&](const LaunchMemory &memory) {
        if (made.compiled.is_cooperative) [[unlikely]]
            return launch_together(made, queue, range, threads, arguments, memory);
        const Parameters parameters(made, arguments, range, group, memory);
        try {
            return launch(made.kernel, queue, threads, parameters.given(), parameters.uses());
        } catch (const Error &error) {
            // The device knows kernels by their names, and not the language of their source.
            if (!function.wording || error.kind() != ErrorKind::kernel)
                throw;
            throw Error(error.kind(), in_language_of(function, error.what()));
        }
    };
    if (!made.reports) [[likely]] {
        const Queue::Position position = submit({});
        if (plans)
            plans->insert(made, queue, range, threads, arguments);
        return position;
    }
    const Report report(queue);
    const Queue::Position position = submit({report.data(), nullptr});
    queue.wait_at(position);
    report.throw_if_any(made.compiled.checks, function, range.ndim);
    return position;
}

}  // namespace entrepot::kernel
