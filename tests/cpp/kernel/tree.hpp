// Syntax trees of Python functions, built without a parser. Each statement has a line of its own in
// the tree's source text, which messages show.
#pragma once
#include "kernel/compiler.hpp"
#include "kernel/ir/error.hpp"

#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace entrepot::kernel::tree {

using syntax::Kind;
using syntax::Node;
using syntax::NodePtr;

inline NodePtr node(Kind kind, std::string text = "", std::vector<NodePtr> operands = {}) {
    auto made = std::make_shared<Node>();
    made->kind = kind;
    made->text = std::move(text);
    made->operands = std::move(operands);
    return made;
}

// ---------------------------------------------------------------- expressions

struct Tree {
    NodePtr node;
    Tree(NodePtr made) : node(std::move(made)) {}
    Tree(const char *name) : node(tree::node(Kind::name, name)) {}
    Tree(int value) : Tree(syntax::Constant{std::int64_t{value}}) {}
    Tree(double value) : Tree(syntax::Constant{value}) {}
    Tree(bool value) : Tree(syntax::Constant{value}) {}
    Tree(syntax::Constant value) {
        auto made = std::make_shared<Node>();
        made->kind = Kind::constant;
        made->value = std::move(value);
        node = made;
    }
};

inline std::vector<NodePtr> nodes(std::initializer_list<Tree> trees) {
    std::vector<NodePtr> result;
    for (const Tree &each : trees)
        result.push_back(each.node);
    return result;
}

inline Tree text(const char *value) { return syntax::Constant{std::string(value)}; }
inline Tree dtype(Dtype value) { return syntax::Constant{value}; }
inline Tree none() { return syntax::Constant{}; }
inline Tree builtin(const char *name) { return node(Kind::builtin, name); }
inline Tree unsupported(const char *name) { return node(Kind::unsupported, name); }
inline Tree tuple(std::initializer_list<Tree> items) { return node(Kind::tuple, "", nodes(items)); }
inline Tree unary(const char *sign, Tree operand) {
    return node(Kind::unary, sign, {operand.node});
}
inline Tree binary(Tree a, const char *sign, Tree b) {
    return node(Kind::binary, sign, {a.node, b.node});
}
inline Tree boolean(const char *sign, std::initializer_list<Tree> operands) {
    return node(Kind::boolean, sign, nodes(operands));
}
inline Tree choose(Tree condition, Tree then, Tree otherwise) {
    return node(Kind::conditional, "", {condition.node, then.node, otherwise.node});
}
inline Tree attribute(Tree object, const char *name) {
    return node(Kind::attribute, name, {object.node});
}
inline Tree at(Tree object, Tree index) {
    return node(Kind::subscript, "", {object.node, index.node});
}
inline Tree at(Tree object, std::initializer_list<Tree> indices) {
    return at(std::move(object), tuple(indices));
}
inline Tree slice(Tree start, Tree stop, Tree step) {
    const auto given = [](const Tree &each) {
        const bool is_none =
            each.node->kind == Kind::constant && each.node->value.value.index() == 0;
        return is_none ? nullptr : each.node;
    };
    return node(Kind::slice, "", {given(start), given(stop), given(step)});
}
inline Tree whole() { return slice(none(), none(), none()); }

inline Tree chain(std::initializer_list<Tree> operands, std::vector<std::string> signs) {
    auto made = std::make_shared<Node>();
    made->kind = Kind::compare;
    made->operands = nodes(operands);
    made->names = std::move(signs);
    return NodePtr(made);
}
inline Tree compare(Tree a, const char *sign, Tree b) {
    return chain({std::move(a), std::move(b)}, {sign});
}

// Call with keyword arguments: {{"", x}, {"dtype", float32}}.
inline Tree call_named(Tree callee,
                       std::initializer_list<std::pair<const char *, Tree>> arguments) {
    auto made = std::make_shared<Node>();
    made->kind = Kind::call;
    made->operands = {callee.node};
    for (const auto &[name, argument] : arguments) {
        made->names.emplace_back(name);
        made->operands.push_back(argument.node);
    }
    return NodePtr(made);
}
inline Tree call_of(Tree callee, std::initializer_list<Tree> arguments) {
    auto made = std::make_shared<Node>();
    made->kind = Kind::call;
    made->operands = nodes(arguments);
    made->names.resize(made->operands.size());
    made->operands.insert(made->operands.begin(), callee.node);
    return NodePtr(made);
}
inline Tree call(const char *name, std::initializer_list<Tree> arguments = {}) {
    return call_of(builtin(name), arguments);
}
inline Tree call(const std::shared_ptr<const syntax::Function> &function,
                 std::initializer_list<Tree> arguments) {
    auto callee = std::make_shared<Node>();
    callee->kind = Kind::function;
    callee->callee = function;
    return call_of(NodePtr(callee), arguments);
}
inline Tree global_id(int dimension = 0) { return call("get_global_id", {dimension}); }

// ---------------------------------------------------------------- statements

inline NodePtr assign(Tree target, Tree value) {
    return node(Kind::assign, "", {value.node, target.node});
}
inline NodePtr augment(Tree target, const char *sign, Tree value) {
    return node(Kind::augment, sign, {target.node, value.node});
}
inline NodePtr evaluate(Tree value) { return node(Kind::evaluate, "", {value.node}); }
inline NodePtr returns(Tree value) { return node(Kind::return_, "", {value.node}); }
inline NodePtr returns() { return node(Kind::return_, "", {nullptr}); }
inline NodePtr breaks() { return node(Kind::break_); }
inline NodePtr continues() { return node(Kind::continue_); }

inline NodePtr with_blocks(Kind kind, std::vector<NodePtr> operands, std::vector<NodePtr> body,
                           std::vector<NodePtr> otherwise) {
    auto made = std::make_shared<Node>();
    made->kind = kind;
    made->operands = std::move(operands);
    made->body = std::move(body);
    made->otherwise = std::move(otherwise);
    return made;
}
inline NodePtr if_(Tree condition, std::vector<NodePtr> body, std::vector<NodePtr> otherwise = {}) {
    return with_blocks(Kind::if_, {condition.node}, std::move(body), std::move(otherwise));
}
inline NodePtr while_(Tree condition, std::vector<NodePtr> body,
                      std::vector<NodePtr> otherwise = {}) {
    return with_blocks(Kind::while_, {condition.node}, std::move(body), std::move(otherwise));
}
inline NodePtr for_(Tree target, Tree iterable, std::vector<NodePtr> body,
                    std::vector<NodePtr> otherwise = {}) {
    return with_blocks(Kind::for_, {target.node, iterable.node}, std::move(body),
                       std::move(otherwise));
}
inline NodePtr for_range(Tree target, std::initializer_list<Tree> bounds,
                         std::vector<NodePtr> body) {
    return for_(std::move(target), call("range", bounds), std::move(body));
}

// ---------------------------------------------------------------- functions

using FunctionPtr = std::shared_ptr<const syntax::Function>;

// Gives each statement a line of its own, from line 2 on. All nodes of a statement have its line;
// the line's text is `statement N`.
class Places {
public:
    std::vector<NodePtr> placed(const std::vector<NodePtr> &statements) {
        std::vector<NodePtr> result;
        for (const NodePtr &statement : statements) {
            auto copy = std::make_shared<Node>(*statement);
            line_ = next_++;
            text_ += "    statement " + std::to_string(line_) + "\n";
            copy->at = here();
            place_operands(*copy);
            copy->body = placed(copy->body);
            copy->otherwise = placed(copy->otherwise);
            result.push_back(std::move(copy));
        }
        return result;
    }
    std::string text() const { return text_; }

private:
    Position here() const { return {line_, 4, line_, 4 + 9}; }
    void place_operands(Node &owner) {
        for (NodePtr &operand : owner.operands)
            if (operand) {
                auto copy = std::make_shared<Node>(*operand);
                copy->at = here();
                place_operands(*copy);
                operand = std::move(copy);
            }
    }
    std::int32_t line_ = 1, next_ = 2;
    std::string text_;
};

inline std::shared_ptr<syntax::Function>
function(std::string name, std::vector<std::string> parameters, const std::vector<NodePtr> &body) {
    auto made = std::make_shared<syntax::Function>();
    made->name = std::move(name);
    made->file = "kernels.py";
    Places places;
    made->body = places.placed(body);
    made->source = "def " + made->name + "\n" + places.text();
    for (std::string &parameter : parameters)
        made->parameters.push_back({std::move(parameter), {1, 0, 1, 3}});
    return made;
}

// ---------------------------------------------------------------- arguments

inline ArgumentType scalar(Dtype type) { return {scalar_type(type), false}; }
inline ArgumentType array(Dtype type, std::uint32_t ndim = 1, bool contiguous = true) {
    ArgumentType argument;
    argument.type.kind = Type::Kind::array;
    argument.type.dtype = type;
    argument.type.ndim = ndim;
    argument.type.contiguous = contiguous;
    return argument;
}
inline ArgumentType read_only(ArgumentType argument) {
    argument.type.read_only = true;
    return argument;
}

// Text of the typed form of a kernel `k` with those parameters.
inline std::string lowered(std::vector<std::string> names, const std::vector<ArgumentType> &types,
                           const std::vector<NodePtr> &body, const Target &target = {}) {
    return ir::text_of(lower(function("k", std::move(names), body), types, target));
}

}  // namespace entrepot::kernel::tree
