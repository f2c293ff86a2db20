// Strided copies and fills. A planned box (backends/loop_nest.hpp) is copied in rows by the driver,
// or copied or filled by a kernel.
#pragma once
#include "backends/gpu/native.hpp"

namespace entrepot::backends::gpu {

// Rows of bytes in one or two outer loops: the drivers' 2D and 3D copies support nothing else.
struct Rows {
    char *to;
    const char *from;
    std::size_t width;  // bytes
    std::size_t height, depth;
    std::size_t to_pitch, from_pitch;    // bytes from row to row
    std::size_t to_height, from_height;  // rows from slice to slice
};
void copy_rows(CUstream stream, const Rows &rows);

// The kernels of loop_nest.cu, as the driver loads them for the device.
std::string strided_code(const Device &device);

// Submit a loop nest. Requires: the stream's context is current; a copy is not contiguous.
void submit_copy(Queue &queue, CUstream stream, const LoopNest &nest);
void submit_fill(Queue &queue, CUstream stream, const LoopNest &nest, const Fill::Value &value);

}  // namespace entrepot::backends::gpu
