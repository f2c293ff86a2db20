// Synchronization before an export to a consumer that accesses memory on the host.
#pragma once
#include <entrepot/array/array.hpp>

namespace entrepot::python {

// Waits until the host may access the array as its read-only flag allows, and records that foreign
// code has the pointer. Throws DeviceError if the pending work has failed.
inline void synchronize_for_host(const Array &array) {
    const Memory &memory = array.memory();
    if (!memory.is_ready_for_host(array.access()))
        memory.wait_for_host(array.access());
    memory.mark_escaped();
}

}  // namespace entrepot::python
