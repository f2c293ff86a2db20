// Optimiser: what compilers of C cannot see, or see only with the help of options that change more.
#include <entrepot/kernel/compiler/compiler.hpp>

#include "kernel/compiler/walk.hpp"

namespace entrepot::kernel {

namespace {

// An array that is never written may be read through caches, and one that is alone overlaps no other.
void infer_restrict(ir::Function &kernel) {
    bool writes = false;
    std::size_t arrays = 0;
    for (const ir::Root &root : kernel.roots)
        if (root.parameter && root.type.space == Space::global) {
            writes |= root.written;
            ++arrays;
        }
    for (ir::Root &root : kernel.roots)
        if (root.parameter && root.type.space == Space::global && (arrays == 1 || !writes))
            root.restrict_ = true;
}

}  // namespace

void optimise(ir::Module &module, const Target &) { infer_restrict(module.kernel()); }

}  // namespace entrepot::kernel
