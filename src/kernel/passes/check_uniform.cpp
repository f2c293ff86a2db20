// Checks that all work-items of a group reach barriers and group functions together: conditions on
// the path must be uniform.
#include "kernel/ir/walk.hpp"
#include "kernel/passes/check.hpp"
#include "kernel/passes/uniform.hpp"

#include <string>
#include <string_view>

namespace entrepot::kernel {

namespace {

std::string remedy_for(const Divergent &divergent, std::string_view among) {
    if (divergent.has_returned)
        return "in place of the return before it, put the accesses under a condition";
    return sentence_of("move it out of the condition, or make the condition the same for the ",
                       among);
}

void check_grid_barriers(const ir::Module &module) {
    const ir::Function &kernel = module.kernel();
    Uniformity(module, kernel, Among::launch)
        .for_each_statement([&](const ir::Statement &statement, const Divergence &divergence) {
            if (ir::is_grid_barrier(statement) && divergence)
                throw CompileError(
                    {&kernel, statement.inlined.get(), statement.at},
                    "this barrier of all groups may not be reached by all work-items of the "
                    "launch, which then would wait forever; " +
                        remedy_for(*divergence, "launch"),
                    *divergence, "this may differ between work-items");
        });
}

}  // namespace

void check_uniform(const ir::Module &module) {
    if (module.has_grid_barriers)
        check_grid_barriers(module);
    if (!module.has_barriers && !ir::has_tiles(module))
        return;
    const ir::Function &kernel = module.kernel();
    Uniformity(module, kernel, Among::group)
        .for_each_statement([&](const ir::Statement &statement, const Divergence &divergence) {
            const bool is_barrier = statement.act == ir::Act::barrier,
                       is_group = ir::is_group_function(statement),
                       is_tile = ir::is_tile_operation(module, statement);
            if (!divergence || (!is_barrier && !is_group && !is_tile))
                return;
            throw CompileError({&kernel, statement.inlined.get(),
                                is_barrier ? statement.at : statement.expressions[0].at},
                               std::string("this ") +
                                   (is_barrier ? "barrier"
                                    : is_group ? "group function"
                                               : "tile operation") +
                                   " may not be reached by all work-items of a group, which then "
                                   "would wait forever; " +
                                   remedy_for(*divergence, "group"),
                               *divergence, "this may differ between work-items");
        });
}

}  // namespace entrepot::kernel
