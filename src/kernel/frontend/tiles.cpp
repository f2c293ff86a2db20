// Tiles: accumulators, and the checks of the operations that a work-group runs together.
#include "kernel/frontend/tiles.hpp"
#include "kernel/ir/warps.hpp"

#include <algorithm>

namespace entrepot::kernel {

namespace {

constexpr std::int64_t max_group_items = 1024;

std::string by(const std::vector<std::int64_t> &extents) {
    std::string text;
    for (const std::int64_t extent : extents)
        text += (text.empty() ? "" : " x ") + std::to_string(extent);
    return text;
}

// Numbers of work-items that can divide the tile.
std::string group_sizes_for(const std::vector<std::int64_t> &tile) {
    std::string sizes;
    for (std::int64_t items = warp_items; items <= max_group_items; items *= 2)
        if (warp_grid(tile[0], tile[1], items / warp_items))
            sizes += (sizes.empty() ? "" : ", ") + std::to_string(items);
    return sizes;
}

bool is_tile_dtype(Dtype dtype) {
    return dtype == dtypes::float16 || dtype == dtypes::bfloat16 || dtype == dtypes::float32 ||
           dtype == dtypes::float64;
}

bool is_accumulator(const Value &value) {
    return value.kind == Value::Kind::array && !value.view->type.tile.empty();
}

// Elements along the inner dimension that matrix units multiply at once.
std::int64_t depth_step(Dtype dtype) { return dtype.bits == 16 ? 16 : 8; }

}  // namespace

// Creates the accumulator and a loop that sets the block of this work-item to zero.
Value Lowering::tile_zeros(const Node &node, std::span<const Node *const> arguments) {
    const std::vector<std::int64_t> tile = shape_of(*arguments[0]);
    const Dtype dtype = arguments[1] ? dtype_of(*arguments[1]) : dtypes::float32;
    if (tile.size() != 2 || tile[0] % tile_block != 0 || tile[1] % tile_block != 0)
        refuse(arguments[0]->at,
               sentence_of("an accumulator has two extents, multiples of ", tile_block,
                           ", but the shape is ", by(tile),
                           "; make the tile larger and store() leaves out what is too much"));
    if (dtype != dtypes::float32 && dtype != dtypes::float64)
        refuse(arguments[1]->at, "an accumulator has elements of float32 or float64, but this is " +
                                     name_of(dtype) +
                                     "; take float32 for 16-bit tiles, and store() converts");
    std::int64_t items = 1;
    for (const std::uint64_t extent : target_.local_size)
        items *= std::max<std::int64_t>(static_cast<std::int64_t>(extent), 1);
    // Before the launch, any number does for the checks; compile() asks for the local range.
    if (target_.local_size[0] == 0)
        items = warp_items;
    const auto grid =
        items % warp_items == 0 ? warp_grid(tile[0], tile[1], items / warp_items) : std::nullopt;
    if (!grid)
        refuse(node.at,
               sentence_of("a group of ", counted(items, "work-item"), " cannot divide a tile of ",
                           by(tile), " into blocks of 16 x 16 for each ", warp_items,
                           "; launch groups of ", group_sizes_for(tile)));
    changes_memory_ = true;
    ir::Root root;
    root.name = array_name_.empty() ? "accumulator" : array_name_;
    root.at = node.at;
    root.type.kind = Type::Kind::array;
    root.type.space = Space::private_;
    root.type.contiguous = true;
    root.type.dtype = dtype;
    root.type.ndim = 2;
    root.type.tile = tile;
    // The work-items of a warp have 16 rows of 2 blocks each.
    root.type.shape = {tile[0] / grid->rows / 16, tile[1] / grid->columns / 2};
    const std::int64_t count = root.type.shape[0] * root.type.shape[1];
    const ir::RootId id = new_root(std::move(root));
    const Type index = scalar_type(dtypes::int64);
    ir::Statement loop, store;
    loop.act = ir::Act::for_;
    loop.at = store.at = node.at;
    loop.id = new_variable("element", index, node.at);
    loop.expressions = {build::integer(0, node.at), build::integer(count, node.at),
                        build::integer(1, node.at)};
    store.act = ir::Act::store;
    store.id = id;
    ir::Expression zero = build::of(ir::Op::constant, scalar_type(dtype), node.at, {});
    zero.value = 0.0;
    store.expressions = {build::variable(loop.id, index, node.at), std::move(zero)};
    loop.body.push_back(std::move(store));
    ++effects_;
    block_->push_back(std::move(loop));
    return array_value(id, node.at);
}

Value Lowering::accumulator_attribute(const Value &accumulator, const Node &node) {
    const Type &type = accumulator.view->type;
    Value value;
    value.at = node.at;
    if (node.text == "shape") {
        value.kind = Value::Kind::tuple;
        for (const std::int64_t extent : type.tile)
            value.items.push_back(integer(extent, node.at));
        return value;
    }
    if (node.text == "dtype") {
        value.kind = Value::Kind::dtype;
        value.dtype = type.dtype;
        return value;
    }
    refuse(node.at, "an accumulator has shape and dtype, but no `." + node.text +
                        "`; write it to an array by tile.store(array, (row, column), accumulator)");
}

const View &Lowering::local_tile(const Value &value, const std::string &what) const {
    const bool is_local = value.kind == Value::Kind::array &&
                          value.view->type.space == Space::local && value.view->type.ndim == 2 &&
                          value.view->type.shape.size() == 2;
    if (!is_local)
        refuse(value.at, what +
                             " is a local array of two dimensions whose shape is known when "
                             "compiled, but this is " +
                             value.type_name() +
                             "; make it by local.array((rows, columns), dtype)");
    if (build::constant_of(value.view->strides[1]) != 1)
        refuse(value.at, what + " has columns that follow each other in memory, but these have " +
                             "another stride; load the tile as it is multiplied");
    return *value.view;
}

void Lowering::check_tile_matmul(const std::vector<Value> &arguments, Position at) const {
    const Type &a = local_tile(arguments[0], "`a` of tile.matmul").type,
               &b = local_tile(arguments[1], "`b` of tile.matmul").type;
    if (!is_accumulator(arguments[2]))
        refuse(arguments[2].at, "tile.matmul adds to an accumulator, but this is " +
                                    arguments[2].type_name() +
                                    "; make one by tile.zeros((rows, columns), dtype)");
    const Type &sum = arguments[2].view->type;
    if (a.dtype != b.dtype || !is_tile_dtype(a.dtype))
        refuse(at, "tile.matmul multiplies tiles of one dtype, float16, bfloat16, float32 or "
                   "float64, but these are " +
                       name_of(a.dtype) + " and " + name_of(b.dtype) +
                       "; convert the elements when the tile is filled");
    const Dtype wanted = a.dtype == dtypes::float64 ? dtypes::float64 : dtypes::float32;
    if (sum.dtype != wanted)
        refuse(arguments[2].at, "tiles of " + name_of(a.dtype) + " are added up in " +
                                    name_of(wanted) + ", but this is an " +
                                    arguments[2].type_name() + "; make it by tile.zeros(shape, \"" +
                                    name_of(wanted) + "\")");
    if (a.shape[1] != b.shape[0] || a.shape[0] != sum.tile[0] || b.shape[1] != sum.tile[1])
        refuse(at, "tile.matmul multiplies m x k by k x n and adds to m x n, but the tiles are " +
                       by(a.shape) + ", " + by(b.shape) + " and " + by(sum.tile) +
                       "; give shapes that fit");
    const std::int64_t step = depth_step(a.dtype);
    if (a.shape[1] % step != 0)
        refuse(at, sentence_of("the inner extent of tile.matmul for ", name_of(a.dtype),
                               " is a multiple of ", step, ", but it is ", a.shape[1],
                               "; load() fills a larger tile with zeros"));
    const std::string &precision = arguments[3].text;
    const bool is_known =
        arguments[3].kind == Value::Kind::text && (precision == "float32" || precision == "tf32");
    if (!is_known)
        refuse(at, "the precision of tile.matmul is \"float32\" or \"tf32\", but this is " +
                       (arguments[3].kind == Value::Kind::text ? "\"" + precision + "\""
                                                               : arguments[3].type_name()) +
                       "; write one of the two");
    if (precision == "tf32" && a.dtype != dtypes::float32)
        refuse(at, "the precision \"tf32\" is for tiles of float32, but these are " +
                       name_of(a.dtype) + "; leave it out");
}

void Lowering::check_tile_load(const std::vector<Value> &arguments) const {
    const View &tile = local_tile(arguments[0], "the tile of tile.load");
    const Value &array = arguments[1];
    if (array.kind != Value::Kind::array || array.view->type.space != Space::global ||
        array.view->type.ndim != 2)
        refuse(array.at, "tile.load reads a global array of two dimensions, but this is " +
                             array.type_name() + "; give an argument of the kernel");
    if (array.view->type.dtype != tile.type.dtype)
        refuse(array.at, "tile.load converts nothing, but the tile has elements of " +
                             name_of(tile.type.dtype) + " and the array of " +
                             name_of(array.view->type.dtype) +
                             "; give both one dtype, or fill the tile in a loop");
}

void Lowering::check_tile_store(const std::vector<Value> &arguments) const {
    const Value &array = arguments[0];
    const bool is_array =
        array.kind == Value::Kind::array && array.view->type.tile.empty() &&
        (array.view->type.space == Space::global || array.view->type.space == Space::local) &&
        array.view->type.ndim == 2;
    if (!is_array)
        refuse(array.at, "tile.store writes to a global or local array of two dimensions, but "
                         "this is " +
                             array.type_name() + "; give such an array");
    if (array.view->type.read_only)
        refuse(array.at, "`" + function_.roots[array.view->root].shown +
                             "` is read-only and may not be written");
    if (!is_tile_dtype(array.view->type.dtype))
        refuse(array.at, "tile.store writes elements of float16, bfloat16, float32 or float64, "
                         "but these are " +
                             name_of(array.view->type.dtype) + "; give an array of floats");
    if (!is_accumulator(arguments[2]))
        refuse(arguments[2].at, "tile.store writes an accumulator, but this is " +
                                    arguments[2].type_name() +
                                    "; make one by tile.zeros((rows, columns), dtype)");
}

void Lowering::take_tile_offsets(Value &offsets) const {
    const bool is_pair = offsets.kind == Value::Kind::tuple && offsets.items.size() == 2;
    if (!is_pair)
        refuse(offsets.at, "the place of a tile in an array is (row, column), but this is " +
                               offsets.type_name() + "; write a tuple of two integers");
    for (Value &item : offsets.items) {
        if (!item.is_scalar() || !is_integer(item.expression.type.dtype))
            refuse(item.at.line ? item.at : offsets.at,
                   "the place of a tile in an array is (row, column), but one of them is " +
                       item.type_name() + "; write integers");
        Value taken = made(as(item, dtypes::int64).expression);
        taken.is_non_negative = proved(taken.expression).is_non_negative();
        taken.is_count = is_non_negative(assumed(taken.expression));
        item = std::move(taken);
    }
}

void Lowering::prepare_tile_call(const syntax::Function &callee, std::vector<Value> &arguments,
                                 Position at) const {
    if (callee.tile == "matmul")
        return check_tile_matmul(arguments, at);
    if (callee.tile == "store") {
        take_tile_offsets(arguments[1]);
        return check_tile_store(arguments);
    }
    if (callee.tile.starts_with("load")) {
        take_tile_offsets(arguments[2]);
        return check_tile_load(arguments);
    }
    if (callee.tile != "wait")
        return;
    const auto pending =
        arguments[0].is_scalar() ? build::constant_of(arguments[0].expression) : std::nullopt;
    if (!pending || *pending < 0 || *pending > 7)
        refuse(at, "tile.wait leaves a number of groups pending that is known when compiled, from "
                   "0 to 7, but this is " +
                       arguments[0].type_name() + "; write such a literal");
}

ir::TileOperation tile_operation_of(const syntax::Function &callee,
                                    const std::vector<Value> &arguments) {
    ir::TileOperation operation{callee.tile, "", 0};
    if (callee.tile == "matmul")
        operation.precision = arguments[3].text;
    if (callee.tile == "wait")
        operation.pending = *build::constant_of(arguments[0].expression);
    return operation;
}

}  // namespace entrepot::kernel
