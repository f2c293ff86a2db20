// Checks that all work-items of a group reach barriers and group functions together: conditions on
// the path must be uniform.
#include "kernel/ir/walk.hpp"
#include "kernel/passes/check.hpp"
#include "kernel/passes/uniform.hpp"

#include <string>

namespace entrepot::kernel {

void check_uniform(const ir::Module &module) {
    if (!module.has_barriers)
        return;
    const ir::Function &kernel = module.kernel();
    Uniformity(module, kernel, Among::group)
        .for_each_statement([&](const ir::Statement &statement, const Divergence &divergence) {
            const bool is_barrier = statement.act == ir::Act::barrier,
                       is_group = ir::is_group_function(statement);
            if (!divergence || (!is_barrier && !is_group))
                return;
            throw CompileError({&kernel, statement.inlined.get(),
                                is_group ? statement.expressions[0].at : statement.at},
                               std::string("this ") + (is_barrier ? "barrier" : "group function") +
                                   " may not be reached by all work-items of a group, which then "
                                   "would wait forever; move it out of "
                                   "the condition, or make the condition the same for the group",
                               *divergence, "this may differ between work-items");
        });
}

}  // namespace entrepot::kernel
