// Barriers, fences, atomics, group functions and print.
#include "kernel/frontend/lowering.hpp"

#include <algorithm>
#include <array>

namespace entrepot::kernel {

namespace {

template <class Kind> struct Named {
    std::string_view name;
    Kind kind;
};
constexpr std::array orders{Named<ir::Order>{"relaxed", ir::Order::relaxed},
                            Named<ir::Order>{"acquire", ir::Order::acquire},
                            Named<ir::Order>{"release", ir::Order::release},
                            Named<ir::Order>{"acq_rel", ir::Order::acq_rel},
                            Named<ir::Order>{"seq_cst", ir::Order::seq_cst}};
constexpr std::array scopes{Named<ir::Scope>{"work_item", ir::Scope::work_item},
                            Named<ir::Scope>{"sub_group", ir::Scope::sub_group},
                            Named<ir::Scope>{"work_group", ir::Scope::work_group},
                            Named<ir::Scope>{"device", ir::Scope::device},
                            Named<ir::Scope>{"system", ir::Scope::system}};
// SYCL's enumerations, which numba-dpex's classes number likewise.
constexpr std::array<std::string_view, 6> orders_by_number{"relaxed", "acquire", "consume",
                                                           "release", "acq_rel", "seq_cst"};
constexpr std::array<std::string_view, 5> scopes_by_number{"work_item", "sub_group", "work_group",
                                                           "device", "system"};
constexpr std::array<std::string_view, 5> spaces_by_number{"private", "global", "constant", "local",
                                                           "generic"};
constexpr std::array<std::string_view, 7> operations{"add", "min", "max", "mul",
                                                     "and", "or",  "xor"};

template <class Table> std::string names_of(const Table &table) {
    std::string names;
    for (const auto &row : table)
        names += (names.empty() ? "\"" : ", \"") + std::string(row.name) + "\"";
    return names;
}

bool is_bitwise(std::string_view operation) {
    return operation == "and" || operation == "or" || operation == "xor";
}

// Braces of the format itself are doubled, as in Python.
std::string escaped(std::string_view text) {
    std::string result;
    for (const char each : text)
        result.append(each == '{' || each == '}' ? 2 : 1, each);
    return result;
}

}  // namespace

// The name, given as a string or by its number.
std::string Lowering::enumerator_of(const Node &node, const std::string &what,
                                    std::span<const std::string_view> by_number) {
    const Value value = value_after_effects(node);
    const auto number = value.is_scalar() ? build::constant_of(value.expression) : std::nullopt;
    if (!number)
        return text_of(value, node.at, what);
    if (*number < 0 || *number >= static_cast<std::int64_t>(by_number.size()))
        refuse(node.at, sentence_of("there is no ", what.substr(2), " ", *number));
    return std::string(by_number[static_cast<std::size_t>(*number)]);
}

// Checks the address space that the program states for the elements of an atomic operation.
void Lowering::check_space(const Node *node, Space space) {
    if (!node)
        return;
    constexpr std::array stated{
        Named<Space>{"private", Space::private_}, Named<Space>{"global", Space::global},
        Named<Space>{"constant", Space::constant}, Named<Space>{"local", Space::local}};
    if (value_after_effects(*node).kind == Value::Kind::none)
        return;
    const std::string name = enumerator_of(*node, "an address space", spaces_by_number);
    const auto *const row = std::ranges::find(stated, name, &Named<Space>::name);
    if (name != "generic" && row == stated.end())
        refuse(node->at, "there is no address space \"" + name + "\"; write one of " +
                             names_of(stated) + ", \"generic\"");
    if (name != "generic" && row->kind != space)
        refuse(node->at, "the array is not in " + name + " memory; leave the address space out, " +
                             "since the compiler knows it");
}

ir::Order Lowering::order_of(const Node *node, ir::Order otherwise) {
    if (!node)
        return otherwise;
    const std::string name = enumerator_of(*node, "a memory order", orders_by_number);
    const auto *const row = std::ranges::find(orders, name, &Named<ir::Order>::name);
    if (row == orders.end())
        refuse(node->at,
               "there is no memory order \"" + name + "\"; write one of " + names_of(orders));
    return row->kind;
}

ir::Scope Lowering::scope_of(const Node *node, ir::Scope otherwise) {
    if (!node)
        return otherwise;
    const std::string name = enumerator_of(*node, "a memory scope", scopes_by_number);
    const auto *const row = std::ranges::find(scopes, name, &Named<ir::Scope>::name);
    if (row == scopes.end())
        refuse(node->at,
               "there is no memory scope \"" + name + "\"; write one of " + names_of(scopes));
    return row->kind;
}

Value Lowering::call_barrier(const FunctionRow &row, const Node &node,
                             std::span<const Node *const> arguments) {
    if (row.name == "atomic_fence")
        return call_atomic_fence(node, arguments);
    const bool is_fence = row.name == "mem_fence";
    std::int64_t fences = ir::local_fence | ir::global_fence;
    if (row.name != "group_barrier" && !arguments.empty() && arguments[0]) {
        fences = literal_of(*arguments[0], "what a fence orders");
        if (fences < 1 || fences > 3)
            refuse(arguments[0]->at,
                   "a fence is CLK_LOCAL_MEM_FENCE, CLK_GLOBAL_MEM_FENCE or both by `|`, not " +
                       std::to_string(fences));
    }
    ir::Statement statement;
    statement.act = is_fence ? ir::Act::fence : ir::Act::barrier;
    statement.at = node.at;
    statement.fences = static_cast<std::uint8_t>(fences);
    if (is_fence) {
        statement.order = order_of(arguments[1], ir::Order::seq_cst);
        statement.scope = scope_of(arguments[2], fences & ir::global_fence ? ir::Scope::device
                                                                           : ir::Scope::work_group);
    } else {
        if (row.name == "group_barrier")
            for (const Node *const scope : arguments)
                static_cast<void>(scope_of(scope, ir::Scope::work_group));
        statement.scope = row.text == "sub_group" ? ir::Scope::sub_group
                          : row.text == "device"  ? ir::Scope::device
                                                  : ir::Scope::work_group;
    }
    ++effects_;
    changes_memory_ = true;
    block_->push_back(std::move(statement));
    return {};
}

// A relaxed fence orders nothing.
Value Lowering::call_atomic_fence(const Node &node, std::span<const Node *const> arguments) {
    ir::Statement statement;
    statement.act = ir::Act::fence;
    statement.at = node.at;
    statement.fences = ir::local_fence | ir::global_fence;
    statement.order = order_of(arguments[0], ir::Order::seq_cst);
    statement.scope = scope_of(arguments[1], ir::Scope::device);
    if (statement.order == ir::Order::relaxed)
        return {};
    ++effects_;
    changes_memory_ = true;
    block_->push_back(std::move(statement));
    return {};
}

// compare_exchange of numba-dpex's AtomicRef. If `expected` is an array, its element receives the
// old value, and the result is a bool.
Value Lowering::compare_exchange(const Node &node, std::span<const Node *const> arguments) {
    const FunctionRow &row = *find_function("atomic.compare_exchange");
    const Value expected = value_after_effects(*arguments[2]);
    const Node *const index = arguments[4];
    std::vector<const Node *> given(arguments.begin(), arguments.end());
    given.erase(given.begin() + 4);
    if (expected.kind != Value::Kind::array) {
        if (index)
            refuse(index->at, "`expected_idx` is the index in an array `expected`, but that is " +
                                  expected.type_name());
        return call_atomic(row, node, given);
    }
    static const Node zero = [] {
        Node made;
        made.kind = Kind::constant;
        made.value.value = std::int64_t{0};
        return made;
    }();
    Value place;
    place.kind = Value::Kind::array;
    place.at = node.at;
    place.view =
        std::make_shared<const View>(subscripted(expected, index ? *index : zero, node.at));
    place = with_saved_offsets(std::move(place));
    const Value wanted = in_variable(loaded(*place.view, node.at), "expected");
    const syntax::NodePtr name = bound_name(wanted, node.at);
    given[2] = name.get();
    const Value old = in_variable(call_atomic(row, node, given), "old");
    bound_.erase(name->text);
    store_to(place, old, node.at);
    return compared("==", old, wanted, node.at);
}

Value Lowering::call_atomic(const FunctionRow &row, const Node &node,
                            std::span<const Node *const> arguments) {
    if (row.text.empty())
        return compare_exchange(node, arguments);
    const std::string name = "`" + std::string(row.name) + "`";
    const Value array = value_after_effects(*arguments[0]);
    if (array.kind != Value::Kind::array)
        refuse(arguments[0]->at, name + " takes an array and an index, as in " +
                                     std::string(row.name) + "(x, i, …), but this is " +
                                     array.type_name());
    const View element = subscripted(array, *arguments[1], node.at);
    if (!element.extents.empty())
        refuse(arguments[1]->at,
               name + " changes one element; write an index for each dimension, as in (i, j)");
    const Type &type = element.type;
    if (type.space == Space::private_ || (type.space == Space::constant && row.text != "load"))
        refuse(arguments[0]->at,
               name + " is for global and local memory, but this is " + name_of(array.view->type));
    if (type.read_only && row.text != "load")
        refuse(arguments[0]->at,
               "`" + function_.roots[element.root].shown + "` is read-only and may not be written");
    const bool fits = type.dtype.bits == 32 || type.dtype.bits == 64;
    if (!fits || is_complex(type.dtype) || (is_bitwise(row.text) && !is_integer(type.dtype)))
        refuse(arguments[0]->at,
               name + " is for " +
                   (is_bitwise(row.text) ? "int32, int64, uint32 and uint64"
                                         : "integers and floats of 32 and 64 bits") +
                   ", but the elements are " + name_of(type.dtype));
    ir::Expression atomic = build::of(ir::Op::atomic, scalar_type(type.dtype), node.at, {});
    atomic.text = row.text;
    atomic.id = element.root;
    Value offset = made(element.offset);
    const Mark before = mark();
    check_space(arguments.back(), type.space);
    const std::vector<Value> values = scalars_of(arguments.subspan(2, arguments.size() - 5));
    save_before(offset, before);
    atomic.operands = {offset.expression};
    for (const Value &value : values) {
        const bool loses = is_complex(value.expression.type.dtype) ||
                           (is_integer(type.dtype) && is_float(value.expression.type.dtype));
        if (loses)
            refuse(value.at, name + " of elements of " + name_of(type.dtype) +
                                 " takes such a number, but this is " + value.type_name() +
                                 "; write " + name_of(type.dtype) + "(...)");
        atomic.operands.push_back(as(value, type.dtype).expression);
    }
    atomic.order = order_of(arguments[arguments.size() - 3], ir::Order::relaxed);
    atomic.scope = scope_of(arguments[arguments.size() - 2],
                            type.space == Space::local ? ir::Scope::work_group : ir::Scope::device);
    if (type.space == Space::constant)  // constant memory never changes and has no atomics
        return loaded(element, node.at);
    changes_memory_ = true;
    Value value = made(std::move(atomic));
    value.has_effect = true;
    if (row.text == "store") {
        value.kind = Value::Kind::none;
        value.expression.type = {};
    }
    return value;
}

// Only the dialects of GPUs have ballots. The others combine one bit of each work-item.
Value Lowering::ballot(const Value &condition, Position at) {
    const bool is_native = target_.dialect == Dialect::cuda || target_.dialect == Dialect::hip;
    const Type mask = scalar_type(dtypes::uint64);
    ir::Expression call = build::of(ir::Op::group, mask, at, {condition.expression});
    call.scope = ir::Scope::sub_group;
    call.text = "ballot";
    if (!is_native) {
        call.text = "reduce";
        call.operation = "or";
        ir::Expression lane = build::of(ir::Op::index, scalar_type(dtypes::int64), at, {});
        lane.text = "sub_group_local_id";
        const auto number = [&](std::int64_t value) {
            return build::converted(build::integer(value, at), dtypes::uint64);
        };
        call.operands[0] =
            build::of(ir::Op::select, mask, at,
                      {condition.expression,
                       build::of(ir::Op::shift_left, mask, at,
                                 {number(1), build::converted(std::move(lane), dtypes::uint64)}),
                       number(0)});
    }
    changes_memory_ = true;
    Value result = made(std::move(call));
    result.has_effect = true;
    return result;
}

Value Lowering::call_group(const FunctionRow &row, const Node &node,
                           std::span<const Node *const> arguments) {
    const bool of_group = row.name.starts_with("group.");
    const bool is_vote = row.text == "any" || row.text == "all";
    const bool combines = row.text == "reduce" || row.text.ends_with("_scan");
    Value value = scalar_value(*arguments[0]);
    if (row.text == "ballot")
        return ballot(truth_of(value), node.at);
    if (is_vote)
        value = truth_of(value);
    else if (is_boolean(value.expression.type.dtype))
        value = as(value, dtypes::int64);
    if (is_complex(value.expression.type.dtype))
        refuse(value.at,
               "`" + std::string(row.name) + "` is of real numbers; call it for .real and .imag");
    ir::Expression call = build::of(ir::Op::group, value.expression.type, node.at,
                                    {as(value, value.expression.type.dtype).expression});
    call.text = row.text;
    call.scope = of_group ? ir::Scope::work_group : ir::Scope::sub_group;
    if (combines) {
        call.operation = arguments[1] ? text_of(*arguments[1], "an operation") : "add";
        if (std::ranges::find(operations, call.operation) == operations.end())
            refuse(arguments[1]->at, "there is no operation \"" + call.operation +
                                         "\"; write one of \"add\", \"mul\", \"min\", \"max\", "
                                         "\"and\", \"or\" and \"xor\"");
        if (is_bitwise(call.operation) && !is_integer(value.expression.type.dtype))
            refuse(value.at,
                   "\"" + call.operation + "\" is of integers, but this is " + value.type_name());
    } else if (!is_vote) {
        const Value other = arguments[1] ? scalar_value(*arguments[1]) : integer(0, node.at);
        if (!is_integer(other.expression.type.dtype))
            refuse(other.at, "a work-item is named by an integer, but this is " +
                                 other.type_name() + "; write int(...)");
        call.operands.push_back(as(other, dtypes::int64).expression);
    }
    changes_memory_ = true;
    Value result = made(std::move(call));
    result.has_effect = true;
    return result;
}

void Lowering::add_printed(const Node &node, ir::Statement &print) {
    if (node.kind == Kind::call && node.operands[0]->kind == Kind::builtin &&
        node.operands[0]->text == "format") {
        for (std::size_t i = 1; i < node.operands.size(); ++i)
            add_printed(*node.operands[i], print);
        return;
    }
    const Value value = value_after_effects(node);
    if (value.kind == Value::Kind::text) {
        if (value.text.find('\0') != value.text.npos)
            refuse(node.at, "devices print text up to its first character of code 0, which stands "
                            "in this one; leave \"\\0\" out");
        print.text += escaped(value.text);
    } else if (value.is_scalar()) {
        print.text += "{}";
        print.expressions.push_back(value.expression);
    } else {
        refuse(node.at, "print() takes strings and numbers, but this is " + value.type_name() +
                            "; print its items one by one");
    }
}

Value Lowering::call_print(const FunctionRow &row, const Node &node) {
    if (row.name == "format")
        refuse(node.at, "text is for print() only; a kernel has numbers, arrays and tuples");
    ir::Statement print;
    print.act = ir::Act::print;
    print.at = node.at;
    for (std::size_t i = 1; i < node.operands.size(); ++i) {
        if (node.names.size() >= i && !node.names[i - 1].empty())
            refuse(node.operands[i]->at, "print() in a kernel has no argument `" +
                                             node.names[i - 1] + "`; write it into the text");
        print.text += i > 1 ? " " : "";
        add_printed(*node.operands[i], print);
    }
    print.text += "\n";
    ++effects_;
    changes_memory_ = true;
    block_->push_back(std::move(print));
    return {};
}

}  // namespace entrepot::kernel
