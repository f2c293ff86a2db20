// Checks a kernel against the capabilities of a device.
#include "kernel/ir/walk.hpp"
#include "kernel/passes/check.hpp"

#include "kernel/ir/numbers.hpp"

#include <optional>

namespace entrepot::kernel {

namespace {

bool depends_on_group(const ir::Expression &expression) {
    if (expression.op == ir::Op::group)
        return true;
    return expression.op == ir::Op::index && expression.text != "global_id" &&
           expression.text != "global_size" && expression.text != "work_dim";
}

void note_access(const ir::Module &module, ir::Function &function,
                 const ir::Expression &expression) {
    if (expression.op == ir::Op::load || expression.op == ir::Op::atomic)
        function.roots[expression.id].read = true;
    if (expression.op == ir::Op::atomic && expression.text != "load")
        function.roots[expression.id].written = true;
    if (expression.op != ir::Op::call)
        return;
    std::size_t place = 0;
    const std::vector<ir::Root> &roots = module.functions[expression.id].roots;
    for (const ir::RootId id : ir::parameters_in_order(roots)) {
        ir::Root &root = function.roots[expression.roots.at(place++)];
        root.read = root.read || roots[id].read;
        root.written = root.written || roots[id].written;
    }
}

class TargetCheck {
public:
    TargetCheck(const ir::Function &function, const Target &target)
        : function_(function), target_(target) {}

    void run() const {
        for (const ir::Root &root : function_.roots)
            check_root(root);
        for (const ir::Variable &variable : function_.variables)
            if (variable.parameter && lacking(variable.type.dtype))
                refuse(variable.at,
                       "argument `" + variable.name + "` is " + without(variable.type.dtype));
        ir::for_each_expression(function_.body,
                                [&](const ir::Expression &expression) { check(expression); });
        ir::for_each_statement(function_.body, [&](const ir::Statement &statement) {
            if (statement.act == ir::Act::barrier && statement.scope == ir::Scope::sub_group &&
                !target_.sub_groups)
                refuse_sub_groups(statement.at);
        });
    }

private:
    [[noreturn]] void refuse(Position at, const std::string &message) const {
        throw CompileError(*function_.source, at, message);
    }

    bool lacking(Dtype dtype) const {
        return (!target_.fp64 && (dtype == dtypes::float64 || dtype == dtypes::complex128)) ||
               (!target_.fp16 && dtype == dtypes::float16) ||
               (!target_.bf16 && dtype == dtypes::bfloat16);
    }

    static std::string without(Dtype dtype) {
        const std::string other = is_complex(dtype) ? "complex64" : "float32";
        return name_of(dtype) + ", which the device does not have; use " + other + ", as in " +
               other + "(...)";
    }

    [[noreturn]] void refuse_sub_groups(Position at) const {
        refuse(at, "the device has no sub-groups; use the functions of the work-group");
    }

    void check_root(const ir::Root &root) const {
        if (lacking(root.type.dtype))
            refuse(root.at, (root.parameter ? "argument `" : "array `") + root.shown +
                                "` has elements of " + without(root.type.dtype));
    }

    void check(const ir::Expression &expression) const {
        if (expression.type.kind == Type::Kind::scalar && lacking(expression.type.dtype))
            refuse(expression.at, "this is " + without(expression.type.dtype));
        if (expression.op == ir::Op::atomic && expression.type.dtype.bits == 64 &&
            !target_.atomic64)
            refuse(expression.at, "the device has no atomics of 64 bits, but the elements are " +
                                      name_of(expression.type.dtype) + "; use a type of 32 bits");
        const bool of_sub_group =
            (expression.op == ir::Op::group && expression.scope == ir::Scope::sub_group) ||
            (expression.op == ir::Op::index &&
             expression.text.find("sub_group") != std::string::npos);
        if (of_sub_group && !target_.sub_groups)
            refuse_sub_groups(expression.at);
    }

    const ir::Function &function_;
    const Target &target_;
};

}  // namespace

void summarize(ir::Module &module) {
    for (ir::Function &function : module.functions) {
        for (const ir::Root &root : function.roots)
            module.uses_groups = module.uses_groups || root.type.space == Space::local;
        ir::for_each_expression(function.body, [&](const ir::Expression &expression) {
            note_access(module, function, expression);
            module.uses_groups = module.uses_groups || depends_on_group(expression);
            module.has_barriers = module.has_barriers || expression.op == ir::Op::group;
        });
        ir::for_each_statement(function.body, [&](const ir::Statement &statement) {
            if (statement.act == ir::Act::store)
                function.roots[statement.id].written = true;
            module.has_barriers = module.has_barriers || statement.act == ir::Act::barrier;
            module.uses_groups = module.uses_groups || statement.act == ir::Act::barrier;
            module.has_grid_barriers = module.has_grid_barriers || ir::is_grid_barrier(statement);
            module.prints = module.prints || statement.act == ir::Act::print;
        });
    }
}

void check_target(const ir::Module &module, const Target &target) {
    for (const ir::Function &function : module.functions)
        TargetCheck(function, target).run();
}

namespace {

// Limit of a work-item's private arrays in bytes; 0: the driver checks them.
std::uint64_t max_private_bytes(Dialect dialect) {
    switch (dialect) {
    case Dialect::cpp:
        // Private arrays are on the stack of the thread, which may be small.
        return std::uint64_t{256} << 10;
    case Dialect::cuda:
        // The CUDA programming guide states this limit for every compute capability.
        return std::uint64_t{512} << 10;
    default:
        return 0;
    }
}

}  // namespace

void check_private_memory(const ir::Module &module, const Target &target) {
    const std::uint64_t most = max_private_bytes(target.dialect);
    std::uint64_t bytes = 0;
    for (const ir::Function &function : module.functions)
        for (const ir::Root &root : function.roots) {
            if (root.type.space != Space::private_ || root.parameter || root.values)
                continue;
            bytes += bytes_of(root.type);
            if (most != 0 && bytes > most)
                throw CompileError(
                    {&function, root.inlined.get(), root.at},
                    sentence_of("private arrays take ", bytes, " bytes up to here, and ",
                                target.dialect == Dialect::cpp ? "the host" : "a CUDA device",
                                " has ", most, " for a work-item; use an array in global memory"));
        }
}

void check_local_memory(const ir::Module &module, const Target &target) {
    const ir::Function &kernel = module.kernel();
    std::uint64_t bytes = 0;
    const ir::Root *last = nullptr;
    for (const ir::Root &root : kernel.roots) {
        if (root.type.space != Space::local || root.parameter)
            continue;
        bytes += bytes_of(root.type);
        last = &root;
    }
    if (last && target.local_memory && bytes > target.local_memory)
        throw CompileError(
            {&kernel, last->inlined.get(), last->at},
            sentence_of("the kernel's local memory is ", bytes, " bytes with `", last->name,
                        "`, but a work-group of the device has ", target.local_memory,
                        "; make the arrays smaller, or keep a part in global memory"));
}

}  // namespace entrepot::kernel
