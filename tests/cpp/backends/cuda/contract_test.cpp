// The CUDA backend passes the contract, with programs in CUDA C++.
#include "../gpu/graphs.hpp"
#include "../gpu/kernels.hpp"
#include "functions.hpp"

namespace entrepot::contract {
namespace {

// Runs the body with the stream's context current, because graph functions of the driver need it.
void inside(void *stream, const std::function<void()> &body) {
    CUcontext native = nullptr;
    backends::gpu::check(
        backends::gpu::driver().cuStreamGetCtx(static_cast<CUstream>(stream), &native),
        "cuStreamGetCtx");
    const backends::gpu::Current current(native);
    body();
}

const Graphs &graphs() {
    static const Graphs only =
        graphs_of([](const std::string &name) { return driver_function<void *>(name.c_str()); },
                  "cu", "StreamBeginCapture_v2", inside);
    return only;
}

const Subject &cuda_cpp() {
    static const Subject subject{&gpu_table(),      EP_CUDA_CPP,          gpu_kernels::indices,
                                 gpu_kernels::spin, gpu_kernels::reverse, true,
                                 &graphs()};
    return subject;
}

}  // namespace

ENTREPOT_BACKEND_CONTRACT("cuda", cuda_cpp())

}  // namespace entrepot::contract
