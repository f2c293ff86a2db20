#include "backends/gpu/strided.hpp"

#include "backends/gpu/device_loop_nest.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <optional>

namespace entrepot::backends::gpu {

using namespace loop_nests;

namespace {

// Most items of one launch; a longer nest is split into several.
constexpr std::int64_t most_items = (std::int64_t{1} << 31) - 1;
constexpr unsigned threads_of_block = 256;

// ----------------------------------------------------- rows, by the driver

// For shorter rows, a kernel that accesses pinned memory itself is faster.
constexpr std::size_t shortest_row = 2048;

std::size_t loops_outside_rows(const LoopNest &nest) {
    const auto unit = static_cast<std::int64_t>(nest.unit);
    const bool in_rows = !nest.loops.empty() && nest.loops.back().to_step == unit &&
                         nest.loops.back().from_step == unit;
    return nest.loops.size() - (in_rows ? 1 : 0);
}

std::optional<Rows> rows_of(const LoopNest &nest, std::size_t longest_pitch) {
    const std::size_t outside = loops_outside_rows(nest);
    if (outside < 1 || outside > 2)
        return std::nullopt;
    const bool has_rows = outside < nest.loops.size();
    const auto width =
        static_cast<std::int64_t>(nest.unit) * (has_rows ? nest.loops.back().count : 1);
    const Loop &row = nest.loops[outside - 1];
    if (width < static_cast<std::int64_t>(shortest_row) || row.to_step < width ||
        row.from_step < width)
        return std::nullopt;
    Rows rows{nest.to,
              nest.from,
              static_cast<std::size_t>(width),
              static_cast<std::size_t>(row.count),
              1,
              static_cast<std::size_t>(row.to_step),
              static_cast<std::size_t>(row.from_step),
              0,
              0};
    if (rows.to_pitch > longest_pitch || rows.from_pitch > longest_pitch)
        return std::nullopt;
    if (outside == 2) {
        const Loop &slice = nest.loops[0];
        if (slice.from_step < 0 || slice.to_step % row.to_step != 0 ||
            slice.from_step % row.from_step != 0)
            return std::nullopt;
        rows.depth = static_cast<std::size_t>(slice.count);
        rows.to_height = static_cast<std::size_t>(slice.to_step / row.to_step);
        rows.from_height = static_cast<std::size_t>(slice.from_step / row.from_step);
        if (rows.to_height < rows.height || rows.from_height < rows.height)
            return std::nullopt;
    }
    return rows;
}

bool crosses_over(const PointerAttributes &to, const PointerAttributes &from) {
    return (to.is_of_device() && from.is_of_host()) || (to.is_of_host() && from.is_of_device());
}

// ------------------------------------------------------ the rest, by kernels

Step step_of(const Loop &loop) {
    const auto count = static_cast<unsigned>(loop.count);
    const auto shift = static_cast<unsigned>(std::bit_width(count - 1));
    const std::uint64_t multiplier = (((std::uint64_t{1} << shift) - count) << 32) / count + 1;
    return {count, static_cast<unsigned>(multiplier), shift, loop.to_step, loop.from_step};
}

template <unsigned Depth>
DeviceLoopNest<Depth> device_nest_of(const Loop *loops, std::size_t depth) {
    DeviceLoopNest<Depth> device_nest;
    device_nest.items = 1;
    device_nest.depth = static_cast<unsigned>(depth);
    for (std::size_t i = 0; i < depth; ++i) {
        device_nest.steps[i] = step_of(loops[i]);
        device_nest.items *= device_nest.steps[i].count;
    }
    return device_nest;
}

void launch(Context &context, CUstream stream, const std::string &name, unsigned blocks, unsigned x,
            unsigned y, void **parameters) {
    check(driver().cuLaunchKernel(context.strided_kernel(name), blocks, 1, 1, x, y, 1, 0, stream,
                                  parameters, nullptr),
          "cuLaunchKernel");
}

// Several times as many blocks as the device runs at once, so that none idles at the end.
unsigned blocks_for(const Device &device, unsigned items) {
    const unsigned needed = items / threads_of_block + (items % threads_of_block != 0 ? 1 : 0);
    return std::min(needed, device.info.compute_units * 32);
}

// The parameter `second` points to the source pointer, or to the value.
template <unsigned Depth>
void launch_nest_of(Queue &queue, CUstream stream, const std::string &verb, const LoopNest &nest,
                    void *second) {
    DeviceLoopNest<Depth> device_nest = device_nest_of<Depth>(nest.loops.data(), nest.loops.size());
    char *to = nest.to;
    void *parameters[] = {&to, second, &device_nest};
    launch(*queue.context, stream, verb + "_" + std::to_string(nest.unit),
           blocks_for(queue.device(), device_nest.items), threads_of_block, 1, parameters);
}

void launch_nest(Queue &queue, CUstream stream, const char *verb, const LoopNest &nest,
                 void *second) {
    if (nest.loops.size() <= usual_depth)
        launch_nest_of<usual_depth>(queue, stream, verb, nest, second);
    else
        launch_nest_of<greatest_depth>(queue, stream, std::string("deep_") + verb, nest, second);
}

// The loop that is contiguous in `from`; none if that is the innermost, or too short to fill tiles.
std::optional<std::size_t> row_loop(const LoopNest &nest) {
    const auto unit = static_cast<std::int64_t>(nest.unit);
    const Loop &inner = nest.loops.back();
    if (nest.loops.size() < 2 || nest.loops.size() > usual_depth + 2 || inner.to_step != unit ||
        std::abs(inner.from_step) <= unit || inner.count < tile / 2)
        return std::nullopt;
    for (std::size_t i = 0; i + 1 < nest.loops.size(); ++i)
        if (std::abs(nest.loops[i].from_step) == unit && nest.loops[i].count >= tile / 2)
            return i;
    return std::nullopt;
}

bool transpose_by_kernel(Queue &queue, CUstream stream, const LoopNest &nest) {
    const std::optional<std::size_t> row = row_loop(nest);
    if (!row)
        return false;
    const Loop &columns = nest.loops.back(), &rows = nest.loops[*row];
    std::vector<Loop> batch(nest.loops.begin(), nest.loops.end() - 1);
    batch.erase(batch.begin() + static_cast<std::ptrdiff_t>(*row));
    const auto tiles = [](const Loop &loop) {
        return static_cast<unsigned>((loop.count + tile - 1) / tile);
    };
    Transposition plan{static_cast<unsigned>(columns.count),
                       static_cast<unsigned>(rows.count),
                       tiles(columns),
                       tiles(rows),
                       rows.to_step,
                       rows.from_step,
                       columns.from_step,
                       device_nest_of<usual_depth>(batch.data(), batch.size())};
    char *to = nest.to;
    const char *from = nest.from;
    void *parameters[] = {&to, &from, &plan};
    launch(*queue.context, stream, "transpose_" + std::to_string(nest.unit),
           plan.batch.items * plan.row_tiles * plan.column_tiles, tile, tile_rows, parameters);
    return true;
}

std::int64_t items_of(const LoopNest &nest) {
    std::int64_t items = 1;
    for (const Loop &loop : nest.loops)
        if (__builtin_mul_overflow(items, loop.count, &items))
            return INT64_MAX;
    return items;
}

// Calls submit(nest) for each part that fits one launch.
template <class Submit> void for_each_part(const LoopNest &nest, Submit &&submit) {
    if (items_of(nest) <= most_items)
        return submit(nest);
    const auto longest =
        std::max_element(nest.loops.begin(), nest.loops.end(),
                         [](const Loop &a, const Loop &b) { return a.count < b.count; });
    const std::int64_t half = longest->count / 2;
    LoopNest first = nest, second = nest;
    const auto at = longest - nest.loops.begin();
    first.loops[at].count = half;
    second.loops[at].count -= half;
    second.to += half * longest->to_step;
    second.from += half * longest->from_step;
    for_each_part(first, submit);
    for_each_part(second, submit);
}

// --------------------------------------------------------- contiguous fills

bool all_same(const Fill::Value &value, std::size_t unit) {
    return std::all_of(value.begin(), value.begin() + static_cast<std::ptrdiff_t>(unit),
                       [&](unsigned char byte) { return byte == value[0]; });
}

template <class Unit> Unit unit_of(const Fill::Value &value) {
    Unit unit;
    std::memcpy(&unit, value.data(), sizeof unit);
    return unit;
}

// Fills by the driver, which supports units of 1, 2 and 4 bytes.
bool fill_contiguous(CUstream stream, const LoopNest &nest, const Fill::Value &value) {
    const CUdeviceptr to = address(nest.to);
    if (all_same(value, nest.unit))
        check(driver().cuMemsetD8Async(to, value[0], nest.bytes(), stream), "cuMemsetD8Async");
    else if (nest.unit == 2)
        check(
            driver().cuMemsetD16Async(to, unit_of<unsigned short>(value), nest.bytes() / 2, stream),
            "cuMemsetD16Async");
    // repeats its first four bytes
    else if (std::memcmp(value.data(), value.data() + 4, nest.unit - 4) == 0)
        check(driver().cuMemsetD32Async(to, unit_of<unsigned>(value), nest.bytes() / 4, stream),
              "cuMemsetD32Async");
    else
        return false;
    return true;
}

}  // namespace

CUfunction Context::strided_kernel(const std::string &name) {
    const MutexLock lock(mutex_);
    CUfunction &kernel = strided_kernels_[name];
    if (kernel != nullptr)
        return kernel;
    if (strided_module_ == nullptr)
        check(driver().cuModuleLoadDataEx(&strided_module_, strided_code(device).c_str(), 0,
                                          nullptr, nullptr),
              "cuModuleLoadDataEx");
    check(driver().cuModuleGetFunction(&kernel, strided_module_, name.c_str()),
          "cuModuleGetFunction");
    return kernel;
}

void submit_copy(Queue &queue, CUstream stream, const LoopNest &nest) {
    const auto longest_pitch =
        static_cast<std::size_t>(queue.device().attribute(CU_DEVICE_ATTRIBUTE_MAX_PITCH));
    // The driver copies rows only between the device and pinned memory. Within the device, kernels
    // are twice as fast; within the host, the driver would block the caller.
    const std::optional<Rows> rows = rows_of(nest, longest_pitch);
    if (rows && crosses_over(attributes_of(nest.to), attributes_of(nest.from)))
        return copy_rows(stream, *rows);
    for_each_part(nest, [&](const LoopNest &part) {
        const char *from = part.from;
        if (!transpose_by_kernel(queue, stream, part))
            launch_nest(queue, stream, "copy", part, &from);
    });
}

void submit_fill(Queue &queue, CUstream stream, const LoopNest &nest, const Fill::Value &value) {
    if (nest.is_contiguous() && fill_contiguous(stream, nest, value))
        return;
    alignas(16) Fill::Value unit = value;
    for_each_part(
        nest, [&](const LoopNest &part) { launch_nest(queue, stream, "fill", part, unit.data()); });
}

}  // namespace entrepot::backends::gpu
