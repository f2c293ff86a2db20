// describe: headers → Description, by libclang.
#pragma once
#include "description.hpp"
#include "library.hpp"

#include <string>
#include <vector>

namespace bindgen {

// Throws std::runtime_error with the compiler's errors.
Description describe(const LibrarySettings &settings,
                     const std::vector<std::string> &include_directories);

}  // namespace bindgen
