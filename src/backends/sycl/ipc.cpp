// IPC: not supported. Neither SYCL 2020 nor the OpenCL CPU device has memory handles for other
// processes.
#include "backends/sycl/native.hpp"

namespace entrepot::backends::sycl {
namespace {

[[noreturn]] void refuse_sharing() {
    refuse(EP_UNSUPPORTED, "the SYCL runtime has no memory that another process can open: share "
                           "memory of the host and copy");
}

ep_status ipc_allocate(ep_context, ep_device, ep_usm_kind, std::size_t, void **) {
    return guarded([] { refuse_sharing(); });
}

ep_status ipc_export(ep_context, const void *, ep_ipc_form, ep_ipc_handle *) {
    return guarded([] { refuse_sharing(); });
}

ep_status ipc_device(const ep_ipc_handle *, ep_device *) {
    return guarded([] { refuse_sharing(); });
}

ep_status ipc_open(ep_context, const ep_ipc_handle *, std::int32_t, void **) {
    return guarded([] { refuse_sharing(); });
}

ep_status ipc_close(ep_context, void *) {
    return guarded([] { refuse_sharing(); });
}

}  // namespace

void fill_ipc_functions(ep_backend &table) {
    table.ipc_allocate = ipc_allocate;
    table.ipc_export = ipc_export;
    table.ipc_device = ipc_device;
    table.ipc_open = ipc_open;
    table.ipc_close = ipc_close;
}

}  // namespace entrepot::backends::sycl
