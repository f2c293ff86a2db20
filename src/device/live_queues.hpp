// The table of all live queues. A fork takes its mutex, and those of the host's queues.
#pragma once
#include "device/live_table.hpp"
#include <entrepot/device/queue.hpp>

namespace entrepot {

using LiveQueues = LiveTable<Queue::Record>;

LiveQueues &live_queue_table();

}  // namespace entrepot
