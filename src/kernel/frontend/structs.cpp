// Structs and short vectors: values with named parts. An array of structs is a struct of arrays. An
// element of it is a struct of views without dimensions, so that q = p[i] shares memory with p.
#include "kernel/frontend/lowering.hpp"

#include "core/closest.hpp"

#include <algorithm>
#include <array>

namespace entrepot::kernel {

namespace {

// A struct with more numbers is not copied at once.
constexpr std::size_t max_copied = 256;

bool is_element(const Value &value) {
    return value.kind == Value::Kind::array && value.view->extents.empty();
}

const View *first_view(const Value &value) {
    if (value.kind == Value::Kind::array)
        return value.view.get();
    for (const Value &item : value.items)
        if (const View *const view = first_view(item))
            return view;
    return nullptr;
}

std::vector<std::string> names_of(const StructType &type) {
    std::vector<std::string> names;
    for (const StructType::Field &field : type.fields)
        names.push_back(field.name);
    return names;
}

constexpr std::array<std::string_view, 5> array_attributes{"shape", "size", "ndim", "dtype", "T"};

bool is_array_attribute(const std::string &name) {
    return std::ranges::find(array_attributes, name) != array_attributes.end();
}

}  // namespace

// ---------------------------------------------------------------- values

Value Lowering::struct_value(const StructTypePtr &type, std::uint32_t ndim, Position at,
                             const std::function<Value(const StructType::Field &)> &number) const {
    has_vectors_ = has_vectors_ || type->is_vector;
    Value value;
    value.kind = Value::Kind::structure;
    value.at = at;
    value.structure = type;
    value.ndim = ndim;
    for (const StructType::Field &field : type->fields)
        value.items.push_back(
            field.type
                ? struct_value(field.type, ndim + static_cast<std::uint32_t>(field.shape.size()),
                               at, number)
                : number(field));
    return value;
}

// True if no part of the value is a view of an array.
bool Lowering::is_by_value(const Value &value) { return first_view(value) == nullptr; }

bool Lowering::is_by_value(const Slot &slot) {
    return slot.form != Slot::Form::array &&
           std::ranges::all_of(slot.items, [](const Slot &item) { return is_by_value(item); });
}

// Loads an element. A vector is loaded as a whole, because a vector is a value; a struct remains a
// reference to its element.
Value Lowering::read(Value value, Position at) {
    if (is_element(value))
        return loaded(*value.view, at);
    if (value.kind == Value::Kind::structure && value.structure->is_vector && value.ndim == 0)
        for (Value &item : value.items)
            item = read(std::move(item), at);
    return value;
}

// Loads all numbers of a struct; those of a sub-array become a tuple.
Value Lowering::copied(const Value &value, Position at) {
    if (value.kind == Value::Kind::array && !value.view->extents.empty())
        return tuple_of_elements(*value.view, at);
    if (value.kind == Value::Kind::structure && value.ndim > 0)
        refuse(at, "a part of an array of structs is copied at once; write a loop over its "
                   "elements");
    Value copy = read(value, at);
    if (copy.kind == Value::Kind::structure)
        for (Value &item : copy.items)
            item = copied(item, at);
    return copy;
}

// The elements of a sub-array, as nested tuples.
Value Lowering::tuple_of_elements(const View &view, Position at) {
    Value tuple;
    tuple.kind = Value::Kind::tuple;
    tuple.at = at;
    for (const View &part : elements_of(view, at)) {
        Value item;
        item.kind = Value::Kind::array;
        item.at = at;
        item.view = std::make_shared<const View>(part);
        tuple.items.push_back(copied(item, at));
    }
    return tuple;
}

// The parts along the first dimension of a view whose extents are constants.
std::vector<View> Lowering::elements_of(const View &view, Position at) const {
    const auto extent = build::constant_of(view.extents[0]);
    if (!extent || *extent > static_cast<std::int64_t>(max_copied))
        refuse(at, "a part of `" + function_.roots[view.root].shown + "` is copied at once (" +
                       kernel::name_of(view.type) + "); write a loop over its elements");
    std::vector<View> parts;
    for (std::int64_t i = 0; i < *extent; ++i) {
        View part = view;
        part.offset =
            build::sum(view.offset, build::product(build::integer(i, at), view.strides[0]));
        part.extents.erase(part.extents.begin());
        part.strides.erase(part.strides.begin());
        part.type.ndim = static_cast<std::uint32_t>(part.extents.size());
        if (!part.type.shape.empty())
            part.type.shape.erase(part.type.shape.begin());
        parts.push_back(std::move(part));
    }
    return parts;
}

// ---------------------------------------------------------------- parameters

void Lowering::bind_struct_argument(const syntax::StructParameter &parameter,
                                    const std::vector<ArgumentType> &arguments) {
    const StructArgument &argument = parameter.argument;
    std::uint32_t place = parameter.first;
    Value value;
    if (argument.form == StructForm::value) {
        value = struct_value(argument.type, 0, parameter.at, [&](const StructType::Field &field) {
            return bind_numbers(field.extents, parameter.at, place, arguments);
        });
    } else {
        std::optional<std::uint32_t> dimensions;  // of the array of structs
        for_each_number(*argument.type, [&](const std::string &, const StructType::Field &field) {
            dimensions = dimensions.value_or(arguments[place].type.ndim -
                                             static_cast<std::uint32_t>(field.extents.size()));
        });
        const std::uint32_t ndim = dimensions.value_or(0);
        std::optional<View> first;
        value =
            struct_value(argument.type, ndim, parameter.at, [&](const StructType::Field &field) {
                const std::uint32_t own = place++;
                const View view =
                    view_of_field(new_array_parameter(source_->parameters[own].name, parameter.at,
                                                      own, arguments[own]),
                                  field, argument, first ? &*first : nullptr, parameter.at);
                if (!first)
                    first = view;
                Value array;
                array.kind = Value::Kind::array;
                array.at = parameter.at;
                array.view = std::make_shared<const View>(view);
                return array;
            });
    }
    if (argument.form != StructForm::value || assigned_in(source_->body).contains(parameter.name) ||
        components_assigned_in(source_->body).contains(parameter.name))
        assign_name(parameter.name, parameter.at, std::move(value));
    else
        bound_[parameter.name] = std::move(value);
}

// Numbers of one field that are arguments: one, or those of a sub-array as nested tuples.
Value Lowering::bind_numbers(std::span<const std::int64_t> extents, Position at,
                             std::uint32_t &place, const std::vector<ArgumentType> &arguments) {
    if (extents.empty()) {
        const std::string &name = source_->parameters[place].name;
        bind_scalar_argument(name, at, place, {arguments[place].type.dtype});
        ++place;
        Node read;
        read.kind = Kind::name;
        read.text = name;
        read.at = at;
        return value_of_name(read);
    }
    Value tuple;
    tuple.kind = Value::Kind::tuple;
    tuple.at = at;
    for (std::int64_t i = 0; i < extents[0]; ++i)
        tuple.items.push_back(bind_numbers(extents.subspan(1), at, place, arguments));
    return tuple;
}

// View of the array of one field. All fields share the extents of the first one. Extents and
// strides of sub-arrays, and all strides of a contiguous array, are constants.
View Lowering::view_of_field(ir::RootId root, const StructType::Field &field,
                             const StructArgument &argument, const View *first, Position at) {
    View view = whole_of(root, at);
    const std::size_t inner = field.extents.size(), ndim = view.extents.size() - inner;
    for (std::size_t i = 0; first && i < ndim; ++i)
        view.extents[i] = first->extents[i];
    for (std::size_t i = 0; i < inner; ++i)
        view.extents[ndim + i] = build::integer(field.extents[i], at);
    if (view.type.space == Space::local) {  // an array of its own, without gaps
        for (std::size_t i = view.extents.size(); i-- > 1;)
            view.strides[i - 1] = build::product(view.extents[i], view.strides[i]);
        wholes_.insert_or_assign(root, view);
        return view;
    }
    for (std::size_t i = 0; i < inner; ++i)
        view.strides[ndim + i] = build::integer(field.strides[i], at);
    if (argument.form == StructForm::contiguous) {
        ir::Expression stride =
            build::integer(argument.type->itemsize / field.dtype.itemsize(), at);
        for (std::size_t i = ndim; i-- > 0;) {
            view.strides[i] = stride;
            stride = build::product(view.extents[i], std::move(stride));
        }
    }
    wholes_.insert_or_assign(root, view);
    return view;
}

// ---------------------------------------------------------------- arrays that a kernel makes

Value Lowering::array_of_structs(const ir::Root &like, const StructTypePtr &type) {
    return struct_value(type, like.type.ndim, like.at, [&](const StructType::Field &field) {
        ir::Root root = like;
        root.name = like.name + "." + field.name;
        root.type.dtype = field.dtype;
        root.type.shape.insert(root.type.shape.end(), field.extents.begin(), field.extents.end());
        root.type.ndim = static_cast<std::uint32_t>(root.type.shape.size());
        return array_value(new_root(std::move(root)), like.at);
    });
}

// ---------------------------------------------------------------- fields and elements

// Locates what an attribute or a subscript denotes. An element of an array is not loaded: the
// result is a view without dimensions.
Value Lowering::place_of(const Node &node) {
    if (node.kind != Kind::attribute && node.kind != Kind::subscript)
        return value_after_effects(node);
    const Value object = place_of(*node.operands[0]);
    if (object.kind == Value::Kind::structure)
        return node.kind == Kind::attribute ? attribute_of_struct(object, node)
                                            : subscripted_struct(object, node);
    const Value value = read_part(object, *node.operands[0]);
    return node.kind == Kind::attribute ? attribute_of(value, node) : subscript_of(value, node);
}

// Loads an element that the node locates. An array without dimensions stays an array.
Value Lowering::read_part(Value value, const Node &node) {
    const bool is_part = node.kind == Kind::attribute || node.kind == Kind::subscript;
    return is_part ? read(std::move(value), node.at) : value;
}

Value Lowering::attribute_of_struct(const Value &object, const Node &node) {
    const bool is_field = object.structure->place_of(node.text).has_value();
    if (object.ndim == 0 || !is_array_attribute(node.text)) {
        if (object.ndim > 0 && !is_field)
            refuse(node.at, "an array of structs has shape, size and ndim, and the fields " +
                                fields_of(*object.structure) + ", but no `." + node.text + "`" +
                                did_you_mean(node.text, names_of(*object.structure)));
        return field_of(object, node.text, node.at);
    }
    if (node.text == "dtype" || node.text == "T")
        refuse(node.at, "an array of structs has no `." + node.text +
                            "` in a kernel; take that of a field, as in p.x." + node.text);
    Node array_node = node;
    Value shape = object;
    const View *const view = first_view(object);
    View leading{view->root, view->type, view->offset, {}, {}};
    leading.extents.assign(view->extents.begin(), view->extents.begin() + object.ndim);
    leading.strides.assign(view->strides.begin(), view->strides.begin() + object.ndim);
    leading.type.ndim = object.ndim;
    shape.kind = Value::Kind::array;
    shape.view = std::make_shared<const View>(std::move(leading));
    return array_attribute(shape, array_node);
}

Value Lowering::field_of(const Value &object, const std::string &name, Position at) const {
    const auto place = object.structure->place_of(name);
    if (!place)
        refuse(at, object.type_name() + " has no " +
                       (object.structure->is_vector ? "component" : "field") + " `" + name +
                       "`; it has " + fields_of(*object.structure) +
                       did_you_mean(name, names_of(*object.structure)));
    Value item = object.items[*place];
    item.at = at;
    return item;
}

Value Lowering::subscripted_struct(const Value &object, const Node &node) {
    const Node &index = *node.operands[1];
    if (index.kind == Kind::constant)
        if (const auto *const name = std::get_if<std::string>(&index.value.value))
            return field_of(object, *name, node.at);
    const bool is_whole = index.kind == Kind::tuple && index.operands.empty();
    if (object.ndim == 0 && is_whole)
        return object;
    if (object.ndim == 0 && object.structure->is_vector) {
        const std::int64_t count = static_cast<std::int64_t>(object.items.size());
        const std::int64_t place = literal_of(index, "the index of a component");
        if (place < -count || place >= count)
            refuse(index.at, sentence_of("there is no component ", place, " in a ",
                                         object.type_name(), "; write one from 0 to ", count - 1));
        return object.items[static_cast<std::size_t>(place < 0 ? place + count : place)];
    }
    if (object.ndim == 0)
        refuse(node.at, "a struct has fields and no elements; write one of " +
                            fields_of(*object.structure) + ", as in ." +
                            object.structure->fields.front().name);
    return elements_of_struct(object, index, node.at);
}

// Applies the subscript to the array of each field, evaluated once.
Value Lowering::elements_of_struct(const Value &object, const Node &index, Position at) {
    if (is_by_value(object))
        refuse(at, "a struct that is passed by its numbers has no array of structs; pass an array "
                   "of one element, and take p[0]");
    const syntax::NodePtr one(std::shared_ptr<void>{}, &index);  // non-owning; the tree outlives it
    const std::span<const syntax::NodePtr> given =
        index.kind == Kind::tuple ? std::span(index.operands) : std::span(&one, 1);
    std::vector<Subscript> subscripts = subscripts_of(given);
    std::vector<syntax::NodePtr> slices;  // the subscripts point to them
    for (Subscript &each : subscripts)
        if (each.node)
            each.node = with_saved_bounds(*each.node, slices);
        else if (each.index.is_scalar() && !build::is_simple(each.index.expression))
            each.index = in_variable(std::move(each.index), "index");
    complete(subscripts, object.ndim, "an array of structs", at);
    const std::uint32_t ndim = static_cast<std::uint32_t>(
        std::ranges::count_if(subscripts, [](const Subscript &each) { return each.node; }));
    const std::function<Value(const Value &)> part_of = [&](const Value &value) {
        Value part = value;
        if (value.kind == Value::Kind::array) {
            std::vector<Subscript> own = subscripts;
            own.resize(value.view->extents.size(), Subscript{&whole_slice(), {}});
            part.view = std::make_shared<const View>(part_of_array(*value.view, own, at));
        } else {
            part.ndim = value.ndim - object.ndim + ndim;
            std::ranges::transform(value.items, part.items.begin(), part_of);
        }
        part.at = at;
        return part;
    };
    return part_of(object);
}

// A slice whose bounds are variables or constants, so that it may be evaluated several times.
const syntax::Node *Lowering::with_saved_bounds(const Node &slice,
                                                std::vector<syntax::NodePtr> &made_slices) {
    if (slice.kind != Kind::slice)
        return &slice;
    auto made_slice = std::make_shared<Node>(slice);
    for (syntax::NodePtr &bound : made_slice->operands)
        if (bound && bound->kind != Kind::constant)
            bound = bound_name(scalar_value(*bound), bound->at);
    made_slices.push_back(made_slice);
    return made_slice.get();
}

// A name that stands for the value, which is evaluated here.
syntax::NodePtr Lowering::bound_name(Value value, Position at) {
    if (value.is_scalar() && !build::is_simple(value.expression))
        value = in_variable(std::move(value), "bound");
    auto name = std::make_shared<Node>();
    name->kind = Kind::name;
    name->at = at;
    name->text = "." + std::to_string(bound_.size());  // no name of the source has a dot
    while (bound_.contains(name->text))
        name->text += ".";
    bound_[name->text] = std::move(value);
    return name;
}

// ---------------------------------------------------------------- stores

// Stores a value to an element, to all fields of a struct, or to the elements of a sub-array.
void Lowering::store_to(const Value &place, Value value, Position at) {
    std::vector<std::pair<View, Value>> stores;
    pair_up(place, value, at, stores);
    if (stores.size() > max_copied)
        refuse(at, sentence_of("a struct of ", stores.size(),
                               " numbers is copied at once; write a loop over its elements"));
    // All numbers are read before one is written.
    for (auto &[view, number] : stores)
        if (stores.size() > 1 && number.is_scalar() && build::reads_memory(number.expression))
            number = in_variable(std::move(number), "field");
    for (const auto &[view, number] : stores)
        store(view, number, at);
}

// Finds the numbers that a store assigns, and their places.
void Lowering::pair_up(const Value &place, const Value &value, Position at,
                       std::vector<std::pair<View, Value>> &stores) {
    if (place.kind == Value::Kind::array) {
        const bool has_parts = value.kind == Value::Kind::tuple ||
                               (value.kind == Value::Kind::array && !value.view->extents.empty());
        if (place.view->extents.empty() || !has_parts) {
            stores.emplace_back(*place.view, read(value, at));
            return;
        }
        const Value items =
            value.kind == Value::Kind::tuple ? value : tuple_of_elements(*value.view, at);
        const std::vector<View> parts = elements_of(*place.view, at);
        if (parts.size() != items.items.size())
            refuse(value.at, sentence_of("there are ", items.items.size(), " items for ",
                                         parts.size(), " elements"));
        for (std::size_t i = 0; i < parts.size(); ++i) {
            Value part;
            part.kind = Value::Kind::array;
            part.at = at;
            part.view = std::make_shared<const View>(parts[i]);
            pair_up(part, items.items[i], at, stores);
        }
        return;
    }
    if (place.kind != Value::Kind::structure)
        refuse(at, "the parts of " + place.type_name() +
                       " cannot be assigned here; assign to a component of a variable, as in v.x");
    if (place.ndim > 0)
        refuse(at, "a part of an array of structs is assigned at once; write a loop over its "
                   "elements");
    const bool fits =
        (value.kind == Value::Kind::structure && value.ndim == 0 &&
         names_of(*value.structure) == names_of(*place.structure)) ||
        (value.kind == Value::Kind::tuple && value.items.size() == place.items.size());
    if (!fits)
        refuse(value.at,
               "the element is " + place.type_name() + ", but this is " + value.type_name() +
                   (place.structure->is_vector
                        ? "; convert it, as in " + kernel::name_of(*place.structure) + "(...)"
                        : "; give a struct of these fields, or a tuple of their values"));
    for (std::size_t i = 0; i < place.items.size(); ++i)
        pair_up(place.items[i], value.items[i], at, stores);
}

// The variable whose component the target is: `v.x`, `v["x"]` or `v[0]`. nullopt if the target is
// in memory.
std::optional<Lowering::Component> Lowering::component_of(const Node &target) {
    if ((target.kind != Kind::attribute && target.kind != Kind::subscript) ||
        target.operands[0]->kind != Kind::name)
        return std::nullopt;
    const Node &owner = *target.operands[0];
    const auto found = found_.find(owner.text);
    if (bound_.contains(owner.text) || found == found_.end() ||
        found->second.form != Slot::Form::structure || !flow_.assigned.contains(owner.text))
        return std::nullopt;
    const Value whole = value_of_name(owner);
    if (!is_by_value(whole))
        return std::nullopt;
    const Value part = target.kind == Kind::attribute ? field_of(whole, target.text, target.at)
                                                      : subscripted_struct(whole, target);
    for (std::size_t i = 0; i < whole.items.size(); ++i)
        if (part.is_scalar() && whole.items[i].is_scalar() &&
            whole.items[i].expression.id == part.expression.id)
            return Component{owner.text, i, part, whole.structure->fields[i].name};
    refuse(target.at, "the field is " + part.type_name() +
                          ", and only numbers of a copied struct are assigned; assign to the "
                          "element of the array");
}

void Lowering::assign_component(const Component &component, const Value &value, Position at) {
    if (!value.is_scalar())
        refuse(value.at, "a component is a number, but this is " + value.type_name());
    const auto known = known_.find(component.variable);
    const Slot *const before = known != known_.end() &&
                                       known->second.form == Slot::Form::structure &&
                                       component.place < known->second.items.size()
                                   ? &known->second.items[component.place]
                                   : nullptr;
    assign_slot(component.variable + "." + component.name, at,
                found_[component.variable].items[component.place], before,
                storage_[component.variable].items[component.place],
                cast(component.value.expression.type.dtype, value, at));
}

// ---------------------------------------------------------------- vectors

// A value that may be written several times.
Value Lowering::repeatable(Value value) {
    if (value.is_scalar() && !build::is_simple(value.expression))
        return in_variable(std::move(value), "scalar");
    for (Value &item : value.items)
        item = repeatable(std::move(item));
    return value;
}

Value Lowering::vector_of(std::vector<Value> components, Position at) const {
    has_vectors_ = true;
    Value vector;
    vector.kind = Value::Kind::structure;
    vector.at = at;
    Dtype dtype = components.front().expression.type.dtype;
    dtype.lanes = static_cast<std::uint16_t>(components.size());
    vector.structure = vector_type(dtype);
    for (Value &component : components) {
        component.weak = Weak::none;
        component.varies = false;
        component.choices.clear();
    }
    vector.items = std::move(components);
    return vector;
}

bool Lowering::is_vector(const Value &value) {
    return value.kind == Value::Kind::structure && value.structure->is_vector && value.ndim == 0;
}

// Calls `operation` for the components of the vectors; a number counts as a vector of equal
// components.
Value Lowering::by_component(const std::string &name, std::vector<Value> values, Position at,
                             const std::function<Value(const std::vector<Value> &)> &operation) {
    // A component has the vector's type, whatever the rules of the function are.
    struct OwnRules {
        Typing &typing;
        const Typing before = std::exchange(typing, Typing::numpy);
        ~OwnRules() { typing = before; }
    } const own_rules{rules_.typing};
    const Value &first = *std::ranges::find_if(values, is_vector);
    const std::size_t count = first.items.size();
    const Dtype lane = first.structure->lane();
    for (Value &value : values) {
        if (value.is_scalar()) {
            if (is_complex(value.expression.type.dtype) ||
                (is_float(value.expression.type.dtype) && !is_float(lane)))
                refuse(value.at, "`" + name + "` meets " + first.type_name() + " and " +
                                     value.type_name() + "; convert one of them, as in " +
                                     kernel::name_of(lane) + "(...)");
            value = repeatable(cast(lane, value, value.at));
            continue;
        }
        if (!is_vector(value) || value.items.size() != count || value.structure->lane() != lane)
            refuse(value.at, "`" + name + "` is for vectors of one type and numbers, but meets " +
                                 first.type_name() + " and " + value.type_name() +
                                 (!is_vector(value)             ? ""
                                  : value.items.size() == count ? "; convert one of them, as in " +
                                                                      first.type_name() + "(...)"
                                                                : "; write their components"));
    }
    std::vector<Value> results;
    for (std::size_t i = 0; i < count; ++i) {
        std::vector<Value> operands;
        for (const Value &value : values)
            operands.push_back(value.is_scalar() ? value : value.items[i]);
        results.push_back(operation(operands));
    }
    return vector_of(std::move(results), at);
}

// float32x4(x, y, z, w), or of vectors and numbers with four numbers in all, or of one number.
Value Lowering::call_vector(const Node &node, Dtype dtype) {
    const std::string name = kernel::name_of(dtype);
    if (!lanes_are_named(dtype.lanes) || !is_number({dtype.code, dtype.bits, 1}))
        refuse(node.at,
               "kernels do not calculate with " + name + "; vectors have 2, 3, 4, 8 or 16 numbers");
    if (std::ranges::any_of(node.names, [](const std::string &each) { return !each.empty(); }))
        refuse(node.at, name + "(...) takes its arguments by their places");
    std::vector<Value> numbers;
    const std::function<void(const Value &)> add = [&](const Value &value) {
        if (value.kind == Value::Kind::structure || value.kind == Value::Kind::tuple) {
            for (const Value &item : value.items)
                add(item);
            return;
        }
        if (!value.is_scalar())
            refuse(value.at, name +
                                 "(...) is made of numbers, vectors and structs of numbers, but "
                                 "this is " +
                                 value.type_name());
        numbers.push_back(value);
    };
    for (const Value &argument : values_in_order(std::span(node.operands).subspan(1)))
        add(argument.kind == Value::Kind::structure ? copied(argument, argument.at) : argument);
    const std::size_t count = dtype.lanes;
    if (numbers.size() == 1)
        numbers.assign(count, repeatable(numbers.front()));
    if (numbers.size() != count)
        refuse(node.at, sentence_of(name, "(...) takes ", count, " numbers, or one for all, but ",
                                    numbers.size(), " are given"));
    for (Value &number : numbers)
        number = cast({dtype.code, dtype.bits, 1}, number, number.at);
    return vector_of(std::move(numbers), node.at);
}

Value Lowering::dot_product(const Value &a, const Value &b, Position at) {
    for (const Value *const value : {&a, &b})
        if (!is_vector(*value))
            refuse(value->at, "`dot` is of two vectors, but this is " + value->type_name());
    const Value products = by_component("dot", {a, b}, at, [&](const std::vector<Value> &pair) {
        return binary("*", pair[0], pair[1], at);
    });
    Value sum = products.items.front();
    for (std::size_t i = 1; i < products.items.size(); ++i)
        sum = binary("+", std::move(sum), products.items[i], at);
    return sum;
}

// A function of numbers, called for each component if an argument is a vector. Arguments that are
// left out are nullptr.
Value Lowering::call_by_component(const FunctionRow &row, const Node &node,
                                  std::span<const Node *const> arguments) {
    std::vector<syntax::NodePtr> given;
    for (const Node *const argument : arguments)
        if (argument)  // outlived by the tree
            given.push_back(syntax::NodePtr(std::shared_ptr<void>{}, argument));
    std::vector<Value> values = values_in_order(given);
    const auto call = [&](const std::vector<Value> &operands) {
        std::vector<syntax::NodePtr> names;
        std::vector<const Node *> pointers;
        for (const Node *const argument : arguments) {
            if (argument)
                names.push_back(bound_name(operands[names.size()], argument->at));
            pointers.push_back(argument ? names.back().get() : nullptr);
        }
        const Value result = call_numeric(row, node, pointers);
        for (const syntax::NodePtr &name : names)
            bound_.erase(name->text);
        return result;
    };
    if (std::ranges::none_of(values, is_vector))
        return call(values);
    if (row.rule == Rule::predicate || row.name.ends_with(".isclose"))
        refuse(node.at, "`" + std::string(row.name) +
                            "` is of numbers; write it for the components, as in v.x");
    return by_component(std::string(row.name), std::move(values), node.at, call);
}

}  // namespace entrepot::kernel
