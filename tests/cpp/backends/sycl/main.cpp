// Runs the SYCL backend's tests; without a SYCL device they are skipped with the reason, or fail if
// ENTREPOT_REQUIRE names sycl.
#define DOCTEST_CONFIG_IMPLEMENT
#include "plugin.hpp"
#include "required.hpp"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

namespace entrepot::contract {

const ep_backend &sycl_table() {
    static const ep_backend *const table = [] {
        const char *path = std::getenv("ENTREPOT_SYCL_PLUGIN");
        void *const library = dlopen(path ? path : ENTREPOT_SYCL_PLUGIN, RTLD_NOW | RTLD_LOCAL);
        if (!library) {
            std::fprintf(stderr, "the SYCL plugin cannot be loaded: %s\n", dlerror());
            std::exit(1);
        }
        const ep_backend *loaded = nullptr;
        const auto entry = reinterpret_cast<ep_backend_entry>(dlsym(library, EP_BACKEND_ENTRY));
        if (!entry || entry(&loader, &loaded) != EP_OK) {
            std::fprintf(stderr, "the SYCL plugin refused: %s\n", last_error().c_str());
            std::exit(1);
        }
        return loaded;
    }();
    return *table;
}

}  // namespace entrepot::contract

int main(int argc, char **argv) {
    constexpr int skipped = 77;
    std::uint32_t count = 0;
    if (entrepot::contract::sycl_table().device_count(&count) != EP_OK) {
        std::fprintf(stderr, "the devices cannot be listed: %s\n",
                     entrepot::contract::last_error().c_str());
        return 1;
    }
    if (count == 0) {
        std::fputs("skipped: the SYCL runtime lists no device; for the CPU, install "
                   "intel-opencl-rt and set OCL_ICD_FILENAMES to its "
                   "libintelocl.so\n",
                   stderr);
        return entrepot::contract::is_required("sycl") ? 1 : skipped;
    }
    return doctest::Context(argc, argv).run();
}
