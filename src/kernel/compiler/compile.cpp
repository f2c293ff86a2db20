// The compiler: its three parts in a row.
#include "kernel/compiler/check.hpp"

namespace entrepot::kernel {

Compiled compile(const std::shared_ptr<const syntax::Function> &kernel, const std::vector<ArgumentType> &arguments,
                 const Target &target) {
    ir::Module module = lower(kernel, arguments, target);
    std::vector<Reach> reach = target.debug ? std::vector<Reach>{} : reach_of(module);
    optimise(module, target);
    Compiled compiled = emit(module, arguments, target);
    compiled.reach = std::move(reach);
    return compiled;
}

}  // namespace entrepot::kernel
