// Kernels that walk a box, in both languages that kernels are built from.
#include "strided.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>

namespace entrepot::backends::sycl {

namespace {

// ------------------------------------------------------------------ kernels

// A kernel's parameters: `depth` outer loops flattened to `rows`, and the innermost loop, whose
// columns are divided among the work-items of a row. Each work-item begins at `first` times its
// number, takes every `step`th column, and stops after `reach`.
template <std::size_t Depth> struct Path {
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
struct Path {
    long count[DEPTH], to[DEPTH], from[DEPTH];
    long depth, rows, columns, to_step, from_step, first, reach, step;
};

KERNEL void walk(GLOBAL char *to, ARGUMENT, struct Path path) {
    long row = ROW;
    if (row >= path.rows)
        return;
    long from_offset = 0;
    for (long loop = path.depth - 1; loop >= 0; --loop) {
        const long outer = row / path.count[loop];
        const long index = row - outer * path.count[loop];
        row = outer;
        to += index * path.to[loop];
        from_offset += index * path.from[loop];
    }
    const long begin = COLUMN * path.first;
    const long end = begin + path.reach < path.columns ? begin + path.reach : path.columns;
    if (path.to_step == sizeof(UNIT) && path.from_step == sizeof(UNIT) && path.step == 1) {
        for (long column = begin; column < end; ++column)
            *(GLOBAL UNIT *)(to + column * sizeof(UNIT)) = VALUE(column * sizeof(UNIT));
        return;
    }
    for (long column = begin; column < end; column += path.step)
        *(GLOBAL UNIT *)(to + column * path.to_step) = VALUE(column * path.from_step);
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

// A core of a CPU walks columns one after the other, to stay within its cache lines. Rows are split
// only to have enough pieces for all cores. If columns are not contiguous on both sides, as in a
// transposition, rows may be. Then a group's work is a tile, small enough that the next row finds
// the cache lines of the last. Data that fits the cache as a whole is faster without tiles.
Geometry deal_to_cores(const ep_device_info &device, std::int64_t rows, std::int64_t columns,
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

// On other devices neighbouring work-items take neighbouring columns, so that their accesses
// coalesce.
Geometry deal_to_lanes(const ep_device_info &device, std::int64_t columns) {
    const std::int64_t group =
        std::min<std::int64_t>(256, static_cast<std::int64_t>(device.max_work_group));
    std::int64_t lanes = 1;
    while (lanes < columns && 2 * lanes <= group)
        lanes *= 2;
    return {lanes, 1, columns, lanes, std::max<std::int64_t>(group / lanes, 1)};
}

// The outer loops may be in any order: the one with the smallest steps of `from` becomes the
// innermost.
void put_nearest_rows_together(Walk &walk) {
    const auto outer_end = walk.loops.end() - 1;
    const auto nearest =
        std::min_element(walk.loops.begin(), outer_end, [](const Loop &a, const Loop &b) {
            return std::abs(a.from_step) < std::abs(b.from_step);
        });
    if (nearest != outer_end)
        std::rotate(nearest, nearest + 1, outer_end);
}

template <std::size_t Depth, class SetArgument>
void submit_path(ep_queue queue, ::sycl::queue &native, const Verb &verb, Walk walk,
                 SetArgument &&set_argument) {
    const Loop inner = walk.loops.back();
    put_nearest_rows_together(walk);
    Path<Depth> path{};
    path.depth = static_cast<std::int64_t>(walk.loops.size()) - 1;
    path.rows = 1;
    for (std::int64_t i = 0; i < path.depth; ++i) {
        path.count[i] = walk.loops[i].count;
        path.to[i] = walk.loops[i].to_step;
        path.from[i] = walk.loops[i].from_step;
        path.rows *= walk.loops[i].count;
    }
    path.columns = inner.count;
    path.to_step = inner.to_step;
    path.from_step = inner.from_step;

    const ep_device_info &device = queue->device->info;
    const auto unit = static_cast<std::int64_t>(walk.unit);
    const bool are_neighbours = inner.to_step == unit && inner.from_step == unit;
    const bool in_tiles = !are_neighbours && path.rows * path.columns * unit > std::int64_t{4}
                                                                                   << 20;
    const bool is_cpu = device.type == EP_CPU;
    Geometry geometry = is_cpu ? deal_to_cores(device, path.rows, path.columns, in_tiles)
                               : deal_to_lanes(device, path.columns);
    geometry.local_rows = std::min(geometry.local_rows, path.rows);
    const std::int64_t rows =
        (path.rows + geometry.local_rows - 1) / geometry.local_rows * geometry.local_rows;
    path.first = geometry.first;
    path.reach = geometry.reach;
    path.step = geometry.step;

    const ::sycl::range<2> global(rows, geometry.columns_at_once);
    const ::sycl::range<2> local(geometry.local_rows, is_cpu ? 1 : geometry.columns_at_once);
    const auto source = [&](ep_dialect dialect) {
        return source_of(verb, walk.unit, Depth, dialect);
    };
    const std::string form = verb.name + std::to_string(walk.unit) + "x" + std::to_string(Depth);
    const ::sycl::kernel kernel = kept_kernel(queue, form, "walk", source);
    native.submit([&](::sycl::handler &handler) {
        handler.set_arg(0, static_cast<void *>(walk.to));
        set_argument(handler);
        handler.set_arg(2, syclex::raw_kernel_arg(&path, sizeof path));
        handler.parallel_for(::sycl::nd_range<2>(global, local), kernel);
    });
}

// Calls `submit(walk)` for each part of the walk that a kernel supports.
template <class Submit> void cut_to_depth(const Walk &walk, Submit &&submit) {
    if (walk.loops.size() <= greatest_depth + 1)
        return submit(walk);
    const Loop outermost = walk.loops.front();
    Walk part = walk;
    part.loops.erase(part.loops.begin());
    for (std::int64_t i = 0; i < outermost.count; ++i) {
        cut_to_depth(part, submit);
        part.to += outermost.to_step;
        part.from += outermost.from_step;
    }
}

template <class SetArgument>
void submit_walk(ep_queue queue, ::sycl::queue &native, const Verb &verb, const Walk &whole,
                 SetArgument &&set_argument) {
    cut_to_depth(whole, [&](const Walk &walk) {
        const auto set = [&](::sycl::handler &handler) { set_argument(handler, walk); };
        if (walk.loops.size() <= usual_depth + 1)
            submit_path<usual_depth>(queue, native, verb, walk, set);
        else
            submit_path<greatest_depth>(queue, native, verb, walk, set);
    });
}

}  // namespace

void submit_copy(ep_queue queue, ::sycl::queue &native, const Walk &walk) {
    submit_walk(queue, native, copy_verb, walk, [](::sycl::handler &handler, const Walk &part) {
        handler.set_arg(1, const_cast<void *>(static_cast<const void *>(part.from)));
    });
}

void submit_fill(ep_queue queue, ::sycl::queue &native, const Walk &walk,
                 const Fill::Value &value) {
    submit_walk(queue, native, fill_verb, walk, [&](::sycl::handler &handler, const Walk &part) {
        handler.set_arg(1, syclex::raw_kernel_arg(value.data(), part.unit));
    });
}

}  // namespace entrepot::backends::sycl
