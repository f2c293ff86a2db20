// Target: what a kernel is compiled for, as far as the language differs by it.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace entrepot::kernel {

// The dialects that text comes out in; emitter's table (dialects.hpp) has a row for each.
enum class Dialect : std::uint8_t { opencl_c, sycl, cuda, hip, cpp };

// Work-items of a group, by dimension; all 0: not known when compiled.
using LocalSize = std::array<std::uint64_t, 3>;

struct Target {
    Dialect dialect = Dialect::cpp;
    std::uint32_t dimensions = 1;  // of the launch, 1 … 3; ids of dimensions that it has not are 0, sizes 1
    LocalSize local_size{};  // of all launches of this code; host C++ only, for what compilers do with loops of known lengths
    bool fp64 = true, fp16 = true, bf16 = true;
    bool atomic64 = true;
    bool sub_groups = true;
    bool vectorises_items = false;     // as OpenCL compilers for CPUs do, each work-item a lane
    std::uint32_t sub_group_size = 0;  // 0: not known when compiled
    std::uint64_t max_work_group = 0;  // work-items; 0: not known
    std::uint64_t local_memory = 0;    // bytes that a work-group may have; 0: not known
    bool debug = false;                // bounds are checked
    bool fast_math = false;
    std::string architecture;  // of the cache key; "sm_90", the host's CPU
};

}  // namespace entrepot::kernel
