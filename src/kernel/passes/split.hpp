// Split: cuts a kernel at its barriers, so that one thread can run a work-group (the method of
// PoCL). Code between two barriers becomes a loop over the work-items. A statement that contains a
// barrier stays outside such loops. The front end guarantees that all work-items of a group reach a
// barrier along the same path.
//
// Storage of a variable:
//  - of one region: local to the loop over the work-items;
//  - shared: the same for all work-items, stored once for the group;
//  - recomputed: derived from ids and invariant values, and computed again in each region that
//    reads it, because compilers vectorise values whose origin they see;
//  - kept: stored in memory for each work-item.
#pragma once
#include <entrepot/kernel/ir/ir.hpp>

#include "kernel/ir/walk.hpp"

#include <map>
#include <set>
#include <vector>

namespace entrepot::kernel {

class Split {
public:
    using Variables = std::set<ir::VariableId>;

    // Statements between two barriers.
    struct Region {
        ir::Row row;
        bool in_loop = false;  // of the group, so it runs more than once
        Variables touched, written;
        Variables exposed;  // read, and perhaps not written in this region before
        Variables partly;   // written on some paths only
        std::set<ir::RootId> private_arrays;
    };
    // Either one statement of the group or a region.
    struct Piece {
        const ir::Statement *statement = nullptr;
        std::size_t region = 0;
    };

    explicit Split(const ir::Function &kernel);

    // Pieces of the kernel's body, or of the body of a statement that contains a barrier.
    const std::vector<Piece> &pieces(const std::vector<ir::Statement> &list) const {
        return pieces_.at(&list);
    }
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
    // True if a region follows a return of single work-items, which must then skip it.
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
    bool moves_before(const ir::Statement &assignment, const ir::Row &row) const;
    void expose(Region &region) const;
    void read_by_group(const ir::Statement &statement);
    void settle();
    void find_kept_arrays();
    void find_early_returns();

    const ir::Function &kernel_;
    std::set<const ir::Statement *> of_group_;
    std::vector<bool> divergent_;
    std::vector<int> assignments_;
    std::vector<bool> outside_loops_;  // by variable: its one assignment is in no loop
    // of variables that are assigned once
    std::map<ir::VariableId, const ir::Expression *> definitions_;
    Variables splittable_;  // all assignments stand where the group could make them
    Variables group_reads_, group_results_;
    std::map<const std::vector<ir::Statement> *, std::vector<Piece>> pieces_;
    std::vector<Region> regions_;
    Variables shared_, kept_, recomputed_;
    std::set<ir::RootId> kept_arrays_;
    bool returns_early_ = false;
};

}  // namespace entrepot::kernel
