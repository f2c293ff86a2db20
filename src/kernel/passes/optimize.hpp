// Optimizer: transformations that C compilers cannot make, or that make the text more readable.
#pragma once
#include "kernel/ir/ir.hpp"

namespace entrepot::kernel {

// Integers as the compiler of a dialect treats them.
struct IntegerTraits {
    bool wraps;              // signed integers wrap, by an option; not with HIP on NVRTC
    bool narrows;            // counters of 32 bits are faster
    bool converts_unsigned;  // ids become float64 as unsigned; faster on Intel's CPU device
};

// Optimizes in place and preserves the meaning.
void optimize(ir::Module &module, const IntegerTraits &integers);

}  // namespace entrepot::kernel
