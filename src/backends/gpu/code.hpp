// Forms of code that the driver loads: the differences between programs for CUDA and for HIP.
#pragma once
#include "backends/gpu/driver.hpp"

#include <cstdint>
#include <string_view>

namespace entrepot::backends::gpu {

extern const std::uint32_t dialects;     // bits 1 << ep_dialect
extern const ep_dialect source_dialect;  // of the run-time compiler
extern const char *const dialect_words;  // "CUDA C++, PTX and cubins"

// The reason why `image` cannot be code of that dialect; NULL if it may be.
const char *wrong_form(ep_dialect dialect, std::string_view image);

// The reason why the driver refused to load code; NULL if the code is not at fault.
const char *reason_to_refuse(CUresult code);

}  // namespace entrepot::backends::gpu
