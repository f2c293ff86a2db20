// The entry of the CUDA backend, which the registry calls without looking for a library of ours: only the driver is looked for.
#pragma once
#include <entrepot/device/backend.h>

// An ep_backend_entry. Opens the driver; EP_UNAVAILABLE with the reason where there is none, or this build has no such backend.
extern "C" ep_status entrepot_cuda_backend(const ep_loader *lent, const ep_backend **backend);
