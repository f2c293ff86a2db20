// The plugin under test: loaded as the registry would, by path.
#pragma once
#include <backends/contract.hpp>

namespace entrepot::contract {

// The table of the plugin that ENTREPOT_SYCL_PLUGIN names (the variable, else the one that was
// built with this test).
const ep_backend &sycl_table();

}  // namespace entrepot::contract
