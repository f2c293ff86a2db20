#include <kernel/runtime/evaluator.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

namespace entrepot::kernel {
namespace {

using ir::Expression;
using ir::Op;
using Known = Evaluator::Known;

bool is_boolean(Dtype dtype) { return dtype.code == TypeCode::boolean; }
bool is_unsigned(Dtype dtype) { return dtype.code == TypeCode::unsigned_integer; }
bool is_integer(Dtype dtype) { return dtype.code == TypeCode::integer || is_unsigned(dtype); }

template <class Value> Known read(const Scalar &scalar) {
    Value value;
    std::memcpy(&value, scalar.bytes.data(), sizeof value);
    return std::in_range<std::int64_t>(value) ? Known(static_cast<std::int64_t>(value))
                                              : std::nullopt;
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
        return is_unsigned(dtype) ? read<std::uint8_t>(argument.scalar)
                                  : read<std::int8_t>(argument.scalar);
    case 16:
        return is_unsigned(dtype) ? read<std::uint16_t>(argument.scalar)
                                  : read<std::int16_t>(argument.scalar);
    case 32:
        return is_unsigned(dtype) ? read<std::uint32_t>(argument.scalar)
                                  : read<std::int32_t>(argument.scalar);
    default:
        return is_unsigned(dtype) ? read<std::uint64_t>(argument.scalar)
                                  : read<std::int64_t>(argument.scalar);
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

std::int64_t floored(std::int64_t a, std::int64_t b) {
    return a / b - (a % b != 0 && (a % b < 0) != (b < 0) ? 1 : 0);
}

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
        return b >= 0 && b < 62 && !__builtin_mul_overflow(a, std::int64_t{1} << b, &result)
                   ? Known(result)
                   : std::nullopt;
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

Known constant(const Expression &expression) {
    if (const auto *const value = std::get_if<bool>(&expression.value))
        return *value;
    if (const auto *const value = std::get_if<std::int64_t>(&expression.value))
        return *value;
    const auto *const value = std::get_if<std::uint64_t>(&expression.value);
    return value && *value <= INT64_MAX ? Known(static_cast<std::int64_t>(*value)) : std::nullopt;
}

}  // namespace

Evaluator::Known Evaluator::operator()(const Expression &expression, const Id *id) const {
    const Dtype dtype = expression.type.dtype;
    if (!is_boolean(dtype) && !is_integer(dtype))
        return std::nullopt;
    const Known value = evaluated(expression, id);
    return value && holds(dtype, *value) ? value : std::nullopt;
}

Evaluator::Known Evaluator::evaluated(const Expression &expression, const Id *id) const {
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
    case Op::stride: {
        const Argument &argument = arguments_[expression.id];
        return argument.kind == Argument::Kind::array
                   ? Known(argument.array->strides()[expression.number])
                   : std::nullopt;
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
            return a && b ? Known(expression.text == "min" ? std::min(*a, *b) : std::max(*a, *b))
                          : std::nullopt;
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

Evaluator::Known Evaluator::index(const Expression &expression, const Id *id) const {
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

}  // namespace entrepot::kernel
