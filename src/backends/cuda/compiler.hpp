// NVRTC, NVIDIA's run-time compiler of CUDA C++: opened when the first program is built; needs no device.
#pragma once
#include "backends/boundary.hpp"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace entrepot::backends::cuda {

using Words = std::vector<std::string>;

// What to compile. Two requests that are equal give the same code.
struct Request {
    std::string source;
    Words options;           // the user's, before ours
    std::string expression;  // a kernel to make available by the name that it has in C++, such as scale<float>; empty: none
    int compute_capability;  // of the device: 90 for 9.0
    int driver_version;      // 13000 for CUDA 13.0: code of a compiler with a newer major version is not for it
};

// What came out: a cubin, or PTX where the compiler does not know the device, or the options ask for it.
struct Code {
    std::string image;
    std::string lowered_name;  // of the request's expression
};

// "13.2 (/path/of/libnvrtc.so.13)". Refuses with EP_UNAVAILABLE where there is no NVRTC, saying what to install.
std::string compiler_version();

// Compiles, or takes from the cache on disk what an equal request gave before. The log has what the compiler said.
// Refuses with EP_BUILD_FAILED where the source is at fault, with EP_UNSUPPORTED where the device or the driver is too old.
Code compile(const Request &request, std::string &log);

// Words between blanks.
Words words_in(const char *options);

}  // namespace entrepot::backends::cuda
