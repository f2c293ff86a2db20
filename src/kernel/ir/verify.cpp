// verify(): checks the invariants of the typed form. A violation is a bug of the compiler, not of
// the kernel.
#include "kernel/ir/ir.hpp"

#include <entrepot/core/text.hpp>

#include <algorithm>
#include <stdexcept>

namespace entrepot::kernel::ir {

namespace {

class Verifier {
public:
    Verifier(const Module &module, const Function &function)
        : module_(module), function_(function), is_kernel_(&function == &module.kernel()) {}

    void run() {
        for (const Variable &variable : function_.variables)
            if (variable.type.kind != Type::Kind::scalar)
                fail({}, "variable `" + variable.name + "` is no scalar");
        for (const Root &root : function_.roots)
            if (root.type.kind != Type::Kind::array)
                fail(root.at, "root `" + root.name + "` is no array");
        check(function_.body, false);
    }

private:
    [[noreturn]] void fail(Position at, const std::string &what) const {
        throw std::logic_error(sentence_of("the typed form of `", function_.name,
                                           "` is broken at line ", at.line, ": ", what));
    }

    void expect(bool holds, Position at, const char *what) const {
        if (!holds)
            fail(at, what);
    }

    // ---------------------------------------------------------------- statements

    void check(const std::vector<Statement> &statements, bool in_loop) const {
        for (const Statement &statement : statements)
            check(statement, in_loop);
    }

    void check(const Statement &statement, bool in_loop) const {
        const auto &expressions = statement.expressions;
        const Position at = statement.at;
        const bool takes_effect = statement.act == Act::assign || statement.act == Act::unpack ||
                                  statement.act == Act::evaluate;
        for (const Expression &expression : expressions)
            check(expression, takes_effect);
        switch (statement.act) {
        case Act::assign:
            expect(expressions.size() == 1, at, "an assignment has one value");
            expect(variable(statement.id, at).type == expressions[0].type, at,
                   "a variable is assigned another type than its own");
            break;
        case Act::unpack:
            expect(expressions.size() == 1 && expressions[0].op == Op::call, at,
                   "only calls are unpacked");
            expect(expressions[0].type.items.size() == statement.ids.size(), at,
                   "a tuple has another number of items");
            for (std::size_t i = 0; i < statement.ids.size(); ++i)
                expect(variable(statement.ids[i], at).type == expressions[0].type.items[i], at,
                       "an item has another type");
            break;
        case Act::store:
            expect(expressions.size() == 2, at, "a store has an offset and a value");
            check_offset(expressions[0]);
            expect(root(statement.id, at).type.dtype == expressions[1].type.dtype, at,
                   "a store converts nothing");
            break;
        case Act::if_:
        case Act::while_:
            expect(expressions.size() == 1 && expressions[0].type.dtype == dtypes::boolean, at,
                   "a condition is one bool");
            break;
        case Act::for_:
            expect(expressions.size() == 3, at, "a loop has start, stop and step");
            for (const Expression &expression : expressions)
                expect(expression.type == variable(statement.id, at).type, at,
                       "a loop's bounds have its variable's type");
            break;
        case Act::break_:
        case Act::continue_:
            expect(in_loop, at, "a jump stands outside of a loop");
            break;
        case Act::return_:
            check_return(statement);
            break;
        case Act::barrier:
            expect(is_kernel_, at, "a barrier stands in a device function");
            break;
        case Act::evaluate:
        case Act::fence:
        case Act::print:
            break;
        }
        const bool is_loop = statement.act == Act::while_ || statement.act == Act::for_;
        check(statement.body, in_loop || is_loop);
        check(statement.otherwise, in_loop || is_loop);
    }

    void check_return(const Statement &statement) const {
        const Type &returns = function_.returns;
        const std::vector<Type> types = returns.kind == Type::Kind::nothing ? std::vector<Type>{}
                                        : returns.kind == Type::Kind::tuple ? returns.items
                                                                            : std::vector{returns};
        expect(std::ranges::equal(statement.expressions, types, {}, &Expression::type),
               statement.at, "a function returns another type than its own");
    }

    const Variable &variable(VariableId id, Position at) const {
        expect(id < function_.variables.size(), at, "there is no such variable");
        return function_.variables[id];
    }

    const Root &root(RootId id, Position at) const {
        expect(id < function_.roots.size(), at, "there is no such root");
        return function_.roots[id];
    }

    // ---------------------------------------------------------------- expressions

    void check_offset(const Expression &offset) const {
        expect(offset.type.kind == Type::Kind::scalar && offset.type.dtype == dtypes::int64,
               offset.at, "an offset is an int64");
    }

    void check(const Expression &expression, bool may_take_effect) const {
        for (const Expression &operand : expression.operands)
            check(operand, false);
        const auto &operands = expression.operands;
        const Position at = expression.at;
        switch (expression.op) {
        case Op::constant:
            expect(operands.empty() && expression.value.index() != 0, at,
                   "a constant has no value");
            break;
        case Op::variable:
            expect(variable(expression.id, at).type == expression.type, at,
                   "a variable is read as another type than its own");
            break;
        case Op::extent:
        case Op::stride:
            expect(is_kernel_ && root(expression.id, at).parameter.has_value(), at,
                   "extents are asked of a kernel's parameters");
            expect(expression.number < root(expression.id, at).type.ndim, at,
                   "there is no such dimension");
            break;
        case Op::load:
            expect(operands.size() == 1, at, "a load has an offset");
            check_offset(operands[0]);
            expect(root(expression.id, at).type.dtype == expression.type.dtype, at,
                   "a load converts nothing");
            break;
        case Op::select:
            expect(operands.size() == 3 && operands[0].type.dtype == dtypes::boolean, at,
                   "a select has a bool and two values");
            expect(operands[1].type == expression.type && operands[2].type == expression.type, at,
                   "a select converts nothing");
            break;
        case Op::convert:
        case Op::bit_cast:
            expect(operands.size() == 1, at, "a conversion is of one number");
            break;
        case Op::atomic:
            expect(may_take_effect, at, "an atomic stands inside of an expression");
            check_offset(operands.at(0));
            break;
        case Op::group:
            expect(may_take_effect && is_kernel_, at,
                   "a group function stands inside of an expression");
            break;
        case Op::call:
            check_call(expression);
            break;
        case Op::negate:
        case Op::bit_not:
        case Op::logic_not:
            expect(operands.size() == 1 && operands[0].type == expression.type, at,
                   "an operand has another type");
            break;
        case Op::assertion:
            expect(may_take_effect, at, "an assertion stands inside of an expression");
            expect(operands.size() == 1 && operands[0].type.dtype == dtypes::boolean, at,
                   "an assertion has one bool");
            break;
        case Op::index:
        case Op::math:
        case Op::bound_check:
            break;
        default:
            check_binary(expression);
        }
    }

    void check_binary(const Expression &expression) const {
        const auto &operands = expression.operands;
        expect(operands.size() == 2 && operands[0].type == operands[1].type, expression.at,
               "operands have two types");
        const bool compares = expression.op >= Op::less && expression.op <= Op::not_equal;
        const bool is_right = compares ? expression.type.dtype == dtypes::boolean
                                       : expression.type == operands[0].type;
        expect(is_right, expression.at, "a result has another type than its operands");
    }

    void check_call(const Expression &call) const {
        expect(call.id + 1 < module_.functions.size(), call.at, "there is no such function");
        const Function &callee = module_.functions[call.id];
        expect(callee.returns == call.type, call.at, "a call has another type than its function");
        const auto is_parameter = [](const auto &each) { return each.parameter.has_value(); };
        const auto scalars = std::ranges::count_if(callee.variables, is_parameter);
        const auto arrays = std::ranges::count_if(callee.roots, is_parameter);
        expect(static_cast<std::size_t>(scalars) == call.operands.size() &&
                   static_cast<std::size_t>(arrays) == call.roots.size(),
               call.at, "a call passes another number of arguments than its function takes");
    }

    const Module &module_;
    const Function &function_;
    const bool is_kernel_;
};

}  // namespace

void verify(const Module &module) {
    for (const Function &function : module.functions)
        Verifier(module, function).run();
}

}  // namespace entrepot::kernel::ir
