// The order of a release with the streams of peers, and their captures.
#pragma once
#include <entrepot/memory/resource.hpp>

#include <cstdint>
#include <vector>

namespace entrepot {

// True if the stream is captured into that graph (0: into none). False if the driver refuses to
// say.
// Requires: the stream exists, because drivers may crash on a destroyed one.
bool is_in_capture(const Queue &stream, std::uint64_t capture) noexcept;

// Makes the owner's stream wait for the streams of consumers, before borrowed memory is released.
// The owner may reuse the memory at once, while a consumer still works on it. Streams are the
// current ones of this thread.
//
// A no-op in a marked child of fork() and at process exit, where no consumer may be asked.
//
// Requires: nothing else refers to the record. The caller holds no mutex.
// GIL: as StreamLibrary::current_stream.
// Returns: work of consumers that the release has to wait for. The owner has no stream, names one
//          that it may have destroyed, or its stream is captured and cannot wait.
// Throws: bad_alloc or USMAllocationError if memory for events or the result is missing. Consumers
//         may then still work on the memory. A stream that the driver refuses is skipped.
std::vector<Use> order_release(Memory::Record *record);

}  // namespace entrepot
