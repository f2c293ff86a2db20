// The host's turn: what every export to a reader on the host does before the address leaves us.
#pragma once
#include <entrepot/array/array.hpp>

namespace entrepot::python {

// Waits until the host may use the array as its read-only flag allows, and notes that foreign code has seen the pointer. Throws
// DeviceError where the work that it waits for has failed.
inline void give_host_its_turn(const Array &array) {
    const Memory &memory = array.memory();
    const Access access = array.read_only() ? Access::read : Access::write;
    if (!memory.is_ready_for_host(access))
        memory.wait_for_host(access);
    memory.mark_escaped();
}

}  // namespace entrepot::python
