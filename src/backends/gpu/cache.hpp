// Compiled code on disk, by all that it depends on: a file for each key, in the backend's folder of the user's cache directory.
//
// The directory is ENTREPOT_CACHE_DIR (set and empty: nothing is kept), else `entrepot` in XDG_CACHE_HOME, else in ~/.cache.
// Writers never meet: each writes a file of its own and then gives it the name. What cannot be read, or was cut short, is as if
// it were not there; what cannot be written is not kept.
#pragma once
#include "backends/gpu/driver.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace entrepot::backends::ENTREPOT_GPU {

std::optional<std::string> cached(std::string_view key);
void keep_cached(std::string_view key, std::string_view content) noexcept;

}  // namespace entrepot::backends::ENTREPOT_GPU
