// Entry point of the HIP backend, which the registry calls directly. Only the runtime is loaded.
#pragma once
#include <entrepot/device/backend.h>

// An ep_backend_entry. Loads the runtime. Returns EP_UNAVAILABLE, with the reason, without a
// runtime or in a build without HIP.
extern "C" ep_status entrepot_hip_backend(const ep_loader *lent, const ep_backend **backend);

// The path of the loaded runtime. Requires: the entry has returned EP_OK.
extern "C" const char *entrepot_hip_library();
