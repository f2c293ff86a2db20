// Kernels that run the loops of a box, in both languages that kernels are built from.
#include "backends/sycl/strided.hpp"

#include <algorithm>
#include <cstdlib>

namespace entrepot::backends::sycl {
namespace {

// ------------------------------------------------------------------ kernels

// A kernel's parameters: `depth` outer loops flattened to `rows`, and the innermost loop, whose
// columns are divided among the work-items of a row. Each work-item begins at `first` times its
// number, takes every `step`th column, and stops after `reach`.
template <std::size_t Depth> struct DeviceLoopNest {
    std::int64_t count[Depth], to[Depth], from[Depth];
    std::int64_t depth, rows, columns, to_step, from_step, first, reach, step;
};

// Two sizes, because work-items are slower with a large one. The large one stays below the 1024
// bytes of arguments that every OpenCL device accepts. Deeper boxes are split on the host.
constexpr std::size_t usual_depth = 6;
constexpr std::size_t greatest_depth = 32;

constexpr const char *opencl_words = R"(
#define KERNEL kernel
#define GLOBAL global
#define ROW get_global_id(1)
#define COLUMN get_global_id(0)
typedef uchar Unit1;
typedef ushort Unit2;
typedef uint Unit4;
typedef ulong Unit8;
typedef uint4 Unit16;
)";

constexpr const char *sycl_words = R"(
#include <sycl/sycl.hpp>
#define KERNEL extern "C" \
    SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((sycl::ext::oneapi::experimental::nd_range_kernel<2>))
#define GLOBAL
#define ROW sycl::ext::oneapi::this_work_item::get_nd_item<2>().get_global_id(0)
#define COLUMN sycl::ext::oneapi::this_work_item::get_nd_item<2>().get_global_id(1)
typedef unsigned char Unit1;
typedef unsigned short Unit2;
typedef unsigned int Unit4;
typedef unsigned long Unit8;
struct alignas(16) Unit16 { unsigned long low, high; };
)";

// The source prepended to this text defines DEPTH, UNIT, ARGUMENT and VALUE. A separate loop
// handles columns that are contiguous on both sides, which compilers vectorize.
constexpr const char *kernel_text = R"(
struct DeviceLoopNest {
    long count[DEPTH], to[DEPTH], from[DEPTH];
    long depth, rows, columns, to_step, from_step, first, reach, step;
};

KERNEL void run_loop_nest(GLOBAL char *to, ARGUMENT, struct DeviceLoopNest nest) {
    long row = ROW;
    if (row >= nest.rows)
        return;
    long from_offset = 0;
    for (long loop = nest.depth - 1; loop >= 0; --loop) {
        const long outer = row / nest.count[loop];
        const long index = row - outer * nest.count[loop];
        row = outer;
        to += index * nest.to[loop];
        from_offset += index * nest.from[loop];
    }
    const long begin = COLUMN * nest.first;
    const long end = begin + nest.reach < nest.columns ? begin + nest.reach : nest.columns;
    if (nest.to_step == sizeof(UNIT) && nest.from_step == sizeof(UNIT) && nest.step == 1) {
        for (long column = begin; column < end; ++column)
            *(GLOBAL UNIT *)(to + column * sizeof(UNIT)) = VALUE(column * sizeof(UNIT));
        return;
    }
    for (long column = begin; column < end; column += nest.step)
        *(GLOBAL UNIT *)(to + column * nest.to_step) = VALUE(column * nest.from_step);
}
)";

struct Verb {
    const char *name, *argument, *value;
};
constexpr Verb copy_verb = {"copy", "GLOBAL const char *from",
                            "*(GLOBAL const UNIT *)(from + from_offset + (offset))"};
constexpr Verb fill_verb = {"fill", "UNIT item", "item"};

std::string source_of(const Verb &verb, std::size_t unit, std::size_t depth, ep_dialect dialect) {
    return sentence_of(dialect == EP_OPENCL_C ? opencl_words : sycl_words, "#define DEPTH ", depth,
                       "\n#define UNIT Unit", unit, "\n#define ARGUMENT ", verb.argument,
                       "\n#define VALUE(offset) ", verb.value, kernel_text);
}

// Distribution of rows and columns over work-items.
struct Geometry {
    std::int64_t columns_at_once;  // work-items of a row
    std::int64_t first, reach, step;
    std::int64_t local_rows;
};

// A core of a CPU goes through columns in order, to stay within its cache lines. Rows are split
// only to have enough pieces for all cores. If columns are not contiguous on both sides, as in a
// transposition, rows may be. Then a group's work is a tile, small enough that the next row finds
// the cache lines of the last. Data that fits the cache as a whole is faster without tiles.
Geometry split_over_cores(const ep_device_info &device, std::int64_t rows, std::int64_t columns,
                          bool in_tiles) {
    constexpr std::int64_t least_piece = 2048, tile = 64;
    if (in_tiles && rows >= tile && columns >= tile)
        return {(columns + tile - 1) / tile, tile, tile, 1, tile};
    const std::int64_t pieces_wanted =
        (4 * static_cast<std::int64_t>(device.compute_units) + rows - 1) / rows;
    const std::int64_t pieces = std::clamp<std::int64_t>(columns / least_piece, 1, pieces_wanted);
    const std::int64_t piece = (columns + pieces - 1) / pieces;
    return {pieces, piece, piece, 1, std::clamp<std::int64_t>(least_piece / columns, 1, 64)};
}

// On other devices neighboring work-items take neighboring columns, so that their accesses
// coalesce.
Geometry split_over_lanes(const ep_device_info &device, std::int64_t columns) {
    const std::int64_t group =
        std::min<std::int64_t>(256, static_cast<std::int64_t>(device.max_work_group));
    std::int64_t lanes = 1;
    while (lanes < columns && 2 * lanes <= group)
        lanes *= 2;
    return {lanes, 1, columns, lanes, std::max<std::int64_t>(group / lanes, 1)};
}

// The outer loops may be in any order: the one with the smallest steps of `from` becomes the
// innermost.
void put_nearest_rows_together(LoopNest &nest) {
    const auto outer_end = nest.loops.end() - 1;
    const auto nearest =
        std::min_element(nest.loops.begin(), outer_end, [](const Loop &a, const Loop &b) {
            return std::abs(a.from_step) < std::abs(b.from_step);
        });
    if (nearest != outer_end)
        std::rotate(nearest, nearest + 1, outer_end);
}

template <std::size_t Depth, class SetArgument>
void launch_nest_of(Queue &queue, ::sycl::queue &native, const Verb &verb, LoopNest nest,
                    SetArgument &&set_argument) {
    const Loop inner = nest.loops.back();
    put_nearest_rows_together(nest);
    DeviceLoopNest<Depth> device_nest{};
    device_nest.depth = static_cast<std::int64_t>(nest.loops.size()) - 1;
    device_nest.rows = 1;
    for (std::int64_t i = 0; i < device_nest.depth; ++i) {
        device_nest.count[i] = nest.loops[i].count;
        device_nest.to[i] = nest.loops[i].to_step;
        device_nest.from[i] = nest.loops[i].from_step;
        device_nest.rows *= nest.loops[i].count;
    }
    device_nest.columns = inner.count;
    device_nest.to_step = inner.to_step;
    device_nest.from_step = inner.from_step;

    const ep_device_info &device = queue.device.info;
    const auto unit = static_cast<std::int64_t>(nest.unit);
    const bool are_neighbors = inner.to_step == unit && inner.from_step == unit;
    const bool in_tiles =
        !are_neighbors && device_nest.rows * device_nest.columns * unit > std::int64_t{4} << 20;
    const bool is_cpu = device.type == EP_CPU;
    Geometry geometry =
        is_cpu ? split_over_cores(device, device_nest.rows, device_nest.columns, in_tiles)
               : split_over_lanes(device, device_nest.columns);
    geometry.local_rows = std::min(geometry.local_rows, device_nest.rows);
    const std::int64_t rows =
        (device_nest.rows + geometry.local_rows - 1) / geometry.local_rows * geometry.local_rows;
    device_nest.first = geometry.first;
    device_nest.reach = geometry.reach;
    device_nest.step = geometry.step;

    const ::sycl::range<2> global(rows, geometry.columns_at_once);
    const ::sycl::range<2> local(geometry.local_rows, is_cpu ? 1 : geometry.columns_at_once);
    const auto source = [&](ep_dialect dialect) {
        return source_of(verb, nest.unit, Depth, dialect);
    };
    const std::string form = verb.name + std::to_string(nest.unit) + "x" + std::to_string(Depth);
    const ::sycl::kernel kernel =
        queue.context->built_in_kernel(queue.device, form, "run_loop_nest", source);
    native.submit([&](::sycl::handler &handler) {
        handler.set_arg(0, static_cast<void *>(nest.to));
        set_argument(handler);
        handler.set_arg(2, syclex::raw_kernel_arg(&device_nest, sizeof device_nest));
        handler.parallel_for(::sycl::nd_range<2>(global, local), kernel);
    });
}

// Calls submit(nest) for each part that a kernel supports.
template <class Submit> void cut_to_depth(const LoopNest &nest, Submit &&submit) {
    if (nest.loops.size() <= greatest_depth + 1)
        return submit(nest);
    const Loop outermost = nest.loops.front();
    LoopNest part = nest;
    part.loops.erase(part.loops.begin());
    for (std::int64_t i = 0; i < outermost.count; ++i) {
        cut_to_depth(part, submit);
        part.to += outermost.to_step;
        part.from += outermost.from_step;
    }
}

template <class SetArgument>
void launch_nest(Queue &queue, ::sycl::queue &native, const Verb &verb, const LoopNest &whole,
                 SetArgument &&set_argument) {
    cut_to_depth(whole, [&](const LoopNest &nest) {
        const auto set = [&](::sycl::handler &handler) { set_argument(handler, nest); };
        if (nest.loops.size() <= usual_depth + 1)
            launch_nest_of<usual_depth>(queue, native, verb, nest, set);
        else
            launch_nest_of<greatest_depth>(queue, native, verb, nest, set);
    });
}

}  // namespace

void submit_copy(Queue &queue, ::sycl::queue &native, const LoopNest &nest) {
    launch_nest(queue, native, copy_verb, nest, [](::sycl::handler &handler, const LoopNest &part) {
        handler.set_arg(1, const_cast<void *>(static_cast<const void *>(part.from)));
    });
}

void submit_fill(Queue &queue, ::sycl::queue &native, const LoopNest &nest,
                 const Fill::Value &value) {
    launch_nest(queue, native, fill_verb, nest,
                [&](::sycl::handler &handler, const LoopNest &part) {
                    handler.set_arg(1, syclex::raw_kernel_arg(value.data(), part.unit));
                });
}

}  // namespace entrepot::backends::sycl
