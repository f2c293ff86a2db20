// BarrierSplit: cuts a kernel at its barriers into regions, so that one thread can run a work-group
// (the method of PoCL). A region is code between two barriers and becomes a loop over the
// work-items. A statement that contains a barrier is a group statement and stays outside such
// loops. The front end guarantees that all work-items of a group reach a barrier along the same
// path.
//
// Storage of a variable:
//  - local: used in one region, and declared in its loop over the work-items;
//  - shared: the same for all work-items, stored once for the group;
//  - rematerialised: derived from ids and invariant values, and computed again in each region that
//    reads it, because compilers vectorize values whose origin they see;
//  - context-saved: live across a barrier, stored in memory for each work-item.
#pragma once
#include "kernel/ir/ir.hpp"

#include "kernel/ir/walk.hpp"

#include <map>
#include <set>
#include <vector>

namespace entrepot::kernel {

class BarrierSplit {
public:
    using Variables = std::set<ir::VariableId>;

    // Statements between two barriers.
    struct Region {
        ir::Row row;
        bool in_loop = false;  // true: in a loop of the group, so it may run more than once
        Variables used, written;
        Variables upward_exposed;  // variables read on some path without an assignment before it
        Variables partially_assigned;  // variables assigned on some paths only
        std::set<ir::RootId> private_arrays;
    };
    // Either one statement of the group or a region.
    struct Piece {
        const ir::Statement *statement = nullptr;
        std::size_t region = 0;
    };

    explicit BarrierSplit(const ir::Function &kernel);

    // Pieces of the kernel's body, or of the body of a statement that contains a barrier.
    const std::vector<Piece> &pieces(const std::vector<ir::Statement> &list) const {
        return pieces_.at(&list);
    }
    const Region &region(std::size_t index) const { return regions_[index]; }
    const std::vector<Region> &regions() const { return regions_; }

    bool is_shared(ir::VariableId id) const { return shared_.contains(id); }
    bool is_context_saved(ir::VariableId id) const { return context_saved_.contains(id); }
    bool is_rematerialised(ir::VariableId id) const { return rematerialised_.contains(id); }
    const ir::Expression &definition(ir::VariableId id) const { return *definitions_.at(id); }
    const Variables &context_saved() const { return context_saved_; }
    const Variables &shared() const { return shared_; }
    // True for a private array that is used in more than one region or iteration of the group.
    bool is_array_context_saved(ir::RootId root) const { return context_arrays_.contains(root); }
    // True if a region follows a return of single work-items, which must then skip it.
    bool returns_early() const { return returns_early_; }

private:
    void find_group_statements();
    bool mark_group_statements(const ir::Statement &statement, const ir::Statement *loop);
    void find_divergence();
    bool propagate_divergence(const std::vector<ir::Statement> &list, bool divergent);
    bool is_divergent(const ir::Expression &expression) const;
    bool exits_divergently(const std::vector<ir::Statement> &list, bool divergent) const;
    void find_definitions();
    bool can_rematerialise(const ir::Expression &expression, const Variables &known) const;

    void form_regions();
    void form_regions(const std::vector<ir::Statement> &list, bool in_loop);
    bool can_move_before(const ir::Statement &assignment, const ir::Row &row) const;
    void find_upward_exposed_uses(Region &region) const;
    void add_group_reads(const ir::Statement &statement);
    void classify_variables();
    void find_context_arrays();
    void find_early_returns();

    const ir::Function &kernel_;
    std::set<const ir::Statement *> group_statements_;
    std::vector<bool> divergent_;
    std::vector<int> assignments_;
    std::vector<bool> outside_loops_;  // by variable: true if its one assignment is outside loops
    // Definitions of variables that are assigned once.
    std::map<ir::VariableId, const ir::Expression *> definitions_;
    Variables group_assignable_;  // uniform variables assigned in control flow of the group only
    Variables group_reads_, group_results_;
    std::map<const std::vector<ir::Statement> *, std::vector<Piece>> pieces_;
    std::vector<Region> regions_;
    Variables shared_, context_saved_, rematerialised_;
    std::set<ir::RootId> context_arrays_;
    bool returns_early_ = false;
};

}  // namespace entrepot::kernel
