#include <kernel/ir/walk.hpp>
#include <kernel/runtime/evaluator.hpp>
#include <kernel/runtime/lost_updates.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

namespace entrepot::kernel {
namespace {

using ir::Expression;
using ir::Op;
using Known = Evaluator::Known;
using Id = Evaluator::Id;

// Looks for two work-items that pass all guards of an update. Candidates are those at the ends of
// the range and next to values in the guards. The search has no false positives but may miss some.
class Search {
public:
    Search(const Evaluator &evaluator, const LostUpdate &update)
        : evaluator_(evaluator), update_(update) {}

    bool finds_two() {
        for (const LostUpdate::Guard &guard : update_.guards)
            collect(guard.condition);
        std::array<std::vector<std::int64_t>, 3> ids;
        for (std::uint32_t axis = 0; axis < ids.size(); ++axis)
            ids[axis] = candidates(axis);
        std::vector<Id> groups;  // groups of the work-items that satisfy the guards
        for (const std::int64_t first : ids[0])
            for (const std::int64_t second : ids[1])
                for (const std::int64_t third : ids[2]) {
                    const Id id{first, second, third};
                    if (!passes(id))
                        continue;
                    const Id group = group_of(id);
                    if (std::ranges::find(groups, group) != groups.end())
                        return true;
                    groups.push_back(group);
                }
        return false;
    }

private:
    static constexpr std::size_t most_values = 16;

    void collect(const Expression &expression) {
        const bool is_number = (expression.type.dtype.code == TypeCode::integer ||
                                expression.type.dtype.code == TypeCode::unsigned_integer);
        if (const Known value = is_number ? evaluator_(expression, nullptr) : std::nullopt) {
            if (values_.size() < most_values)
                values_.insert(*value);
            return;
        }
        if (expression.op == Op::index && expression.text.ends_with("_id"))
            asked_[expression.number] = true;
        for (const Expression &operand : expression.operands)
            collect(operand);
    }

    std::vector<std::int64_t> candidates(std::uint32_t axis) const {
        const std::int64_t size = evaluator_.global_size(axis), local = evaluator_.local_size(axis);
        std::set<std::int64_t> found;
        const auto add = [&](std::int64_t id) {
            if (id >= 0 && id < size)
                found.insert(id);
        };
        add(0);
        add(1);
        if (asked_[axis]) {
            add(size - 2);
            add(size - 1);
            if (local > 0) {
                add(local);
                add((size - 1) / local * local);
            }
            for (const std::int64_t value : values_)
                for (const std::int64_t beside : {-1, 0, 1}) {
                    std::int64_t id = 0;
                    if (__builtin_add_overflow(value, beside, &id))
                        continue;
                    add(id);
                    if (local > 1 && !__builtin_mul_overflow(id, local, &id)) {
                        add(id);
                        add(id + 1);
                    }
                }
        }
        return {found.begin(), found.end()};
    }

    bool passes(const Id &id) const {
        return std::ranges::all_of(update_.guards, [&](const LostUpdate::Guard &guard) {
            const Known holds = evaluator_(guard.condition, &id);
            return holds ? *holds != 0 : guard.if_unknown;
        });
    }

    // Scope in which two work-items lose updates: equal results mean that they may.
    Id group_of(const Id &id) const {
        Id group{};
        if (update_.in_group)
            for (std::uint32_t axis = 0; axis < group.size(); ++axis)
                group[axis] = id[axis] / std::max<std::int64_t>(evaluator_.local_size(axis), 1);
        return group;
    }

    const Evaluator &evaluator_;
    const LostUpdate &update_;
    std::set<std::int64_t> values_;
    std::array<bool, 3> asked_{};  // by axis: true if a guard depends on the id
};

}  // namespace

void refuse_lost_updates(std::span<const LostUpdate> updates, const ep_range &asked,
                         const ep_range &chosen, std::span<const Argument> arguments) {
    const Evaluator evaluator(asked, chosen, arguments);
    for (const LostUpdate &update : updates)
        if (Search(evaluator, update).finds_two())
            throw Error(ErrorKind::kernel, update.message);
}

bool depends_on_scalars(std::span<const LostUpdate> updates) {
    bool found = false;
    for (const LostUpdate &update : updates)
        for (const LostUpdate::Guard &guard : update.guards)
            ir::for_each_within(guard.condition, [&](const Expression &each) {
                found |= each.op == Op::index && each.text == LostUpdate::argument;
            });
    return found;
}

}  // namespace entrepot::kernel
