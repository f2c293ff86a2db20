// Entry point of the host backend, which the registry calls without loading a library.
#pragma once
#include <entrepot/device/backend.h>

// An ep_backend_entry.
extern "C" ep_status entrepot_host_backend(const ep_loader *given, const ep_backend **backend);
