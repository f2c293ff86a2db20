#include "backends/gpu/code.hpp"

namespace entrepot::backends::gpu {
namespace {

constexpr std::string_view elf = "\x7f"
                                 "ELF",
                           bundle = "__CLANG_OFFLOAD_BUNDLE__", compressed_bundle = "CCOB";

}  // namespace

const std::uint32_t dialects = 1u << EP_HIP_CPP | 1u << EP_HSACO;
const ep_dialect source_dialect = EP_HIP_CPP;
const char *const dialect_words = "HIP C++ and code objects (hsaco)";

const char *wrong_form(ep_dialect, std::string_view image) {
    for (const std::string_view start : {elf, bundle, compressed_bundle})
        if (image.starts_with(start))
            return nullptr;
    return "the bytes are no code object and no bundle of them: they begin otherwise";
}

const char *reason_to_refuse(CUresult code) {
    switch (code) {
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
        return "the code holds nothing that runs on this device: it was compiled for other "
               "architectures";
    case CUDA_ERROR_INVALID_IMAGE:
    case CUDA_ERROR_INVALID_SOURCE:
    case CUDA_ERROR_INVALID_KERNEL_FILE:
    case CUDA_ERROR_SHARED_OBJECT_INIT_FAILED:
        return "the runtime does not know this form of code";
    default:
        return nullptr;
    }
}

}  // namespace entrepot::backends::gpu
