// Properties of the device and of the launch that the generated code depends on.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace entrepot::kernel {

// Output dialects. The table of codegen/dialects.hpp has a row for each.
enum class Dialect : std::uint8_t { opencl_c, sycl, cuda, hip, cpp };

// Work-items of a group, by dimension; all 0: unknown at compile time.
using LocalSize = std::array<std::uint64_t, 3>;

struct Target {
    Dialect dialect = Dialect::cpp;
    std::uint32_t dimensions = 1;  // of the launch, 1 … 3; in the others ids are 0 and sizes 1
    // Local size of all launches of this code, if it is known. Accumulators are divided by it, and
    // in host C++ it gives loops constant bounds.
    LocalSize local_size{};
    // A thread shall execute several work-items, if the kernel allows that; CUDA and HIP only.
    bool coarsens = false;
    bool fp64 = true, fp16 = true, bf16 = true;
    bool atomic64 = true;
    bool sub_groups = true;
    // OpenCL compilers for CPUs: each work-item is a lane of a vector
    bool vectorizes_items = false;
    std::uint32_t sub_group_size = 0;  // 0: unknown at compile time
    std::uint64_t max_work_group = 0;  // work-items; 0: unknown
    std::uint64_t local_memory = 0;    // limit of a work-group in bytes; 0: unknown
    bool debug = false;                // bounds are checked
    bool fast_math = false;
    std::uint32_t max_registers = 0;  // of a work-item, in CUDA C++; 0: the compiler chooses
    std::string architecture;         // part of the cache key: "sm_90", the host's CPU
};

}  // namespace entrepot::kernel
