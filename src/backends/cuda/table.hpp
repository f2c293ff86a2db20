// Entry point of the CUDA backend, which the registry calls directly. Only the driver is loaded.
#pragma once
#include <entrepot/device/backend.h>

// An ep_backend_entry. Loads the driver. Returns EP_UNAVAILABLE, with the reason, without a driver
// or in a build without CUDA.
extern "C" ep_status entrepot_cuda_backend(const ep_loader *lent, const ep_backend **backend);
