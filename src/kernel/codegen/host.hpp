// Emitter of host C++, in the form that the host's backend calls.
#pragma once
#include "kernel/codegen/emitter.hpp"
#include "kernel/passes/barrier_split.hpp"
#include "kernel/passes/grid_stride.hpp"
#include "kernel/passes/interleave.hpp"
#include "kernel/passes/item_bounds.hpp"

#include <initializer_list>
#include <optional>
#include <utility>

namespace entrepot::kernel {

// Work-items of a sub-group if the target does not specify it.
inline constexpr std::uint32_t default_sub_group_size = 32;
inline constexpr const char *int64_name = "long long";

using Index = std::pair<std::string, std::uint32_t>;  // text and dimension of ir::Op::index

class HostEmitter : public Emitter {
public:
    HostEmitter(const ir::Module &module, const Target &target)
        : Emitter(module, target), guarded_(guarded_items(module, target.dimensions - 1)),
          grid_stride_(item_stride(module, target)), interleaved_(interleaving()) {}

protected:
    void write_kernel(const ir::Function &kernel) override;
    std::string prologue() override;
    void declare_math_function(const std::string &name) override;
    std::string options() const override;
    Spelled index(const ir::Expression &expression) override;
    std::string atomic(const ir::Expression &expression) override;
    std::string claims_report() const override;
    void write_group_function(const ir::Statement &statement) override;
    void write_barrier(const ir::Statement &) override {}
    void write_fence(const ir::Statement &statement) override;
    void write_return(const ir::Statement &statement) override;
    void begin_iteration(const ir::Statement &loop) override;
    std::string element(ir::RootId root, const ir::Expression &offset) override;
    std::string variable(ir::VariableId id) override;
    std::string root_argument(ir::RootId root) override;
    void add_hidden_parameters(std::vector<std::string> &parameters) override;
    void add_hidden_arguments(std::vector<std::string> &arguments,
                              const ir::Function &callee) override;

private:
    // Memory of a group for a variable or private array that lives across a barrier: the values of
    // all its work-items.
    struct ContextArray {
        std::string name;
        std::string type;
        std::uint64_t size, count;  // bytes of an element, elements of a work-item
    };

    std::uint32_t sub_group() const {
        return target_.sub_group_size != 0 ? target_.sub_group_size : default_sub_group_size;
    }
    std::uint32_t dimensions() const { return target_.dimensions; }

    std::vector<std::string> parameters_of(const ir::Function &kernel,
                                           std::vector<std::string> &arguments);
    void write_wrapper(const ir::Function &kernel, const std::vector<std::string> &arguments,
                       const std::string &called);

    // The next line is a loop over work-items or belongs to one, so no line of the source has it.
    void map_to_items() { out_.set_source_line("work-items", 1); }
    // Loops for kernels that do not tell groups apart
    void write_items(const ir::Function &kernel);
    void write_innermost_items(const ir::Function &kernel, const std::string &flag,
                               const std::string &first, const std::string &last);
    void write_bound(const ItemCondition &bound, const std::string &begin, const std::string &end);
    const std::vector<ir::Statement> &item_body(const ir::Function &kernel) const {
        return guarded_ ? guarded_->body : kernel.body;
    }
    void write_grid_stride(const std::string &inner, const std::string &begin,
                           const std::string &end, const Declarations::Variables &local);
    void write_iterations(const std::string &begin, const std::string &end,
                          const Declarations::Variables &local);
    void write_iteration_body(const std::string &counter, Declarations::Variables local);
    bool runs_neighboring_iterations() const;
    std::optional<GridStride> item_stride(const ir::Module &module, const Target &target) const;
    // Several work-items of such a loop, interleaved: host_interleave.cpp
    struct Lanes;
    std::optional<InterleavePlan> interleaving() const;
    std::string write_interleaved(const InterleavePlan &plan, const std::string &flag,
                                  const std::string &inner, const std::string &first,
                                  const std::string &last);
    void write_vectors(const Lanes &given);
    void write_scalars(Lanes &given, const std::string &flag);
    void open_lanes(const Lanes &given, bool asks_id, const char *by,
                    std::initializer_list<const Declarations::Variables *> used);
    void write_part(const Lanes &given, const ir::Row &row, const Declarations::Variables &used);
    bool asks_for(const std::string &inner, const ir::Row &row) const;
    void write_starts(const Lanes &given);
    void write_trip_count_range(const Lanes &given);
    void write_iteration(const Lanes &given);
    void write_common_iterations(const Lanes &given);
    void write_remainder(const Lanes &given);
    // Groups
    void write_groups(const ir::Function &kernel);
    void write_pieces(const std::vector<ir::Statement> &list);
    void write_grid_barrier();
    void suppress_vectorization();
    void write_region(const BarrierSplit::Region &region);
    void write_group_statement(const ir::Statement &statement);
    void open_items(const std::set<Index> &used, bool needs_item);
    void close_items();
    void write_rematerialised(const BarrierSplit::Region &region);
    void collect_rematerialised(ir::VariableId id, std::vector<ir::VariableId> &order) const;
    void plan_context(const ir::Function &kernel);

    void write_item_body(const ir::Row &row, const Declarations::Variables &local,
                         std::set<ir::RootId> private_arrays);
    std::string product(const char *name, std::uint32_t from) const;
    std::set<Index> indices_of(const ir::Row &row) const;
    void collect_indices(const ir::Expression &expression, std::set<Index> &found) const;
    const std::set<Index> &indices_of(const ir::Function &function) const;
    std::string name_of_index(const Index &index) const {
        return index.first +
               (index.first.starts_with("sub_group") || index.first == "num_sub_groups"
                    ? ""
                    : std::to_string(index.second));
    }

    // Only in kernels that do not tell groups apart:
    const std::optional<GuardedItems> guarded_;
    const std::optional<GridStride> grid_stride_;
    const std::optional<InterleavePlan> interleaved_;
    std::optional<BarrierSplit> split_;  // of kernels that tell groups apart
    std::size_t lanes_ = 1;              // work-items of the loop that is being written
    // Code for the whole group; ids are those of its first work-item.
    bool by_group_ = false;
    std::string return_, group_return_;  // statement for a return of a work-item, and of the group
    std::map<ir::VariableId, ContextArray> context_variables_;
    std::map<ir::RootId, ContextArray> context_arrays_;
    std::uint64_t private_bytes_ = 0;
    mutable std::map<const ir::Function *, std::set<Index>> indices_;
};

}  // namespace entrepot::kernel
