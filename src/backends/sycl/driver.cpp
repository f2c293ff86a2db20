#include "backends/sycl/driver.hpp"

#include <dlfcn.h>

#include <memory>
#include <type_traits>

namespace entrepot::backends::sycl {
namespace {

const char *name_of(cl_int code) {
    switch (code) {
    case CL_DEVICE_NOT_AVAILABLE:
        return "CL_DEVICE_NOT_AVAILABLE";
    case CL_COMPILER_NOT_AVAILABLE:
        return "CL_COMPILER_NOT_AVAILABLE";
    case CL_MEM_OBJECT_ALLOCATION_FAILURE:
        return "CL_MEM_OBJECT_ALLOCATION_FAILURE";
    case CL_OUT_OF_RESOURCES:
        return "CL_OUT_OF_RESOURCES";
    case CL_OUT_OF_HOST_MEMORY:
        return "CL_OUT_OF_HOST_MEMORY";
    case CL_BUILD_PROGRAM_FAILURE:
        return "CL_BUILD_PROGRAM_FAILURE";
    case CL_INVALID_VALUE:
        return "CL_INVALID_VALUE";
    case CL_INVALID_DEVICE:
        return "CL_INVALID_DEVICE";
    case CL_INVALID_CONTEXT:
        return "CL_INVALID_CONTEXT";
    case CL_INVALID_BUILD_OPTIONS:
        return "CL_INVALID_BUILD_OPTIONS";
    case CL_INVALID_PROGRAM:
        return "CL_INVALID_PROGRAM";
    case CL_INVALID_PROGRAM_EXECUTABLE:
        return "CL_INVALID_PROGRAM_EXECUTABLE";
    case CL_INVALID_KERNEL_NAME:
        return "CL_INVALID_KERNEL_NAME";
    case CL_INVALID_KERNEL_DEFINITION:
        return "CL_INVALID_KERNEL_DEFINITION";
    case CL_INVALID_KERNEL:
        return "CL_INVALID_KERNEL";
    default:
        return "an OpenCL error";
    }
}

}  // namespace

ep_status status_of(const ::sycl::exception &error) {
    const auto is = [&](::sycl::errc code) { return error.code() == code; };
    if (is(::sycl::errc::memory_allocation))
        return EP_OUT_OF_MEMORY;
    if (is(::sycl::errc::build))
        return EP_BUILD_FAILED;
    if (is(::sycl::errc::feature_not_supported) || is(::sycl::errc::kernel_not_supported) ||
        is(::sycl::errc::backend_mismatch))
        return EP_UNSUPPORTED;
    if (is(::sycl::errc::invalid) || is(::sycl::errc::nd_range) ||
        is(::sycl::errc::kernel_argument))
        return EP_INVALID;
    return EP_DEVICE_ERROR;
}

const OpenCl &opencl() {
    static const OpenCl *const found = []() -> const OpenCl * {
        // The runtime's adapter maps the loader privately: found by SONAME, not among global
        // symbols.
        void *const library = dlopen("libOpenCL.so.1", RTLD_NOLOAD | RTLD_LAZY);
        if (!library)
            return nullptr;
        auto functions = std::make_unique<OpenCl>();
        bool complete = true;
        const auto look_up = [&](auto &function, const char *name) {
            function =
                reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
            complete &= function != nullptr;
        };
        look_up(functions->extension_function, "clGetExtensionFunctionAddressForPlatform");
        look_up(functions->release_context, "clReleaseContext");
        look_up(functions->create_program_with_source, "clCreateProgramWithSource");
        look_up(functions->create_program_with_binary, "clCreateProgramWithBinary");
        look_up(functions->build_program, "clBuildProgram");
        look_up(functions->program_info, "clGetProgramInfo");
        look_up(functions->program_build_info, "clGetProgramBuildInfo");
        look_up(functions->release_program, "clReleaseProgram");
        look_up(functions->create_kernel, "clCreateKernel");
        look_up(functions->kernel_work_group_info, "clGetKernelWorkGroupInfo");
        look_up(functions->release_kernel, "clReleaseKernel");
        look_up(functions->create_user_event, "clCreateUserEvent");
        look_up(functions->set_user_event_status, "clSetUserEventStatus");
        look_up(functions->set_event_callback, "clSetEventCallback");
        look_up(functions->retain_event, "clRetainEvent");
        look_up(functions->release_event, "clReleaseEvent");
        return complete ? functions.release() : nullptr;
    }();
    if (!found)
        refuse(EP_UNSUPPORTED,
               "no OpenCL loader (libOpenCL.so.1, version 1.2 or later) is mapped in this process, "
               "although the device is an OpenCL one");
    return *found;
}

void check(cl_int code, const char *function) {
    if (code != CL_SUCCESS)
        refuse(code == CL_OUT_OF_HOST_MEMORY ? EP_OUT_OF_MEMORY : EP_DEVICE_ERROR, function,
               " failed with ", name_of(code), " (", code, ")");
}

}  // namespace entrepot::backends::sycl
