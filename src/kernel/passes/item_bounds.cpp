// Index set splitting: takes the conditions of a kernel's body apart.
#include "kernel/passes/item_bounds.hpp"

#include "kernel/ir/build.hpp"
#include "kernel/ir/numbers.hpp"
#include "kernel/ir/walk.hpp"
#include "kernel/passes/definitions.hpp"

#include <iterator>
#include <utility>

namespace entrepot::kernel {

namespace {

using ir::Act;
using ir::Expression;
using ir::Op;
using ir::Statement;

Expression negation(Expression condition) {
    const bool is_of_integers =
        build::is_comparison(condition.op) && is_integer(condition.operands[0].type.dtype);
    if (is_of_integers) {
        condition.op = build::opposite(condition.op);
        return condition;
    }
    const Position at = condition.at;
    return build::of(Op::logic_not, scalar_type(dtypes::boolean), at, {std::move(condition)});
}

// True if the value may be undefined unless a term before it holds. The front end divides without a
// check if a condition proves the divisor.
bool divides(const Expression &expression) {
    bool found = false;
    ir::for_each_within(expression, [&](const Expression &each) {
        found |= each.op == Op::truncate_divide || each.op == Op::truncate_modulo;
    });
    return found;
}

class GuardSearch {
public:
    GuardSearch(const ir::Function &kernel, std::uint32_t dimension)
        : dimension_(dimension), definitions_(kernel) {}

    GuardedItems run(std::vector<Statement> list) {
        std::vector<Statement> body;
        std::size_t i = 0;
        while (i < list.size()) {
            Statement &statement = list[i];
            if (statement.act == Act::assign && has_no_effect(statement.expressions[0])) {
                body.push_back(std::move(list[i++]));
                continue;
            }
            const bool is_guard = statement.act == Act::if_ && statement.otherwise.empty() &&
                                  has_no_effect(statement.expressions[0]);
            const bool returns =
                is_guard && statement.body.size() == 1 && statement.body[0].act == Act::return_;
            if (!returns && !(is_guard && i + 1 == list.size()))
                break;
            std::optional<Expression> rest = take(statement.expressions[0], returns);
            if (returns) {
                if (rest) {
                    statement.expressions[0] = negation(*std::move(rest));
                    body.push_back(std::move(statement));
                }
                ++i;
                continue;
            }
            if (rest) {
                statement.expressions[0] = *std::move(rest);
                break;
            }
            std::vector<Statement> inner = std::move(statement.body);
            list = std::move(inner);
            i = 0;
        }
        const std::size_t before = body.size();
        body.insert(body.end(), std::move_iterator(list.begin() + static_cast<std::ptrdiff_t>(i)),
                    std::move_iterator(list.end()));
        remove_unused(body, before);
        found_.body = std::move(body);
        return std::move(found_);
    }

private:
    // Removes definitions among the first statements that only the conditions read.
    void remove_unused(std::vector<Statement> &body, std::size_t count) const {
        while (count-- > 0) {
            if (body[count].act != Act::assign || !definitions_.contains(body[count].id))
                continue;
            bool is_read = false;
            ir::for_each_expression(body, [&](const Expression &each) {
                is_read |= each.op == Op::variable && each.id == body[count].id;
            });
            if (!is_read)
                body.erase(body.begin() + static_cast<std::ptrdiff_t>(count));
        }
    }

    // Takes the terms of the condition, or of its negation, that become bounds. Returns: the
    // conjunction of the others.
    std::optional<Expression> take(const Expression &condition, bool is_negated) {
        const bool splits = condition.op == (is_negated ? Op::logic_or : Op::logic_and);
        if (splits) {
            std::optional<Expression> left = take(condition.operands[0], is_negated),
                                      right = take(condition.operands[1], is_negated);
            if (!left || !right)
                return left ? left : right;
            return build::of(Op::logic_and, condition.type, condition.at,
                             {*std::move(left), *std::move(right)});
        }
        if (condition.op == Op::variable && definitions_.contains(condition.id)) {
            const std::optional<Expression> known = definitions_.resolved(condition);
            // A bound needs its terms; what remains of it is written again.
            if (known && known->op != Op::variable)
                return take(*known, is_negated);
        }
        if (condition.op == Op::logic_not)
            return take(condition.operands[0], !is_negated);
        Expression term = is_negated ? negation(condition) : condition;
        if (becomes_bound(term))
            return std::nullopt;
        keeps_term_ = true;
        return term;
    }

    bool becomes_bound(const Expression &term) {
        const std::optional<Expression> known = definitions_.resolved(term);
        if (!known || (keeps_term_ && divides(*known)))
            return false;
        if (!reads_global_id(*known, dimension_))
            return add(ItemCondition::Kind::condition, Op::constant, *known);
        if (!build::is_comparison(known->op) || known->operands[0].type.dtype != dtypes::int64)
            return false;
        for (const bool is_mirrored : {false, true}) {
            const Expression &id = known->operands[is_mirrored],
                             &value = known->operands[!is_mirrored];
            if (!is_global_id(id, dimension_) || reads_global_id(value, dimension_))
                continue;
            const Op op = is_mirrored ? build::mirrored(known->op) : known->op;
            return add_bound(op, value);
        }
        return false;
    }

    bool add_bound(Op op, const Expression &value) {
        using Kind = ItemCondition::Kind;
        if (op == Op::equal)
            return add(Kind::bound, Op::less_equal, value) &&
                   add(Kind::bound, Op::greater_equal, value);
        if (op == Op::not_equal && build::constant_of(value) == 0)
            return add(Kind::bound, Op::greater, value);
        if (op != Op::not_equal)
            return add(Kind::bound, op, value);
        if (excludes_)
            return false;
        excludes_ = true;
        return add(Kind::exclusion, op, value);
    }

    bool add(ItemCondition::Kind kind, Op op, const Expression &value) {
        found_.conditions.push_back({kind, op, value});
        return true;
    }

    const std::uint32_t dimension_;
    const Definitions definitions_;
    GuardedItems found_;
    bool excludes_ = false;
    bool keeps_term_ = false;  // a term stays in the body, so later ones run before it
};

}  // namespace

std::optional<GuardedItems> guarded_items(const ir::Module &module, std::uint32_t dimension) {
    if (module.uses_groups || module.debug)
        return std::nullopt;
    GuardedItems found = GuardSearch(module.kernel(), dimension).run(module.kernel().body);
    if (found.conditions.empty())
        return std::nullopt;
    return found;
}

}  // namespace entrepot::kernel
