// Stream libraries: libraries with a current stream for each thread, such as PyTorch and CuPy.
//
// Overview
//   Memory names the library that it belongs to by a small number. An operation asks that library
//   for its current stream on this thread. See entrepot/memory/operation.hpp for the rule that uses
//   it.
//
// Lock order
//   The registry is append-only: a mutex guards writes, and readers need no lock. A fork takes it.
//   A library that is asked for its stream may acquire the GIL, so the caller holds no mutex.
//
// Lifetime
//   Libraries are never unregistered. A stream may be destroyed after the call that asked for it
//   (Queue::may_be_destroyed).
#pragma once
#include <entrepot/device/queue.hpp>

#include <cstdint>

#pragma GCC visibility push(default)
namespace entrepot {

struct StreamLibrary {
    const char *name = "";

    // Sets `stream` to the native stream that the library works on in this thread. It is a CUstream
    // or hipStream_t, where 0 is the legacy default stream, or the address of a sycl::queue, where
    // 0 is no queue.
    //
    // Returns: true if the library has a current stream for the device.
    // Thread safety: thread-safe.
    // GIL: callable with or without it. It may acquire the GIL, so the caller holds no mutex.
    bool (*current_stream)(const StreamLibrary &self, const Device &device,
                           std::uintptr_t &stream) noexcept = nullptr;

    // False if the library reads memory that it imports through the CUDA Array Interface without
    // waiting for `stream`.
    bool waits_for_cai_stream = true;

    // True if the library's allocator reuses memory in stream order. Its memory may then be
    // released while work on its current stream is pending.
    bool frees_in_stream_order = false;

    // True if the library may import what Entrepot exports. An export does not name its consumer,
    // so each operation on exported memory is ordered with the current streams of all such
    // libraries.
    bool takes_exports = false;
};

// Numbers of libraries that take exports, as a set: bit i is library i. The other libraries have
// higher numbers.
using LibrarySet = std::uint8_t;
inline constexpr unsigned max_consumer_libraries = 8, max_stream_libraries = 15;

// Library 0: a producer that names no stream is taken to work on CUDA's or HIP's legacy default
// stream.
inline constexpr unsigned legacy_library = 0;
inline constexpr LibrarySet legacy_library_set = 1u << legacy_library;

// Returns: the library's number; the same one if it is registered already. When
//          max_consumer_libraries take exports, or there are max_stream_libraries, further ones get
//          legacy_library.
// Lifetime: `library` must live as long as the process.
// Thread safety: thread-safe.
unsigned register_stream_library(const StreamLibrary &library) noexcept;
const StreamLibrary &stream_library(unsigned number) noexcept;
// All that take exports, and legacy_library.
LibrarySet consumer_libraries() noexcept;

// Returns: the queue of the library's current stream for the device on this thread. No queue if the
//          library has no stream, or has destroyed it. The stream may be one of another device, if
//          the library works on that.
// Throws: Error if the driver cannot be asked. Any ErrorKind::device counts as a destroyed stream.
// Thread safety: thread-safe.
// GIL: as StreamLibrary::current_stream.
Queue current_stream_of(unsigned library, const Device &device);

}  // namespace entrepot
#pragma GCC visibility pop
