// The loader: finds a backend's table, in this library or in a plugin, or the reason why it is
// absent.
#pragma once
#include <entrepot/device/backend.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace entrepot {

// The sentence that a backend set last on this thread.
const std::string &backend_error() noexcept;

struct Loaded {
    const ep_backend *api = nullptr;  // nullptr: absent
    std::string reason;               // what was loaded, or why nothing was
};

// Directories of packages with shared libraries, in the order of the search. The registry holds
// them.
std::vector<std::string> library_directories();

Loaded load_host();
Loaded load_cuda();
Loaded load_hip();
Loaded load_sycl(const std::vector<std::string> &library_directories);

// Why a SYCL runtime that is there lists no device: what is known to make devices vanish without a
// word.
std::string explain_no_sycl_device(const std::vector<std::string> &library_directories);

}  // namespace entrepot
