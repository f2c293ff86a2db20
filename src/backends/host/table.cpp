// The host backend: the machine's own processors and memory, always there, linked into libentrepot.
//
// Its guarantees beyond the contract:
//
// - A short submission to an empty queue runs at once on the caller's thread. Short are copies of a
//   few MiB (memory.cpp), kernels that were quick before (programs.cpp), and such nodes of a graph.
//   The executor's threads run everything else, in the queue's order. They never block: a wait for
//   an event is a continuation of that event.
// - Every queue is in order; EP_QUEUE_OUT_OF_ORDER is accepted and has no effect.
// - After fork() the child can use the backend, on new threads. Queues that were busy and events
//   that were pending at the fork are refused there.
#include "backends/host/table.hpp"

#include "backends/host/native.hpp"

namespace entrepot::backends::host {

static ep_backend make_table() {
    ep_backend table{};
    table.size = sizeof table;
    table.version = EP_BACKEND_VERSION;
    table.name = "host";
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

}  // namespace entrepot::backends::host

extern "C" ep_status entrepot_host_backend(const ep_loader *given, const ep_backend **backend) {
    static const ep_backend table = entrepot::backends::host::make_table();
    const ep_status status = entrepot::backends::accept_loader(given, "the host backend");
    if (status == EP_OK)
        *backend = &table;
    return status;
}
