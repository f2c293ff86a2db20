// The table under test, and the runtime's own functions for what the table does not do.
#pragma once
#include "backends/hip/driver.hpp"

#include <backends/contract.hpp>

namespace entrepot::contract {

// The HIP backend's table; opened by main, which ends the program where there is no device.
const ep_backend &hip_table();

}  // namespace entrepot::contract
