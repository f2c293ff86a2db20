// The run-time compiler of this compilation's maker, NVRTC or hipRTC, and what it is asked for; the names are NVRTC's.
#pragma once
#include "backends/gpu/driver.hpp"

// clang-format off: a path has no blanks
#include ENTREPOT_OF_MAKER(backends/ENTREPOT_GPU/rtc.hpp)
// clang-format on

#include <string>
#include <vector>

namespace entrepot::backends::ENTREPOT_GPU {

using Words = std::vector<std::string>;

// What code for the device is compiled for.
Target target_of(CUdevice device);

// What to compile. Two requests that are equal give the same code.
struct Request {
    std::string source;
    Words options;           // the user's, before ours
    std::string expression;  // a kernel to make available by the name that it has in C++, such as scale<float>; empty: none
    Target target;
};

// The maker's newest, or only one. Refuses with EP_UNAVAILABLE where there is none, saying what to install.
const Rtc &newest_rtc();
// The newest that compiles what the target takes.
const Rtc &rtc_for(const Target &target);

// The request's options and ours. Refuses with EP_BUILD_FAILED what the compiler would not survive.
Words all_options(const Rtc &rtc, const Request &request);

// True if options of the request, or of the environment, bring in files, which may change without
// the request changing.
bool name_files(const Words &options);

// What tells the compiler from every other, for code of theirs is not its own: part of the cache's keys.
std::string identity(const Rtc &rtc);

// NVRTC's: a cubin where the architecture is a real one, else PTX; hipRTC's: a code object, or a bundle of them.
std::string image_of(const Rtc &rtc, nvrtcProgram program);

}  // namespace entrepot::backends::ENTREPOT_GPU
