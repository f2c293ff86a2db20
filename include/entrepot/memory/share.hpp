// Sharing: memory by which another process sees what this one sees, and how it opens it.
#pragma once
#include <entrepot/device/backend.h>
#include <entrepot/memory/memory.hpp>

#include <array>
#include <cstdint>
#include <string>

namespace entrepot {

// Where the open file of shared memory can be fetched. Plain data.
struct Sender {
    std::int32_t process = 0;
    std::array<std::uint8_t, 16> address{};  // of the process's socket; drawn by lot, as the next
    std::array<std::uint8_t, 16> ticket{};   // for this file
};

// What another process opens memory by. Plain data: what `ipc.file` says here means nothing there.
struct SharedMemory {
    std::string backend;
    UsmKind kind = UsmKind::unknown;
    Sender sender;
    ep_ipc_handle ipc{};
};

// By what to open the allocation in which `pointer`, of `memory`, lies. Blocks until all that was submitted to write it is done:
// the other process can wait for nothing of ours. Memory must stay until it has been opened; from then on each side has it
// for itself, except for EP_IPC_DRIVER, where it must stay as long as the other side uses it.
// Throws Error(exchange) for memory that cannot be shared, naming the resource whose memory can.
SharedMemory share(const Memory &memory, const void *pointer, ep_ipc_form form = EP_IPC_ANY);

// The whole allocation, of the shareable resource. Throws Error(exchange): the process that shared it has ended or let go of it;
// Error(value): the handle is not true of the memory; Error(device): the device or its backend is not in this process.
Memory open(const SharedMemory &shared, bool read_only);

}  // namespace entrepot
