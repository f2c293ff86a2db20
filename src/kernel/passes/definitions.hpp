// Values of a kernel's variables in terms of its arguments, sizes and ids.
#pragma once
#include "kernel/ir/ir.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace entrepot::kernel {

// True if nothing but the value depends on whether the expression is evaluated. Calls count as
// effects.
bool has_no_effect(const ir::Expression &expression);

bool is_global_id(const ir::Expression &expression, std::uint32_t dimension);
bool reads_global_id(const ir::Expression &expression, std::uint32_t dimension);
// True if the expression reads an id that differs within a group, apart from those of slower
// dimensions.
bool reads_item_id(const ir::Expression &expression, std::uint32_t dimension);

// Definitions of a kernel: variables that have one value each. A parameter that is assigned has
// two.
class Definitions {
public:
    explicit Definitions(const ir::Function &kernel);

    bool contains(ir::VariableId id) const { return definitions_.contains(id); }
    // The expression without variables other than parameters.
    // Returns: nullopt if it reads memory or a variable with several values, or is very long.
    std::optional<ir::Expression> resolved(ir::Expression expression) const;

private:
    bool expand(ir::Expression &expression, int &left) const;

    const ir::Function &kernel_;
    std::vector<int> assignments_;
    std::map<ir::VariableId, const ir::Expression *> definitions_;
};

}  // namespace entrepot::kernel
