// Functions of numbers: those of Python, math and NumPy, and conversions.
#include "kernel/frontend/lowering.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace entrepot::kernel {

// Common type for a calculation with all values.
Scalar Lowering::common_type(const std::vector<Value> &values) const {
    Scalar type = values[0].scalar();
    for (const Value &value : values)
        type = combined(type, value.scalar(), rules_);
    return is_boolean(type.dtype)
               ? Scalar{dtypes::int64, type.weak == Weak::none ? Weak::none : Weak::integer}
               : type;
}

Value Lowering::call_math(const FunctionRow &row, const Node &node,
                          std::span<const Node *const> arguments) {
    std::vector<Value> values = scalars_of(arguments);
    const bool has_complex =
        row.name.starts_with("numpy.") && find_function("cmath." + std::string(row.text));
    if (has_complex && is_complex(values[0].expression.type.dtype))
        return call_analytic(row, values[0], node.at);
    for (const Value &value : values)
        if (is_complex(value.expression.type.dtype))
            refuse(value.at, "`" + std::string(row.name) + "` is of real numbers, but this is " +
                                 value.type_name() + "; take .real, .imag or abs(...)");
    if (row.rule == Rule::numeric)
        return extremum(row, std::move(values), node.at);
    if (row.rule == Rule::whole && !is_float(values[0].expression.type.dtype))
        return as(values[0], dtypes::int64);

    const Scalar common = common_type(values),
                 type = row.name == "numpy.fmod" ? common : as_float(common, target_);
    ir::Expression call = build::math("", scalar_type(type.dtype), node.at, {});
    call.text = row.text;
    for (const Value &value : values)
        call.operands.push_back(as(value, type.dtype).expression);
    if (row.rule == Rule::predicate) {
        call.type = scalar_type(dtypes::boolean);
        return made(std::move(call));
    }
    if (row.rule == Rule::whole)
        return made(build::converted(std::move(call), dtypes::int64));
    return made(std::move(call), type.weak);
}

Value Lowering::extremum(const FunctionRow &row, std::vector<Value> values, Position at) {
    if (values.size() < 2)
        refuse(at, "`" + std::string(row.name) +
                       "` takes two numbers or more; write a loop for the elements of an array");
    const bool is_least = row.text == "min" || row.text == "minimum",
               keeps_nan = row.name.starts_with("numpy.");
    const auto is_nan = [](const Value &value) {
        const auto *number = std::get_if<double>(&value.expression.value);
        return value.is_literal() && number && std::isnan(*number);
    };
    Value result = values[0];
    for (std::size_t i = 1; i < values.size(); ++i) {
        if (result.is_literal() && values[i].is_literal()) {
            const auto truth =
                folded(is_least ? "<" : ">", values[i].expression.value, result.expression.value);
            result = (truth && std::get<bool>(*truth)) || (keeps_nan && is_nan(values[i]))
                         ? values[i]
                         : result;
            continue;
        }
        Scalar type = unified(result.scalar(), values[i].scalar(), rules_);
        if (is_boolean(type.dtype))
            type = {dtypes::int64, type.weak == Weak::none ? Weak::none : Weak::integer};
        const auto [a, b] = unified_values(result, values[i], type);
        ir::Expression call =
            build::math("", scalar_type(type.dtype), at, {a.expression, b.expression});
        call.text = keeps_nan && is_float(type.dtype) ? row.text : is_least ? "min" : "max";
        result = made(std::move(call), type.weak);
    }
    return result;
}

Value Lowering::call_conversion(const FunctionRow &row, const Node &node,
                                std::span<const Node *const> arguments) {
    if (row.name == "complex")
        return made_complex(node, arguments);
    const Dtype dtype = python_dtype(std::string(row.name));
    if (!arguments[0])
        return as(literal(std::int64_t{0}, node.at), dtype);
    const Value value = scalar_value(*arguments[0]);
    // int() and float() of Numba keep the width of integers and floats.
    const Dtype given = value.expression.type.dtype;
    const bool keeps_type =
        rules_.typing == Typing::numba && value.weak == Weak::none &&
        (row.name == "int" ? is_integer(given) : row.name == "float" && is_float(given));
    if (keeps_type)
        return value;
    return row.name == "bool" ? truth_of(value) : cast(dtype, value, node.at);
}

Value Lowering::call_expanded(const FunctionRow &row, const Node &node,
                              std::span<const Node *const> arguments) {
    if (row.name == "len")
        return length_of(value_after_effects(*arguments[0]));
    if (row.name == "dot") {
        const std::vector<syntax::NodePtr> nodes{node.operands.begin() + 1, node.operands.end()};
        const std::vector<Value> vectors = values_in_order(nodes);
        return dot_product(vectors[0], vectors[1], node.at);
    }
    if (row.name == "round")
        return rounded(scalar_value(*arguments[0]), arguments[1], node.at);
    if (row.name.ends_with(".isclose"))
        return close(row, arguments, node.at);
    if (row.name == "math.fsum" || row.name == "math.prod" || row.name == "math.sumprod" ||
        row.name == "math.dist")
        return call_of_tuples(row, node, arguments);
    const std::size_t given = arguments.size() == 2 && !arguments[1] ? 1 : arguments.size();
    const std::vector<Value> values = scalars_of(arguments.first(given));
    if (row.name == "divmod") {
        Value pair;
        pair.kind = Value::Kind::tuple;
        pair.at = node.at;
        pair.items = {binary("//", values[0], values[1], node.at),
                      binary("%", values[0], values[1], node.at)};
        return pair;
    }
    if (row.name == "pow" || row.name == "numpy.power")
        return binary("**", values[0], values[1], node.at);
    if (row.name == "math.pow") {
        const Scalar type = as_float(common_type(values), target_);
        return operation(ir::Op::power, values[0], values[1], type, node.at);
    }
    if (row.name == "math.log") {
        const Value logarithm = logarithm_of(values[0], node.at);
        return values.size() == 1
                   ? logarithm
                   : binary("/", logarithm, logarithm_of(values[1], node.at), node.at);
    }
    if (row.name.ends_with(".modf"))
        return split_float(in_temporary(as_real(values[0], row)), node.at);
    if (row.name.ends_with(".frexp"))
        return decomposed(in_temporary(as_real(values[0], row)), node.at);
    if (row.name.ends_with(".ldexp"))
        return scaled(row, as_real(values[0], row), values[1], node.at);
    if (row.name == "math.ulp")
        return unit_in_last_place(as_real(values[0], row), node.at);
    if (row.name == "math.hypot")
        return distance(row, values, node.at);
    if (row.name == "cmath.log")
        return complex_logarithm(values, node.at);
    if (row.name == "cmath.polar")
        return polar(values[0], node.at);
    if (row.name == "cmath.rect")
        return rectangular(values, node.at);
    if (row.name == "numpy.square") {
        const Value x = in_temporary(values[0]);
        return binary("*", x, x, node.at);
    }
    if (row.name == "numpy.clip")
        return extremum(
            *find_function("numpy.minimum"),
            {extremum(*find_function("numpy.maximum"), {values[0], values[1]}, node.at), values[2]},
            node.at);
    if (row.name == "numpy.where")
        return lazily(
            truth_of(values[0]), [&] { return values[1]; }, [&] { return values[2]; }, node.at);
    const bool to_degrees = row.name.ends_with("degrees") || row.name.ends_with("rad2deg");
    return binary("*", values[0],
                  factor_for(values[0],
                             to_degrees ? 180 / std::numbers::pi : std::numbers::pi / 180, node.at),
                  node.at);
}

// A factor that keeps the type of a float.
Value Lowering::factor_for(const Value &x, double number, Position at) const {
    const Value factor = literal(number, at);
    const bool is_typed =
        rules_.typing == Typing::numba && is_float(x.expression.type.dtype) && x.weak == Weak::none;
    return is_typed ? made(as(factor, x.expression.type.dtype).expression) : factor;
}

Value Lowering::close(const FunctionRow &row, std::span<const Node *const> arguments, Position at) {
    std::vector<Value> values;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        Value value = arguments[i] ? scalar_value(*arguments[i]) : literal(i == 2 ? 1e-9 : 0.0, at);
        const bool may_be_complex = i < 2 && row.name.starts_with("cmath.");
        if (is_complex(value.expression.type.dtype) && !may_be_complex)
            refuse(value.at, "`" + std::string(row.name) + "` is of real numbers, but this is " +
                                 value.type_name() + "; compare abs(a - b), or take cmath.isclose");
        if (!value.is_constant())
            value = in_variable(std::move(value), "value");
        values.push_back(std::move(value));
    }
    const FunctionRow &magnitude = *find_function("abs"), &most = *find_function("max");
    const Value distance = call_complex(magnitude, binary("-", values[0], values[1], at), at);
    const Value largest = extremum(
        most, {call_complex(magnitude, values[0], at), call_complex(magnitude, values[1], at)}, at);
    const Value tolerance = extremum(most, {binary("*", values[2], largest, at), values[3]}, at);
    // An infinity is close only to itself.
    const auto is_near = [&] {
        return both(
            compared("<", largest, literal(std::numeric_limits<double>::infinity(), at), at),
            [&] { return compared("<=", distance, tolerance, at); }, at);
    };
    return either(compared("==", values[0], values[1], at), is_near, at);
}

Value Lowering::logarithm_of(const Value &x, Position at) const {
    if (is_complex(x.expression.type.dtype))
        refuse(x.at, "`math.log` is of real numbers, but this is " + x.type_name() +
                         "; take .real, .imag or abs(...)");
    const Scalar type = as_float(x.scalar(), target_);
    return made(build::math("log", scalar_type(type.dtype), at, {as(x, type.dtype).expression}),
                type.weak);
}

Value Lowering::length_of(const Value &value) const {
    if (value.kind == Value::Kind::structure && value.ndim > 0) {
        const Value *first = &value;
        while (first->kind == Value::Kind::structure)
            first = &first->items[0];
        return made(first->view->extents[0]);
    }
    if (value.kind == Value::Kind::tuple || is_vector(value))
        return integer(static_cast<std::int64_t>(value.items.size()), value.at);
    if (value.kind != Value::Kind::array || value.view->extents.empty())
        refuse(value.at, "len() is of arrays and tuples, but this is " + value.type_name());
    return made(value.view->extents[0]);
}

// Rounds to nearest, ties to even. The result is an int or, with digits, a number of the same type.
Value Lowering::rounded(Value x, const Node *digits, Position at) {
    const Dtype dtype = x.expression.type.dtype;
    if (is_complex(dtype))
        refuse(at, "complex numbers are not rounded; round .real and .imag");
    if (!is_float(dtype)) {
        const Value number = is_boolean(dtype) ? as(x, dtypes::int64) : x;
        const std::int64_t places = digits ? literal_of(*digits, "the number of digits") : 0;
        return places < 0 ? rounded_integer(number, places, at) : number;
    }
    const auto nearest = [&](const Value &value) {
        return made(build::math("rint", value.expression.type, at, {value.expression}), value.weak);
    };
    if (!digits)
        return made(build::converted(nearest(x).expression, dtypes::int64));
    const std::int64_t places = literal_of(*digits, "the number of digits");
    const Value factor = factor_for(x, std::pow(10.0, std::abs(static_cast<double>(places))), at);
    const Value scaled = binary(places < 0 ? "/" : "*", x, factor, at);
    return binary(places < 0 ? "*" : "/", nearest(scaled), factor, at);
}

// Rounds to a multiple of a power of ten in the number's own type.
Value Lowering::rounded_integer(const Value &x, std::int64_t places, Position at) {
    constexpr std::int64_t most = 18;
    if (places < -most)
        refuse(at, sentence_of("round() of an integer takes at least ", -most, " digits, not ",
                               places, ": int64 holds no greater power of ten"));
    std::int64_t power = 1;
    for (std::int64_t place = places; place < 0; ++place)
        power *= 10;
    const Dtype dtype = x.expression.type.dtype;
    const Value unit = literal(power, at), half = literal(power / 2, at);
    const Value number = in_temporary(as(x, dtype.bits == 64 ? dtype : dtypes::int64));
    const Value quotient = in_temporary(binary("//", number, unit, at));
    const Value rest = in_temporary(binary("-", number, binary("*", quotient, unit, at), at));
    const auto is_odd = [&] {
        return truth_of(binary("&", quotient, literal(std::int64_t{1}, at), at));
    };
    const auto goes_up_from_half = [&] { return both(compared("==", rest, half, at), is_odd, at); };
    const Value goes_up = either(compared(">", rest, half, at), goes_up_from_half, at);
    return as(binary("*", binary("+", quotient, goes_up, at), unit, at), dtype);
}

}  // namespace entrepot::kernel
