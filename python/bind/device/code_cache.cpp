// Functions that report where compiled code is cached on disk.
#include "../init.hpp"
#include "../support/gil.hpp"

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
        "The directory of the cache of compiled code, from the current environment; empty if off.");
    m.def(
        "cache_obstacle",
        [](const std::string &kind) {
            const std::string words = without_gil([&] { return backends::cache_obstacle(kind); });
            return nb::bytes(words.data(), words.size());
        },
        nb::arg("kind"), nb::sig("def cache_obstacle(kind: str) -> bytes"),
        "The reason why the cache folder for a kind of code is not writable; empty if it is "
        "writable.");
}

}  // namespace entrepot::python
