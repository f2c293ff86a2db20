// Emitter of OpenCL C, SYCL source, CUDA C++ and HIP C++. A kernel is a function that one work-item
// runs.
#pragma once
#include "kernel/codegen/emitter.hpp"
#include "kernel/passes/definitions.hpp"
#include "kernel/passes/minus_one.hpp"

namespace entrepot::kernel {

class DeviceEmitter : public Emitter {
public:
    using Emitter::Emitter;

protected:
    bool is(Dialect dialect) const { return dialect_.dialect == dialect; }
    bool is_cuda_like() const { return is(Dialect::cuda) || is(Dialect::hip); }

    void write_kernel(const ir::Function &kernel) override;
    std::string prologue() override;
    std::string options() const override;
    Spelled index(const ir::Expression &expression) override;
    std::string atomic(const ir::Expression &expression) override;
    std::string private_qualifier(const ir::Root &root) const override;
    std::string claims_report() const override;
    bool miscompiles_negation() const override;
    std::string negation_helper(Dtype dtype) override;
    std::string opaque_factor_helper(const ir::Expression &factor) override;
    std::string no_contraction_line() const override;
    std::string inversion_helper(Dtype dtype) override;
    void write_group_function(const ir::Statement &statement) override;
    void write_barrier(const ir::Statement &statement) override;
    void write_fence(const ir::Statement &statement) override;
    void write(const ir::Statement &statement) override;
    using Emitter::write;
    std::string root_argument(ir::RootId root) override;
    void add_hidden_parameters(std::vector<std::string> &parameters) override;
    void add_hidden_arguments(std::vector<std::string> &arguments, const ir::Function &) override;

private:
    std::string dimension(std::uint32_t number) const;
    std::vector<std::string> parameters_of(const ir::Function &kernel);
    void add_array(const ir::Function &kernel, ir::RootId root,
                   std::vector<std::string> &parameters);
    void write_local_arrays(const ir::Function &kernel);
    void write_launch_memory(const ir::Function &kernel);
    // Arrays that local.array creates.
    std::vector<ir::RootId> own_local_arrays(const ir::Function &kernel) const;
    std::uint64_t own_local_bytes(const ir::Function &kernel) const;
    std::uint64_t local_alignment() const;
    std::uint64_t aligned_bytes(const Type &array) const;
    std::string fence(ir::Scope scope, ir::Order order, std::uint8_t fences);

    bool miscompiles_private_stores() const;
    std::string add_with_opaque_zero(const char *name, Dtype dtype, const std::string &bits);
    bool miscompiles_inversion() const;
    std::optional<ir::Expression> converted_id(const ir::Expression &operand);
    int side_of_id(const ir::Expression &equality);
    std::string id_equality(const ir::Expression &equality) override;
    std::string opaque_zero();
    bool uses_sub_groups() const;
    std::string volatile_load(const ir::Root &root, const std::string &at) const;
    std::string pointer_without_const(const ir::Root &root) const;
    std::string opencl_atomic(const ir::Expression &expression, const std::string &given,
                              const std::vector<std::string> &values);
    std::string sycl_atomic(const ir::Expression &expression,
                            const std::vector<std::string> &values);
    std::string cuda_atomic(const ir::Expression &expression, const std::string &at,
                            const std::vector<std::string> &values);
    std::string compare_exchange_loop(const ir::Expression &expression, const std::string &at,
                                      const std::vector<std::string> &values);

    static bool has_few_blocks(const ir::Function &kernel);
    std::string group_call(const ir::Statement &statement);
    std::string sycl_group(const ir::Expression &call, const std::vector<std::string> &values);
    std::string cuda_group(const ir::Expression &call, const std::vector<std::string> &values);
    std::string opencl_group(const ir::Expression &call, const std::vector<std::string> &values);
    std::string lane_of(const std::string &place);
    void add_this_item();
    void add_linear_ids();
    void add_grid_barrier();
    std::string add_warp_function(const std::string &name, const std::string &operation,
                                  Dtype dtype);
    std::string add_block_function(const std::string &name, const std::string &operation,
                                   Dtype dtype);
    std::string add_nan_propagation(const std::string &called, const std::string &group,
                                    const std::string &unordered, const std::string &found,
                                    Dtype dtype);
    std::string add_scratch_function(const std::string &name, const std::string &operation,
                                     Dtype dtype, bool in_sub_group);

    // tiles.cpp
    // True if the dialect has text of its own for the function, a tile operation.
    bool has_own_text(const ir::Function &function) const override;
    std::int64_t group_items() const;
    void add_tile_text();
    // Order of the elements in local arrays and accumulators.
    struct TileLayouts {
        // Layouts of the local arrays that only tile operations access, always as tiles of one
        // shape. Other local arrays are row-major.
        std::map<ir::RootId, std::string> of_tiles;
        std::map<ir::RootId, std::string> kinds;  // of the products that an accumulator sums up;
                                                  // empty if they differ
        std::map<ir::RootId, std::set<std::pair<ir::RootId, ir::RootId>>> factors;  // likewise
    };
    const TileLayouts &tile_layouts();
    std::string tile_layout(ir::RootId root, const Type &type);
    std::string order_of_sums(ir::RootId root);
    // True if products of the kernel may run by wgmma.
    bool runs_wgmma();
    struct TileArguments;
    void write_tile_operation(const ir::Statement &statement);

    // True if a launch may round up the number of work-items to fill its blocks. Surplus work-items
    // do nothing.
    bool is_guarded() const { return is_cuda_like() && !module_.uses_groups; }
    bool passes_global_sizes() const;

    const bool inlines_group_functions_ = has_few_blocks(module_.kernel());
    std::map<const ir::Function *, MinusOneAnalysis> minus_one_;
    std::optional<Definitions> definitions_;  // of the kernel, made when first needed
    std::optional<int> id_equalities_;        // in the kernel, counted when first needed
    std::set<std::string> pragmas_;
    std::optional<TileLayouts> tile_layouts_;  // made when first needed
    std::string scratch_;
    std::uint32_t scratch_bytes_ = 0;
    std::uint64_t group_functions_bytes_ = 0;  // local memory of group functions
    bool launches_arrays_ = false;             // true: local.array uses memory sized at launch
};

}  // namespace entrepot::kernel
