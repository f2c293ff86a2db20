#include "kernel/ir/module.hpp"

#include "kernel/ir/walk.hpp"

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace entrepot::kernel::ir {

namespace {

void mark_called(const Module &module, const Function &function, std::vector<bool> &called) {
    for_each_expression(function.body, [&](const Expression &expression) {
        if (expression.op == Op::call && !called[expression.id]) {
            called[expression.id] = true;
            mark_called(module, module.functions[expression.id], called);
        }
    });
}

}  // namespace

std::string unique_name(const std::string &name, std::set<std::string> &taken) {
    std::string unique = name;
    for (int number = 2; !taken.insert(unique).second; ++number)
        unique = name + "_" + std::to_string(number);
    return unique;
}

void drop_uncalled(Module &module) {
    std::vector<bool> called(module.functions.size());
    called.back() = true;
    mark_called(module, module.kernel(), called);
    std::vector<std::uint32_t> moved(called.size());
    std::vector<Function> kept;
    for (std::size_t i = 0; i < called.size(); ++i)
        if (called[i]) {
            moved[i] = static_cast<std::uint32_t>(kept.size());
            kept.push_back(std::move(module.functions[i]));
        }
    module.functions = std::move(kept);
    for (Function &function : module.functions)
        for_each_expression(function.body, [&](Expression &expression) {
            if (expression.op == Op::call)
                expression.id = moved[expression.id];
        });
}

void make_names_unique(Module &module) {
    std::set<std::string> taken{module.kernel().name};
    for (const Function &function : module.functions) {
        for (const Variable &variable : function.variables)
            taken.insert(variable.name);
        for (const Root &root : function.roots)
            taken.insert(root.name);
    }
    for (std::size_t i = 0; i + 1 < module.functions.size(); ++i) {
        std::string &name = module.functions[i].name;
        name = unique_name(name, taken);
    }
}

}  // namespace entrepot::kernel::ir
