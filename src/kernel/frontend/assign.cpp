// Assignments to names and stores to elements.
#include "kernel/frontend/lowering.hpp"

#include <algorithm>

namespace entrepot::kernel {

namespace {

std::string form_of(Slot::Form form) {
    return form == Slot::Form::scalar  ? "a number"
           : form == Slot::Form::array ? "an array"
           : form == Slot::Form::tuple ? "a tuple"
                                       : "a struct or vector";
}

Slot::Form form_of(Value::Kind kind) {
    return kind == Value::Kind::scalar      ? Slot::Form::scalar
           : kind == Value::Kind::array     ? Slot::Form::array
           : kind == Value::Kind::tuple     ? Slot::Form::tuple
           : kind == Value::Kind::structure ? Slot::Form::structure
                                            : Slot::Form::unknown;
}

void add_variables(const Storage &storage, std::set<ir::VariableId> &ids) {
    if (storage.variable)
        ids.insert(*storage.variable);
    for (const auto &[part, id] : storage.parts)
        ids.insert(id);
    for (const Storage &item : storage.items)
        add_variables(item, ids);
}

bool mentions(const ir::Expression &expression, const std::set<ir::VariableId> &ids) {
    return (expression.op == ir::Op::variable && ids.contains(expression.id)) ||
           std::ranges::any_of(expression.operands,
                               [&](const auto &operand) { return mentions(operand, ids); });
}

bool makes_array(const syntax::Node &node) {
    if (node.kind != syntax::Kind::call || node.operands[0]->kind != syntax::Kind::builtin)
        return false;
    const FunctionRow *const row = find_function(node.operands[0]->text);
    return row && row->rule == Rule::array;
}

std::vector<ir::Expression> parts_of(const View &view) {
    std::vector<ir::Expression> parts{view.offset};
    parts.insert(parts.end(), view.extents.begin(), view.extents.end());
    parts.insert(parts.end(), view.strides.begin(), view.strides.end());
    return parts;
}

}  // namespace

void Lowering::lower_assign(const Node &node) {
    const auto targets = std::span(node.operands).subspan(1);
    const bool keeps_effect = targets.size() == 1 && targets[0]->kind == Kind::name;
    array_name_ = keeps_effect && makes_array(*node.operands[0]) ? targets[0]->text : "";
    Value value = evaluate(*node.operands[0]);
    array_name_.clear();
    if (!keeps_effect || !value.is_scalar())
        value = value_after_effects(std::move(value));
    if (targets.size() > 1)
        save_where([](const ir::Expression &part) { return !build::is_invariant(part); }, "value",
                   value);
    for (const auto &target : targets)
        assign_to(*target, value);
}

void Lowering::lower_annotate(const Node &node) {
    const Node &target = *node.operands[0];
    if (!node.operands[2])
        return;
    Value value = value_after_effects(*node.operands[2]);
    const Value annotation = evaluate_annotation(*node.operands[1]);
    if (annotation.kind == Value::Kind::dtype && annotation.dtype.lanes > 1) {
        if (!is_vector(value) || !same(value.structure, vector_type(annotation.dtype)))
            refuse(value.at, "the annotation says " + name_of(annotation.dtype) + ", but this is " +
                                 value.type_name() + "; convert it, as in " +
                                 name_of(annotation.dtype) + "(...)");
    } else if (value.is_scalar() && annotation.kind == Value::Kind::dtype && !annotation.structure)
        value = cast(annotation.dtype, value, node.at);
    assign_to(target, std::move(value));
}

// Annotations that name no type are ignored; their names need not be known.
Value Lowering::evaluate_annotation(const Node &node) {
    if (node.kind != Kind::constant && node.kind != Kind::builtin)
        return {};
    Value value = evaluate(node);
    const FunctionRow *const row =
        value.kind == Value::Kind::builtin ? find_function(value.text) : nullptr;
    if (row && row->rule == Rule::conversion) {
        value.kind = Value::Kind::dtype;
        value.dtype = python_dtype(value.text);
    }
    return value;
}

// The element is located once, so that its index is evaluated once.
void Lowering::lower_augment(const Node &node) {
    const Node &target = *node.operands[0];
    if (target.kind == Kind::name) {
        Value old = value_of_name(target);
        const Mark before = mark();
        const Value change = value_after_effects(*node.operands[1]);
        save_before(old, before);
        return assign_name(target.text, target.at, binary(node.text, old, change, node.at));
    }
    if (target.kind != Kind::subscript && target.kind != Kind::attribute)
        refuse(target.at, "only names and elements of arrays can be assigned to");
    const std::optional<Component> component = component_of(target);
    const Value place = component ? component->value : with_saved_offsets(place_to_assign(target));
    Value old = read(place, target.at);
    if (place.kind == Value::Kind::array && old.kind == Value::Kind::array)
        old = loaded(*place.view, target.at);  // throws: a part of an array
    const Mark before = mark();
    const Value change = value_after_effects(*node.operands[1]);
    save_before(old, before);
    const Value changed = binary(node.text, old, change, node.at);
    if (component)
        assign_component(*component, changed, node.at);
    else
        store_to(place, changed, node.at);
}

// The place with simple offsets, which may be written twice.
Value Lowering::with_saved_offsets(Value place) {
    if (place.kind == Value::Kind::array && !build::is_simple(place.view->offset)) {
        View view = *place.view;
        view.offset = in_variable(made(view.offset), "offset").expression;
        place.view = std::make_shared<const View>(std::move(view));
    }
    for (Value &item : place.items)
        item = with_saved_offsets(std::move(item));
    return place;
}

// The place that an assignment changes.
Value Lowering::place_to_assign(const Node &target) {
    const Value object = place_of(*target.operands[0]);
    if (object.kind == Value::Kind::structure)
        return target.kind == Kind::attribute ? attribute_of_struct(object, target)
                                              : subscripted_struct(object, target);
    if (target.kind == Kind::attribute)
        refuse(target.at, "`." + target.text +
                              "` cannot be assigned; make a new number, as in complex(real, imag)");
    if (object.kind == Value::Kind::tuple)
        refuse(target.at, "the items of a tuple cannot be assigned; make a new tuple");
    Value place;
    place.kind = Value::Kind::array;
    place.at = target.at;
    place.view = std::make_shared<const View>(
        subscripted(read_part(object, *target.operands[0]), *target.operands[1], target.at));
    return place;
}

void Lowering::assign_to(const Node &target, Value value) {
    switch (target.kind) {
    case Kind::name:
        return assign_name(target.text, target.at, std::move(value));
    case Kind::tuple:
        return assign_items(target, std::move(value));
    case Kind::attribute:
    case Kind::subscript: {
        if (const std::optional<Component> component = component_of(target))
            return assign_component(*component, value, target.at);
        const Mark before = mark();
        const Value place = place_to_assign(target);
        save_before(value, before);
        return store_to(place, std::move(value), target.at);
    }
    default:
        refuse(target.at, "only names, elements of arrays and tuples of them can be assigned to");
    }
}

// Python evaluates every item, nested tuples included, before it assigns the first target.
void Lowering::assign_items(const Node &target, Value value) {
    std::set<ir::VariableId> changed;
    bool stores = false;
    save_items(target, changed, stores, value);
    assign_saved_items(target, value);
}

// Stores an item in variables if the assignment to an earlier target would change it. Records in
// `changed` and `stores` what the assignment to `target` changes.
void Lowering::save_items(const Node &target, std::set<ir::VariableId> &changed, bool &stores,
                          Value &value) {
    if (target.kind != Kind::tuple) {
        save_from(changed, stores, value);
        const bool is_part = target.kind == Kind::subscript || target.kind == Kind::attribute;
        stores = stores || is_part;
        const std::string &name = is_part ? target.operands[0]->text : target.text;
        if (const auto storage = storage_.find(name);
            (target.kind == Kind::name ||
             (is_part && target.operands[0]->kind == Kind::name && found_.contains(name) &&
              found_.at(name).form == Slot::Form::structure)) &&
            storage != storage_.end())
            add_variables(storage->second, changed);
        return;
    }
    if (value.kind != Value::Kind::tuple)
        refuse(value.at, "a tuple of " + std::to_string(target.operands.size()) +
                             " items is expected, but this is " + value.type_name());
    for (const auto &each : target.operands)
        if (each->kind == Kind::unsupported)
            refuse_unsupported(*each);
    if (value.items.size() != target.operands.size())
        refuse(value.at,
               sentence_of("there are ", value.items.size(), " items for ", target.operands.size(),
                           " targets"),
               target.at, "the targets");
    for (std::size_t i = 0; i < value.items.size(); ++i)
        save_items(*target.operands[i], changed, stores, value.items[i]);
}

void Lowering::assign_saved_items(const Node &target, const Value &value) {
    if (target.kind != Kind::tuple)
        return assign_to(target, value);
    for (std::size_t i = 0; i < value.items.size(); ++i)
        assign_saved_items(*target.operands[i], value.items[i]);
}

// Stores parts of the value in variables: those that read a variable in `changed` and, if `stores`,
// those that read memory.
void Lowering::save_from(const std::set<ir::VariableId> &changed, bool stores, Value &value) {
    save_where(
        [&](const ir::Expression &part) {
            return mentions(part, changed) || (stores && build::reads_memory(part));
        },
        "item", value);
}

// Stores the parts of a value that satisfy `must_save` in variables.
void Lowering::save_where(const std::function<bool(const ir::Expression &)> &must_save,
                          const std::string &name, Value &value) {
    if (value.is_scalar() && must_save(value.expression))
        value = in_variable(std::move(value), name);
    for (Value &item : value.items)
        save_where(must_save, name, item);
    if (value.kind != Value::Kind::array)
        return;
    View view = *value.view;
    const auto keep = [&](ir::Expression &part) {
        if (must_save(part))
            part = in_variable(made(part), "part").expression;
    };
    keep(view.offset);
    std::ranges::for_each(view.extents, keep);
    std::ranges::for_each(view.strides, keep);
    value.view = std::make_shared<const View>(std::move(view));
}

void Lowering::assign_name(const std::string &name, Position at, Value value) {
    if (form_of(value.kind) == Slot::Form::unknown)
        refuse(value.at, "`" + name + "` would be " + value.type_name() +
                             "; a variable holds a number, an array, a tuple or a struct");
    const auto known = known_.find(name);
    assign_slot(name, at, found_[name], known == known_.end() ? nullptr : &known->second,
                storage_[name], value);
    flow_.assigned.insert(name);
}

void Lowering::assign_slot(const std::string &name, Position at, Slot &found, const Slot *known,
                           Storage &storage, const Value &value) {
    const Slot::Form form = form_of(value.kind);
    if (found.form == Slot::Form::unknown) {
        found.form = form;
        found.first = at;
        found.structure = value.structure;
        found.ndim = value.ndim;
    } else if (found.form != form) {
        refuse(at,
               "`" + name + "` is " + form_of(form) + " here and " + form_of(found.form) +
                   " elsewhere; take another name",
               found.first, "it is first assigned here");
    }
    if (form == Slot::Form::structure &&
        (!same(found.structure, value.structure) || found.ndim != value.ndim))
        refuse(at,
               "`" + name + "` is " + value.type_name() + " here and another struct elsewhere (" +
                   fields_of(*found.structure) + "); take another name",
               found.first, "it is first assigned here");
    if (form == Slot::Form::structure && !found.items.empty() &&
        is_by_value(found) != is_by_value(value))
        refuse(at,
               "`" + name + "` is " +
                   (is_by_value(value) ? "a copy here and an element of an array elsewhere"
                                       : "an element of an array here and a copy elsewhere") +
                   "; take another name",
               found.first, "it is first assigned here");
    if (known && known->form != form)
        known = nullptr;
    if (form == Slot::Form::scalar)
        return assign_scalar(name, at, found, known, storage, value);
    if (form == Slot::Form::array)
        return assign_array(name, at, found, known, storage, value);
    assign_tuple(name, at, found, known, storage, value);
}

// Converts the value for an assignment. If it is one of several literals, each must fit the type.
Value Lowering::as_assigned(const Value &value, Dtype dtype) const {
    for (const ir::Expression &choice : value.choices)
        as(made(choice, Weak::integer), dtype);
    return as(value, dtype);
}

// Adds `value` to the values assigned to a scalar so far.
void Lowering::join_scalar(Slot &found, const Value &value, Position at) {
    const std::optional<Assumed> bound = assumed(value.expression);
    const Scalar given{value.expression.type.dtype, value.weak,
                       value.varies && value.choices.empty()};
    ++found.assignments;
    if (found.scalar.dtype.bits == 0) {
        found.scalar = given;
        found.at_least = bound;
        return;
    }
    if (const auto both = joined(found.scalar, given, rules_)) {
        found.scalar = *both;
    } else {
        if (!found.conflict)
            found.conflict = {at, given, found.scalar};
        if (given.varies)  // expressions that use the variable may need int64 in the next walk
            found.scalar = given;
        else if (walk_ > walks_before_joining_types && found.scalar.weak == Weak::none &&
                 given.weak == Weak::none)
            found.scalar = unified(found.scalar, given, rules_);
    }
    found.at_least = weaker(found.at_least, bound);
}

void Lowering::assign_scalar(const std::string &name, Position at, Slot &found, const Slot *known,
                             Storage &storage, const Value &value) {
    join_scalar(found, value, at);
    const Slot &counts = known ? *known : found;
    const Dtype dtype = counts.scalar.dtype;
    if (!storage.variable)
        storage.variable = new_variable(name, scalar_type(dtype), at);
    const ir::VariableId id = *storage.variable;
    function_.variables[id].type = scalar_type(dtype);
    proved_[id] = known && known->assignments == 1 ? proved_range(value.expression) : std::nullopt;
    assumed_[id] = counts.at_least;
    const Value ready = value.has_effect && (value.weak != counts.scalar.weak ||
                                             value.expression.type.dtype != dtype)
                            ? value_after_effects(value)
                            : value;
    emit(ir::Act::assign, at, {as_assigned(ready, dtype).expression}, id);
    flow_.at_least.erase(id);
}

void Lowering::assign_array(const std::string &name, Position at, Slot &found, const Slot *known,
                            Storage &storage, const Value &value) {
    const View &view = *value.view;
    const std::vector<ir::Expression> parts = parts_of(view);
    if (found.fixed.empty()) {
        found.root = view.root;
        found.type = view.type;
        for (const ir::Expression &part : parts)
            found.fixed.push_back(build::is_invariant(part) ? std::optional(part) : std::nullopt);
    } else {
        if (found.root != view.root || found.type.ndim != view.type.ndim)
            refuse(at,
                   "`" + name + "` is a part of `" + function_.roots[view.root].shown + "` here (" +
                       name_of(view.type) + ") and of `" + function_.roots[found.root].shown +
                       "` elsewhere (" + name_of(found.type) +
                       "); a name stays with one array and one number of dimensions: take another "
                       "name, or make both rows of one array",
                   found.first, "it is first assigned here");
        for (std::size_t i = 0; i < parts.size(); ++i)
            if (found.fixed[i] && !build::same(*found.fixed[i], parts[i]))
                found.fixed[i].reset();
        found.type.contiguous = found.type.contiguous && view.type.contiguous;
        if (found.type.shape != view.type.shape)
            found.type.shape.clear();
    }
    const Slot &counts = known && known->fixed.size() == found.fixed.size() ? *known : found;
    std::vector<std::pair<ir::VariableId, ir::Expression>> assigned;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        if (counts.fixed[i])
            continue;
        if (!storage.parts.contains(i)) {
            const std::size_t ndim = view.type.ndim;
            const std::string part =
                i == 0 ? "offset"
                       : (i <= ndim ? "extent" : "stride") + std::to_string((i - 1) % ndim);
            storage.parts[i] = new_variable(name + "_" + part, scalar_type(dtypes::int64), at);
            if (i > 0 && i <= ndim)
                bound_extent(storage.parts[i]);
        }
        assigned.emplace_back(storage.parts[i], parts[i]);
    }
    assign_in_parallel(assigned, at);
}

// Assigns simultaneously: a value that reads a variable assigned earlier in the list is evaluated
// before all assignments.
void Lowering::assign_in_parallel(std::vector<std::pair<ir::VariableId, ir::Expression>> &assigned,
                                  Position at) {
    std::set<ir::VariableId> changed;
    for (auto &[id, value] : assigned) {
        if (mentions(value, changed))
            value = in_variable(made(value), "part").expression;
        changed.insert(id);
    }
    for (auto &[id, value] : assigned) {
        flow_.at_least.erase(id);
        if (value.op != ir::Op::variable || value.id != id)
            emit(ir::Act::assign, at, {std::move(value)}, id);
    }
}

void Lowering::assign_tuple(const std::string &name, Position at, Slot &found, const Slot *known,
                            Storage &storage, const Value &value) {
    if (found.items.empty() && storage.items.empty()) {
        found.items.resize(value.items.size());
        storage.items.resize(value.items.size());
    } else if (found.items.size() != value.items.size()) {
        refuse(at,
               sentence_of("`", name, "` has ", value.items.size(), " items here and ",
                           found.items.size(),
                           " elsewhere; a tuple's length is fixed: take another name"),
               found.first, "it is first assigned here");
    }
    std::vector<Value> items = value.items;
    std::set<ir::VariableId> changed;
    add_variables(storage, changed);
    for (std::size_t i = 1; i < items.size(); ++i)
        save_from(changed, false, items[i]);
    for (std::size_t i = 0; i < items.size(); ++i) {
        const Slot *const known_item =
            known && i < known->items.size() ? &known->items[i] : nullptr;
        const std::string item_name = value.structure ? name + "." + value.structure->fields[i].name
                                                      : name + "_" + std::to_string(i);
        assign_slot(item_name, at, found.items[i], known_item, storage.items[i], items[i]);
    }
}

void Lowering::store(const View &element, const Value &value, Position at) {
    const ir::Root &root = function_.roots[element.root];
    if (!element.extents.empty())
        refuse(at, "a part of `" + root.shown + "` is assigned at once (" + name_of(element.type) +
                       "); write a loop over its elements");
    if (element.type.read_only || element.type.space == Space::constant)
        refuse(
            at,
            "`" + root.shown + "` is " +
                (element.type.space == Space::constant
                     ? "constant and may not be written; pass the array as an argument"
                     : "read-only and may not be written; pass a writable array, such as a copy"));
    if (!value.is_scalar())
        refuse(value.at, "an element of `" + root.shown + "` is a " + name_of(root.type.dtype) +
                             ", but this is " + value.type_name() +
                             (is_vector(value) ? "; write a component, as in v.x" : ""));
    if (is_complex(value.expression.type.dtype) && !is_complex(root.type.dtype))
        refuse(value.at, "a complex number cannot become a " + name_of(root.type.dtype) +
                             ", which `" + root.shown + "` has; write .real, .imag or abs(...)");
    emit(ir::Act::store, at, {element.offset, as(value, root.type.dtype).expression}, element.root);
    changes_memory_ = true;
}

}  // namespace entrepot::kernel
