#include "backends/gpu/code.hpp"

namespace entrepot::backends::gpu {
namespace {

bool is_code(std::string_view image) {
    return image.starts_with("\x7f"
                             "ELF") ||
           image.starts_with("\x50\xed\x55\xba");  // a fat binary
}

// Error codes of the driver for refused code, with their meaning.
struct Reason {
    CUresult code;
    const char *sentence;
};
constexpr Reason reasons[] = {
    {CUDA_ERROR_INVALID_PTX, "the driver refused the PTX: the build log says why"},
    {CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
     "the PTX is of a newer version than the driver knows: compile it with an older toolkit, "
     "or to a cubin, or update the driver"},
    {CUDA_ERROR_NO_BINARY_FOR_GPU,
     "the code holds nothing that runs on this device: it was compiled for other architectures"},
    {CUDA_ERROR_INVALID_IMAGE, "the driver does not know this form of code"},
    {CUDA_ERROR_INVALID_SOURCE, "the driver does not know this form of code"},
    {CUDA_ERROR_JIT_COMPILER_NOT_FOUND,
     "the driver's compiler of PTX (libnvidia-ptxjitcompiler.so) is not installed"},
};

}  // namespace

const std::uint32_t dialects = 1u << EP_CUDA_CPP | 1u << EP_PTX | 1u << EP_CUBIN;
const ep_dialect source_dialect = EP_CUDA_CPP;
const char *const dialect_words = "CUDA C++, PTX and cubins";

const char *wrong_form(ep_dialect dialect, std::string_view image) {
    if (dialect == EP_CUBIN)
        return is_code(image) ? nullptr
                              : "the bytes are no cubin and no fat binary: they begin otherwise";
    return image.find(".version") != image.npos ? nullptr
                                                : "the text is no PTX: it names no .version";
}

const char *reason_to_refuse(CUresult code) {
    for (const Reason &reason : reasons)
        if (reason.code == code)
            return reason.sentence;
    return nullptr;
}

}  // namespace entrepot::backends::gpu
