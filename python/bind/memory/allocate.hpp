// Allocation from Python. The GIL is kept if the pool has the block, which is the usual case.
#pragma once
#include <entrepot/memory/memory.hpp>

namespace entrepot::python {

// Same as Memory::allocate. Releases the GIL to wait or to ask the driver for a large allocation.
Memory allocate(std::size_t bytes, UsmKind kind, const Queue &queue, std::size_t alignment = 0);

}  // namespace entrepot::python
