// The compiler: runs its three parts.
#include "kernel/compiler/check.hpp"

namespace entrepot::kernel {

Compiled compile(const std::shared_ptr<const syntax::Function> &kernel,
                 const std::vector<ArgumentType> &arguments, const Target &target) {
    ir::Module module = lower(kernel, arguments, target);
    std::vector<Reach> reach;
    std::vector<CertainAccess> accesses;
    if (!target.debug)
        find_certain_accesses(module, reach, accesses);
    std::vector<LostUpdate> lost_updates = lost_updates_of(module, target.dimensions);
    optimise(module, target);
    Compiled compiled = emit(module, arguments, target);
    compiled.reach = std::move(reach);
    compiled.accesses = std::move(accesses);
    compiled.lost_updates = std::move(lost_updates);
    return compiled;
}

}  // namespace entrepot::kernel
