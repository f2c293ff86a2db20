// The HIP backend keeps the contract, with programs in HIP C++.
#include "../gpu/kernels.hpp"
#include "hip_table.hpp"

namespace entrepot::contract {
namespace {

const Subject &hip_cpp() {
    static const Subject subject{&hip_table(), EP_HIP_CPP, gpu_kernels::indices, gpu_kernels::spin, gpu_kernels::reverse};
    return subject;
}

}  // namespace

ENTREPOT_BACKEND_CONTRACT("hip", hip_cpp())

}  // namespace entrepot::contract
