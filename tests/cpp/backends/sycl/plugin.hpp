// The plugin under test, which is loaded by its path as by the registry.
#pragma once
#include <backends/contract.hpp>

namespace entrepot::contract {

// Returns: the table of the plugin. The environment variable ENTREPOT_SYCL_PLUGIN may name its
//          path; the default is the plugin built with this test.
const ep_backend &sycl_table();

}  // namespace entrepot::contract
