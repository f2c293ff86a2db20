// Shared events: other processes wait for the work that is pending on shared memory.
//
// Overview
//   The event is recorded in the queue of the pending work. If several queues have some, an
//   internal queue waits for all of them. The other process adds the event to the access log of
//   the memory that it opens. So that log orders its uses, as with memory of its own. A queue waits
//   for the event, and the host only where it reads.
//
// States
//   An event of a queue covers all positions up to one. It serves for all memory whose pending work
//   these positions are (LastRecords).
//
// Lock order
//   The mutexes are leaves (ForkSafeMutex). No driver is called and no file is received while one
//   is held.
//
// Lifetime
//   An event lives as long as the process that records it, so a handle holds no reference to one.
//   Its file tells whether that process lives. The files of the processes that were asked last are
//   kept open (RecorderFiles).
#pragma once
#include <entrepot/memory/share.hpp>

#include <optional>
#include <string>

namespace entrepot::shared_events {

// Returns: an event for the accesses that conflict with `access`. None if there are none, or no
//          event can stand for them. The host has then waited for them, and the reason is in
//          `host_wait`. An opener on another machine (`may_leave_machine`) waits for no event.
// Throws: Error(device) if accesses are captured into a graph.
std::optional<SharedEvent> record(const Memory &memory, Access access, bool may_leave_machine,
                                  std::string &host_wait);

// Logs the event as a pending write of the memory, unless it is done.
// Throws: Error(exchange) if the process that recorded it has ended.
void add_to(const Memory &memory, const SharedEvent &event);

}  // namespace entrepot::shared_events
