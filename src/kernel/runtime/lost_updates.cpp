#include <kernel/compiler/walk.hpp>
#include <kernel/runtime/lost_updates.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace entrepot::kernel {
namespace {

using ir::Expression;
using ir::Op;

using Known = std::optional<std::int64_t>;
using Id = std::array<std::int64_t, 3>;

bool is_boolean(Dtype dtype) { return dtype.code == TypeCode::boolean; }
bool is_unsigned(Dtype dtype) { return dtype.code == TypeCode::unsigned_integer; }
bool is_integer(Dtype dtype) { return dtype.code == TypeCode::integer || is_unsigned(dtype); }

template <class Value> Known read(const Scalar &scalar) {
    Value value;
    std::memcpy(&value, scalar.bytes.data(), sizeof value);
    return std::in_range<std::int64_t>(value) ? Known(static_cast<std::int64_t>(value)) : std::nullopt;
}

Known value_of(const Argument &argument) {
    const Dtype dtype = argument.dtype;
    if (argument.kind != Argument::Kind::scalar)
        return std::nullopt;
    if (is_boolean(dtype))
        return argument.scalar.bytes[0] != std::byte{};
    if (!is_integer(dtype))
        return std::nullopt;
    switch (dtype.bits) {
    case 8:
        return is_unsigned(dtype) ? read<std::uint8_t>(argument.scalar) : read<std::int8_t>(argument.scalar);
    case 16:
        return is_unsigned(dtype) ? read<std::uint16_t>(argument.scalar) : read<std::int16_t>(argument.scalar);
    case 32:
        return is_unsigned(dtype) ? read<std::uint32_t>(argument.scalar) : read<std::int32_t>(argument.scalar);
    default:
        return is_unsigned(dtype) ? read<std::uint64_t>(argument.scalar) : read<std::int64_t>(argument.scalar);
    }
}

bool holds(Dtype dtype, std::int64_t value) {
    if (is_boolean(dtype))
        return value == 0 || value == 1;
    if (is_unsigned(dtype))
        return value >= 0 && (dtype.bits == 64 || value < std::int64_t{1} << dtype.bits);
    const std::int64_t half = dtype.bits == 64 ? 0 : std::int64_t{1} << (dtype.bits - 1);
    return dtype.bits == 64 || (-half <= value && value < half);
}

std::int64_t floored(std::int64_t a, std::int64_t b) { return a / b - (a % b != 0 && (a % b < 0) != (b < 0) ? 1 : 0); }

Known combined(Op op, std::int64_t a, std::int64_t b) {
    std::int64_t result = 0;
    const bool divides = b != 0 && b != -1;
    switch (op) {
    case Op::add:
        return __builtin_add_overflow(a, b, &result) ? std::nullopt : Known(result);
    case Op::subtract:
        return __builtin_sub_overflow(a, b, &result) ? std::nullopt : Known(result);
    case Op::multiply:
        return __builtin_mul_overflow(a, b, &result) ? std::nullopt : Known(result);
    case Op::floor_divide:
        return divides ? Known(floored(a, b)) : std::nullopt;
    case Op::floor_modulo:
        return divides ? Known(a - floored(a, b) * b) : std::nullopt;
    case Op::truncate_divide:
        return divides ? Known(a / b) : std::nullopt;
    case Op::truncate_modulo:
        return divides ? Known(a % b) : std::nullopt;
    case Op::shift_right:
        return b >= 0 && b < 64 ? Known(a >> b) : std::nullopt;
    case Op::shift_left:
        return b >= 0 && b < 62 && !__builtin_mul_overflow(a, std::int64_t{1} << b, &result) ? Known(result) : std::nullopt;
    case Op::bit_and:
        return a & b;
    case Op::bit_or:
        return a | b;
    case Op::bit_xor:
        return a ^ b;
    case Op::less:
        return a < b;
    case Op::less_equal:
        return a <= b;
    case Op::greater:
        return a > b;
    case Op::greater_equal:
        return a >= b;
    case Op::equal:
        return a == b;
    case Op::not_equal:
        return a != b;
    default:
        return std::nullopt;
    }
}

// Evaluates guards for work-items of one launch. Integers only: anything else, and overflow, is
// unknown.
class Calculation {
public:
    Calculation(const ep_range &asked, const ep_range &chosen, std::span<const Argument> arguments)
        : asked_(asked), chosen_(chosen), arguments_(arguments) {}

    // `id`: of the work-item; nullptr: unknown.
    Known operator()(const Expression &expression, const Id *id) const {
        const Dtype dtype = expression.type.dtype;
        if (!is_boolean(dtype) && !is_integer(dtype))
            return std::nullopt;
        const Known value = calculated(expression, id);
        return value && holds(dtype, *value) ? value : std::nullopt;
    }

    std::int64_t local_size(std::uint32_t axis) const {  // 0: unknown
        return axis < asked_.ndim ? static_cast<std::int64_t>(chosen_.local[axis]) : 1;
    }
    std::int64_t global_size(std::uint32_t axis) const {
        return axis < asked_.ndim ? static_cast<std::int64_t>(asked_.global[axis]) : 1;
    }

private:
    Known calculated(const Expression &expression, const Id *id) const {
        const auto operand = [&](std::size_t i) { return (*this)(expression.operands[i], id); };
        switch (expression.op) {
        case Op::constant:
            return constant(expression);
        case Op::index:
            return index(expression, id);
        case Op::extent: {
            const Argument &argument = arguments_[expression.id];
            return argument.kind == Argument::Kind::array ? argument.array->shape()[expression.number]
                                                          : argument.extents[expression.number];
        }
        case Op::logic_and:
        case Op::logic_or: {
            const Known a = operand(0), b = operand(1);
            // The value of one operand that decides the result.
            const bool decides = expression.op == Op::logic_or;
            if (a == Known(decides) || b == Known(decides))
                return decides;
            return a && b ? Known(!decides) : std::nullopt;
        }
        case Op::logic_not: {
            const Known a = operand(0);
            return a ? Known(*a == 0) : std::nullopt;
        }
        case Op::select: {
            const Known condition = operand(0);
            return condition ? operand(*condition != 0 ? 1 : 2) : std::nullopt;
        }
        case Op::convert: {
            const Known a = operand(0);
            return a && is_boolean(expression.type.dtype) ? Known(*a != 0) : a;
        }
        case Op::negate: {
            const Known a = operand(0);
            return a ? combined(Op::subtract, 0, *a) : std::nullopt;
        }
        case Op::bit_not: {
            const Known a = operand(0);
            return a ? Known(~*a) : std::nullopt;
        }
        case Op::math:
            if (expression.text == "min" || expression.text == "max") {
                const Known a = operand(0), b = operand(1);
                return a && b ? Known(expression.text == "min" ? std::min(*a, *b) : std::max(*a, *b)) : std::nullopt;
            }
            return std::nullopt;
        default: {
            if (expression.operands.size() != 2)
                return std::nullopt;
            const Known a = operand(0), b = operand(1);
            return a && b ? combined(expression.op, *a, *b) : std::nullopt;
        }
        }
    }

    static Known constant(const Expression &expression) {
        if (const auto *const value = std::get_if<bool>(&expression.value))
            return *value;
        if (const auto *const value = std::get_if<std::int64_t>(&expression.value))
            return *value;
        const auto *const value = std::get_if<std::uint64_t>(&expression.value);
        return value && *value <= INT64_MAX ? Known(static_cast<std::int64_t>(*value)) : std::nullopt;
    }

    Known index(const Expression &expression, const Id *id) const {
        const std::string &text = expression.text;
        const std::uint32_t axis = expression.number;
        if (text == LostUpdate::argument)
            return value_of(arguments_[axis]);
        if (text == "work_dim")
            return asked_.ndim;
        if (text == "global_size")
            return global_size(axis);
        if (text == "global_id")
            return id ? Known((*id)[axis]) : std::nullopt;
        const std::int64_t local = local_size(axis);
        if (local == 0)
            return std::nullopt;
        if (text == "local_size")
            return local;
        if (text == "num_groups")
            return global_size(axis) / local;
        if (text == "local_id")
            return id ? Known((*id)[axis] % local) : std::nullopt;
        if (text == "group_id")
            return id ? Known((*id)[axis] / local) : std::nullopt;
        return std::nullopt;
    }

    const ep_range &asked_, &chosen_;
    const std::span<const Argument> arguments_;
};

// Looks for two work-items that pass all guards of an update. Candidates are those at the ends of
// the range and next to values in the guards. The search has no false positives but may miss some.
class Search {
public:
    Search(const Calculation &calculation, const LostUpdate &update) : calculation_(calculation), update_(update) {}

    bool finds_two() {
        for (const LostUpdate::Guard &guard : update_.guards)
            collect(guard.condition);
        std::array<std::vector<std::int64_t>, 3> ids;
        for (std::uint32_t axis = 0; axis < ids.size(); ++axis)
            ids[axis] = candidates(axis);
        std::vector<Id> groups;  // of the work-items that pass
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
        const bool is_number = is_integer(expression.type.dtype);
        if (const Known value = is_number ? calculation_(expression, nullptr) : std::nullopt) {
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
        const std::int64_t size = calculation_.global_size(axis), local = calculation_.local_size(axis);
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
            const Known holds = calculation_(guard.condition, &id);
            return holds ? *holds != 0 : guard.if_unknown;
        });
    }

    // Scope in which two work-items lose updates: equal results mean that they may.
    Id group_of(const Id &id) const {
        Id group{};
        if (update_.in_group)
            for (std::uint32_t axis = 0; axis < group.size(); ++axis)
                group[axis] = id[axis] / std::max<std::int64_t>(calculation_.local_size(axis), 1);
        return group;
    }

    const Calculation &calculation_;
    const LostUpdate &update_;
    std::set<std::int64_t> values_;
    std::array<bool, 3> asked_{};  // which axes of ids the guards ask about
};

}  // namespace

void refuse_lost_updates(std::span<const LostUpdate> updates, const ep_range &asked, const ep_range &chosen,
                         std::span<const Argument> arguments) {
    const Calculation calculation(asked, chosen, arguments);
    for (const LostUpdate &update : updates)
        if (Search(calculation, update).finds_two())
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
