// Where compiled code is kept on disk, as the backends have it.
#include "gil.hpp"
#include "init.hpp"

#include "backends/cache.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

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
    m.def(
        "cache_obstacle",
        [](const std::string &kind) {
            const std::string words = without_gil([&] { return backends::cache_obstacle(kind); });
            return nb::bytes(words.data(), words.size());
        },
        nb::arg("kind"), nb::sig("def cache_obstacle(kind: str) -> bytes"),
        "What keeps the folder of a kind of code from being written, and which folder; empty where nothing does.");
}

}  // namespace entrepot::python
