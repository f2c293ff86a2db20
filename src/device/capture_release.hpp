// CaptureRelease: releases the GIL around calls that ask if work of a device is being captured.
//
// Overview
//   Such a call asks other libraries for their current streams. The first query of a library may
//   run Python code and needs the GIL, so it is made here, before the GIL is released.
//
// Lock order
//   The query may acquire the GIL, so the caller holds no mutex (interpreter_lock.hpp).
#pragma once
#include "core/interpreter_lock.hpp"
#include <entrepot/device/device.hpp>
#include <entrepot/device/fork_guard.hpp>
#include <entrepot/device/registry.hpp>

namespace entrepot {

// Queries other libraries' current stream while the GIL is held, since a first query may need it. A
// library that has answered once can be queried without the GIL, as the backend does next.
class CaptureRelease : InterpreterLock::Released {
public:
    explicit CaptureRelease(const Device &device) : Released((ask(device), true)) {}

private:
    static void ask(const Device &device) {
        ENTREPOT_ASSERT(HeldMutexes::is_empty());
        if (device.has(EP_GRAPH_CAPTURE) && fork_guard::is_usable(device.backend()))
            registry::foreign_queue(device.backend().name(), device.info().number);
    }
};

}  // namespace entrepot
