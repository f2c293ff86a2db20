// The backend's table: each file of this folder enters its functions.
#include "backends/gpu/native.hpp"

namespace entrepot::backends::ENTREPOT_GPU {

static ep_backend make_table() {
    ep_backend table{};
    table.size = sizeof table;
    table.version = EP_BACKEND_VERSION;
    table.name = selector_word;
    fill_devices_functions(table);
    fill_contexts_functions(table);
    fill_queues_functions(table);
    fill_events_functions(table);
    fill_memory_functions(table);
    fill_programs_functions(table);
    fill_peer_functions(table);
    fill_ipc_functions(table);
    return table;
}

ep_status open_backend(const ep_loader *lent, const ep_backend **backend) {
    if (lent->version != EP_BACKEND_VERSION) {
        lent->set_error("the backends of GPUs and the library that loads them were built from "
                        "different versions of "
                        "device/backend.h");
        return EP_UNAVAILABLE;
    }
    loader = lent;
    return guarded([&] {
        open_driver();
        static const ep_backend table = make_table();
        *backend = &table;
    });
}

}  // namespace entrepot::backends::ENTREPOT_GPU
