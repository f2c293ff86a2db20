// CUDA C++ and HIP C++ of tile operations: calls of the templates in tile_text.cpp.
#include "kernel/codegen/device.hpp"
#include "kernel/codegen/tile_text.hpp"
#include "kernel/ir/build.hpp"
#include "kernel/ir/numbers.hpp"
#include "kernel/ir/walk.hpp"
#include "kernel/ir/warps.hpp"
#include <entrepot/core/assert.hpp>

#include <algorithm>

namespace entrepot::kernel {

namespace {

using Shape = std::vector<std::int64_t>;

// Work-items that execute an instruction of the matrix units together.
std::int64_t lanes_of(Dialect dialect) { return dialect == Dialect::hip ? 64 : warp_items; }

std::string kind_of(Dtype dtype, const std::string &precision) {
    if (dtype == dtypes::float16)
        return "TILE_FLOAT16";
    if (dtype == dtypes::bfloat16)
        return "TILE_BFLOAT16";
    if (dtype == dtypes::float64)
        return "TILE_FLOAT64";
    return precision == "tf32" ? "TILE_TF32" : "TILE_FLOAT32";
}

// Variables that one statement assigns, with their values. The launch assigns those of parameters
// as well.
std::map<ir::VariableId, const ir::Expression *> values_of(const ir::Function &function) {
    std::map<ir::VariableId, const ir::Expression *> values;
    std::map<ir::VariableId, int> assignments;
    ir::for_each_statement(function.body, [&](const ir::Statement &statement) {
        for (const ir::VariableId id : ir::assigned_by(statement))
            ++assignments[id];
        if (statement.act == ir::Act::assign)
            values[statement.id] = &statement.expressions[0];
    });
    std::erase_if(values, [&](const auto &each) {
        return assignments[each.first] != 1 || function.variables[each.first].parameter;
    });
    return values;
}

// Rows of groups of 4 warps that can run wgmma together. A group has blocks of 64 rows and one
// block of columns, whose number is a multiple of `step` up to 256. Many rows of groups, with long
// blocks, read the least of local memory.
// Returns: 0 if the groups cannot divide the tile so.
std::int64_t rows_of_warp_groups(std::int64_t rows, std::int64_t columns, std::int64_t warps,
                                 std::int64_t step) {
    const std::int64_t groups = warps / 4;
    for (std::int64_t down = warps % 4 == 0 ? groups : 0; down > 0; --down) {
        const std::int64_t across = groups / down;
        if (groups % down == 0 && rows % (64 * down) == 0 && columns % (step * across) == 0 &&
            columns / across <= 256)
            return down;
    }
    return 0;
}

bool is_multiple(const ir::Expression &value, std::int64_t of,
                 const std::map<ir::VariableId, const ir::Expression *> &values) {
    const auto operand = [&](std::size_t i) { return is_multiple(value.operands[i], of, values); };
    switch (value.op) {
    case ir::Op::constant: {
        const auto constant = build::constant_of(value);
        return constant && *constant % of == 0;
    }
    case ir::Op::variable: {
        const auto found = values.find(value.id);
        return found != values.end() && is_multiple(*found->second, of, values);
    }
    case ir::Op::multiply:
        return operand(0) || operand(1);
    case ir::Op::add:
    case ir::Op::subtract:
        return operand(0) && operand(1);
    case ir::Op::convert:
        return is_integer(value.operands[0].type.dtype) && operand(0);
    default:
        return false;
    }
}

}  // namespace

// Reads the arguments of a call in order, as Lowering::call_function flattened them.
struct DeviceEmitter::TileArguments {
    struct Array {
        ir::RootId root;  // in the caller
        Type type;
        ir::Expression offset;
        std::vector<ir::Expression> extents, strides;
    };

    TileArguments(const ir::Function &callee, const ir::Expression &called)
        : call(called), roots(ir::parameters_in_order(callee.roots)), function(callee) {}

    ir::Expression scalar() { return call.operands.at(next_operand++); }

    Array array() {
        Array array{call.roots.at(next_root), function.roots[roots.at(next_root)].type, {}, {}, {}};
        ++next_root;
        array.offset = scalar();
        for (std::uint32_t i = 0; i < array.type.ndim; ++i)
            array.extents.push_back(
                array.type.shape.empty() ? scalar() : build::integer(array.type.shape[i], call.at));
        if (array.type.contiguous)
            array.strides = {array.extents[1], build::integer(1, call.at)};
        else
            for (std::uint32_t i = 0; i < array.type.ndim; ++i)
                array.strides.push_back(scalar());
        return array;
    }

    const ir::Expression &call;
    const std::vector<ir::RootId> roots;
    const ir::Function &function;
    std::size_t next_root = 0, next_operand = 0;
};

bool DeviceEmitter::has_own_text(const ir::Function &function) const {
    return function.tile && is_cuda_like() && group_items() % lanes_of(dialect_.dialect) == 0;
}

std::int64_t DeviceEmitter::group_items() const {
    std::int64_t items = 1;
    for (const std::uint64_t extent : target_.local_size)
        items *= std::max<std::int64_t>(static_cast<std::int64_t>(extent), 1);
    return items;
}

void DeviceEmitter::add_tile_text() {
    add_linear_ids();
    const bool is_hip = is(Dialect::hip);
    add_once("tile_kinds",
             "enum { TILE_FLOAT16, TILE_BFLOAT16, TILE_TF32, TILE_FLOAT32, TILE_FLOAT64 };\n"
             "enum { TILE_STRIDED, TILE_CONTIGUOUS, TILE_SWIZZLED, TILE_ROTATED };\n"
             "enum { TILE_WARPS, TILE_GROUPS, TILE_TRANSPOSED };");
    add_once("tile_dialect", std::string(is_hip ? tile_hip : tile_cuda));
    add_once("tile_common", std::string(tile_common));
    add_once("tile_matmul", std::string(is_hip ? tile_matmul_hip : tile_matmul_cuda));
}

const DeviceEmitter::TileLayouts &DeviceEmitter::tile_layouts() {
    if (tile_layouts_)
        return *tile_layouts_;
    TileLayouts &layouts = tile_layouts_.emplace();
    const ir::Function &kernel = module_.kernel();
    const auto values = values_of(kernel);
    std::map<ir::RootId, Shape> shapes;
    std::set<ir::RootId> others, first_factors, wide_factors;
    const auto add_use = [&](const TileArguments::Array &array) {
        const Shape &shape = array.type.shape;
        if (array.type.space != Space::local)
            return;
        const bool fits = array.type.contiguous && shape.size() == 2 &&
                          is_multiple(array.offset, shape[0] * shape[1], values) &&
                          shape[1] * array.type.dtype.itemsize() % 16 == 0;
        if (!fits || shapes.try_emplace(array.root, shape).first->second != shape)
            others.insert(array.root);
    };
    const auto add_call = [&](const ir::Expression &call) {
        const ir::Function &callee = module_.functions[call.id];
        const std::string name = callee.tile ? callee.tile->name : "";
        if (name != "matmul" && !name.starts_with("load")) {
            others.insert(call.roots.begin(), call.roots.end());
            return;
        }
        TileArguments arguments(callee, call);
        const auto tile = arguments.array();
        add_use(tile);
        if (name != "matmul")
            return;
        const auto b = arguments.array(), sums = arguments.array();
        add_use(b);
        first_factors.insert(tile.root);
        if (b.type.dtype.bits > 16)
            wide_factors.insert(b.root);
        const std::string kind = kind_of(b.type.dtype, callee.tile->precision);
        const auto [known, is_new] = layouts.kinds.try_emplace(sums.root, kind);
        if (!is_new && known->second != kind)
            known->second = "";
        layouts.factors[sums.root].insert({tile.root, b.root});
    };
    ir::for_each_statement(kernel.body, [&](const ir::Statement &statement) {
        if (statement.act == ir::Act::store)
            others.insert(statement.id);
        for (const ir::Expression &expression : statement.expressions)
            ir::for_each_within(expression, [&](const ir::Expression &each) {
                if (each.op == ir::Op::load || each.op == ir::Op::atomic)
                    others.insert(each.id);
                if (each.op == ir::Op::call)
                    add_call(each);
            });
    });
    for (const auto &[root, shape] : shapes)
        if (!others.contains(root))
            layouts.of_tiles[root] = wide_factors.contains(root) && !first_factors.contains(root)
                                         ? "TILE_ROTATED"
                                         : "TILE_SWIZZLED";
    return layouts;
}

std::string DeviceEmitter::tile_layout(ir::RootId root, const Type &type) {
    const auto found = tile_layouts().of_tiles.find(root);
    return found != tile_layouts().of_tiles.end() ? found->second
           : type.contiguous                      ? "TILE_CONTIGUOUS"
                                                  : "TILE_STRIDED";
}

// The order that fits wgmma if all products added to the accumulator allow it.
std::string DeviceEmitter::order_of_sums(ir::RootId root) {
    const TileLayouts &layouts = tile_layouts();
    const auto kind = layouts.kinds.find(root);
    if (is(Dialect::hip) || kind == layouts.kinds.end())
        return "TILE_WARPS";
    const bool is_tf32 = kind->second == "TILE_TF32";
    if (!is_tf32 && kind->second != "TILE_FLOAT16" && kind->second != "TILE_BFLOAT16")
        return "TILE_WARPS";
    const auto has = [&](ir::RootId tile, const char *layout) {
        const auto found = layouts.of_tiles.find(tile);
        return found != layouts.of_tiles.end() && found->second == layout;
    };
    const bool fits = std::ranges::all_of(layouts.factors.at(root), [&](const auto &each) {
        return has(each.first, "TILE_SWIZZLED") &&
               has(each.second, is_tf32 ? "TILE_ROTATED" : "TILE_SWIZZLED");
    });
    return !fits ? "TILE_WARPS" : is_tf32 ? "TILE_TRANSPOSED" : "TILE_GROUPS";
}

bool DeviceEmitter::runs_wgmma() {
    if (!is(Dialect::cuda) || !ir::has_tiles(module_))
        return false;
    add_tile_text();
    return std::ranges::any_of(tile_layouts().kinds, [&](const auto &each) {
        return order_of_sums(each.first) != "TILE_WARPS";
    });
}

void DeviceEmitter::write_tile_operation(const ir::Statement &statement) {
    const ir::Expression &call = statement.expressions[0];
    const ir::Function &callee = module_.functions[call.id];
    const ir::TileOperation &tile = *callee.tile;
    add_tile_text();
    if (tile.name == "commit")
        return out_.line("tile_commit();");
    if (tile.name == "wait")
        return out_.line("tile_wait<" + std::to_string(tile.pending) + ">();");
    TileArguments arguments(callee, call);
    const auto first = [&](const TileArguments::Array &array) {
        const auto offset = build::constant_of(array.offset);
        return root_argument(array.root) +
               (offset && *offset == 0 ? "" : " + " + text(array.offset, binds_add + 1));
    };
    const auto stride = [&](const TileArguments::Array &array) {
        return "(int)" + text(array.strides[0], binds_unary);
    };
    const auto parts = [&](const TileArguments::Array &array) {
        return first(array) + ", " + text(array.extents[0]) + ", " + text(array.extents[1]) + ", " +
               text(array.strides[0]) + ", " + text(array.strides[1]);
    };
    const std::int64_t warps = group_items() / lanes_of(dialect_.dialect);
    // Swizzled tiles have 64 columns of 16-bit elements in a panel.
    const auto group_rows = [&](const Shape &tile_shape, ir::RootId root) -> std::int64_t {
        const std::string order = order_of_sums(root);
        if (order == "TILE_WARPS")
            return 0;
        return order == "TILE_GROUPS"
                   ? rows_of_warp_groups(tile_shape[0], tile_shape[1], warps, 64)
                   : rows_of_warp_groups(tile_shape[1], tile_shape[0], warps, 16);
    };
    // Extents of the accumulator, and its division among warps.
    const auto of_sums = [&](const Shape &tile_shape, std::int64_t depth, ir::RootId root) {
        const auto grid = warp_grid(tile_shape[0], tile_shape[1], warps);
        ENTREPOT_ASSERT(grid.has_value());
        return std::to_string(tile_shape[0]) + ", " + std::to_string(tile_shape[1]) +
               (depth == 0 ? "" : ", " + std::to_string(depth)) + ", " + std::to_string(warps) +
               ", " + std::to_string(grid->rows) + ", " + order_of_sums(root) + ", " +
               std::to_string(group_rows(tile_shape, root));
    };
    if (tile.name == "matmul") {
        const auto a = arguments.array(), b = arguments.array(), sums = arguments.array();
        const std::string kind = kind_of(a.type.dtype, tile.precision);
        if (const std::int64_t down = group_rows(sums.type.tile, sums.root); down != 0) {
            const bool is_transposed = order_of_sums(sums.root) == "TILE_TRANSPOSED";
            const std::int64_t columns = sums.type.tile[is_transposed ? 0 : 1] * down / (warps / 4);
            add_once("tile_wgmma " + kind + std::to_string(columns),
                     tile_wgmma_text(kind, columns));
        }
        return out_.line("tile_matmul<" + kind + ", " +
                         of_sums(sums.type.tile, a.type.shape[1], sums.root) + ", " +
                         tile_layout(a.root, a.type) + ", " + tile_layout(b.root, b.type) + ">(" +
                         first(a) + ", " + stride(a) + ", " + first(b) + ", " + stride(b) + ", " +
                         root_argument(sums.root) + ");");
    }
    if (tile.name == "store") {
        const auto array = arguments.array();
        const ir::Expression row = arguments.scalar(), column = arguments.scalar();
        const auto sums = arguments.array();
        return out_.line("tile_store<" + kind_of(array.type.dtype, "") + ", " +
                         of_sums(sums.type.tile, 0, sums.root) + ">(" + parts(array) + ", " +
                         text(row) + ", " + text(column) + ", " + root_argument(sums.root) + ");");
    }
    ENTREPOT_ASSERT(tile.name.starts_with("load"));
    const auto to = arguments.array(), array = arguments.array();
    const ir::Expression row = arguments.scalar(), column = arguments.scalar();
    out_.line("tile_load<" + storage_type(to.type.dtype) + ", " + std::to_string(to.type.shape[0]) +
              ", " + std::to_string(to.type.shape[1]) + ", " + std::to_string(group_items()) +
              ", " + tile_layout(to.root, to.type) + ", " +
              (tile.name == "load_async" ? "true" : "false") + ">(" + first(to) + ", " +
              stride(to) + ", " + parts(array) + ", " + text(row) + ", " + text(column) + ");");
}

}  // namespace entrepot::kernel
