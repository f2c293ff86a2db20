// Sharing: exports an allocation, and opens one of another process.
#include <entrepot/memory/share.hpp>

#include <core/open_file.hpp>
#include <entrepot/device/backend.hpp>
#include <entrepot/device/registry.hpp>
#include <entrepot/memory/shareable.hpp>
#include <memory/fd_server.hpp>

#include <unistd.h>

namespace entrepot {
namespace {

constexpr const char *advice = "allocate it from entrepot.memory.shareable() (`with "
                               "use_resource(shareable()):`), or copy it there";

// Memory of Entrepot is shared only if it is a whole allocation. In a pool, a process would see
// neighboring and later blocks.
void require_own_allocation(const Memory &memory) {
    if (memory.is_borrowed() || &memory.resource()->origin() == shareable_resource())
        return;
    throw Error(ErrorKind::exchange, "share: memory of the resource '",
                memory.resource()->origin().name(),
                "' cannot be opened by other processes: ", advice);
}

Place place_of(const SharedMemory &shared) {
    const Backend &backend = registry::backend(shared.backend);
    ep_device handle = nullptr;
    backend.call(&ep_backend::ipc_device, &shared.ipc, &handle);
    const Device device = backend.device(handle);
    return {device.default_context(), device, shared.kind};
}

// Otherwise a handle that labels device memory as host memory would make the host read it. The host
// itself has one kind of memory.
void require_kind(const Memory &memory) {
    if (memory.context().backend().is_host())
        return;
    const auto found =
        static_cast<UsmKind>(memory.context().query(memory.data(), memory.nbytes()).kind);
    if (found != memory.kind())
        throw Error(ErrorKind::value, "the handle says that its memory is of kind ", memory.kind(),
                    ", and it is ", found);
}

}  // namespace

SharedMemory share(const Memory &memory, const void *pointer, ep_ipc_form form) {
    require_own_allocation(memory);
    const Backend &backend = memory.context().backend();
    fork_guard::require_usable(backend);
    SharedMemory shared{backend.name(), memory.kind(), {}, {}};
    const ep_status status = backend.status_of(&ep_backend::ipc_export, memory.context().handle(),
                                               pointer, form, &shared.ipc);
    if (status == EP_UNSUPPORTED)
        throw Error(ErrorKind::exchange, "share: ", Backend::last_error(),
                    form == EP_IPC_ANY ? ": " : "", form == EP_IPC_ANY ? advice : "");
    backend.check(status);
    memory.wait_for_host(Access::read);
    shared.sender.process = getpid();
    if (shared.ipc.form == EP_IPC_FILE)
        shared.sender = senders::publish_file(
            static_cast<const char *>(pointer) - shared.ipc.offset, shared.ipc.file);
    return shared;
}

Memory open(const SharedMemory &shared, bool read_only) {
    const Place place = place_of(shared);
    if (shared.ipc.form == EP_IPC_DRIVER && shared.sender.process == getpid())
        throw Error(ErrorKind::exchange, "shared memory: this process shared it, and the driver "
                                         "opens it in others alone: use the "
                                         "array that was shared");
    const OpenFile fetched(shared.ipc.form == EP_IPC_FILE ? senders::receive_file_of(shared.sender)
                                                          : -1);
    ep_ipc_handle handle = shared.ipc;
    handle.file = fetched.number();
    void *start = nullptr;
    place.context.backend().call(&ep_backend::ipc_open, place.context.handle(), &handle, read_only,
                                 &start);
    Memory memory = Memory::of_block(shareable_resource(), place, {start, handle.size, 0});
    require_kind(memory);
    return memory;
}

}  // namespace entrepot
