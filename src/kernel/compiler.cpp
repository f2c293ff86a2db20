// The driver of the compiler: calls the front end, the passes and the code generation in this
// order.
#include "kernel/compiler.hpp"
#include "kernel/frontend/typed.hpp"

#include "kernel/codegen/dialects.hpp"
#include "kernel/ir/error.hpp"
#include "kernel/ir/module.hpp"
#include "kernel/ir/walk.hpp"
#include "kernel/passes/check.hpp"
#include "kernel/passes/coarsen.hpp"
#include "kernel/passes/optimize.hpp"

#include <utility>

namespace entrepot::kernel {

namespace {

// Accumulators are divided among the work-items of a group, so that their code is for one number.
void check_group_of_tiles(const ir::Module &module, const Target &target) {
    if (target.local_size[0] != 0)
        return;
    for (const ir::Root &root : module.kernel().roots)
        if (!root.type.tile.empty())
            throw CompileError({&module.kernel(), root.inlined.get(), root.at},
                               "an accumulator is divided among the work-items of a group, but "
                               "their number is not known here; launch the kernel with a local "
                               "range, as in " +
                                   named("kernel[global, local](...)"));
}

}  // namespace

ir::Module lower(const std::shared_ptr<const syntax::Function> &kernel,
                 const std::vector<ArgumentType> &arguments, const Target &target) {
    ir::Module module = typed(kernel, arguments, target);
    check_target(module, target);
    inline_barrier_functions(module);
    ir::drop_uncalled(module);
    ir::make_names_unique(module);
    summarize(module);
    module.debug = target.debug;
    check_local_memory(module, target);
    check_uniform(module);
    remove_divergent_continues(module);
    ir::verify(module);
    return module;
}

Compiled compile(const std::shared_ptr<const syntax::Function> &kernel,
                 const std::vector<ArgumentType> &arguments, const Target &target) {
    ir::Module module = lower(kernel, arguments, target);
    check_group_of_tiles(module, target);
    std::vector<Reach> reach;
    std::vector<CertainAccess> accesses;
    if (!target.debug)
        find_certain_accesses(module, reach, accesses);
    std::vector<LostUpdate> lost_updates = lost_updates_of(module, target.dimensions);
    const bool coarsenable = can_coarsen(module, target);
    if (coarsenable && target.coarsens)
        coarsen(module);
    optimize(module, dialect_row(target.dialect).integers);
    Compiled compiled = emit(module, arguments, target);
    compiled.can_coarsen = coarsenable;
    compiled.items_per_thread = module.items_per_thread;
    compiled.reach = std::move(reach);
    compiled.accesses = std::move(accesses);
    compiled.lost_updates = std::move(lost_updates);
    return compiled;
}

}  // namespace entrepot::kernel
