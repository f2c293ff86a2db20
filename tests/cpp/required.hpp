// ENTREPOT_REQUIRE: a comma-separated list of features that the machine must have. A test that
// misses one of them fails instead of being skipped.
#pragma once
#include <cstdlib>
#include <string>
#include <string_view>

namespace entrepot::contract {

// Matches whole names: `hip_library` does not require `hip`.
inline bool is_required(std::string_view name) {
    const char *const listed = std::getenv("ENTREPOT_REQUIRE");
    return listed && ("," + std::string(listed) + ",").find("," + std::string(name) + ",") !=
                         std::string::npos;
}

}  // namespace entrepot::contract
