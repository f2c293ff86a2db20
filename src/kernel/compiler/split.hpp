// Split: a kernel taken apart at its barriers, so that one thread can run a work-group: what stands between two barriers becomes
// a loop over the work-items, what contains a barrier stays around such loops (the method of PoCL). Front has made sure that all
// work-items of a group take the same way to a barrier.
//
// What a variable becomes:
//  - of one region: it lives within the loop over the work-items;
//  - shared: it is the same for all work-items, and held once for the group;
//  - recomputed: it follows from ids and values that do not change, and each region that reads it calculates it again, since
//    compilers vectorise what they see the origin of;
//  - kept: one for each work-item, in memory.
#pragma once
#include "kernel/compiler/emit.hpp"

#include <map>
#include <set>
#include <vector>

namespace entrepot::kernel {

class Split {
public:
    using Variables = std::set<ir::VariableId>;

    // Statements between two barriers.
    struct Region {
        Row row;
        bool in_loop = false;  // of the group: it runs more than once
        Variables touched, written;
        Variables exposed;  // read, and perhaps not written here before
        Variables partly;   // written on some ways only
        std::set<ir::RootId> private_arrays;
    };
    // One statement of the group, or a region.
    struct Piece {
        const ir::Statement *statement = nullptr;
        std::size_t region = 0;
    };

    explicit Split(const ir::Function &kernel);

    // Of the kernel's body, or of the body of a statement that contains a barrier.
    const std::vector<Piece> &pieces(const std::vector<ir::Statement> &list) const { return pieces_.at(&list); }
    const Region &region(std::size_t index) const { return regions_[index]; }
    const std::vector<Region> &regions() const { return regions_; }

    bool is_shared(ir::VariableId id) const { return shared_.contains(id); }
    bool is_kept(ir::VariableId id) const { return kept_.contains(id); }
    bool is_recomputed(ir::VariableId id) const { return recomputed_.contains(id); }
    const ir::Expression &definition(ir::VariableId id) const { return *definitions_.at(id); }
    const Variables &kept() const { return kept_; }
    const Variables &shared() const { return shared_; }
    // Private arrays that outlive a region.
    bool is_array_kept(ir::RootId root) const { return kept_arrays_.contains(root); }
    // Whether work-items that have returned meet regions behind.
    bool returns_early() const { return returns_early_; }

private:
    void find_group_statements();
    bool mark(const ir::Statement &statement, const ir::Statement *loop);
    void find_divergence();
    bool diverge(const std::vector<ir::Statement> &list, bool divergent);
    bool is_divergent(const ir::Expression &expression) const;
    bool leaves_divergently(const std::vector<ir::Statement> &list, bool divergent) const;
    void find_definitions();
    bool can_recompute(const ir::Expression &expression, const Variables &known) const;

    void cut();
    void cut(const std::vector<ir::Statement> &list, bool in_loop);
    bool moves_before(const ir::Statement &assignment, const Row &row) const;
    void expose(Region &region) const;
    void read_by_group(const ir::Statement &statement);
    void settle();
    void find_kept_arrays();
    void find_early_returns();

    const ir::Function &kernel_;
    std::set<const ir::Statement *> of_group_;
    std::vector<bool> divergent_;
    std::vector<int> assignments_;
    std::vector<bool> outside_loops_;                               // by variable: its one assignment is in no loop
    std::map<ir::VariableId, const ir::Expression *> definitions_;  // of variables that are assigned once
    Variables splittable_;                                          // all assignments stand where the group could make them
    Variables group_reads_, group_results_;
    std::map<const std::vector<ir::Statement> *, std::vector<Piece>> pieces_;
    std::vector<Region> regions_;
    Variables shared_, kept_, recomputed_;
    std::set<ir::RootId> kept_arrays_;
    bool returns_early_ = false;
};

}  // namespace entrepot::kernel
