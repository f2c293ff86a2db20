// Runs the tests of NVRTC and of the cache on disk, which need no device; without NVRTC they are
// skipped with the reason.
#define DOCTEST_CONFIG_IMPLEMENT
#include "backends/gpu/compiler.hpp"

#include <backends/contract.hpp>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

int main(int argc, char **argv) {
    constexpr int skipped = 77;
    entrepot::backends::loader = &entrepot::contract::loader;
    std::string place = (std::filesystem::temp_directory_path() / "entrepot-cache-XXXXXX").string();
    if (mkdtemp(place.data()) == nullptr || setenv("ENTREPOT_CACHE_DIR", place.c_str(), 1) != 0) {
        std::fprintf(stderr, "no folder for the cache: %s\n", place.c_str());
        return 1;
    }
    try {
        std::fprintf(stderr, "NVRTC %s\n", entrepot::backends::gpu::compiler_version().c_str());
    } catch (const entrepot::backends::Refusal &refusal) {
        std::fprintf(stderr, "skipped: %s\n", refusal.what());
        return skipped;
    }
    const int result = doctest::Context(argc, argv).run();
    std::filesystem::remove_all(place);
    return result;
}
