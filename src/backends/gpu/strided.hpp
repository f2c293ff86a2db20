// Strided copies and fills: what is left of a box once it is planned (backends/walk.hpp) is a copy of rows by the driver, or is
// walked by a kernel.
#pragma once
#include "backends/gpu/native.hpp"

namespace entrepot::backends::ENTREPOT_GPU {

// Rows of bytes in one or two outer loops; the drivers' own copies of two and three dimensions take no other.
struct Rows {
    char *to;
    const char *from;
    std::size_t width;  // bytes
    std::size_t height, depth;
    std::size_t to_pitch, from_pitch;    // bytes from row to row
    std::size_t to_height, from_height;  // rows from slice to slice
};
void copy_rows(CUstream stream, const Rows &rows);

// The kernels of walk.cu, as the driver loads them for the device.
std::string walk_code(const Device &device);

// Hand a walk to the stream, whose context is current; a copy is not contiguous.
void submit_copy(Queue &queue, CUstream stream, const Walk &walk);
void submit_fill(Queue &queue, CUstream stream, const Walk &walk, const Fill::Value &value);

}  // namespace entrepot::backends::ENTREPOT_GPU
