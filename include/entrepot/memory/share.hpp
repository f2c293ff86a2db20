// Sharing: memory that several processes map, and the data by which another process opens it.
#pragma once
#include <entrepot/device/backend.h>
#include <entrepot/memory/memory.hpp>

#include <array>
#include <cstdint>
#include <string>

#pragma GCC visibility push(default)
namespace entrepot {

// The process from which the open file of shared memory can be fetched. Plain data.
struct Sender {
    std::int32_t process = 0;
    std::array<std::uint8_t, 16> address{};  // of the process's socket; random, like the token
    std::array<std::uint8_t, 16> token{};    // for this file
};

// The data by which another process opens memory. The number in `ipc.file` has no meaning there.
struct SharedMemory {
    std::string backend;
    UsmKind kind = UsmKind::unknown;
    Sender sender;
    ep_ipc_handle ipc{};
};

// Returns: the data to open the allocation that holds `pointer`, which lies in `memory`.
// Throws: Error(exchange) for memory that cannot be shared, naming a resource whose memory can.
// Lifetime: the memory must live until the other process has opened it. With EP_IPC_DRIVER, as long
//           as that process uses it.
// Blocks: until all submitted writes are done, because the other process cannot wait for them.
SharedMemory share(const Memory &memory, const void *pointer, ep_ipc_form form = EP_IPC_ANY);

// Returns: the whole allocation, as memory of the shareable resource.
// Throws: Error(exchange) if the process that shared it has ended or released it. Error(value) if
//         the handle does not match the memory. Error(device) if this process lacks the device or
//         its backend.
Memory open(const SharedMemory &shared, bool read_only);

}  // namespace entrepot
#pragma GCC visibility pop
