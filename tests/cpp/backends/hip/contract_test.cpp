// The HIP backend passes the contract, with programs in HIP C++.
#include "../gpu/graphs.hpp"
#include "../gpu/kernels.hpp"
#include "../gpu/table.hpp"

#include <dlfcn.h>

namespace entrepot::contract {
namespace {

const Graphs &graphs() {
    static const Graphs only = graphs_of(
        [](const std::string &name) { return dlsym(backends::gpu::hip_library(), name.c_str()); },
        "hip", "StreamBeginCapture", [](void *, const std::function<void()> &body) { body(); });
    return only;
}

const Subject &hip_cpp() {
    static const Subject subject{&gpu_table(),      EP_HIP_CPP,           gpu_kernels::indices,
                                 gpu_kernels::spin, gpu_kernels::reverse, true,
                                 &graphs()};
    return subject;
}

}  // namespace

ENTREPOT_BACKEND_CONTRACT("hip", hip_cpp())

}  // namespace entrepot::contract
