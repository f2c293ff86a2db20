// Where compiled code is kept on disk, as the backends have it.
#include "init.hpp"

#include "backends/cache.hpp"

#include <nanobind/nanobind.h>

#include <string>

namespace nb = nanobind;

namespace entrepot::python {

void init_code_cache(nb::module_ &m) {
    m.def(
        "cache_directory",
        [] {
            const std::string place = backends::cache_directory();
            return nb::bytes(place.data(), place.size());
        },
        nb::sig("def cache_directory() -> bytes"),
        "The directory of compiled code, by the environment as it is now; empty where nothing is kept.");
}

}  // namespace entrepot::python
