// The backend's table: each file of this folder enters its functions.
#include "backends/gpu/native.hpp"

namespace entrepot::backends::ENTREPOT_GPU {

static ep_backend make_table() {
    ep_backend table{};
    table.size = sizeof table;
    table.version = EP_BACKEND_VERSION;
    table.name = selector_word;
    enter_devices(table);
    enter_contexts(table);
    enter_queues(table);
    enter_events(table);
    enter_memory(table);
    enter_programs(table);
    enter_peer(table);
    enter_ipc(table);
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
