// Python: writes a description as a module and its stub.
#pragma once
#include "description.hpp"
#include "library.hpp"

#include <string>

namespace bindgen {

struct Written {
    std::string module, stub;
    std::string report;  // the parameters whose passing no rule knew
};

Written write_python(const LibrarySettings &settings, const Description &description);

}  // namespace bindgen
