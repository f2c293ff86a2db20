// ENTREPOT_REQUIRE: a comma-separated list of needs that the machine must meet. A test that misses
// one of them fails instead of being skipped.
#pragma once
#include <cstdlib>
#include <string>
#include <string_view>

namespace entrepot::contract {

// Matches whole names: `hip` is not required where `hip_library` is.
inline bool is_required(std::string_view name) {
    const char *const listed = std::getenv("ENTREPOT_REQUIRE");
    return listed && ("," + std::string(listed) + ",").find("," + std::string(name) + ",") !=
                         std::string::npos;
}

}  // namespace entrepot::contract
