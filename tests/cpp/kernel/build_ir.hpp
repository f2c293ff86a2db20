// Builds typed forms by hand, for tests of the back end without the front end.
#pragma once
#include "kernel/codegen/emit.hpp"
#include "kernel/ir/error.hpp"
#include "kernel/ir/ir.hpp"

#include "kernel/codegen/dialects.hpp"
#include "kernel/passes/optimize.hpp"

#include <string>
#include <utility>
#include <vector>

namespace entrepot::kernel::ir {

using namespace dtypes;

inline Type scalar(Dtype dtype) {
    Type type;
    type.kind = Type::Kind::scalar;
    type.dtype = dtype;
    return type;
}

inline Expression operation(Op op, Dtype dtype, std::vector<Expression> operands) {
    Expression expression;
    expression.op = op;
    expression.type = scalar(dtype);
    expression.operands = std::move(operands);
    return expression;
}

inline Expression number(std::int64_t value, Dtype dtype = int64) {
    Expression expression = operation(Op::constant, dtype, {});
    if (dtype.code == TypeCode::integer || dtype.code == TypeCode::unsigned_integer)
        expression.value = value;
    else
        expression.value = static_cast<double>(value);
    return expression;
}

inline Expression id(std::string which, std::uint32_t dimension = 0) {
    Expression expression = operation(Op::index, int64, {});
    expression.text = std::move(which);
    expression.number = dimension;
    return expression;
}

// A kernel under construction. Each function adds or returns a variable, a root or a statement.
class Building {
public:
    explicit Building(std::string name) {
        module.functions.emplace_back();
        kernel().name = std::move(name);
    }

    Function &kernel() { return module.functions.back(); }

    RootId array(std::string name, Dtype dtype, bool read, bool written, bool restricted = true) {
        Root root;
        root.name = std::move(name);
        root.type.kind = Type::Kind::array;
        root.type.dtype = dtype;
        root.type.ndim = 1;
        root.type.contiguous = true;
        root.parameter = kernel().parameter_count++;
        root.read = read;
        root.written = written;
        root.restrict_ = restricted;
        kernel().roots.push_back(root);
        return static_cast<RootId>(kernel().roots.size() - 1);
    }
    RootId own_array(std::string name, Dtype dtype, Space space, std::int64_t size) {
        Root root;
        root.name = std::move(name);
        root.type.kind = Type::Kind::array;
        root.type.dtype = dtype;
        root.type.space = space;
        root.type.ndim = 1;
        root.type.shape = {size};
        root.read = root.written = true;
        kernel().roots.push_back(root);
        return static_cast<RootId>(kernel().roots.size() - 1);
    }
    VariableId variable(std::string name, Dtype dtype) {
        kernel().variables.push_back({std::move(name), scalar(dtype), {}, {}});
        return static_cast<VariableId>(kernel().variables.size() - 1);
    }
    VariableId parameter(std::string name, Dtype dtype) {
        const VariableId added = variable(std::move(name), dtype);
        kernel().variables[added].parameter = kernel().parameter_count++;
        return added;
    }

    Expression read(VariableId variable) {
        Expression expression =
            operation(Op::variable, kernel().variables[variable].type.dtype, {});
        expression.id = variable;
        return expression;
    }
    Expression load(RootId root, Expression offset) {
        Expression expression =
            operation(Op::load, kernel().roots[root].type.dtype, {std::move(offset)});
        expression.id = root;
        return expression;
    }
    Expression extent(RootId root) {
        Expression expression = operation(Op::extent, int64, {});
        expression.id = root;
        return expression;
    }
    Expression group(std::string text, std::string which, Dtype dtype,
                     std::vector<Expression> operands, Scope scope = Scope::work_group) {
        Expression expression = operation(Op::group, dtype, std::move(operands));
        expression.text = std::move(text);
        expression.operation = std::move(which);
        expression.scope = scope;
        module.uses_groups = module.has_barriers = true;
        return expression;
    }

    static Statement assign(VariableId variable, Expression value) {
        Statement statement;
        statement.act = Act::assign;
        statement.id = variable;
        statement.expressions = {std::move(value)};
        return statement;
    }
    static Statement store(RootId root, Expression offset, Expression value) {
        Statement statement;
        statement.act = Act::store;
        statement.id = root;
        statement.expressions = {std::move(offset), std::move(value)};
        return statement;
    }
    static Statement block(Act act, std::vector<Expression> expressions,
                           std::vector<Statement> body, std::vector<Statement> otherwise = {}) {
        Statement statement;
        statement.act = act;
        statement.expressions = std::move(expressions);
        statement.body = std::move(body);
        statement.otherwise = std::move(otherwise);
        return statement;
    }
    static Statement loop(VariableId counter, Expression start, Expression stop, Expression step,
                          std::vector<Statement> body) {
        Statement statement =
            block(Act::for_, {std::move(start), std::move(stop), std::move(step)}, std::move(body));
        statement.id = counter;
        return statement;
    }
    Statement barrier() {
        module.uses_groups = module.has_barriers = true;
        return block(Act::barrier, {}, {});
    }
    static Statement leave() { return block(Act::return_, {}, {}); }

    Building &add(Statement statement) {
        kernel().body.push_back(std::move(statement));
        return *this;
    }

    Compiled emitted(Target target) {
        optimize(module, dialect_row(target.dialect).integers);
        return emit(module, std::vector<ArgumentType>(kernel().parameter_count), target);
    }

    Module module;
};

inline Target target_of(Dialect dialect, std::uint32_t dimensions = 1) {
    Target target;
    target.dialect = dialect;
    target.dimensions = dimensions;
    return target;
}

inline bool has(const Compiled &compiled, const std::string &text) {
    return compiled.source.find(text) != std::string::npos;
}

}  // namespace entrepot::kernel::ir
