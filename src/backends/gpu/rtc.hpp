// The run-time compiler of this compilation's maker, NVRTC or hipRTC; by NVRTC's names, as in driver.hpp.
#pragma once
#include "backends/gpu/driver.hpp"

// clang-format off: a path has no blanks
#include ENTREPOT_OF_MAKER(backends/ENTREPOT_GPU/rtc.hpp)
// clang-format on
