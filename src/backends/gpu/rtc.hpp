// The run-time compiler, NVRTC or hipRTC, and its requests; the names are NVRTC's.
#pragma once
#include "backends/gpu/driver.hpp"

#include <string>
#include <vector>

namespace entrepot::backends::gpu {

using Words = std::vector<std::string>;

// The compiler's target for the device.
Target target_of(CUdevice device);

// A compilation. Equal requests give the same code.
struct Request {
    std::string source;
    Words options;           // the user's, placed before Entrepot's
    std::string expression;  // C++ name of a kernel to make available, or empty
    Target target;
};

// The newest compiler found. If no compiler is found, refuses with EP_UNAVAILABLE and says what to
// install.
const Rtc &newest_rtc();
// The newest compiler whose output the target accepts.
const Rtc &rtc_for(const Target &target);

// The request's options and Entrepot's. Refuses with EP_BUILD_FAILED options that would crash the
// compiler.
Words all_options(const Rtc &rtc, const Request &request);

// True if options of the request, or of the environment, bring in files, which may change without
// the request changing.
bool name_files(const Words &options);

// Identifies the compiler. Part of the cache's keys, since another compiler generates other code.
std::string identity(const Rtc &rtc);

// NVRTC: a cubin for a real architecture, else PTX. hipRTC: a code object, or a bundle of them.
std::string image_of(const Rtc &rtc, nvrtcProgram program);

}  // namespace entrepot::backends::gpu
