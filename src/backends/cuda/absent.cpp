// The CUDA backend of a build without it (ENTREPOT_CUDA=OFF): an entry that reports this.
#include "backends/cuda/table.hpp"

extern "C" ep_status entrepot_cuda_backend(const ep_loader *lent, const ep_backend **) {
    lent->set_error("not part of this build: build it with ENTREPOT_CUDA=ON");
    return EP_UNAVAILABLE;
}
