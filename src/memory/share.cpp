// Sharing: exports an allocation, and opens one of another process.
#include <entrepot/memory/share.hpp>

#include <core/open_file.hpp>
#include <entrepot/device/backend.hpp>
#include <entrepot/device/registry.hpp>
#include <entrepot/memory/shareable.hpp>
#include <memory/exported_files.hpp>
#include <memory/fd_server.hpp>
#include <memory/shared_events.hpp>

#include <unistd.h>

#include <algorithm>

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
    backend.call(&ep_backend::ipc_device, &shared.pieces.front().ipc, &handle);
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

bool has_file(const ep_ipc_handle &handle) noexcept {
    return handle.form == EP_IPC_FILE || handle.form == EP_IPC_POOL;
}

// The driver keeps the memory at its owner, and refuses to open it there a second time.
bool is_for_others_only(const ep_ipc_handle &handle) noexcept {
    return handle.form == EP_IPC_DRIVER || handle.form == EP_IPC_POOL;
}

// The allocation that holds `at`, of the `bytes` from there.
SharedPiece export_piece(const Memory &memory, const std::byte *at, std::size_t bytes,
                         ep_ipc_form form) {
    if (form != EP_IPC_FABRIC)
        if (const std::optional<SharedPiece> known = exported_files::find(memory, at))
            return *known;
    const Backend &backend = memory.context().backend();
    SharedPiece piece;
    const ep_status status = backend.status_of(&ep_backend::ipc_export, memory.context().handle(),
                                               at, bytes, form, &piece.ipc);
    if (status == EP_UNSUPPORTED)
        throw Error(ErrorKind::exchange, "share: ", Backend::last_error(),
                    form == EP_IPC_ANY ? ": " : "", form == EP_IPC_ANY ? advice : "");
    backend.check(status);
    OpenFile ours(has_file(piece.ipc) && piece.ipc.owns_file != 0 ? piece.ipc.file : -1);
    const std::byte *const start = at - piece.ipc.offset;
    piece.sender.process = getpid();
    if (ours.number() >= 0)
        return exported_files::add(memory, start, piece, std::move(ours));
    if (has_file(piece.ipc))
        piece.sender = senders::publish_file(start, piece.ipc.file);
    // The driver need not be asked again. Handles of the fabric are rare.
    if (!backend.is_host() && form != EP_IPC_FABRIC)
        return exported_files::add(memory, start, piece, OpenFile(-1));
    return piece;
}

// Files and fabric handles of allocations that are mapped one after the other.
void require_pieces_that_fit(const SharedMemory &shared) {
    const auto is_mappable = [](const SharedPiece &piece) {
        return piece.ipc.form == EP_IPC_FILE || piece.ipc.form == EP_IPC_FABRIC;
    };
    if (shared.pieces.size() > 1 && !std::ranges::all_of(shared.pieces, is_mappable))
        throw Error(
            ErrorKind::exchange, "share: the elements lie in ", shared.pieces.size(),
            " allocations of the driver, which gives other processes single ones alone: ", advice);
}

std::uint64_t bytes_of(const SharedMemory &shared) {
    std::uint64_t sum = 0;
    for (const SharedPiece &piece : shared.pieces)
        if (__builtin_add_overflow(sum, piece.ipc.size, &sum))
            throw Error(ErrorKind::value, "the handle's memory has more bytes than 64 bits count");
    return sum;
}

}  // namespace

SharedMemory share(const Memory &memory, const void *lowest, std::size_t bytes, ep_ipc_form form,
                   Access access) {
    require_own_allocation(memory);
    const Backend &backend = memory.context().backend();
    fork_guard::require_usable(backend);
    SharedMemory shared{.backend = backend.name(), .kind = memory.kind()};
    const auto *at = static_cast<const std::byte *>(lowest);
    const std::byte *const end = at + std::max<std::size_t>(bytes, 1);
    while (at < end) {
        const SharedPiece &piece = shared.pieces.emplace_back(
            export_piece(memory, at, static_cast<std::size_t>(end - at), form));
        ENTREPOT_ASSERT(piece.ipc.offset < piece.ipc.size);
        ENTREPOT_ASSERT(shared.pieces.size() == 1 || piece.ipc.offset == 0);
        at += piece.ipc.size - piece.ipc.offset;
    }
    shared.offset = shared.pieces.front().ipc.offset;
    require_pieces_that_fit(shared);
    const bool may_leave_machine = std::ranges::any_of(
        shared.pieces, [](const SharedPiece &piece) { return piece.ipc.form == EP_IPC_FABRIC; });
    shared.pending = shared_events::record(memory, access, may_leave_machine, shared.host_wait);
    return shared;
}

Memory open(const SharedMemory &shared, bool read_only) {
    ENTREPOT_ASSERT(!shared.pieces.empty());
    const std::uint64_t bytes = bytes_of(shared);
    const Place place = place_of(shared);
    std::vector<OpenFile> fetched;
    std::vector<ep_ipc_handle> handles;
    for (const SharedPiece &piece : shared.pieces) {
        if (is_for_others_only(piece.ipc) && piece.sender.process == getpid())
            throw Error(ErrorKind::exchange, "shared memory: this process shared it, and the "
                                             "driver opens it in others alone: use the "
                                             "array that was shared");
        handles.push_back(piece.ipc);
        handles.back().file = -1;
        if (has_file(piece.ipc)) {
            fetched.emplace_back(senders::receive_file_of(piece.sender));
            handles.back().file = fetched.back().number();
        }
    }
    void *start = nullptr;
    const Backend &backend = place.context.backend();
    const ep_status status = backend.status_of(&ep_backend::ipc_open, place.context.handle(),
                                               handles.data(), handles.size(), read_only, &start);
    // The driver does not tell a handle of memory that is gone from other bytes.
    if (status == EP_INVALID && handles.front().form == EP_IPC_DRIVER)
        throw Error(ErrorKind::exchange, "shared memory: ", Backend::last_error());
    backend.check(status);
    Memory memory = Memory::of_block(shareable_resource(), place, {start, bytes, 0});
    require_kind(memory);
    if (shared.pending)
        shared_events::add_to(memory, *shared.pending);
    return memory;
}

}  // namespace entrepot
