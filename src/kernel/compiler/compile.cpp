// The compiler: runs its three parts.
#include "kernel/compiler/check.hpp"

namespace entrepot::kernel {

Compiled compile(const std::shared_ptr<const syntax::Function> &kernel, const std::vector<ArgumentType> &arguments,
                 const Target &target) {
    ir::Module module = lower(kernel, arguments, target);
    std::vector<Reach> reach = target.debug ? std::vector<Reach>{} : reach_of(module);
    std::vector<LostUpdate> lost_updates = lost_updates_of(module, target.dimensions);
    optimise(module, target);
    Compiled compiled = emit(module, arguments, target);
    compiled.reach = std::move(reach);
    compiled.lost_updates = std::move(lost_updates);
    return compiled;
}

}  // namespace entrepot::kernel
