// Senders: how the open file of shared memory comes from the process that has it to the one that opens it.
//
// The owner answers on a Unix socket, from a thread of its own that calls neither a driver nor Python. The alternatives need
// more: pidfd_getfd and /proc/PID/fd the right to trace the owner, which containers and Ubuntu's default withhold from all but
// parents; a name in /dev/shm outlives a crash. The socket is abstract, so nothing is left of it either.
#pragma once
#include <entrepot/memory/share.hpp>

namespace entrepot::senders {

// From now on whoever has the ticket, and is the same user, is sent the file, until `memory` is withdrawn. Offered again,
// `memory` has the same ticket. Throws Error(exchange) where there can be no socket.
Sender offer(const void *memory, int file);
void withdraw(const void *memory) noexcept;

// A file that the caller closes. Blocks, for some seconds at most. Throws Error(exchange) where the process has ended, has let
// go of the memory or does not answer.
int fetch(const Sender &sender);

}  // namespace entrepot::senders
