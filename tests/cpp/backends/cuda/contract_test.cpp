// The CUDA backend keeps the contract, with programs in CUDA C++, and launches kernels from PTX as well.
#include "../gpu/kernels.hpp"
#include "cuda_table.hpp"

namespace entrepot::contract {
namespace {

const Subject &cuda_cpp() {
    static const Subject subject{&cuda_table(), EP_CUDA_CPP, gpu_kernels::indices, gpu_kernels::spin, gpu_kernels::reverse};
    return subject;
}

}  // namespace

ENTREPOT_BACKEND_CONTRACT("cuda", cuda_cpp())

}  // namespace entrepot::contract
