// The SYCL backend passes the contract, with programs in OpenCL C and with programs in SYCL source.
#include "plugin.hpp"

namespace entrepot::contract {
namespace {

const Subject &opencl_c() {
    static const Subject subject{
        &sycl_table(), EP_OPENCL_C,
        R"(kernel void indices(global long *out, long offset) {
            const size_t row = get_global_id(2) * get_global_size(1) + get_global_id(1);
            const size_t p = row * get_global_size(0) + get_global_id(0);
            out[3 * p] = get_global_id(2);
            out[3 * p + 1] = get_global_id(1);
            out[3 * p + 2] = get_global_id(0) + offset;
        })",
        R"(kernel void spin(global long *out, long steps, long value) {
            ulong x = 1;
            for (long i = 0; i < steps; ++i)
                x = x * 6364136223846793005ul + 1442695040888963407ul;
            out[1] = x;
            out[0] = value;
        })",
        R"(kernel void reverse(global const int *in, global int *out, local int *scratch) {
            const size_t i = get_local_id(0), n = get_local_size(0);
            scratch[i] = in[get_global_id(0)];
            barrier(CLK_LOCAL_MEM_FENCE);
            out[get_global_id(0)] = scratch[n - 1 - i];
        })"};
    return subject;
}

const char *const sycl_prelude = R"(
    #include <sycl/sycl.hpp>
    #define KERNEL(n) extern "C" \
        SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((sycl::ext::oneapi::experimental::nd_range_kernel<n>))
    using sycl::ext::oneapi::this_work_item::get_nd_item;
    using Scratch = sycl::ext::oneapi::experimental::work_group_memory<int[]>;
)";

const Subject &sycl_source() {
    static const Subject subject{&sycl_table(), EP_SYCL_SOURCE, sycl_prelude + std::string(R"(
        KERNEL(3) void indices(long *out, long offset) {
            const auto item = get_nd_item<3>();
            const size_t p = item.get_global_linear_id();
            out[3 * p] = item.get_global_id(0);
            out[3 * p + 1] = item.get_global_id(1);
            out[3 * p + 2] = item.get_global_id(2) + offset;
        })"),
                                 sycl_prelude + std::string(R"(
        KERNEL(1) void spin(long *out, long steps, long value) {
            unsigned long x = 1;
            for (long i = 0; i < steps; ++i)
                x = x * 6364136223846793005ul + 1442695040888963407ul;
            out[1] = x;
            out[0] = value;
        })"),
                                 sycl_prelude + std::string(R"(
        KERNEL(1) void reverse(const int *in, int *out, Scratch scratch) {
            const auto item = get_nd_item<1>();
            const size_t i = item.get_local_id(0), n = item.get_local_range(0);
            scratch[i] = in[item.get_global_id(0)];
            sycl::group_barrier(item.get_group());
            out[item.get_global_id(0)] = scratch[n - 1 - i];
        })")};
    return subject;
}

}  // namespace

ENTREPOT_BACKEND_CONTRACT("sycl, OpenCL C", opencl_c())

// Clauses that depend on the language. The suite above has the others.
CONTRACT_CASE("sycl, SYCL source", sycl_source(), program_builds_or_logs_errors)
CONTRACT_CASE("sycl, SYCL source", sycl_source(), launches_number_their_work_items)
CONTRACT_CASE("sycl, SYCL source", sycl_source(), impossible_launches_are_refused)
CONTRACT_CASE("sycl, SYCL source", sycl_source(), groups_share_local_memory)
CONTRACT_CASE("sycl, SYCL source", sycl_source(), submissions_copy_their_arguments)

}  // namespace entrepot::contract
