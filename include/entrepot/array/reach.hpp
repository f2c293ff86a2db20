// Reach: whether a queue's device may use an array's memory in work of its own.
#pragma once
#include <entrepot/array/array.hpp>

namespace entrepot {

// Memory of the queue's context; host-accessible memory where the device reads any; memory of a peer, to which access is enabled
// now if the hardware has a way.
bool reaches(const Queue &queue, const Array &array);

}  // namespace entrepot
