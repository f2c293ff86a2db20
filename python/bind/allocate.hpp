// Allocation from Python: without giving the GIL up where the pool has the block, which is nearly always.
#pragma once
#include <entrepot/memory/memory.hpp>

namespace entrepot::python {

// As Memory::allocate. Waits, and asks the driver for much, with the GIL released.
Memory allocate(std::size_t bytes, UsmKind kind, const Queue &queue, std::size_t alignment = 0);

}  // namespace entrepot::python
