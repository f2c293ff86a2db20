// IPC events: not supported yet.
#include "backends/sycl/native.hpp"

namespace entrepot::backends::sycl {
namespace {

ep_status ipc_event_record(ep_queue, ep_ipc_event *) {
    return guarded([] { refuse(EP_UNSUPPORTED, "the SYCL runtime has no events for processes"); });
}

ep_status ipc_event_open(ep_context, const ep_ipc_event *, ep_event *) {
    return guarded([] { refuse(EP_UNSUPPORTED, "the SYCL runtime has no events for processes"); });
}

}  // namespace

void fill_ipc_event_functions(ep_backend &table) {
    table.ipc_event_record = ipc_event_record;
    table.ipc_event_open = ipc_event_open;
}

}  // namespace entrepot::backends::sycl
