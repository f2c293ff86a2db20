// Compiles source by NVRTC or hipRTC, which is loaded when the first program is built; needs no
// device.
#pragma once
#include "backends/gpu/rtc.hpp"

#include <string>
#include <string_view>

namespace entrepot::backends::gpu {

// Result of a compilation: code for the device. NVRTC yields PTX instead if it does not know the
// device or the options ask for it.
struct Code {
    std::string image;
    std::string lowered_name;  // of the request's expression
};

// Version and path, such as "13.2 (/path/of/libnvrtc.so.13)". Refuses with EP_UNAVAILABLE, saying
// what to install, if there is no compiler.
std::string compiler_version();

// Compiles the request, or loads the result of an equal one from the cache on disk. The compiler's
// messages are in `log`. Refuses with EP_BUILD_FAILED if the source is at fault, with
// EP_UNSUPPORTED if the device or the driver is too old.
Code compile(const Request &request, std::string &log);

// Words between blanks.
Words words_in(const char *options);

}  // namespace entrepot::backends::gpu
