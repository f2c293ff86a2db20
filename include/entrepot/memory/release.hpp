// What is let go late: memory whose uses are still running waits, and is released at a later entry of ours.
#pragma once
#include <entrepot/memory/memory.hpp>

namespace entrepot {

// Releases what has waited for work that is done by now: owners of borrowed memory, blocks of every resource. Never blocks.
// Allocating and letting go do it by themselves; whoever has waited for a queue does well to call it.
void release_finished() noexcept;

// Blocks until everything that waits now is released (callers from Python release the GIL). What failed work holds stays.
void wait_and_release() noexcept;

// The process ends: from now on nothing is asked of, or given back to, any runtime but the host's; the system takes it all.
void leak_from_now_on() noexcept;

// Whether the backend's runtime may be called: the host's always, others neither in a forked child nor once the process ends.
bool may_call(const Backend &backend) noexcept;

}  // namespace entrepot
