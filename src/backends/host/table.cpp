// The host backend: the machine's own processors and memory, always there, linked into libentrepot.
//
// What it promises beyond the contract:
//  - A submission whose queue has nothing before it runs at once, on the caller's thread, if it is short (memory.cpp and
//  programs.cpp
//    say where that ends: a copy of a few MiB, a kernel that its earlier launches have shown to be quick). Everything else is run
//    by the executor's threads, in the queue's order. No such thread ever blocks: what waits for an event is a continuation of
//    that event.
//  - Every queue is in order; EP_QUEUE_OUT_OF_ORDER is granted by keeping the order.
//  - fork: in the child everything works again, on new threads. A queue that was busy, or an event that was not done, at the
//    moment of the fork says so and refuses.
#include "backends/host/table.hpp"

#include "backends/host/native.hpp"

namespace entrepot::backends::host {

static ep_backend make_table() {
    ep_backend table{};
    table.size = sizeof table;
    table.version = EP_BACKEND_VERSION;
    table.name = "host";
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

}  // namespace entrepot::backends::host

extern "C" ep_status entrepot_host_backend(const ep_loader *lent, const ep_backend **backend) {
    if (lent->version != EP_BACKEND_VERSION) {
        lent->set_error("the host backend and the library that loads it were built from different versions of device/backend.h");
        return EP_UNAVAILABLE;
    }
    static const ep_backend table = entrepot::backends::host::make_table();
    entrepot::backends::loader = lent;
    *backend = &table;
    return EP_OK;
}
