// Functions that report where compiled code is cached on disk.
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
        "The directory of compiled code, by the current environment; empty if caching is off.");
    m.def(
        "cache_obstacle",
        [](const std::string &kind) {
            const std::string words = without_gil([&] { return backends::cache_obstacle(kind); });
            return nb::bytes(words.data(), words.size());
        },
        nb::arg("kind"), nb::sig("def cache_obstacle(kind: str) -> bytes"),
        "The reason why the folder of a kind of code cannot be written, with the folder; empty if it can.");
}

}  // namespace entrepot::python
