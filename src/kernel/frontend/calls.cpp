// Calls: resolves the callee and its arguments.
#include "kernel/frontend/lowering.hpp"

#include "core/closest.hpp"

#include <algorithm>
#include <iterator>

namespace entrepot::kernel {

namespace {

struct Parameter {
    std::string_view name;
    bool may_be_left_out = false, takes_the_rest = false;
};

std::vector<Parameter> parameters_of(const FunctionRow &row) {
    std::vector<Parameter> parameters;
    for (std::string_view rest = row.parameters; !rest.empty();) {
        const std::size_t comma = rest.find(", ");
        Parameter parameter{rest.substr(0, comma)};
        rest = comma == rest.npos ? std::string_view{} : rest.substr(comma + 2);
        if ((parameter.takes_the_rest = parameter.name.starts_with('*')))
            parameter.name.remove_prefix(1);
        if ((parameter.may_be_left_out = parameter.name.ends_with('=')))
            parameter.name.remove_suffix(1);
        parameters.push_back(parameter);
    }
    return parameters;
}

// Functions of Python and NumPy that accept keyword arguments in Python as well.
constexpr std::string_view with_named_arguments[] = {
    "cmath.isclose", "complex", "math.isclose", "math.prod", "numpy.clip", "pow", "round"};

bool takes_names(const FunctionRow &row) {
    const bool is_of_entrepot = row.rule == Rule::index || row.rule == Rule::array ||
                                row.rule == Rule::barrier || row.rule == Rule::atomic ||
                                row.rule == Rule::group || row.rule == Rule::print;
    return is_of_entrepot ||
           std::ranges::find(with_named_arguments, row.name) != std::end(with_named_arguments);
}

// Functions of the rule `expanded` that take or return anything but single numbers.
constexpr std::string_view not_of_numbers[] = {
    "cmath.polar", "cmath.rect",   "divmod",      "dot",         "len",
    "math.dist",   "math.frexp",   "math.fsum",   "math.ldexp",  "math.modf",
    "math.prod",   "math.sumprod", "numpy.frexp", "numpy.ldexp", "numpy.modf"};

bool is_of_numbers(const FunctionRow &row, std::span<const syntax::Node *const> arguments) {
    const bool has_digits = row.name == "round" && arguments[1];
    return !has_digits && std::ranges::find(not_of_numbers, row.name) == std::end(not_of_numbers);
}

// Names of the table that start with `module`, without that prefix.
std::vector<std::string> names_in(std::string_view module) {
    std::vector<std::string> names;
    for (const FunctionRow &row : functions())
        if (row.name.starts_with(module))
            names.emplace_back(row.name.substr(module.size()));
    return names;
}

std::string listed(const std::vector<std::string> &names) {
    std::string text;
    for (const std::string &name : names)
        text += (text.empty() ? "" : &name == &names.back() ? " and " : ", ") + name;
    return text;
}

std::string meant_in(std::string_view module, std::string_view name) {
    return did_you_mean(name.substr(module.size()), names_in(module));
}

// Suggestion for a function that is not in the table.
std::string instead_of(const std::string &name) {
    if (name == "enumerate" || name == "zip")
        return "write `for i in range(len(x))` and take x[i]";
    if (name == "sum" || name == "any" || name == "all")
        return "write a loop with a variable, or a group function such as " +
               named("group.reduce(x, \"add\")");
    if (name == "tuple")
        return "write the items in parentheses";
    if (name == "AtomicRef")
        return "an AtomicRef is named, `ref = AtomicRef(array, index)`, or one of its methods is "
               "called at once, "
               "`AtomicRef(array, index).fetch_add(1)`";
    if (name.starts_with("cmath."))
        return "of cmath kernels have " + listed(names_in("cmath.")) + meant_in("cmath.", name);
    if (name.starts_with("math."))
        return "of math kernels have " + listed(names_in("math.")) + meant_in("math.", name);
    if (name.starts_with("numpy.random."))
        return "random numbers in a kernel are those of " + named("entrepot.kernel.random") +
               ", such as " + named("random.uniform(seed, i, draw)");
    constexpr std::string_view array_makers[] = {"array", "empty", "zeros", "ones", "full"};
    for (const std::string_view maker : array_makers)
        if (name == std::string("numpy.").append(maker))
            return "an array of one work-item is made by " + named("private.array(shape, dtype)") +
                   ", and one of a work-group by " + named("local.array(shape, dtype)") +
                   "; then assign its elements";
    if (name.starts_with("numpy."))
        return "of NumPy's functions kernels have those of single numbers, such as numpy.sqrt; "
               "write a loop for the others" +
               meant_in("numpy.", name);
    return "kernels have Python's abs, min, max, round, divmod, pow, len, int, float, bool, "
           "complex, print, range and the "
           "functions of math and cmath";
}

// The dimension from the slowest one; a negative number counts from the last, the fastest one.
// Returns: 2 for a negative number of a dimension that the launch does not have.
std::uint32_t place_of_dimension(std::int64_t dimension, std::uint32_t dimensions) {
    if (dimension >= 0)
        return static_cast<std::uint32_t>(dimension);
    const auto from_last = static_cast<std::uint32_t>(-dimension);
    return from_last <= dimensions ? dimensions - from_last : 2;
}

}  // namespace

Value Lowering::value_of_call(const Node &node) {
    const Node &callee = *node.operands[0];
    if (callee.kind == Kind::builtin) {
        const FunctionRow *const row = find_function(callee.text);
        if (!row)
            refuse(callee.at,
                   "there is no `" + callee.text + "` in a kernel; " + instead_of(callee.text));
        return call_builtin(node, *row);
    }
    if (callee.kind == Kind::attribute)
        return call_method(node, callee);
    const Value function = value_after_effects(callee);
    if (function.kind == Value::Kind::function)
        return call_function(node, function.callee);
    if (function.kind == Value::Kind::dtype && function.structure)
        refuse(callee.at, "a struct is not made by its dtype in a kernel; assign to an element of "
                          "an array, as in p[i] = (x, y), or write a tuple");
    if (function.kind == Value::Kind::dtype)
        return call_dtype(node, function.dtype);
    refuse(callee.at, function.type_name() +
                          " is not a function; kernels call functions of the table, dtypes and " +
                          named("@func functions"));
}

// Functions of numbers that vectors are given to as well.
Value Lowering::call_numeric(const FunctionRow &row, const Node &node,
                             std::span<const Node *const> arguments) {
    switch (row.rule) {
    case Rule::integral:
    case Rule::counting:
        return call_integral(row, node, {arguments.begin(), arguments.end()});
    case Rule::complex:
        return call_complex(row, scalar_value(*arguments[0]), node.at);
    case Rule::expanded:
        return call_expanded(row, node, arguments);
    default:
        return call_math(row, node, arguments);
    }
}

Value Lowering::call_builtin(const Node &node, const FunctionRow &row) {
    const std::vector<const Node *> arguments = arguments_of(node, row);
    switch (row.rule) {
    case Rule::index:
        return call_index(row, node, arguments);
    case Rule::floating:
    case Rule::whole:
    case Rule::predicate:
    case Rule::numeric:
    case Rule::integral:
    case Rule::counting:
    case Rule::complex:
        return has_vectors_ ? call_by_component(row, node, arguments)
                            : call_numeric(row, node, arguments);
    case Rule::analytic:
        return call_analytic(row, scalar_value(*arguments[0]), node.at);
    case Rule::conversion:
        return call_conversion(row, node, arguments);
    case Rule::expanded:
        return has_vectors_ && is_of_numbers(row, arguments)
                   ? call_by_component(row, node, arguments)
                   : call_expanded(row, node, arguments);
    case Rule::array:
        return call_array(row, node, arguments);
    case Rule::barrier:
        return call_barrier(row, node, arguments);
    case Rule::atomic:
        return call_atomic(row, node, arguments);
    case Rule::group:
        return call_group(row, node, arguments);
    case Rule::print:
        return call_print(row, node);
    case Rule::range:
        refuse(node.at, "range() stands only behind the `in` of a for loop");
    }
    return {};
}

// One entry for each parameter of the row, nullptr if omitted; additional arguments follow.
std::vector<const syntax::Node *> Lowering::arguments_of(const Node &node,
                                                         const FunctionRow &row) const {
    const std::vector<Parameter> parameters = parameters_of(row);
    const std::string name = "`" + std::string(row.name) + "(" + std::string(row.parameters) + ")`";
    const bool takes_the_rest = !parameters.empty() && parameters.back().takes_the_rest;
    const std::size_t named = parameters.size() - (takes_the_rest ? 1 : 0);
    std::vector<const Node *> arguments(named);
    for (std::size_t i = 0; i + 1 < node.operands.size(); ++i) {
        const Node *const operand = node.operands[i + 1].get();
        const std::string &keyword = node.names.size() > i ? node.names[i] : std::string();
        std::size_t place = i;
        if (!keyword.empty()) {
            if (!takes_names(row))
                refuse(operand->at,
                       name + " takes its arguments by their places, as in Python: leave `" +
                           keyword + "=` out");
            const auto found = std::ranges::find(parameters, keyword, &Parameter::name);
            place = static_cast<std::size_t>(found - parameters.begin());
            if (place >= named)
                refuse(operand->at, name + " has no argument `" + keyword + "`");
        }
        if (place >= named && takes_the_rest) {
            arguments.push_back(operand);
            continue;
        }
        if (place >= named)
            refuse(operand->at, sentence_of(name, " takes at most ", counted(named, "argument")));
        if (arguments[place])
            refuse(operand->at,
                   name + " is given `" + std::string(parameters[place].name) + "` twice");
        arguments[place] = operand;
    }
    for (std::size_t i = 0; i < named; ++i)
        if (!arguments[i] && !parameters[i].may_be_left_out)
            refuse(node.at, name + " is not given `" + std::string(parameters[i].name) + "`");
    return arguments;
}

std::vector<Value> Lowering::scalars_of(std::span<const Node *const> arguments) {
    std::vector<Value> values;
    for (const Node *const argument : arguments) {
        const Mark before = mark();
        Value value = scalar_value(*argument);
        for (Value &earlier : values)
            save_before(earlier, before);
        values.push_back(std::move(value));
    }
    return values;
}

std::int64_t Lowering::literal_of(const Node &node, const std::string &what) {
    const Value value = value_after_effects(node);
    const auto literal = value.is_scalar() ? build::constant_of(value.expression) : std::nullopt;
    if (!literal)
        refuse(
            node.at,
            what +
                " is known when compiled: write an integer literal or a captured constant, not " +
                value.type_name());
    return *literal;
}

std::string Lowering::text_of(const Node &node, const std::string &what) {
    return text_of(value_after_effects(node), node.at, what);
}

std::string Lowering::text_of(const Value &value, Position at, const std::string &what) const {
    if (value.kind != Value::Kind::text)
        refuse(at, what + " is a string, known when compiled, but this is " + value.type_name());
    return value.text;
}

Dtype Lowering::dtype_of(const Node &node) {
    const Value value = value_after_effects(node);
    std::optional<Dtype> dtype;
    if (value.kind == Value::Kind::dtype)
        dtype = value.dtype;
    else if (value.kind == Value::Kind::text)
        dtype = dtype_from_name(value.text);
    else if (value.kind == Value::Kind::builtin && find_function(value.text) &&
             find_function(value.text)->rule == Rule::conversion)
        dtype = python_dtype(value.text);
    if (!dtype)
        refuse(node.at,
               "a dtype is expected here, such as float32, but this is " + value.type_name());
    if (!is_number(*dtype))
        refuse(node.at, "kernels do not calculate with " + name_of(*dtype) +
                            "; take one of bool, (u)int8 … (u)int64, float16 … "
                            "float64, bfloat16, complex64 and complex128");
    return *dtype;
}

// dtype of Python's own types.
Dtype Lowering::python_dtype(const std::string &name) const {
    const Weak weak = name == "bool"    ? Weak::boolean
                      : name == "int"   ? Weak::integer
                      : name == "float" ? Weak::floating
                                        : Weak::complex;
    return weak_scalar(weak, target_).dtype;
}

Value Lowering::call_dtype(const Node &node, Dtype dtype) {
    if (dtype.lanes > 1)
        return call_vector(node, dtype);
    if (node.operands.size() != 2 || (!node.names.empty() && !node.names[0].empty()))
        refuse(node.at, name_of(dtype) + "(x) converts one number");
    if (!is_number(dtype))
        refuse(node.operands[0]->at, "kernels do not calculate with " + name_of(dtype));
    return cast(dtype, scalar_value(*node.operands[1]), node.at);
}

Value Lowering::cast(Dtype dtype, const Value &value, Position at) {
    if (is_complex(value.expression.type.dtype) && !is_complex(dtype) && !is_boolean(dtype))
        refuse(at, "a complex number cannot become a " + name_of(dtype) +
                       "; take .real, .imag or abs(...)");
    if (value.is_literal() || value.expression.type.dtype != dtype)
        return as(value, dtype);
    return made(value.expression);
}

// The bits of a number as another type, as NumPy's scalars have it.
Value Lowering::bits_as(Dtype dtype, const Value &value, Position at) {
    const Dtype own = value.expression.type.dtype;
    if (own.bits != dtype.bits || is_boolean(own) || is_boolean(dtype) || is_complex(own) ||
        is_complex(dtype))
        refuse(at, "view() takes the bits of a number as a type of the same size, and " +
                       name_of(own) + " is not as large as " + name_of(dtype) +
                       " or one of them is no integer or float; convert the number first");
    return own == dtype ? made(value.expression)
                        : made(build::of(ir::Op::bit_cast, scalar_type(dtype), at,
                                         {as(value, own).expression}));
}

Value Lowering::call_method(const Node &node, const Node &callee) {
    const Value object = value_after_effects(*callee.operands[0]);
    if (object.is_scalar() && callee.text == "conjugate" && node.operands.size() == 1)
        return call_complex(*find_function("numpy.conjugate"), object, node.at);
    if (object.kind == Value::Kind::structure && callee.text == "copy" && node.operands.size() == 1)
        return copied(object, node.at);
    if (callee.text == "dtype" && object.kind != Value::Kind::structure)
        return call_dtype(node, attribute_of(object, callee).dtype);
    if (callee.text == "type" && object.kind == Value::Kind::dtype)
        return call_dtype(node, object.dtype);
    if (callee.text == "astype" && object.is_scalar() && node.operands.size() == 2)
        return cast(dtype_of(*node.operands[1]), object, node.at);
    if (callee.text == "view" && object.is_scalar() && node.operands.size() == 2)
        return bits_as(dtype_of(*node.operands[1]), object, node.at);
    refuse(callee.at, object.type_name() + " has no method `" + callee.text + "` in a kernel; " +
                          (object.kind == Value::Kind::array ? "write a loop over its elements"
                           : object.kind == Value::Kind::structure
                               ? "a struct has copy()"
                               : "numbers have conjugate(), and are converted as in float32(x)"));
}

Value Lowering::call_index(const FunctionRow &row, const Node &node,
                           std::span<const Node *const> arguments) {
    ir::Expression made_index = build::of(ir::Op::index, scalar_type(dtypes::int64), node.at, {});
    made_index.text = row.text;
    if (!arguments.empty() && arguments[0]) {
        const std::int64_t dimension = literal_of(*arguments[0], "a dimension");
        if (dimension < -3 || dimension > 2)
            refuse(arguments[0]->at, sentence_of("there is no dimension ", dimension,
                                                 "; a launch has dimensions 0, 1 and 2"));
        made_index.number = place_of_dimension(dimension, target_.dimensions);
        // A tile operation has the linear id of any launch.
        if (node.text != "linear" && source_->tile.empty())
            unit_.module.dimensions =
                std::max(unit_.module.dimensions,
                         static_cast<std::uint32_t>(dimension < 0 ? -dimension : dimension + 1));
    }
    return made(std::move(made_index));
}

}  // namespace entrepot::kernel
