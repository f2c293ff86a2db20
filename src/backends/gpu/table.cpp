// The table of the CUDA and HIP backends, NVIDIA's and AMD's GPUs through their drivers, and its
// entry point.
//
// Guarantees beyond the contract:
// - Contexts are the devices' primary ones, as in all programs that use CUDA's runtime API. So all
//   libraries in the process can share memory and streams.
// - The caller's current context is the same after every call, on every thread.
// - Host memory is pinned and portable, shared memory is managed, and device memory comes from the
//   driver's stream-ordered pools.
// - Every queue is in order; EP_QUEUE_OUT_OF_ORDER is accepted and has no effect.
//
// Exceptions in HIP:
// - A device has one context, shared by all libraries. The caller's current device is the same
//   after every call.
// - The default stream is NULL, and has no other number.
// - There is no event for all work of a device, no query for a kernel's parameters, and no cluster.
// - Sharing memory by file needs HIP 6. Memory of hipMalloc is shared by the runtime's own handles.
#include "backends/gpu/native.hpp"

namespace entrepot::backends::gpu {

static ep_backend make_table() {
    ep_backend table{};
    table.size = sizeof table;
    table.version = EP_BACKEND_VERSION;
    table.name = selector_word;
    fill_device_functions(table);
    fill_context_functions(table);
    fill_queue_functions(table);
    fill_event_functions(table);
    fill_memory_functions(table);
    fill_program_functions(table);
    fill_peer_functions(table);
    fill_ipc_functions(table);
    fill_ipc_event_functions(table);
    fill_graph_functions(table);
    return table;
}

const ep_backend &table() {
    static const ep_backend made = make_table();
    return made;
}

ep_status open_backend(const ep_loader *given, const ep_backend **backend) {
    if (const ep_status refused = accept_loader(given, "the plugin for GPUs"); refused != EP_OK)
        return refused;
    return guarded([&] {
        open_driver();
        *backend = &table();
    });
}

}  // namespace entrepot::backends::gpu

extern "C" __attribute__((visibility("default"))) ep_status
entrepot_backend(const ep_loader *given, const ep_backend **backend) {
    return entrepot::backends::gpu::open_backend(given, backend);
}

// EP_BACKEND_DRIVER_PATH.
extern "C" __attribute__((visibility("default"))) const char *entrepot_driver_path() {
    return entrepot::backends::gpu::driver().path.c_str();
}
