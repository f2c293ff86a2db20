// HIP-specific parts of strided copies: the runtime's copies of rows, and the kernels, compiled at
// first use.
#include "backends/gpu/strided.hpp"

#include "backends/gpu/compiler.hpp"

namespace entrepot::backends::gpu {

extern const char loop_nest_text[];  // generated from loop_nest.cu

void copy_rows(CUstream stream, const Rows &rows) {
    if (rows.depth == 1)
        return check(driver().hipMemcpy2DAsync(rows.to, rows.to_pitch, rows.from, rows.from_pitch,
                                               rows.width, rows.height, hipMemcpyDefault, stream),
                     "hipMemcpy2DAsync");
    hipMemcpy3DParms plan{};
    plan.srcPtr = {const_cast<char *>(rows.from), rows.from_pitch, rows.from_pitch,
                   rows.from_height};
    plan.dstPtr = {rows.to, rows.to_pitch, rows.to_pitch, rows.to_height};
    plan.width = rows.width;
    plan.height = rows.height;
    plan.depth = rows.depth;
    plan.kind = hipMemcpyDefault;
    check(driver().hipMemcpy3DAsync(&plan, stream), "hipMemcpy3DAsync");
}

std::string strided_code(const Device &device) {
    std::string log;
    return compile({loop_nest_text, {"-std=c++17"}, "", device.target}, log).image;
}

}  // namespace entrepot::backends::gpu
