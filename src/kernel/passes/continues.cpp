// `continue` of single work-items in a loop with barriers. Dialects in which a thread runs several
// work-items execute such a loop for the whole group, and none of them could continue alone. So
// the statements that a work-item skips get a condition instead.
#include "kernel/passes/check.hpp"

#include "kernel/ir/walk.hpp"
#include "kernel/passes/uniform.hpp"

#include <algorithm>
#include <set>
#include <span>
#include <utility>
#include <vector>

namespace entrepot::kernel {

namespace {

using ir::Act;
using ir::Statement;
using Block = std::vector<Statement>;

// True if a statement of the block continues the loop around it.
template <class Matches> bool continues(const Block &block, const Matches &matches) {
    return std::ranges::any_of(block, [&](const Statement &each) {
        return (each.act == Act::continue_ && matches(each)) ||
               (each.act == Act::if_ &&
                (continues(each.body, matches) || continues(each.otherwise, matches)));
    });
}

bool continues(const Block &block) {
    return continues(block, [](const Statement &) { return true; });
}

// The block without `continue`: what follows a condition with one moves into its branches. A
// condition before a barrier holds for the whole group and remains.
Block without_continue(Block block) {
    for (auto each = block.begin(); each != block.end(); ++each) {
        if (each->act == Act::continue_) {
            block.erase(each, block.end());
            return block;
        }
        const std::span<const Statement> rest(each + 1, block.end());
        const bool may_continue =
            each->act == Act::if_ && (continues(each->body) || continues(each->otherwise));
        if (!may_continue || ir::has_barrier(*each) || ir::has_barrier(rest))
            continue;
        for (Block *branch : {&each->body, &each->otherwise}) {
            branch->insert(branch->end(), rest.begin(), rest.end());
            *branch = without_continue(std::move(*branch));
        }
        block.erase(each + 1, block.end());
        return block;
    }
    return block;
}

}  // namespace

void remove_divergent_continues(ir::Module &module) {
    std::set<const Statement *> divergent;
    Uniformity uniformity(module, module.kernel(), Among::group);
    uniformity.for_each_statement([&](const Statement &each, const Divergence &divergence) {
        if (each.act == Act::continue_ && divergence)
            divergent.insert(&each);
    });
    if (divergent.empty())
        return;
    const auto is_divergent = [&](const Statement &each) { return divergent.contains(&each); };
    std::vector<Statement *> loops;
    ir::for_each_statement(module.kernel().body, [&](Statement &each) {
        if (ir::is_loop(each) && ir::has_barrier(each.body) && continues(each.body, is_divergent))
            loops.push_back(&each);
    });
    // Inner loops come after the loops around them, whose change would move them.
    for (auto loop = loops.rbegin(); loop != loops.rend(); ++loop)
        (*loop)->body = without_continue(std::move((*loop)->body));
}

}  // namespace entrepot::kernel
