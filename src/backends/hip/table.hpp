// The entry of the HIP backend, which the registry calls without looking for a library of ours: only the runtime is looked for.
#pragma once
#include <entrepot/device/backend.h>

// An ep_backend_entry. Opens the runtime; EP_UNAVAILABLE with the reason where there is none, or this build has no such backend.
extern "C" ep_status entrepot_hip_backend(const ep_loader *lent, const ep_backend **backend);

// The path of the runtime that was opened; after the entry said EP_OK.
extern "C" const char *entrepot_hip_library();
