// Arrays that a kernel creates in local, private and constant memory.
#include "kernel/frontend/lowering.hpp"

#include <entrepot/core/assert.hpp>

#include <cstring>

namespace entrepot::kernel {

namespace {

// Converts elements of a captured type to and from the number types of literals.
template <class Stored, class Held> Held read(const std::byte *from) {
    Stored value;
    std::memcpy(&value, from, sizeof value);
    return static_cast<Held>(value);
}

Number element(const std::byte *from, Dtype dtype) {
    if (dtype == dtypes::boolean)
        return read<std::uint8_t, bool>(from);
    if (is_float(dtype))
        return dtype.bits == 64 ? read<double, double>(from) : read<float, double>(from);
    if (is_complex(dtype))
        return dtype.bits == 128
                   ? std::complex(read<double, double>(from), read<double, double>(from + 8))
                   : std::complex(read<float, double>(from), read<float, double>(from + 4));
    switch (dtype.bits) {
    case 8:
        return is_signed(dtype) ? read<std::int8_t, std::int64_t>(from)
                                : read<std::uint8_t, std::int64_t>(from);
    case 16:
        return is_signed(dtype) ? read<std::int16_t, std::int64_t>(from)
                                : read<std::uint16_t, std::int64_t>(from);
    case 32:
        return is_signed(dtype) ? read<std::int32_t, std::int64_t>(from)
                                : read<std::uint32_t, std::int64_t>(from);
    default:
        return is_signed(dtype) ? Number(read<std::int64_t, std::int64_t>(from))
                                : Number(read<std::uint64_t, std::uint64_t>(from));
    }
}

template <class Stored> void append(std::vector<std::byte> &bytes, Stored value) {
    const auto *const first = reinterpret_cast<const std::byte *>(&value);
    bytes.insert(bytes.end(), first, first + sizeof value);
}

void append_real(std::vector<std::byte> &bytes, double value, int bits) {
    if (bits == 64)
        append(bytes, value);
    else
        append(bytes, static_cast<float>(value));
}

// Requires: constant_as() made `number` for the type.
void append_element(std::vector<std::byte> &bytes, const Number &number, Dtype dtype) {
    if (const auto *const value = std::get_if<bool>(&number))
        return append(bytes, static_cast<std::uint8_t>(*value));
    if (const auto *const value = std::get_if<double>(&number))
        return append_real(bytes, *value, dtype.bits);
    if (const auto *const value = std::get_if<std::complex<double>>(&number)) {
        append_real(bytes, value->real(), dtype.bits / 2);
        return append_real(bytes, value->imag(), dtype.bits / 2);
    }
    const auto *const whole = std::get_if<std::int64_t>(&number);
    const auto bits = whole ? static_cast<std::uint64_t>(*whole) : std::get<std::uint64_t>(number);
    // little-endian: the low bytes come first
    const auto *const first = reinterpret_cast<const std::byte *>(&bits);
    bytes.insert(bytes.end(), first, first + dtype.bits / 8);
}

// C++ has no type for the 16-bit formats.
bool can_be_converted(Dtype dtype) { return !is_float(dtype) || dtype.bits >= 32; }

}  // namespace

std::vector<std::int64_t> Lowering::shape_of(const Node &node, bool is_local) {
    const Value value = value_after_effects(node);
    std::vector<Value> items = value.kind == Value::Kind::tuple ? value.items : std::vector{value};
    std::vector<std::int64_t> shape;
    std::int64_t count = 1;
    for (std::size_t place = 0; place < items.size(); ++place) {
        const Value &item = items[place];
        // A value may be at another place than its use, as the parameter of which it is an extent.
        const Position at = node.operands.size() == items.size() && value.kind == Value::Kind::tuple
                                ? node.operands[place]->at
                                : node.at;
        const auto extent = item.is_scalar() ? build::constant_of(item.expression) : std::nullopt;
        if (!extent)
            refuse(at,
                   "a shape is known when compiled: write integer literals or captured constants, "
                   "not " +
                       item.type_name() +
                       (is_local ? "; where it is known at the launch only, use " +
                                       named("an argument LocalAccessor(shape, dtype)")
                                 : ""));
        if (*extent < 1 || __builtin_mul_overflow(count, *extent, &count) ||
            count > std::int64_t{1} << 40)
            refuse(at,
                   sentence_of("an extent of ", *extent, " cannot be; write one of at least 1"));
        shape.push_back(*extent);
    }
    if (shape.empty())
        refuse(node.at, "the shape has no dimension; write shape=1 for one element");
    return shape;
}

Value Lowering::call_array(const FunctionRow &row, const Node &node,
                           std::span<const Node *const> arguments) {
    if (row.name == "constant.array")
        return constant_array(node, arguments);
    if (row.name == "tile.zeros")
        return tile_zeros(node, arguments);
    const bool is_local = row.name == "local.array";
    // The call must become a statement, because it concerns the whole group.
    changes_memory_ = changes_memory_ || is_local;
    ir::Root root;
    root.name = array_name_.empty() ? (is_local ? "shared" : "own") : array_name_;
    root.at = node.at;
    root.type.kind = Type::Kind::array;
    root.type.space = is_local ? Space::local : Space::private_;
    root.type.contiguous = true;
    root.type.shape = shape_of(*arguments[0], is_local);
    root.type.ndim = static_cast<std::uint32_t>(root.type.shape.size());
    const bool fills = !is_local && arguments[2] && known_truth(*arguments[2], "fill_zeros");
    if (const StructTypePtr type = struct_type_of(*arguments[1])) {
        if (fills)
            refuse(arguments[2]->at,
                   "fill_zeros is for arrays of numbers; assign to the fields of a struct");
        return array_of_structs(root, type);
    }
    root.type.dtype = dtype_of(*arguments[1]);
    Value made = array_value(new_root(std::move(root)), node.at);
    if (fills)
        fill_with_zeros(*made.view, node.at);
    return made;
}

bool Lowering::known_truth(const Node &node, const std::string &what) {
    const Value value = truth_of(node);
    if (!value.is_constant())
        refuse(node.at, what + " is known when compiled: write True or False");
    return std::get<bool>(value.expression.value);
}

// Stores zeros by a loop over all elements, which follow one another.
//
// Requires: the array was created in the kernel.
void Lowering::fill_with_zeros(const View &array, Position at) {
    ENTREPOT_ASSERT(array.type.contiguous && !array.type.shape.empty());
    std::int64_t count = 1;
    for (const std::int64_t extent : array.type.shape)
        count *= extent;
    const ir::VariableId counter = new_variable("element", scalar_type(dtypes::int64), at);
    const Range range{integer(0, at), integer(count, at), integer(1, at)};
    bound_counter(counter, range);
    View element = array;
    element.offset = build::variable(counter, scalar_type(dtypes::int64), at);
    element.extents.clear();
    element.strides.clear();
    Flow inside = flow_;
    ir::Statement loop;
    loop.act = ir::Act::for_;
    loop.at = at;
    loop.id = counter;
    loop.expressions = {range.start.expression, range.stop.expression, range.step.expression};
    loop.body = lowered_into_block(inside, [&] { store(element, integer(0, at), at); });
    ++effects_;
    block_->push_back(std::move(loop));
}

// The layout that a dtype of structs or vectors denotes; nullptr for any other expression.
StructTypePtr Lowering::struct_type_of(const Node &node) {
    if (node.kind != Kind::constant)
        return nullptr;
    if (const auto *const type = std::get_if<StructTypePtr>(&node.value.value))
        return *type;
    const auto *const dtype = std::get_if<Dtype>(&node.value.value);
    return dtype && lanes_are_named(dtype->lanes) ? vector_type(*dtype) : nullptr;
}

Value Lowering::array_value(ir::RootId root, Position at) const {
    Value value;
    value.kind = Value::Kind::array;
    value.at = at;
    value.view = std::make_shared<const View>(whole_of(root, at));
    return value;
}

namespace {

// Flattens a tuple of numbers, or of equally long tuples, to its numbers in order and a shape.
bool flattened(const Value &value, std::vector<const Value *> &numbers,
               std::vector<std::int64_t> &shape, std::size_t depth) {
    if (value.is_constant()) {
        numbers.push_back(&value);
        return depth == shape.size();
    }
    if (value.kind != Value::Kind::tuple || value.items.empty())
        return false;
    const auto extent = static_cast<std::int64_t>(value.items.size());
    if (depth == shape.size() && numbers.empty())
        shape.push_back(extent);
    if (depth >= shape.size() || shape[depth] != extent)
        return false;
    for (const Value &item : value.items)
        if (!flattened(item, numbers, shape, depth + 1))
            return false;
    return true;
}

}  // namespace

Value Lowering::constant_array(const Node &node, std::span<const Node *const> arguments) {
    const Value values = value_after_effects(*arguments[0]);
    const std::optional<Dtype> dtype =
        arguments[1] ? std::optional(dtype_of(*arguments[1])) : std::nullopt;
    std::vector<ir::Expression> elements;
    auto made_array = std::make_shared<ConstantArray>();
    const Position at = arguments[0]->at;
    if (values.kind == Value::Kind::array && function_.roots[values.view->root].values) {
        const auto &captured = function_.roots[values.view->root].values;
        if (!dtype || *dtype == captured->dtype)
            return array_value(values.view->root, node.at);
        if (!can_be_converted(captured->dtype))
            refuse(at, "an array of " + name_of(captured->dtype) +
                           " is not converted when compiled; convert it before");
        made_array->shape = captured->shape;
        const auto size = static_cast<std::size_t>(captured->dtype.itemsize());
        for (std::size_t i = 0; i + size <= captured->bytes.size(); i += size) {
            elements.push_back(build::integer(0, at));
            elements.back().value = element(&captured->bytes[i], captured->dtype);
        }
        made_array->dtype = *dtype;
    } else {
        std::vector<const Value *> numbers;
        if (!flattened(values, numbers, made_array->shape, 0))
            refuse(at, named("constant.array") +
                           " takes a captured NumPy array, or a tuple of literals, but this is " +
                           values.type_name());
        Scalar type = numbers[0]->scalar();
        for (const Value *const number : numbers) {
            type = unified(type, number->scalar(), target_);
            elements.push_back(number->expression);
        }
        made_array->dtype = dtype.value_or(type.dtype);
    }
    if (!can_be_converted(made_array->dtype))
        refuse(node.at, "constants of " + name_of(made_array->dtype) +
                            " come from a NumPy array of that type; capture one");
    for (const ir::Expression &number : elements) {
        const auto converted = constant_as(number, made_array->dtype);
        if (!converted)
            refuse(at, text_of_constant(number) + " does not fit in " + name_of(made_array->dtype));
        append_element(made_array->bytes, converted->value, made_array->dtype);
    }
    return array_of_captured(made_array, node.at, "");
}

}  // namespace entrepot::kernel
