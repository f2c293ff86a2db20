// The host's turn: what every export to a reader on the host does before the address leaves us; and waiting without the GIL.
#pragma once
#include "../gil.hpp"

#include <entrepot/array/array.hpp>

namespace entrepot::python {

// Waits, with the GIL given up, until the host may use the array as its read-only flag allows, and notes that foreign code has
// seen the pointer. Throws DeviceError where the work that it waits for has failed.
inline void give_host_its_turn(const Array &array) {
    const Memory &memory = array.memory();
    const Access access = array.read_only() ? Access::read : Access::write;
    if (!memory.is_ready_for_host(access))
        without_gil([&] { memory.wait_for_host(access); });
    memory.mark_escaped();
}

// Where the core may block, as Memory::Wait.
inline void wait_without_gil(const std::function<void()> &blocking) { without_gil(blocking); }

}  // namespace entrepot::python
