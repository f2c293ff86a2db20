// Barriers and group functions: all work-items of a group must reach them together, so nothing on the way may differ between
// them.
#include "kernel/compiler/check.hpp"
#include "kernel/compiler/walk.hpp"

#include <algorithm>
#include <optional>

namespace entrepot::kernel {

namespace {

using ir::Act;
using ir::Expression;
using ir::Op;
using ir::Statement;

// Where work-items may have parted; nothing where they go together.
using Parted = std::optional<Position>;

Parted either(const Parted &a, const Parted &b) { return a ? a : b; }

bool is_same_in_group(const std::string &index) {
    return index != "global_id" && index != "local_id" && !index.starts_with("sub_group_") && index != "sub_group_id";
}

class UniformCheck {
public:
    explicit UniformCheck(const ir::Module &module)
        : module_(module), kernel_(module.kernel()), differs_(kernel_.variables.size()) {}

    // Which variables differ depends on where work-items part, and that on variables: until nothing changes.
    void run() {
        do {
            changed_ = false;
            walk(kernel_.body, {});
        } while (changed_);
        reports_ = true;
        walk(kernel_.body, {});
    }

private:
    // How a block may be left by some work-items only, and where.
    struct Exits {
        Parted by_return, by_break, by_continue;
        Parted any() const { return either(by_return, either(by_break, by_continue)); }
        void add(const Exits &other) {
            by_return = either(by_return, other.by_return);
            by_break = either(by_break, other.by_break);
            by_continue = either(by_continue, other.by_continue);
        }
    };

    Exits walk(const std::vector<Statement> &statements, const Parted &parted) {
        Exits exits;
        for (const Statement &statement : statements)
            exits.add(walk(statement, either(parted, exits.any())));
        return exits;
    }

    Exits walk(const Statement &statement, const Parted &parted) {
        check(statement, parted);
        switch (statement.act) {
        case Act::assign:
            mark(statement.id, parted || differs(statement.expressions[0]));
            return {};
        case Act::unpack:
            for (const ir::VariableId id : statement.ids)
                mark(id, parted || differs(statement.expressions[0]));
            return {};
        case Act::if_: {
            const Parted inside = within(statement, parted);
            Exits exits = walk(statement.body, inside);
            exits.add(walk(statement.otherwise, inside));
            return exits;
        }
        case Act::while_:
        case Act::for_:
            return walk_loop(statement, parted);
        case Act::break_:
            return {{}, parted, {}};
        case Act::continue_:
            return {{}, {}, parted};
        case Act::return_:
            return {parted, {}, {}};
        default:
            return {};
        }
    }

    // Who has left a loop is missing in its next round.
    Exits walk_loop(const Statement &loop, const Parted &parted) {
        Parted inside = within(loop, parted);
        Exits exits = walk(loop.body, inside);
        if (!inside && (exits.by_break || exits.by_return)) {
            inside = either(exits.by_break, exits.by_return);
            exits = walk(loop.body, inside);
        }
        if (loop.act == Act::for_)
            mark(loop.id, inside.has_value());
        return {exits.by_return, {}, {}};
    }

    Parted within(const Statement &statement, const Parted &parted) const {
        if (parted)
            return parted;
        for (const Expression &expression : statement.expressions)
            if (differs(expression))
                return expression.at;
        return {};
    }

    void mark(ir::VariableId id, bool differs) {
        if (differs && !differs_[id])
            changed_ = differs_[id] = true;
    }

    bool differs(const Expression &expression) const {
        if (std::ranges::any_of(expression.operands, [&](const Expression &operand) { return differs(operand); }))
            return !is_for_all(expression);
        switch (expression.op) {
        case Op::variable:
            return differs_[expression.id];
        case Op::index:
            return !is_same_in_group(expression.text);
        case Op::load:
            return kernel_.roots[expression.id].written;
        case Op::atomic:
            return true;
        case Op::call:
            return !expression.roots.empty() || tells_items_apart(module_.functions[expression.id]);
        case Op::group:
            return !is_for_all(expression);
        default:
            return false;
        }
    }

    // One value for the whole group, whatever goes in.
    static bool is_for_all(const Expression &expression) {
        return expression.op == Op::group && expression.scope == ir::Scope::work_group && !expression.text.ends_with("_scan");
    }

    bool tells_items_apart(const ir::Function &function) const {
        bool found = false;
        ir::for_each_expression(function.body, [&](const Expression &expression) {
            found = found || (expression.op == Op::index && !is_same_in_group(expression.text)) || expression.op == Op::atomic ||
                    (expression.op == Op::call && tells_items_apart(module_.functions[expression.id]));
        });
        return found;
    }

    void check(const Statement &statement, const Parted &parted) const {
        if (!reports_ || !parted)
            return;
        const bool is_barrier = statement.act == Act::barrier;
        const bool is_group = !statement.expressions.empty() && statement.expressions[0].op == Op::group;
        if (is_barrier || is_group)
            throw CompileError(
                *kernel_.source, is_group ? statement.expressions[0].at : statement.at,
                std::string("this ") + (is_barrier ? "barrier" : "group function") +
                    " may not be reached by all work-items of a group, which then would wait forever; move it out of "
                    "the condition, or make the condition the same for the group",
                *parted, "this may differ between work-items");
    }

    const ir::Module &module_;
    const ir::Function &kernel_;
    std::vector<bool> differs_;
    bool changed_ = false, reports_ = false;
};

}  // namespace

void check_uniform(const ir::Module &module) {
    if (module.has_barriers)
        UniformCheck(module).run();
}

}  // namespace entrepot::kernel
