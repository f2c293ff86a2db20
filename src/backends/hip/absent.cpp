// The HIP backend of a build without it (ENTREPOT_HIP=OFF): an entry that reports this.
#include "backends/hip/table.hpp"

extern "C" ep_status entrepot_hip_backend(const ep_loader *lent, const ep_backend **) {
    lent->set_error("not part of this build: build it with ENTREPOT_HIP=ON");
    return EP_UNAVAILABLE;
}

extern "C" const char *entrepot_hip_library() { return ""; }
