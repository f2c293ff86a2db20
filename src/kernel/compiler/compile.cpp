// The compiler: its three parts in a row.
#include <entrepot/kernel/compiler/compiler.hpp>

namespace entrepot::kernel {

Compiled compile(const std::shared_ptr<const syntax::Function> &kernel, const std::vector<ArgumentType> &arguments,
                 const Target &target) {
    ir::Module module = lower(kernel, arguments, target);
    optimise(module, target);
    return emit(module, arguments, target);
}

}  // namespace entrepot::kernel
