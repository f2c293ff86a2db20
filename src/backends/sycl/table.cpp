// The table of the SYCL backend, and its entry point.
#include "backends/sycl/native.hpp"

namespace entrepot::backends::sycl {

static ep_backend make_table() {
    ep_backend table{};
    table.size = sizeof table;
    table.version = EP_BACKEND_VERSION;
    table.name = "sycl";
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

}  // namespace entrepot::backends::sycl

extern "C" __attribute__((visibility("default"))) ep_status
entrepot_backend(const ep_loader *given, const ep_backend **backend) {
    const ep_status status = entrepot::backends::accept_loader(given, "libentrepot_sycl9.so");
    if (status == EP_OK)
        *backend = &entrepot::backends::sycl::table();
    return status;
}
