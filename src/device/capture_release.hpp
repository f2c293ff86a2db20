// The interpreter's lock around calls that ask whether anything of a device's is being captured into a graph.
#pragma once
#include <entrepot/core/interpreter_lock.hpp>
#include <entrepot/device/device.hpp>
#include <entrepot/device/fork_guard.hpp>
#include <entrepot/device/registry.hpp>

namespace entrepot {

// Before it gives the lock up, other libraries are asked for the stream that they work with on this thread: who has answered
// once is asked without the lock as well, as the backend does next.
class CaptureRelease : InterpreterLock::Released {
public:
    explicit CaptureRelease(const Device &device) : Released((ask(device), true)) {}

private:
    static void ask(const Device &device) {
        if (device.has(EP_GRAPH_CAPTURE) && fork_guard::is_usable(device.backend()))
            registry::foreign_queue(device.backend().name(), device.info().number);
    }
};

}  // namespace entrepot
