#include "kernel/runtime/plan.hpp"
#include <entrepot/core/small_vector.hpp>
#include <kernel/runtime/address_range.hpp>
#include <kernel/runtime/lost_updates.hpp>
#include <kernel/runtime/value_of.hpp>

#include <algorithm>
#include <cstdint>

namespace entrepot::kernel {
namespace {

using What = CompiledParameter::What;
using Kind = Argument::Kind;

// True if the arguments alone identify similar launches. All arrays belong to the queue's context,
// no two share an element, and the range is not empty. The launch does not depend on scalar values.
// Debug builds and kernels with grid barriers are excluded, because each launch has memory of its
// own.
bool can_be_planned(const Specialization &made, const Queue &queue, const ep_range &range,
                    std::span<const Argument> arguments) noexcept {
    const auto is_plain = [&](const Argument &each) {
        return each.kind != Kind::array ||
               (each.no_alias && each.array->context() == queue.context());
    };
    return !made.reports && !made.compiled.is_cooperative &&
           !depends_on_scalars(made.compiled.lost_updates) &&
           std::ranges::all_of(arguments, is_plain) && !is_empty(range);
}

bool is_same(const ep_range &one, const ep_range &other) noexcept {
    return one.ndim == other.ndim && std::ranges::equal(one.global, other.global) &&
           std::ranges::equal(one.local, other.local);
}

}  // namespace

// ------------------------------------------------------------------------- plan

Plan::Plan(const Specialization &made, const Queue &queue, const ep_range &asked,
           const ep_range &threads, std::span<const Argument> arguments)
    : made_(made), context_(queue.context()), device_(queue.device()), asked_(asked),
      threads_(threads) {
    ENTREPOT_ASSERT(made.accesses.size() == arguments.size());
    for (std::uint32_t i = 0; i < arguments.size(); ++i) {
        const Argument &each = arguments[i];
        const bool is_array = each.kind == Kind::array;
        const ByteRange bytes =
            is_array ? each.array->layout().byte_range(each.dtype.itemsize()) : ByteRange{};
        argument_keys_.push_back({each.kind, each.read_only, each.dtype, layout_of(each), bytes});
        if (is_array)
            uses_.push_back({nullptr, made.accesses[i], i});
    }
    for (const CompiledParameter &parameter : made.compiled.parameters) {
        ep_argument value = value_of(parameter, arguments, asked_, group_size(threads), {});
        if (parameter.what == What::extent)
            value.value =
                argument_keys_[parameter.argument].layout.shape().data() + parameter.dimension;
        else if (parameter.what == What::stride)
            value.value =
                argument_keys_[parameter.argument].layout.strides().data() + parameter.dimension;
        else if (value.kind == EP_ARG_POINTER || parameter.what == What::value)
            per_launch_.push_back(
                {static_cast<std::uint32_t>(parameters_.size()), parameter.argument});
        parameters_.push_back(value);
    }
}

bool Plan::matches_key(const ArgumentKey &expected, const Argument &argument,
                       const Context &context) noexcept {
    if (argument.kind != expected.kind || argument.dtype != expected.dtype)
        return false;
    if (argument.kind == Kind::array) [[likely]]
        return argument.read_only == expected.read_only &&
               argument.array->layout() == expected.layout && argument.array->context() == context;
    return argument.kind == Kind::scalar ||
           std::ranges::equal(Extents(argument.extents, argument.ndim), expected.layout.shape());
}

bool Plan::no_alias(std::span<const Argument> arguments) const noexcept {
    SmallVector<AddressRange, 16> seen(uses_.size());
    for (const ArrayUse &use : uses_) {
        const Argument &argument = arguments[use.position];
        const AddressRange own(*argument.array, argument_keys_[use.position].bytes);
        for (std::size_t i = 0; i < seen.size(); ++i)
            if (own.overlaps(seen.data()[i]) &&
                !argument.is_field_beside(arguments[uses_[i].position]))
                return false;
        seen.emplace_back(own);
    }
    return true;
}

bool Plan::same_buffers_as_last(std::span<const Argument> arguments) const noexcept {
    for (const PerLaunchParameter &each : per_launch_)
        if (arguments[each.argument].kind == Kind::array &&
            arguments[each.argument].array->data() != parameters_[each.parameter].value)
            return false;
    return true;
}

[[gnu::hot]] bool Plan::matches(const Queue &queue, const ep_range &asked,
                                std::span<const Argument> arguments) const noexcept {
    if (arguments.size() != argument_keys_.size() || queue.context() != context_ ||
        queue.device() != device_ || !is_same(asked, asked_))
        return false;
    for (std::size_t i = 0; i < arguments.size(); ++i)
        if (!matches_key(argument_keys_[i], arguments[i], context_))
            return false;
    return same_buffers_as_last(arguments) || no_alias(arguments);
}

[[gnu::hot]] Queue::Position Plan::launch(const Queue &queue, std::span<const Argument> arguments) {
    ENTREPOT_ASSERT(arguments.size() == argument_keys_.size() && queue.context() == context_);
    for (const PerLaunchParameter &each : per_launch_) {
        const Argument &argument = arguments[each.argument];
        parameters_[each.parameter].value =
            argument.kind == Kind::array ? argument.array->data() : argument.scalar.bytes.data();
    }
    for (ArrayUse &each : uses_)
        each.array = arguments[each.position].array;
    return relaunch(made_.kernel, queue, threads_, parameters_, uses_);
}

// ------------------------------------------------------------------------ plans

PlanCache::Slot *PlanCache::lock_slot(const ep_range &asked,
                                      std::span<const Argument> arguments) noexcept {
    std::uint64_t mixed = asked.global[0] + 3 * asked.local[0];
    for (const Argument &each : arguments)
        mixed = 5 * mixed + each.dtype.bits +
                (each.kind == Kind::array ? static_cast<std::uint64_t>(each.array->size()) : 0);
    constexpr std::uint64_t golden = 0x9E37'79B9'7F4A'7C15;  // 2**64 over the golden ratio: its
                                                             // products differ in their high bits
    Slot &slot = slots_[(mixed * golden) >> (64 - slot_bits)];
    return slot.is_locked.exchange(true, std::memory_order_acquire) ? nullptr : &slot;
}

[[gnu::hot]] PlanCache::Lease PlanCache::find(const Queue &queue, const ep_range &asked,
                                              std::span<const Argument> arguments) noexcept {
    Lease lease(lock_slot(asked, arguments));
    if (!lease.slot_ || !lease.slot_->plan || !lease.slot_->plan->matches(queue, asked, arguments))
        return Lease(nullptr);
    lease.slot_->misses = 0;
    return lease;
}

void PlanCache::insert(const Specialization &made, const Queue &queue, const ep_range &asked,
                       const ep_range &threads, std::span<const Argument> arguments) noexcept {
    constexpr std::uint8_t max_misses = 2;  // consecutive misses that replace an unused plan
    if (!can_be_planned(made, queue, threads, arguments))
        return;
    const Lease lease(lock_slot(asked, arguments));
    if (!lease.slot_)
        return;
    // another thread had it
    const bool is_in_use =
        lease.slot_->plan &&
        (lease.slot_->plan->matches(queue, asked, arguments) || ++lease.slot_->misses < max_misses);
    if (is_in_use)
        return;
    try {
        lease.slot_->plan = std::make_unique<Plan>(made, queue, asked, threads, arguments);
        lease.slot_->misses = 0;
    } catch (...) {
        // The launch itself succeeded, and the next one can try again.
    }
}

}  // namespace entrepot::kernel
