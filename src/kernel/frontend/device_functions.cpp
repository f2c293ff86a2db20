// Device functions: compiled once for each combination of argument types and literals.
#include "kernel/frontend/lowering.hpp"
#include "kernel/frontend/tiles.hpp"

#include "core/closest.hpp"

#include <algorithm>

namespace entrepot::kernel {

namespace {

std::vector<std::string> names_of(const std::vector<syntax::Parameter> &parameters) {
    std::vector<std::string> names;
    for (const syntax::Parameter &parameter : parameters)
        names.push_back(parameter.name);
    return names;
}

bool is_passed(const Value &argument) { return argument.is_scalar() && !argument.is_literal(); }

// True if code compiled for one argument is correct for the other as well.
bool is_same_instantiation(const Value &a, const Value &b) {
    if (a.kind != b.kind || is_passed(a) != is_passed(b))
        return false;
    switch (a.kind) {
    case Value::Kind::scalar:
        return a.scalar() == b.scalar() && a.is_non_negative == b.is_non_negative &&
               a.is_count == b.is_count &&
               (is_passed(a) || a.expression.value == b.expression.value);
    case Value::Kind::array:
        return a.view->type == b.view->type;
    case Value::Kind::tuple:
        return std::ranges::equal(a.items, b.items, is_same_instantiation);
    case Value::Kind::structure:
        return a.ndim == b.ndim && same(a.structure, b.structure) &&
               std::ranges::equal(a.items, b.items, is_same_instantiation);
    default:
        return a.text == b.text && a.dtype == b.dtype && a.callee == b.callee &&
               same(a.structure, b.structure);
    }
}

bool has_same_form(const Value &a, const Value &b) {
    return a.kind == b.kind && same(a.structure, b.structure) &&
           std::ranges::equal(a.items, b.items, has_same_form);
}

bool is_structure(const Value &value) { return value.kind == Value::Kind::structure; }

// Appends the values of the parameters to which an argument is flattened, in order.
void add_operands(const Value &argument, ir::Expression &call) {
    if (is_passed(argument))
        call.operands.push_back(argument.expression);
    for (const Value &item : argument.items)
        add_operands(item, call);
    if (argument.kind != Value::Kind::array)
        return;
    const View &view = *argument.view;
    call.roots.push_back(view.root);
    call.operands.push_back(view.offset);
    if (view.type.shape.empty())
        call.operands.insert(call.operands.end(), view.extents.begin(), view.extents.end());
    if (!view.type.contiguous)
        call.operands.insert(call.operands.end(), view.strides.begin(), view.strides.end());
}

}  // namespace

// ---------------------------------------------------------------- the caller

Value Lowering::call_function(const Node &node,
                              const std::shared_ptr<const syntax::Function> &callee) {
    std::vector<Value> arguments = arguments_for(node, *callee);
    if (!callee->tile.empty())
        prepare_tile_call(*callee, arguments, node.at);
    const Instantiation compiled = compiled_for(callee, arguments, node.at);
    Value result = compiled.result;
    result.at = node.at;
    result.expression.at = node.at;
    result.expression.op = ir::Op::call;
    result.expression.id = compiled.id;
    result.varies = is_varying(result);
    if (result.kind == Value::Kind::none)
        result.callee = callee;
    for (const Value &argument : arguments)
        add_operands(argument, result.expression);
    result.has_effect = compiled.has_effect || result.kind == Value::Kind::tuple;
    changes_memory_ = changes_memory_ || compiled.has_effect;
    if (compiled.returned_argument) {
        static_cast<void>(value_after_effects(std::move(result)));
        Value array = arguments.at(*compiled.returned_argument);
        array.at = node.at;
        return array;
    }
    if (compiled.form.kind == Value::Kind::none)
        return result;
    std::size_t next = 0;
    Value structured = rebuilt(compiled.form, value_after_effects(std::move(result)), next);
    structured.at = node.at;
    return structured;
}

std::vector<Value> Lowering::arguments_for(const Node &node, const syntax::Function &callee) {
    const auto &parameters = callee.parameters;
    std::vector<Value> values = values_in_order(std::span(node.operands).subspan(1));
    std::vector<Value> arguments(parameters.size());
    std::vector<bool> given(parameters.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
        const std::string keyword = node.names.size() > i ? node.names[i] : "";
        std::size_t place = i;
        if (!keyword.empty())
            place = static_cast<std::size_t>(
                std::ranges::find(parameters, keyword, &syntax::Parameter::name) -
                parameters.begin());
        if (place >= parameters.size())
            refuse(values[i].at, keyword.empty()
                                     ? sentence_of("`", callee.name, "` takes ",
                                                   counted(parameters.size(), "argument"), ", but ",
                                                   values.size(), " are given")
                                     : "`" + callee.name + "` has no argument `" + keyword + "`" +
                                           did_you_mean(keyword, names_of(parameters)));
        if (given[place])
            refuse(values[i].at,
                   "`" + callee.name + "` is given `" + parameters[place].name + "` twice");
        given[place] = true;
        arguments[place] = std::move(values[i]);
        Value &argument = arguments[place];
        argument.is_non_negative =
            is_passed(argument) && proved(argument.expression).is_non_negative();
        argument.is_count = is_passed(argument) && is_non_negative(assumed(argument.expression));
    }
    for (std::size_t i = 0; i < parameters.size(); ++i)
        if (!given[i] && parameters[i].default_value)
            arguments[i] = evaluate(*parameters[i].default_value);
        else if (!given[i])
            refuse(node.at, "`" + callee.name + "` is not given `" + parameters[i].name + "`");
    return arguments;
}

void Lowering::refuse_recursion(const syntax::Function &callee, Position at) const {
    const auto first = std::ranges::find(unit_.open, &callee);
    if (first == unit_.open.end())
        return;
    std::string circle;
    for (auto each = first; each != unit_.open.end(); ++each)
        circle += "`" + (*each)->name + "` calls ";
    refuse(at, "a function may not call itself on a device: " + circle + "`" + callee.name +
                   "`; write a loop");
}

Instantiation Lowering::compiled_for(const std::shared_ptr<const syntax::Function> &callee,
                                     const std::vector<Value> &arguments, Position at) {
    refuse_recursion(*callee, at);
    const auto found = std::ranges::find_if(unit_.compiled, [&](const Instantiation &each) {
        return each.function == callee &&
               std::ranges::equal(each.arguments, arguments, is_same_instantiation);
    });
    if (found != unit_.compiled.end())
        return *found;
    Instantiation made_function{callee, arguments, 0, {}, {}, false};
    unit_.open.push_back(callee.get());
    ir::Function function = compiled_function(made_function, at);
    unit_.open.pop_back();
    if (!callee->tile.empty()) {
        function.tile = tile_operation_of(*callee, arguments);
        made_function.has_effect = true;
    }
    made_function.id = static_cast<std::uint32_t>(unit_.module.functions.size());
    unit_.module.functions.push_back(std::move(function));
    unit_.compiled.push_back(made_function);
    return made_function;
}

// Adds the call to an error found in the function.
ir::Function Lowering::compiled_function(Instantiation &wanted, Position at) {
    try {
        return Lowering(unit_, wanted.function, false).device_function(wanted);
    } catch (const CompileError &error) {
        throw CompileError(error, *source_, at);
    }
}

// ---------------------------------------------------------------- the function

ir::Function Lowering::device_function(Instantiation &wanted) {
    const auto &parameters = source_->parameters;
    ir::Function function = walked_to_fixed_point(
        [&] {
            for (std::size_t i = 0; i < parameters.size(); ++i)
                bind_call_argument(parameters[i].name, parameters[i].at, wanted.arguments[i]);
        },
        0);
    const Position named{source_->first_line, 0, source_->first_line, 0};
    set_result_type(wanted.result, source_->body.empty() ? named : source_->body.back()->at);
    function.returns = wanted.result.expression.type;
    wanted.form = returned_form_;
    wanted.has_effect = changes_memory_;
    wanted.returned_argument = returned_argument_;
    return function;
}

void Lowering::bind_call_argument(const std::string &name, Position at, const Value &passed) {
    if (is_passed(passed)) {
        const auto least = passed.is_count ? std::optional(Assumed{0}) : std::nullopt;
        const ir::VariableId id = bind_scalar_argument(name, at, places_++, passed.scalar(), least);
        const auto known = known_.find(name);
        if (const auto all = full_range(passed.scalar().dtype); all && passed.is_non_negative &&
                                                                known != known_.end() &&
                                                                known->second.assignments == 1)
            proved_[id] = kernel::Range{0, all->most};
        return;
    }
    if (passed.kind == Value::Kind::array)
        return bind_call_array(name, at, *passed.view);
    const bool is_assigned =
        assigned_in(source_->body).contains(name) ||
        (is_structure(passed) && components_assigned_in(source_->body).contains(name));
    if (passed.kind == Value::Kind::tuple || is_structure(passed)) {
        has_vectors_ = has_vectors_ || is_structure(passed);
        Value items = passed;
        for (std::size_t i = 0; i < items.items.size(); ++i) {
            // The name contains a dot, so it cannot clash with a name of the source.
            const std::string item = name + "." + std::to_string(i);
            bind_call_argument(item, at, passed.items[i]);
            Node read;
            read.kind = Kind::name;
            read.text = item;
            read.at = at;
            items.items[i] = value_of_name(read);
        }
        bound_[name] = items;
    } else {
        bound_[name] = passed;
        bound_[name].at = at;
    }
    if (is_assigned) {
        const Value value = bound_[name];
        bound_.erase(name);
        assign_name(name, at, value);
    }
}

ir::VariableId Lowering::new_parameter(const std::string &name, Position at) {
    const ir::VariableId id = new_variable(name, scalar_type(dtypes::int64), at);
    function_.variables[id].parameter = places_++;
    return id;
}

void Lowering::bind_call_array(const std::string &name, Position at, const View &passed) {
    ir::Root root;
    root.name = name;
    root.type = passed.type;
    root.at = at;
    root.parameter = places_++;
    const ir::RootId id = new_root(std::move(root));
    const auto parameter = [&](const std::string &part) {
        return build::variable(new_parameter(name + "_" + part, at), scalar_type(dtypes::int64),
                               at);
    };
    View view{
        id, passed.type, parameter("offset"), {}, std::vector<ir::Expression>(passed.type.ndim)};
    const std::uint32_t ndim = passed.type.ndim;
    for (std::uint32_t i = 0; i < ndim; ++i) {
        const bool is_known = !passed.type.shape.empty();
        view.extents.push_back(is_known ? build::integer(passed.type.shape[i], at)
                                        : parameter("extent" + std::to_string(i)));
        if (!is_known)
            bound_extent(view.extents.back().id);
    }
    for (std::uint32_t i = 0; i < ndim && !passed.type.contiguous; ++i)
        view.strides[i] = parameter("stride" + std::to_string(i));
    for (std::uint32_t i = ndim; i-- > 0 && passed.type.contiguous;)
        view.strides[i] = i + 1 < ndim ? build::product(view.extents[i + 1], view.strides[i + 1])
                                       : build::integer(1, at);
    Value value;
    value.kind = Value::Kind::array;
    value.at = at;
    value.view = std::make_shared<const View>(std::move(view));
    if (assigned_in(source_->body).contains(name))
        assign_name(name, at, value);
    else
        bound_[name] = value;
}

// Appends the numbers of which a tuple or a structure consists. Returns: false if there is anything
// else in it.
bool Lowering::add_numbers(const Value &value, std::vector<Value> &numbers) {
    if (value.is_scalar())
        numbers.push_back(value);
    else if (value.kind != Value::Kind::tuple && !is_structure(value))
        return false;
    return std::ranges::all_of(value.items,
                               [&](const Value &item) { return add_numbers(item, numbers); });
}

// A value of the form, with the numbers from `next` on.
Value Lowering::rebuilt(const Value &form, const Value &numbers, std::size_t &next) {
    if (form.is_scalar())
        return numbers.items.at(next++);
    Value value = form;
    for (Value &item : value.items)
        item = rebuilt(item, numbers, next);
    return value;
}

// Flattens a result with structures to a tuple of numbers, and records its form.
Value Lowering::flattened_result(const Value &value, Position at) {
    const bool has_form = is_structure(value) || std::ranges::any_of(value.items, is_structure);
    const bool is_first = !found_.contains("");
    Value form = value;
    if (is_structure(value))
        form = copied(value, at);
    else
        for (Value &item : form.items)
            item = is_structure(item) ? copied(item, at) : item;
    if (!is_first && (has_form ? !has_same_form(form, returned_form_)
                               : returned_form_.kind != Value::Kind::none))
        refuse(at, "`" + source_->name + "` returns another struct or vector here than elsewhere",
               found_.at("").first, "here");
    if (!has_form)
        return value;
    returned_form_ = form;
    Value numbers;
    numbers.kind = Value::Kind::tuple;
    numbers.at = value.at;
    if (!add_numbers(form, numbers.items))
        refuse(at, "a device function returns numbers, structs and vectors, but this is " +
                       value.type_name());
    return numbers;
}

// The parameter that denotes this whole array, if it is one.
std::optional<std::size_t> Lowering::argument_of(const Value &array) const {
    const auto &parameters = source_->parameters;
    for (std::size_t i = 0; i < parameters.size(); ++i)
        if (const auto bound = bound_.find(parameters[i].name);
            bound != bound_.end() && bound->second.view == array.view)
            return i;
    return std::nullopt;
}

void Lowering::return_argument(const Value &array, Position at) {
    const std::optional<std::size_t> argument = argument_of(array);
    if (!argument)
        refuse(at, "a device function returns numbers, or an array that is its argument, but this "
                   "is " +
                       array.type_name() + "; take the array as an argument and write to it");
    if (found_.contains("") || returned_argument_.value_or(*argument) != *argument)
        refuse(at, "`" + source_->name + "` returns something else elsewhere; return `" +
                       source_->parameters[*argument].name + "` on every way");
    returned_argument_ = argument;
    emit(ir::Act::return_, at);
}

// The result is an unnamed slot.
void Lowering::return_value(const Value &given, Position at) {
    if (given.kind == Value::Kind::array)
        return return_argument(given, at);
    if (returned_argument_)
        refuse(at, "`" + source_->name + "` returns an array elsewhere; return `" +
                       source_->parameters[*returned_argument_].name + "` here, too");
    const Value value = flattened_result(given, at);
    if (value.kind == Value::Kind::none) {
        empty_return_ = empty_return_.value_or(at);
        emit(ir::Act::return_, at);
        return;
    }
    const bool is_tuple = value.kind == Value::Kind::tuple;
    const std::vector<Value> items = is_tuple ? value.items : std::vector{value};
    for (const Value &item : items)
        if (!item.is_scalar())
            refuse(value.at.line ? value.at : at,
                   "a device function returns a number or a tuple of numbers, but here it is " +
                       (item.kind == Value::Kind::tuple
                            ? "a tuple within a tuple; write its items one by one"
                            : item.type_name() +
                                  "; to return an array, take one as an argument and write to it"));
    Slot &found = found_[""];
    if (found.form == Slot::Form::unknown) {
        found.form = is_tuple ? Slot::Form::tuple : Slot::Form::scalar;
        found.first = at;
        found.items.resize(is_tuple ? items.size() : 0);
        for (Slot &item : found.items)
            item.form = Slot::Form::scalar, item.first = at;
    } else if (is_tuple != (found.form == Slot::Form::tuple) ||
               (is_tuple && items.size() != found.items.size())) {
        refuse(at, "`" + source_->name + "` returns another number of values here than elsewhere",
               found.first, "here");
    }
    const auto known = known_.find("");
    std::vector<ir::Expression> returned;
    for (std::size_t i = 0; i < items.size(); ++i) {
        Slot &slot = is_tuple ? found.items[i] : found;
        join_scalar(slot, items[i], at);
        const Slot &counts = known == known_.end() ? slot
                             : is_tuple            ? known->second.items.at(i)
                                                   : known->second;
        returned.push_back(as_assigned(items[i], counts.scalar.dtype).expression);
    }
    emit(ir::Act::return_, at, std::move(returned));
}

void Lowering::set_result_type(Value &result, Position at) {
    const std::string each_way = "; write return with a value on every way through the function";
    if (returned_argument_ && (empty_return_ || flow_.reachable))
        refuse(at,
               "`" + source_->name + "` returns an array, and ends without one here" + each_way);
    const auto found = found_.find("");
    if (found == found_.end())
        return;
    if (empty_return_)
        refuse(*empty_return_,
               "`" + source_->name + "` returns nothing here and a value elsewhere" + each_way,
               found->second.first, "a value is returned here");
    if (flow_.reachable)
        refuse(at,
               "`" + source_->name + "` ends without a value here, but returns one elsewhere" +
                   each_way,
               found->second.first, "a value is returned here");
    const Slot &slot = found->second;
    if (slot.form == Slot::Form::scalar) {
        result.kind = Value::Kind::scalar;
        result.weak = slot.scalar.weak;
        result.expression.type = scalar_type(slot.scalar.dtype);
        return;
    }
    result.kind = Value::Kind::tuple;
    result.expression.type.kind = Type::Kind::tuple;
    for (const Slot &item : slot.items) {
        Value value;
        value.kind = Value::Kind::scalar;
        value.weak = item.scalar.weak;
        value.expression.type = scalar_type(item.scalar.dtype);
        result.expression.type.items.push_back(value.expression.type);
        result.items.push_back(std::move(value));
    }
}

}  // namespace entrepot::kernel
