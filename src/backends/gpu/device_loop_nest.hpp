// Parameters of the kernels in loop_nest.cu. Compiled for the host and for the device, by compilers
// that may include nothing else.
#pragma once

namespace entrepot::backends::loop_nests {

// One loop. Division by its count is a multiplication, exact for dividends below 2^31.
struct Step {
    unsigned count, multiplier, shift;
    long long to, from;  // bytes
};

// Two depths, because the parameters are copied at each launch. The contract allows 64 dimensions,
// and an item may be one more.
constexpr unsigned usual_depth = 6;
constexpr unsigned greatest_depth = 65;

// Fewer than 2^31 items, numbered through nested loops, the innermost last.
template <unsigned Depth> struct DeviceLoopNest {
    unsigned items, depth;
    Step steps[Depth];
};

// Two loops, processed in tiles: one of neighbors in `to`, one of neighbors in `from`; repeated
// for each item of the batch.
struct Transposition {
    unsigned columns, rows;  // of `to`: columns are neighbors there, rows in `from`
    unsigned column_tiles, row_tiles;
    long long row_to, row_from;  // bytes; row_from is the unit or its negative
    long long column_from;       // bytes
    DeviceLoopNest<usual_depth> batch;
};

constexpr unsigned tile = 32;      // items on each side
constexpr unsigned tile_rows = 8;  // of a thread block

}  // namespace entrepot::backends::loop_nests
