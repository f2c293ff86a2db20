// The forms of code that the maker's driver takes: what differs between programs for CUDA and for HIP.
#pragma once
#include "backends/gpu/driver.hpp"

#include <cstdint>
#include <string_view>

namespace entrepot::backends::ENTREPOT_GPU {

extern const std::uint32_t dialects;     // bits 1 << ep_dialect
extern const ep_dialect source_dialect;  // of the run-time compiler
extern const char *const dialect_words;  // "CUDA C++, PTX and cubins"

// Why what is to be loaded cannot be of that dialect; NULL where it may be.
const char *wrong_form(ep_dialect dialect, std::string_view image);

// What it means that the driver refused to load code; NULL where that is not the code's fault.
const char *reason_to_refuse(CUresult code);

}  // namespace entrepot::backends::ENTREPOT_GPU
