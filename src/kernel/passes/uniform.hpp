// Uniformity analysis: values that are the same for all work-items, and divergent control flow.
#pragma once
#include "kernel/ir/ir.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace entrepot::kernel {

// Set of work-items that are compared.
enum class Among : std::uint8_t { group, launch };

// Source location of a condition that differs between work-items.
struct Divergent : ir::Place {
    bool has_returned = false;  // those for which it holds have returned from the function
};

// The place at which work-items diverge; nullopt in uniform control flow.
using Divergence = std::optional<Divergent>;

class Uniformity {
public:
    using Variables = std::vector<bool>;

    // `is_divergent`: parameters of a device function that may differ between the work-items that
    // call it.
    Uniformity(const ir::Module &module, const ir::Function &function, Among among,
               Variables is_divergent = {});

    // Calls `visit` for each statement, including nested ones, with the divergence before it.
    using Visit = std::function<void(const ir::Statement &, const Divergence &)>;
    void for_each_statement(const Visit &visit);

    // True if the value may differ between work-items.
    bool is_divergent(const ir::Expression &expression) const;

private:
    // Locations where only some work-items may leave a block, by kind.
    struct Exits {
        Divergence by_return, by_break, by_continue;
        Divergence any() const;
        void add(const Exits &other);
    };

    Exits walk(const std::vector<ir::Statement> &statements, const Divergence &divergence);
    Exits walk(const ir::Statement &statement, const Divergence &divergence);
    Exits walk_loop(const ir::Statement &loop, const Divergence &divergence);
    Divergence within(const ir::Statement &statement, const Divergence &divergence) const;
    void mark(ir::VariableId id, bool is_divergent);
    bool is_uniform_index(const std::string &index) const;
    bool is_uniform_result(const ir::Expression &expression) const;
    bool depends_on_work_item(const ir::Function &function) const;

    const ir::Module &module_;
    const ir::Function &function_;
    const Among among_;
    Variables divergent_;
    bool changed_ = false;
    const Visit *visit_ = nullptr;
};

// True if work-items of a group may store to private arrays at different indices, or only some may
// store.
bool has_divergent_private_store(const ir::Module &module);

}  // namespace entrepot::kernel
