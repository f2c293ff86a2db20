// Sharing: memory that several processes map, and the data by which another process opens it.
#pragma once
#include <entrepot/device/backend.h>
#include <entrepot/memory/memory.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#pragma GCC visibility push(default)
namespace entrepot {

// The process from which the open file of shared memory can be fetched. Plain data.
struct Sender {
    std::int32_t process = 0;
    std::array<std::uint8_t, 16> address{};  // of the process's socket; random, like the token
    std::array<std::uint8_t, 16> token{};    // for this file
};

// One allocation of shared memory. The number in `ipc.file` has no meaning in another process.
struct SharedPiece {
    Sender sender;
    ep_ipc_handle ipc{};
};

// An event for the work that is pending on shared memory. The number in `ipc.file` has no meaning
// in another process.
struct SharedEvent {
    Sender sender;  // of the file
    ep_ipc_event ipc{};
};

// The data by which another process opens memory.
struct SharedMemory {
    std::string backend;
    UsmKind kind = UsmKind::unknown;
    // One after the other in memory, and at least one. Several are mapped by their owner, such as
    // PyTorch's expandable segments.
    std::vector<SharedPiece> pieces{};
    std::uint64_t offset = 0;              // of the shared range in the pieces
    std::optional<SharedEvent> pending{};  // work that uses of the opened memory wait for
    // Why share() waited on the host for pending work; empty if it did not. Stays in this process.
    std::string host_wait{};
};

// Shares the range [lowest, lowest + bytes), which lies in `memory`, with the allocations that hold
// it.
// Throws: Error(exchange) for memory that cannot be shared. The message names a resource whose
//         memory can, or the setting of the library's allocator that allows it.
// Lifetime: the memory must live until the other process has opened it. With EP_IPC_DRIVER and
//           EP_IPC_POOL, as long as that process uses it.
// Order: uses of the opened memory run after the pending accesses that conflict with `access`, of
//        the other process.
// Blocks: until these accesses are done, if no event can stand for them (SharedMemory::host_wait).
SharedMemory share(const Memory &memory, const void *lowest, std::size_t bytes,
                   ep_ipc_form form = EP_IPC_ANY, Access access = Access::write);

// Waits for all work that handles of this process have events of, but no longer than `most`. The
// work of a process ends with it, and other processes wait for that work. Python's module calls it
// when the interpreter ends; a program in C++ calls it before it ends.
// Returns: true if all of it is done. Errors of the work are not reported.
bool wait_for_shared_work(std::chrono::milliseconds most) noexcept;

// Returns: the whole allocations, as memory of the shareable resource. SharedMemory::pending is in
//          its access log, as a write.
// Throws: Error(exchange) if the process that shared it has ended or released it. Error(value) if
//         the handle does not match the memory. Error(device) if this process lacks the device or
//         its backend.
Memory open(const SharedMemory &shared, bool read_only);

}  // namespace entrepot
#pragma GCC visibility pop
