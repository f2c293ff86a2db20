// Complex numbers: construction, parts, and Python's module cmath.
#include "kernel/frontend/lowering.hpp"

namespace entrepot::kernel {

// abs and the parts of a complex number; also for real numbers.
Value Lowering::call_complex(const FunctionRow &row, Value x, Position at) {
    const Dtype dtype = x.expression.type.dtype;
    const bool of_complex = is_complex(dtype), keeps = row.text == "conj";
    ir::Expression call = build::math("", x.expression.type, at, {x.expression});
    call.text = row.text;
    if (of_complex) {
        call.type = scalar_type(keeps ? dtype : part_of(dtype));
        return made(std::move(call), x.weak == Weak::complex && !keeps ? Weak::floating : x.weak);
    }
    if (row.text == "real" || row.text == "conj")
        return x;
    if (row.text == "imag")
        return as(integer(0, at).expression.type.dtype == dtype ? integer(0, at)
                                                                : literal(std::int64_t{0}, at),
                  dtype);
    if (x.is_literal()) {
        const auto negative = folded("<", x.expression.value, std::int64_t{0});
        return negative && std::get<bool>(*negative) ? literal(*folded("-", x.expression.value), at)
                                                     : x;
    }
    if (is_boolean(dtype))
        return made(build::converted(x.expression, dtypes::int64));
    return is_unsigned(dtype) ? x : made(std::move(call), x.weak);
}

Value Lowering::made_complex(const Node &node, std::span<const Node *const> arguments) {
    const Value zero = literal(0.0, node.at);
    if (!arguments[0] && !arguments[1])
        return as(zero, python_dtype("complex"));
    std::vector<Value> parts = scalars_of(arguments.first(arguments[1] && arguments[0] ? 2
                                                          : arguments[0]               ? 1
                                                                                       : 0));
    if (parts.empty())
        parts = {zero, scalar_value(*arguments[1])};
    if (parts.size() == 1 && is_complex(parts[0].expression.type.dtype))
        return parts[0];
    if (parts.size() == 1)
        parts.push_back(zero);
    for (const Value &part : parts)
        if (is_complex(part.expression.type.dtype))
            refuse(part.at, "the parts of a complex number are real, but this is " +
                                part.type_name() + "; take .real or .imag");
    Scalar type = as_float(common_type(parts), target_);
    if (type.dtype.bits < 32)
        type.dtype = dtypes::float32;
    ir::Expression call =
        build::math("make_complex", scalar_type(complex_of(type.dtype)), node.at, {});
    for (const Value &part : parts)
        call.operands.push_back(as(part, type.dtype).expression);
    return made(std::move(call), type.weak == Weak::none ? Weak::none : Weak::complex);
}

// Converts a number to complex, as the functions of Python's cmath do.
Value Lowering::complexified(const Value &value) const {
    const Dtype dtype = value.expression.type.dtype;
    if (is_complex(dtype))
        return value;
    Scalar part = as_float(value.scalar(), target_);
    if (part.dtype.bits < 32)
        part.dtype = dtypes::float32;
    return made(build::converted(as(value, part.dtype).expression, complex_of(part.dtype)),
                part.weak == Weak::none ? Weak::none : Weak::complex);
}

Value Lowering::call_analytic(const FunctionRow &row, const Value &argument, Position at) {
    Value z = complexified(argument);
    if (row.name.starts_with("cmath.is") || row.name.starts_with("numpy.is")) {
        z = in_temporary(std::move(z));
        const auto part = [&](const char *which) {
            const Type type = scalar_type(part_of(z.expression.type.dtype));
            ir::Expression call = build::math("", scalar_type(dtypes::boolean), at,
                                              {build::math(which, type, at, {z.expression})});
            call.text = row.text;
            return made(std::move(call));
        };
        const auto of_imaginary = [&] { return part("imag"); };
        return row.text == "isfinite" ? both(part("real"), of_imaginary, at)
                                      : either(part("real"), of_imaginary, at);
    }
    const bool is_real = row.text == "phase";
    const Dtype dtype = z.expression.type.dtype;
    ir::Expression call =
        build::math("", scalar_type(is_real ? part_of(dtype) : dtype), at, {z.expression});
    call.text = row.text;
    return made(std::move(call), is_real && z.weak == Weak::complex ? Weak::floating : z.weak);
}

Value Lowering::complex_logarithm(const std::vector<Value> &values, Position at) {
    const FunctionRow log{"cmath.log", Rule::analytic, "z", "log"};
    const Value logarithm = call_analytic(log, values[0], at);
    return values.size() == 1 ? logarithm
                              : binary("/", logarithm, call_analytic(log, values[1], at), at);
}

Value Lowering::polar(const Value &argument, Position at) {
    const Value z = in_temporary(complexified(argument));
    return pair_of(call_complex(*find_function("abs"), z, at),
                   call_analytic(*find_function("cmath.phase"), z, at), at);
}

Value Lowering::rectangular(const std::vector<Value> &values, Position at) {
    const FunctionRow &row = *find_function("cmath.rect");
    std::vector<Value> real;
    for (const Value &value : values)
        real.push_back(as_real(value, row));
    Scalar type = common_type(real);
    if (type.dtype.bits < 32)
        type.dtype = dtypes::float32;
    const auto typed = [&](const Value &value) {
        return in_temporary(made(as(value, type.dtype).expression, type.weak));
    };
    const Value size = typed(real[0]), angle = typed(real[1]);
    const auto times = [&](const char *name) {
        return build::of(
            ir::Op::multiply, scalar_type(type.dtype), at,
            {size.expression, build::math(name, scalar_type(type.dtype), at, {angle.expression})});
    };
    return made(build::math("make_complex", scalar_type(complex_of(type.dtype)), at,
                            {times("cos"), times("sin")}),
                type.weak == Weak::none ? Weak::none : Weak::complex);
}

}  // namespace entrepot::kernel
