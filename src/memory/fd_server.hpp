// Senders: how the open file of shared memory comes from the process that has it to the one that
// opens it.
//
// The owner answers on a Unix socket, from a thread of its own that calls neither a driver nor
// Python. The alternatives are worse. pidfd_getfd and /proc/PID/fd need the right to trace the
// owner, which containers and Ubuntu's default give to parents only. A name in /dev/shm outlives a
// crash. The socket is abstract, so it leaves nothing behind.
#pragma once
#include <entrepot/memory/share.hpp>

namespace entrepot::senders {

// Sends the file to every process of the same user that has the token, until `memory` is
// unpublished. Published again, `memory` has the same token.
// Throws: Error(exchange) if no socket can be created.
Sender publish_file(const void *memory, int file);
void unpublish_file(const void *memory) noexcept;

// Ownership: the caller closes the returned file.
// Throws: Error(exchange) if the process has ended, has released the memory or does not answer.
// Blocks: for some seconds at most.
int receive_file_of(const Sender &sender);

}  // namespace entrepot::senders
