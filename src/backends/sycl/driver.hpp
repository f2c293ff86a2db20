// The SYCL runtime, linked by this plugin, and OpenCL below it: the conversion of their errors.
#pragma once
#include "backends/boundary.hpp"

// Included one by one: GCC 16 rejects unused parts of <sycl/sycl.hpp> (2026.2).
#include <sycl/backend.hpp>
#include <sycl/context.hpp>
#include <sycl/device.hpp>
#include <sycl/event.hpp>
#include <sycl/ext/oneapi/experimental/enqueue_functions.hpp>
#include <sycl/kernel_bundle.hpp>
#include <sycl/properties/all_properties.hpp>
#include <sycl/queue.hpp>
#include <sycl/usm.hpp>

#include <cstddef>

namespace entrepot::backends::sycl {

namespace syclex = ::sycl::ext::oneapi::experimental;

ep_status status_of(const ::sycl::exception &error);

// The boundary of this backend: backends::guarded, plus conversion of the runtime's error codes to
// statuses.
template <class Body> ep_status guarded(Body &&body) noexcept {
    return backends::guarded([&] {
        try {
            body();
        } catch (const ::sycl::exception &error) {
            throw Refusal(status_of(error), error.what());
        }
    });
}

// ------------------------------------------------------------------ OpenCL

using QueryAllocation = cl_int(CL_API_CALL *)(cl_context, const void *, cl_uint, size_t, void *,
                                              size_t *);

// OpenCL functions without an equivalent in SYCL. They are looked up in the library that the
// runtime mapped. Linking the wheel's libOpenCL would load it before the runtime has prepared what
// it needs.
struct OpenCl {
    decltype(&::clGetExtensionFunctionAddressForPlatform) extension_function = nullptr;
    decltype(&::clReleaseContext) release_context = nullptr;
    decltype(&::clCreateProgramWithSource) create_program_with_source = nullptr;
    decltype(&::clCreateProgramWithBinary) create_program_with_binary = nullptr;
    decltype(&::clBuildProgram) build_program = nullptr;
    decltype(&::clGetProgramInfo) program_info = nullptr;
    decltype(&::clGetProgramBuildInfo) program_build_info = nullptr;
    decltype(&::clReleaseProgram) release_program = nullptr;
    decltype(&::clCreateKernel) create_kernel = nullptr;
    decltype(&::clGetKernelWorkGroupInfo) kernel_work_group_info = nullptr;
    decltype(&::clReleaseKernel) release_kernel = nullptr;
    decltype(&::clCreateUserEvent) create_user_event = nullptr;
    decltype(&::clSetUserEventStatus) set_user_event_status = nullptr;
    decltype(&::clSetEventCallback) set_event_callback = nullptr;
    decltype(&::clRetainEvent) retain_event = nullptr;
    decltype(&::clReleaseEvent) release_event = nullptr;
};

// Refuses with EP_UNSUPPORTED if no OpenCL loader is mapped.
const OpenCl &opencl();

// Refuses with EP_DEVICE_ERROR unless `code` is CL_SUCCESS.
void check(cl_int code, const char *function);

}  // namespace entrepot::backends::sycl
