// CUDA-specific parts of strided copies: the driver's copies of rows, and the kernels as PTX.
#include "backends/gpu/strided.hpp"

namespace entrepot::backends::gpu {

extern const char loop_nest_ptx[];  // generated from loop_nest.cu

void copy_rows(CUstream stream, const Rows &rows) {
    if (rows.depth == 1) {
        CUDA_MEMCPY2D plan{};
        plan.srcMemoryType = plan.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
        plan.srcDevice = address(rows.from);
        plan.dstDevice = address(rows.to);
        plan.srcPitch = rows.from_pitch;
        plan.dstPitch = rows.to_pitch;
        plan.WidthInBytes = rows.width;
        plan.Height = rows.height;
        return check(driver().cuMemcpy2DAsync(&plan, stream), "cuMemcpy2DAsync");
    }
    CUDA_MEMCPY3D plan{};
    plan.srcMemoryType = plan.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
    plan.srcDevice = address(rows.from);
    plan.dstDevice = address(rows.to);
    plan.srcPitch = rows.from_pitch;
    plan.dstPitch = rows.to_pitch;
    plan.srcHeight = rows.from_height;
    plan.dstHeight = rows.to_height;
    plan.WidthInBytes = rows.width;
    plan.Height = rows.height;
    plan.Depth = rows.depth;
    check(driver().cuMemcpy3DAsync(&plan, stream), "cuMemcpy3DAsync");
}

std::string strided_code(const Device &) { return loop_nest_ptx; }

}  // namespace entrepot::backends::gpu
