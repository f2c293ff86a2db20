#include "kernel/frontend/lowering.hpp"

#include "kernel/ir/module.hpp"

#include <algorithm>
#include <functional>

namespace entrepot::kernel {

namespace {

// Types only become wider from walk to walk, so that a few walks suffice. A function that needs
// more does not converge.
constexpr int max_walks = 40;
// From this walk on, a lower bound that changes is dropped. The bound of a variable that is counted
// down or doubled changes in every walk. So does a sum that starts from a bound found with narrower
// types.
constexpr int walks_before_widening = 4;

void meet(std::map<ir::VariableId, Proved> &bounds,
          const std::map<ir::VariableId, Proved> &others) {
    std::erase_if(bounds, [&](const auto &entry) { return !others.contains(entry.first); });
    for (auto &[id, bound] : bounds)
        bound.least = std::min(bound.least, others.at(id).least);
}

void widen(Slot &slot, const Slot &before) {
    if (slot.at_least != before.at_least)
        slot.at_least.reset();
    for (std::size_t i = 0; i < std::min(slot.items.size(), before.items.size()); ++i)
        widen(slot.items[i], before.items[i]);
}

bool same_part(const std::optional<ir::Expression> &a, const std::optional<ir::Expression> &b) {
    return a.has_value() == b.has_value() && (!a || build::same(*a, *b));
}

ir::InferredType inferred_type_of(const Slot &slot) {
    ir::InferredType type;
    if (slot.form == Slot::Form::scalar)
        type = {slot.scalar.dtype, slot.scalar.weak != Weak::none, {}};
    for (const Slot &item : slot.items)
        type.items.push_back(inferred_type_of(item));
    return type;
}

bool is_simple_parameter(const Type &type) {
    return type.kind == Type::Kind::scalar && is_number(type.dtype);
}

// Tells if a function, or one that it calls, names a type of vectors.
class VectorFinder {
public:
    bool found_in(const std::vector<syntax::NodePtr> &nodes) {
        return std::ranges::any_of(nodes,
                                   [&](const auto &node) { return node && found_in(*node); });
    }

private:
    bool found_in(const syntax::Node &node) {
        const auto *const dtype = std::get_if<Dtype>(&node.value.value);
        if ((dtype && dtype->lanes > 1) || found_in(node.operands) || found_in(node.body) ||
            found_in(node.otherwise))
            return true;
        return node.callee && seen_.insert(node.callee.get()).second && found_in(node.callee->body);
    }

    std::set<const syntax::Function *> seen_;
};

}  // namespace

std::string Value::type_name() const {
    switch (kind) {
    case Kind::none:
        return callee ? "None, as `" + callee->name +
                            "` returns nothing: end it with return and a value"
                      : "None";
    case Kind::scalar:
        return is_literal() ? text_of_constant(expression) : kernel::name_of(scalar());
    case Kind::array:
        return kernel::name_of(view->type);
    case Kind::tuple:
        return "a tuple";
    case Kind::structure:
        return (ndim > 0 ? "an array of elements, each " : "") + kernel::name_of(*structure);
    case Kind::text:
        return "a string";
    case Kind::dtype:
        return "the dtype " +
               (structure ? "of " + kernel::name_of(*structure) : kernel::name_of(dtype));
    case Kind::builtin:
        return "the function `" + text + "`";
    case Kind::function:
        return "the function `" + callee->name + "`";
    }
    return "";
}

bool Slot::agrees_with(const Slot &other) const {
    return form == other.form && scalar == other.scalar && at_least == other.at_least &&
           assignments == other.assignments && root == other.root && type == other.type &&
           ndim == other.ndim && same(structure, other.structure) &&
           std::ranges::equal(fixed, other.fixed, same_part) &&
           std::ranges::equal(items, other.items,
                              [](const Slot &a, const Slot &b) { return a.agrees_with(b); });
}

void Flow::meet(const Flow &other) {
    if (!other.reachable)
        return;
    if (!reachable) {
        *this = other;
        return;
    }
    std::erase_if(assigned,
                  [&](const std::string &name) { return !other.assigned.contains(name); });
    kernel::meet(at_least, other.at_least);
}

Lowering::Lowering(Unit &unit, std::shared_ptr<const syntax::Function> source, bool is_kernel)
    : unit_(unit), target_(unit.target), source_(std::move(source)),
      rules_{unit.target, source_->typing}, is_kernel_(is_kernel),
      loop_names_(loop_names_of(*source_)), has_vectors_(VectorFinder().found_in(source_->body)) {}

void Lowering::refuse(Position at, const std::string &message) const {
    throw CompileError(*source_, at, message);
}

void Lowering::refuse(Position at, const std::string &message, Position other,
                      const std::string &about) const {
    throw CompileError(*source_, at, message, other, about);
}

// ---------------------------------------------------------------- walks

ir::Function Lowering::kernel(const std::vector<ArgumentType> &arguments) {
    const auto &parameters = source_->parameters;
    const Position at = parameters.empty()
                            ? Position{source_->first_line, 0, source_->first_line, 0}
                            : parameters.front().at;
    if (arguments.size() != parameters.size())
        refuse(at, sentence_of("kernel `", source_->name, "` takes ",
                               counted(parameters.size(), "argument"), ", but ", arguments.size(),
                               " are given"));
    return walked_to_fixed_point(
        [&] {
            auto next = source_->structs.begin();
            for (std::uint32_t i = 0; i < parameters.size(); ++i) {
                const Type &type = arguments[i].type;
                if (next != source_->structs.end() && next->first == i) {
                    i += static_cast<std::uint32_t>(argument_count(next->argument)) - 1;
                    bind_struct_argument(*next++, arguments);
                } else if (type.kind == Type::Kind::array)
                    bind_array_argument(parameters[i].name, parameters[i].at, i, arguments[i]);
                else if (is_simple_parameter(type))
                    bind_scalar_argument(parameters[i].name, parameters[i].at, i, {type.dtype});
                else
                    refuse(parameters[i].at, "argument `" + parameters[i].name + "` is " +
                                                 name_of(type) +
                                                 ", with which kernels do not calculate; pass "
                                                 "numbers and arrays of numbers");
            }
        },
        static_cast<std::uint32_t>(parameters.size()));
}

ir::Function Lowering::walked_to_fixed_point(const std::function<void()> &bind_parameters,
                                             std::uint32_t parameter_count) {
    do {
        if (++walk_ > max_walks)
            refuse_circular_types();
        walk_once(bind_parameters);
    } while (!reached_fixed_point());
    if (overflowing_literal_)
        throw CompileError(*overflowing_literal_);
    for (const auto &[name, slot] : found_)
        refuse_conflicts(name, slot);
    for (const auto &[name, slot] : found_)
        function_.names[name] = inferred_type_of(slot);
    function_.name = source_->name;
    function_.source = source_;
    function_.parameter_count = is_kernel_ ? parameter_count : places_;
    return std::move(function_);
}

void Lowering::walk_once(const std::function<void()> &bind_parameters) {
    function_ = {};
    found_.clear();
    storage_.clear();
    bound_.clear();
    wholes_.clear();
    returned_form_ = {};
    returned_argument_.reset();
    proved_.clear();
    assumed_.clear();
    taken_.clear();
    flow_ = {};
    effects_ = 0;
    changes_memory_ = false;
    places_ = 0;
    empty_return_.reset();
    overflowing_literal_.reset();
    block_ = &function_.body;
    bind_parameters();
    lower_block(source_->body);
}

bool Lowering::reached_fixed_point() {
    if (walk_ > walks_before_widening)
        for (auto &[name, slot] : found_)
            if (const auto before = known_.find(name); before != known_.end())
                widen(slot, before->second);
    const bool agree = std::ranges::equal(known_, found_, [](const auto &a, const auto &b) {
        return a.first == b.first && a.second.agrees_with(b.second);
    });
    known_ = found_;
    if (!agree || !has_varying_ || tells_varying_)
        return agree;
    tells_varying_ = true;
    walk_ = 0;
    return false;
}

void Lowering::refuse_circular_types() const {
    refuse({source_->first_line, 0, source_->first_line, 0},
           "the types of the variables of `" + source_->name +
               "` depend on each other in a circle; give them by casts such as float32(...)");
}

void Lowering::refuse_conflicts(const std::string &name, const Slot &slot) const {
    if (slot.conflict && walk_ > walks_before_joining_types)
        refuse_circular_types();
    if (slot.conflict) {
        const auto &[at, here, elsewhere] = *slot.conflict;
        const std::string subject = name.empty() ? "the returned value" : "`" + name + "`";
        const std::string rule = name.empty() ? "a function returns one type: "
                                              : "a variable has one type: take another name, or ";
        refuse(
            at,
            subject + " is " + name_of(here) + " here and " + name_of(elsewhere) + " elsewhere; " +
                rule + "convert with " + name_of(unified(here, elsewhere, rules_).dtype) + "(...)",
            slot.first, name.empty() ? "it is first returned here" : "it is first assigned here");
    }
    for (std::size_t i = 0; i < slot.items.size(); ++i)
        refuse_conflicts(name + "[" + std::to_string(i) + "]", slot.items[i]);
}

// ---------------------------------------------------------------- parameters, variables

ir::VariableId Lowering::bind_scalar_argument(const std::string &name, Position at,
                                              std::uint32_t place, Scalar scalar,
                                              std::optional<Assumed> least) {
    if (rules_.typing == Typing::numba && assigned_in(source_->body).contains(name)) {
        // The variable may need a wider type than the argument has.
        const ir::VariableId given = new_variable(name + "_given", scalar_type(scalar.dtype), at);
        function_.variables[given].parameter = place;
        assign_name(name, at,
                    made(build::variable(given, scalar_type(scalar.dtype), at), scalar.weak));
        return given;
    }
    Slot slot;
    slot.at_least = least;
    slot.assignments = 1;
    slot.form = Slot::Form::scalar;
    slot.first = at;
    slot.scalar = scalar;
    found_[name] = slot;
    const ir::VariableId id = new_variable(name, scalar_type(scalar.dtype), at);
    function_.variables[id].parameter = place;
    storage_[name].variable = id;
    const auto known = known_.find(name);
    assumed_[id] = known == known_.end() ? slot.at_least : known->second.at_least;
    flow_.assigned.insert(name);
    return id;
}

void Lowering::bind_array_argument(const std::string &name, Position at, std::uint32_t place,
                                   const ArgumentType &argument) {
    Value value;
    value.kind = Value::Kind::array;
    value.at = at;
    value.view =
        std::make_shared<const View>(whole_of(new_array_parameter(name, at, place, argument), at));
    assign_name(name, at, std::move(value));
}

ir::RootId Lowering::new_array_parameter(const std::string &name, Position at, std::uint32_t place,
                                         const ArgumentType &argument) {
    if (!is_number(argument.type.dtype))
        refuse(at, "argument `" + name + "` is an array of " + name_of(argument.type.dtype) +
                       ", with which kernels do not calculate; view it as an integer type of its "
                       "size, or convert it before");
    ir::Root root;
    root.name = name;
    root.type = argument.type;
    root.at = at;
    root.parameter = place;
    root.restrict_ = argument.restrict_;
    root.type.contiguous = root.type.contiguous || root.type.space == Space::local;
    return new_root(std::move(root));
}

// View of a whole root array. Extents and strides that are not part of its type are read from the
// parameter.
View Lowering::whole_of(ir::RootId root, Position at) const {
    if (const auto known = wholes_.find(root); known != wholes_.end())
        return known->second;
    const Type &type = function_.roots[root].type;
    View view{root, type, build::integer(0, at), {}, std::vector<ir::Expression>(type.ndim)};
    const auto asked = [&](ir::Op op, std::uint32_t dimension) {
        ir::Expression made = build::of(op, scalar_type(dtypes::int64), at, {});
        made.id = root;
        made.number = dimension;
        return made;
    };
    for (std::uint32_t dimension = 0; dimension < type.ndim; ++dimension)
        view.extents.push_back(type.shape.empty() ? asked(ir::Op::extent, dimension)
                                                  : build::integer(type.shape[dimension], at));
    for (std::uint32_t dimension = type.ndim; dimension-- > 0;)
        view.strides[dimension] =
            !type.contiguous ? asked(ir::Op::stride, dimension)
            : dimension + 1 < type.ndim
                ? build::product(view.extents[dimension + 1], view.strides[dimension + 1])
                : build::integer(1, at);
    return view;
}

ir::RootId Lowering::new_root(ir::Root root) {
    std::string plain = root.name;
    std::ranges::replace(plain, '.', '_');
    const std::string name = unique_name(root.name);
    root.shown = name == plain ? root.name : name;
    root.name = name;
    function_.roots.push_back(std::move(root));
    return static_cast<ir::RootId>(function_.roots.size() - 1);
}

ir::VariableId Lowering::new_variable(const std::string &name, const Type &type, Position at) {
    ir::Variable variable;
    variable.name = unique_name(name);
    variable.type = type;
    variable.at = at;
    function_.variables.push_back(std::move(variable));
    proved_.emplace_back();
    assumed_.emplace_back();
    return static_cast<ir::VariableId>(function_.variables.size() - 1);
}

std::string Lowering::unique_name(const std::string &name) {
    std::string base = name;
    std::ranges::replace(base, '.', '_');
    return ir::unique_name(base, taken_);
}

// ---------------------------------------------------------------- the whole

ir::Module typed(const std::shared_ptr<const syntax::Function> &kernel,
                 const std::vector<ArgumentType> &arguments, const Target &target) {
    Unit unit{target, {}, {}, {kernel.get()}, {}};
    ir::Function lowered = Lowering(unit, kernel, true).kernel(arguments);
    unit.module.functions.push_back(std::move(lowered));
    ir::drop_uncalled(unit.module);
    return std::move(unit.module);
}

}  // namespace entrepot::kernel
