// Runs the HIP tests that need no device. Without hipRTC, its tests are skipped with the reason.
#define DOCTEST_CONFIG_IMPLEMENT
#include "backends/gpu/compiler.hpp"

#include <backends/contract.hpp>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

int main(int argc, char **argv) {
    entrepot::backends::loader = &entrepot::contract::loader;
    std::string place = (std::filesystem::temp_directory_path() / "entrepot-cache-XXXXXX").string();
    if (mkdtemp(place.data()) == nullptr || setenv("ENTREPOT_CACHE_DIR", place.c_str(), 1) != 0) {
        std::fprintf(stderr, "no folder for the cache: %s\n", place.c_str());
        return 1;
    }
    doctest::Context context(argc, argv);
    try {
        std::fprintf(stderr, "hipRTC %s\n", entrepot::backends::gpu::compiler_version().c_str());
    } catch (const entrepot::backends::Refusal &refusal) {
        std::fprintf(stderr, "the tests of hipRTC are left out: %s\n", refusal.what());
        context.addFilter("test-suite-exclude", "hipRTC");
    }
    const int result = context.run();
    std::filesystem::remove_all(place);
    return result;
}
