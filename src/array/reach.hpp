// Reach: tells if a queue's device can use an array's memory.
#pragma once
#include <entrepot/array/array.hpp>

#pragma GCC visibility push(default)
namespace entrepot {

// True for memory of the queue's context, host-accessible memory if the device reads any, and
// memory of a peer. Enables access to the peer's memory if the hardware supports it.
bool reaches(const Queue &queue, const Array &array);

}  // namespace entrepot
#pragma GCC visibility pop
