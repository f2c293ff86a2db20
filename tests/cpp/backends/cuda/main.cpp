// Runs the CUDA backend's tests; without a device they are skipped with the reason, or fail if
// ENTREPOT_REQUIRE names cuda.
#define DOCTEST_CONFIG_IMPLEMENT
#include "backends/gpu/native.hpp"

#include "functions.hpp"
#include "required.hpp"

#include <cstdio>

namespace entrepot::contract {

static const ep_backend *opened = nullptr;

const ep_backend &gpu_table() { return *opened; }

}  // namespace entrepot::contract

int main(int argc, char **argv) {
    constexpr int skipped = 77;
    using entrepot::contract::loader, entrepot::contract::opened;
    if (entrepot::backends::gpu::open_backend(&loader, &opened) != EP_OK) {
        std::fprintf(stderr, "skipped: %s\n", entrepot::contract::last_error().c_str());
        return entrepot::contract::is_required("cuda") ? 1 : skipped;
    }
    return doctest::Context(argc, argv).run();
}
