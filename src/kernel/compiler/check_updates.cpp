// Lost updates: elements that all work-items read, change and write back at once, without an atomic.
#include "kernel/compiler/build.hpp"
#include "kernel/compiler/check.hpp"
#include "kernel/compiler/typing.hpp"
#include "kernel/compiler/uniform.hpp"
#include "kernel/compiler/walk.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace entrepot::kernel {

namespace {

using ir::Act;
using ir::Expression;
using ir::Op;
using ir::Statement;

const Expression &without_conversion(const Expression &value) {
    return value.op == Op::convert ? without_conversion(value.operands[0]) : value;
}

bool is_extremum(const Expression &value) { return value.op == Op::math && (value.text == "min" || value.text == "max"); }

// The store of an element that its value is computed from.
class Update {
public:
    Update(const ir::Module &module, const ir::Function &function, const Uniformity &uniformity, const Statement &store)
        : function_(function), uniformity_(uniformity), store_(store) {
        if (module.has_barriers)  // what was read before a barrier may be written behind it
            return;
        ir::for_each_statement(function.body, [&](const Statement &statement) {
            for (const ir::VariableId id : ir::assigned_by(statement))
                if (statement.act == Act::assign)
                    assigned_[id].push_back(&statement.expressions[0]);
        });
    }

    // True if the outcome depends on how many work-items do it, or on which is the last.
    bool is_lost() const {
        std::set<ir::VariableId> open;
        return reads_element(value(), open) && (is_computed(value()) || others_differ(value()));
    }

    // The atomic function that does the same, by its name in Python; empty where there is none.
    std::string_view atomic() const {
        const Dtype dtype = function_.roots[store_.id].type.dtype;
        if (is_complex(dtype) || is_boolean(dtype) || (dtype.bits != 32 && dtype.bits != 64))
            return "";
        const Expression *found = &without_conversion(value());
        while (found->op == Op::variable && assigned_.contains(found->id))
            found = &without_conversion(*assigned_.at(found->id).back());
        if (is_extremum(*found))
            return found->text;
        switch (found->op) {
        case Op::add:
            return "add";
        case Op::subtract:
            return "sub";
        case Op::bit_and:
            return "and_";
        case Op::bit_or:
            return "or_";
        case Op::bit_xor:
            return "xor";
        default:
            return "";
        }
    }

private:
    const Expression &value() const { return store_.expressions[1]; }

    bool is_element(const Expression &expression) const {
        return expression.op == Op::load && expression.id == store_.id &&
               build::same(expression.operands[0], store_.expressions[0]);
    }

    bool reads_element(const Expression &expression, std::set<ir::VariableId> &open) const {
        bool found = false;
        ir::for_each_within(expression, [&](const Expression &each) {
            found = found || is_element(each);
            if (const auto values = assigned_.find(each.id);
                each.op == Op::variable && values != assigned_.end() && open.insert(each.id).second)
                for (const Expression *value : values->second)
                    found = found || reads_element(*value, open);
        });
        return found;
    }

    // True unless to do it twice is to do it once, as of `|`.
    bool is_computed(const Expression &expression) const {
        if (is_element(expression) || !uniformity_.differs(expression))
            return false;
        const bool is_idempotent = expression.op == Op::convert || expression.op == Op::select || expression.op == Op::bit_and ||
                                   expression.op == Op::bit_or || expression.op == Op::logic_and ||
                                   expression.op == Op::logic_or || build::is_comparison(expression.op) ||
                                   is_extremum(expression);
        return !is_idempotent ||
               std::ranges::any_of(expression.operands, [&](const Expression &each) { return is_computed(each); });
    }

    bool others_differ(const Expression &expression) const {
        if (is_element(expression))
            return false;
        if (expression.operands.empty())
            return uniformity_.differs(expression);
        return std::ranges::any_of(expression.operands, [&](const Expression &each) { return others_differ(each); });
    }

    const ir::Function &function_;
    const Uniformity &uniformity_;
    const Statement &store_;
    std::map<ir::VariableId, std::vector<const Expression *>> assigned_;
};

// The first update of an array in `space` that all work-items of a launch, or of a group, do.
class LostUpdates {
public:
    LostUpdates(const ir::Module &module, Space space)
        : module_(module), space_(space), among_(space == Space::local ? Among::group : Among::launch) {}

    std::optional<CompileError> first() const { return first(module_.kernel(), {}); }

private:
    std::optional<CompileError> first(const ir::Function &function, Uniformity::Variables parameters) const {
        std::optional<CompileError> found;
        Uniformity uniformity(module_, function, among_, std::move(parameters));
        uniformity.for_each_statement([&](const Statement &statement, const Parted &parted) {
            if (found || parted)
                return;
            if (statement.act == Act::store)
                return look(function, uniformity, statement, found);
            for (const Expression &expression : statement.expressions)
                ir::for_each_within(expression, [&](const Expression &each) {
                    if (each.op == Op::call && !found)
                        look_into_call(function, uniformity, each, found);
                });
        });
        return found;
    }

    void look(const ir::Function &function, const Uniformity &uniformity, const Statement &store,
              std::optional<CompileError> &found) const {
        const ir::Root &root = function.roots[store.id];
        if (root.type.space != space_ || uniformity.differs(store.expressions[0]))
            return;
        const Update update(module_, function, uniformity, store);
        if (update.is_lost())
            found.emplace(ir::Place{&function, store.inlined.get(), store.at}, message(root.name, update.atomic()));
    }

    void look_into_call(const ir::Function &function, const Uniformity &uniformity, const Expression &call,
                        std::optional<CompileError> &found) const {
        const ir::Function &callee = module_.functions[call.id];
        if (std::ranges::none_of(callee.roots, [&](const ir::Root &root) { return root.written && root.type.space == space_; }))
            return;
        std::map<std::uint32_t, ir::VariableId> places;
        for (ir::VariableId id = 0; id < callee.variables.size(); ++id)
            if (callee.variables[id].parameter)
                places[*callee.variables[id].parameter] = id;
        Uniformity::Variables parameters(callee.variables.size());
        std::size_t next = 0;
        for (const auto &[place, id] : places)
            parameters[id] = uniformity.differs(call.operands.at(next++));
        if (const std::optional<CompileError> inside = first(callee, std::move(parameters)); inside && function.source)
            found.emplace(*inside, *function.source, call.at);
    }

    std::string message(const std::string &name, std::string_view atomic) const {
        const bool is_local = space_ == Space::local;
        std::string text = sentence_of("every work-item of the ", is_local ? "group" : "launch", " changes this element of `",
                                       name, "` at the same time, and changes are lost; ");
        if (!atomic.empty())
            text += sentence_of("write `atomic.", atomic, "(", name, ", index, value)`, or ");
        const bool reduces = atomic == "add" || atomic == "min" || atomic == "max";
        if (reduces)
            text +=
                is_local ? "combine the values with `group.reduce`, or " : "reduce an array with `entrepot.kernel.reduce`, or ";
        return text +
               sentence_of("let one work-item do it, as in `if ", is_local ? "get_local_id" : "get_global_id", "(0) == 0:`");
    }

    const ir::Module &module_;
    const Space space_;
    const Among among_;
};

}  // namespace

void find_lost_updates(ir::Module &module) {
    if (const auto found = LostUpdates(module, Space::global).first())
        module.lost_in_launch = found->what();
    if (const auto found = LostUpdates(module, Space::local).first())
        module.lost_in_group = found->what();
}

}  // namespace entrepot::kernel
