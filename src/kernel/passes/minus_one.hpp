// Finds the factors that may be -1 once a compiler has folded its constants.
#pragma once
#include "kernel/ir/ir.hpp"

#include <vector>

namespace entrepot::kernel {

// Counters of loops are not followed: compilers unroll loops after they have folded constants.
class MinusOneAnalysis {
public:
    MinusOneAnalysis(const ir::Module &module, const ir::Function &function);

    // True if a compiler may find that the number is -1.
    bool may_be_minus_one(const ir::Expression &expression) const;

private:
    // True if a compiler may determine the value.
    bool may_be_constant(const ir::Expression &expression) const;

    const ir::Function &function_;
    const bool is_kernel_;
    std::vector<bool> may_be_constant_, may_be_minus_one_;  // by variable
};

// Value of a constant; NaN for any other expression.
double constant_value(const ir::Expression &expression);

}  // namespace entrepot::kernel
