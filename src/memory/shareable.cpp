// ShareableResource: allocation by the backends' IPC functions, and deferred release.
#include <entrepot/memory/shareable.hpp>

#include "core/interpreter_lock.hpp"
#include <device/capture_release.hpp>
#include <entrepot/core/publish.hpp>
#include <entrepot/device/backend.hpp>
#include <memory/driver_blocks.hpp>
#include <memory/fd_server.hpp>
#include <memory/immortal_resource.hpp>

namespace entrepot {
namespace {

// Not while a stream of the context is being captured into a graph.
bool close_shared(const Place &place, void *data) noexcept {
    senders::unpublish_file(data);
    const CaptureRelease released(place.device);
    return place.context.backend().status_of(&ep_backend::ipc_close, place.context.handle(),
                                             data) != EP_UNSUPPORTED;
}

DriverBlocks &waiting() {
    static constinit FirstUse<DriverBlocks> made;
    return made.get(close_shared);
}

}  // namespace

Block ShareableResource::allocate(const Place &place, std::size_t bytes, std::size_t alignment,
                                  const Queue &) {
    ENTREPOT_ASSERT(HeldMutexes::is_empty());  // the driver is called
    take_finished();
    const InterpreterLock::Released released;
    const Backend &backend = place.context.backend();
    Block block{nullptr, bytes, alignment};
    backend.call(&ep_backend::ipc_allocate, place.context.handle(), place.device.handle(),
                 static_cast<ep_usm_kind>(place.kind), bytes, &block.data);
    if (alignment == 0 || reinterpret_cast<std::uintptr_t>(block.data) % alignment == 0)
        return block;
    waiting().free_after(place, block.data, {});
    throw Error(ErrorKind::value, "an alignment of ", alignment,
                " bytes was asked for: memory to share begins at a page, and is aligned to that");
}

void ShareableResource::deallocate(const Place &place, Block block, Pending pending) noexcept {
    ENTREPOT_ASSERT(HeldMutexes::is_empty());
    waiting().free_after(place, block.data, std::move(pending));
}

void ShareableResource::take_finished() noexcept {
    try {
        waiting().free_finished();
    } catch (...) {  // no memory for the lists: at the next entry
    }
}

std::size_t ShareableResource::trim() {
    take_finished();
    return 0;
}

void ShareableResource::wait_for_all() noexcept { waiting().wait_for_all(); }

ShareableResource *shareable_resource() {
    static constinit std::atomic<ShareableResource *> made{nullptr};
    return immortal_resource(made, [] { return make_resource<ShareableResource>(); });
}

}  // namespace entrepot
