// Programs' source to code, by the maker's run-time compiler: opened when the first program is built; needs no device.
#pragma once
#include "backends/gpu/rtc.hpp"

#include <string>
#include <string_view>

namespace entrepot::backends::ENTREPOT_GPU {

// What came out: code for the device itself, or, from NVRTC, PTX where it does not know the device or the options ask for that.
struct Code {
    std::string image;
    std::string lowered_name;  // of the request's expression
};

// "13.2 (/path/of/libnvrtc.so.13)". Refuses with EP_UNAVAILABLE where there is no compiler, saying what to install.
std::string compiler_version();

// Compiles, or takes from the cache on disk what an equal request gave before. The log has what the compiler said.
// Refuses with EP_BUILD_FAILED where the source is at fault, with EP_UNSUPPORTED where the device or the driver is too old.
Code compile(const Request &request, std::string &log);

// Words between blanks.
Words words_in(const char *options);

}  // namespace entrepot::backends::ENTREPOT_GPU
