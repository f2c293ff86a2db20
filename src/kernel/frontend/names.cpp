#include "kernel/frontend/names.hpp"

namespace entrepot::kernel {

namespace {

using syntax::Kind;
using syntax::Node;

class LoopNameFinder {
public:
    explicit LoopNameFinder(const syntax::Function &function) {
        for (const auto &parameter : function.parameters)
            others_.insert(parameter.name);
        for (const auto &parameter : function.structs)
            others_.insert(parameter.name);
        walk_all(function.body);
    }

    LoopNames found() const {
        LoopNames names;
        for (const std::string &name : targets_)
            if (!others_.contains(name))
                names.insert(name);
        return names;
    }

private:
    void walk_all(const std::vector<syntax::NodePtr> &nodes) {
        for (const auto &node : nodes)
            if (node)
                walk(*node);
    }

    void walk(const Node &node) {
        if (node.kind == Kind::for_ && node.operands[0]->kind == Kind::name)
            return walk_loop(node);
        if (node.kind == Kind::assign || node.kind == Kind::augment ||
            node.kind == Kind::annotate || node.kind == Kind::for_)
            for (const std::string &name :
                 assigned_in({std::make_shared<const Node>(heads_of(node))}))
                others_.insert(name);
        if (node.kind == Kind::name && !open_.contains(node.text))
            others_.insert(node.text);
        walk_all(node.operands);
        walk_all(node.body);
        walk_all(node.otherwise);
    }

    void walk_loop(const Node &loop) {
        const std::string &name = loop.operands[0]->text;
        walk(*loop.operands[1]);
        targets_.insert(name);
        if (!open_.insert(name).second)
            others_.insert(name);  // nested loops use the same name
        walk_all(loop.body);
        open_.erase(name);
        walk_all(loop.otherwise);
    }

    static Node heads_of(const Node &node) {
        Node heads = node;
        heads.body.clear();
        heads.otherwise.clear();
        return heads;
    }

    std::set<std::string> targets_, others_, open_;
};

void add_targets(const Node &target, std::set<std::string> &names) {
    if (target.kind == Kind::name)
        names.insert(target.text);
    if (target.kind == Kind::tuple)
        for (const auto &item : target.operands)
            add_targets(*item, names);
}

void add_assigned(const std::vector<syntax::NodePtr> &statements, std::set<std::string> &names) {
    for (const auto &node : statements) {
        if (node->kind == Kind::assign)
            for (std::size_t i = 1; i < node->operands.size(); ++i)
                add_targets(*node->operands[i], names);
        if (node->kind == Kind::augment || node->kind == Kind::annotate || node->kind == Kind::for_)
            add_targets(*node->operands[0], names);
        add_assigned(node->body, names);
        add_assigned(node->otherwise, names);
    }
}

void add_component_owner(const Node &target, std::set<std::string> &names) {
    if ((target.kind == Kind::attribute || target.kind == Kind::subscript) &&
        target.operands[0]->kind == Kind::name)
        names.insert(target.operands[0]->text);
    if (target.kind == Kind::tuple)
        for (const auto &item : target.operands)
            add_component_owner(*item, names);
}

void add_component_owners(const std::vector<syntax::NodePtr> &statements,
                          std::set<std::string> &names) {
    for (const auto &node : statements) {
        if (node->kind == Kind::assign)
            for (std::size_t i = 1; i < node->operands.size(); ++i)
                add_component_owner(*node->operands[i], names);
        if (node->kind == Kind::augment || node->kind == Kind::annotate)
            add_component_owner(*node->operands[0], names);
        add_component_owners(node->body, names);
        add_component_owners(node->otherwise, names);
    }
}

}  // namespace

std::set<std::string> components_assigned_in(const std::vector<syntax::NodePtr> &statements) {
    std::set<std::string> names;
    add_component_owners(statements, names);
    return names;
}

LoopNames loop_names_of(const syntax::Function &function) {
    return LoopNameFinder(function).found();
}

std::set<std::string> assigned_in(const std::vector<syntax::NodePtr> &statements) {
    std::set<std::string> names;
    add_assigned(statements, names);
    return names;
}

}  // namespace entrepot::kernel
