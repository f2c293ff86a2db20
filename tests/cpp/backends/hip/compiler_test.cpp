// hipRTC: targets for each architecture, error messages, and the package's own kernels.
#include "backends/gpu/compiler.hpp"

#include <backends/contract.hpp>

#include <cstdlib>

#include "../gpu/kernels.hpp"

namespace entrepot::backends::gpu {

extern const char loop_nest_text[];  // generated from loop_nest.cu

namespace {

const std::string source = R"(
    template <class T> __global__ void scale(T *x, T by) { x[threadIdx.x] *= by; }
    extern "C" __global__ void twice(float *x) { x[threadIdx.x] *= 2; })";

Request request(std::string text = source, Words options = {},
                std::string architecture = "gfx90a") {
    return {std::move(text), std::move(options), "", {std::move(architecture)}};
}

void check_refused(ep_status status, const std::string &words, const Request &asked) {
    std::string log;
    try {
        compile(asked, log);
        FAIL("it was compiled");
    } catch (const Refusal &refusal) {
        CHECK(refusal.status == status);
        CHECK_MESSAGE((refusal.what() + log).find(words) != std::string::npos, refusal.what(), "\n",
                      log);
    }
}

// True if a code object or a bundle names the kernel.
bool holds(const Code &code, const std::string &name) {
    return code.image.find(name) != std::string::npos;
}

}  // namespace

TEST_CASE("options naming files are recognized") {
    for (const char *option : {"-I", "-isystem", "-iquote/place", "-idirafter", "-imacros",
                               "-include", "--include-directory=/place", "-mlink-builtin-bitcode",
                               "@options", "-Xclang", "-fprofile-use=/file"})
        CHECK_MESSAGE(name_files({option}), option);
    for (const char *option : {"--offload-arch=gfx90a", "-DI=1", "-std=c++20", "-O3",
                               "-munsafe-fp-atomics", "-ffast-math"})
        CHECK_FALSE_MESSAGE(name_files({option}), option);
    setenv("HIPRTC_COMPILE_OPTIONS_APPEND", "-O2 -include header.h", 1);
    CHECK(name_files({}));
    setenv("HIPRTC_COMPILE_OPTIONS_APPEND", "-O2", 1);
    CHECK_FALSE(name_files({}));
    unsetenv("HIPRTC_COMPILE_OPTIONS_APPEND");
}

TEST_SUITE_BEGIN("hipRTC");

TEST_CASE("code is compiled for an architecture without a device") {
    for (const char *architecture : {"gfx90a", "gfx906", "gfx90a:sramecc+:xnack-"}) {
        std::string log;
        const Code code = compile(request(source, {}, architecture), log);
        CHECK_MESSAGE(holds(code, "twice"), architecture);
        CHECK(code.lowered_name.empty());
    }
}

TEST_CASE("template has its lowered name, also from the cache") {
    std::string log;
    Request one = request();
    one.expression = "scale<double>";
    const Code code = compile(one, log);
    CHECK(holds(code, "scale"));
    CHECK_MESSAGE(holds(code, code.lowered_name), code.lowered_name);
    CHECK_MESSAGE(compile(one, log).lowered_name == code.lowered_name,
                  "the cache has the lowered name as well");
}

TEST_CASE("options in the environment are part of the cache key") {
    const std::string before = identity(newest_rtc());
    setenv("HIPRTC_COMPILE_OPTIONS_APPEND", "-DONE=1", 1);
    CHECK(identity(newest_rtc()) != before);
    unsetenv("HIPRTC_COMPILE_OPTIONS_APPEND");
    CHECK(identity(newest_rtc()) == before);
}

// HIP 5.2's hipRTC crashes on it, so it is not called.
TEST_CASE("unknown architecture is refused with the known ones") {
    check_refused(EP_BUILD_FAILED, "gfx9999", request(source, {}, "gfx9999"));
    check_refused(EP_BUILD_FAILED, "gfx9999", request(source, {}, "gfx9999:xnack-"));
    check_refused(EP_BUILD_FAILED, "gfx9999", request(source, {"--gpu-architecture=gfx9999"}));
    check_refused(EP_BUILD_FAILED, "gfx90a:nothing+",
                  request(source, {"--offload-arch=gfx90a:nothing+"}));
    check_refused(EP_BUILD_FAILED, "", request(source, {"--offload-arch="}));
    check_refused(EP_BUILD_FAILED, "", request(source, {}, ""));
    if (newest_rtc().path.ends_with("libamdhip64.so.5"))
        check_refused(EP_BUILD_FAILED,
                      "does not know the architecture 'gfx942': it compiles for gfx600, ",
                      request(source, {"--offload-arch=gfx90a", "--offload-arch=gfx942"}));
}

TEST_CASE("unknown architecture in other spellings does not crash") {
    for (const char *option : {"--offload-arch", "--gpu-architecture", "-arch"})
        check_refused(EP_BUILD_FAILED, "", request(source, {option, "gfx9999"}));
    setenv("HIPRTC_COMPILE_OPTIONS_APPEND", "--offload-arch=gfx9999", 1);
    std::string log;
    try {
        CHECK(holds(compile(request(), log), "twice"));  // HIP 5.2 does not read it
    } catch (const Refusal &refusal) {
        CHECK(refusal.status == EP_BUILD_FAILED);
    }
    unsetenv("HIPRTC_COMPILE_OPTIONS_APPEND");
}

TEST_CASE("wrong source leaves the reasons in the log") {
    check_refused(EP_BUILD_FAILED, "nonsense", request("__global__ void bad() { nonsense }"));
}

TEST_CASE("option of the user selects the architecture") {
    std::string log;
    Request chosen = request(source, {"--offload-arch=gfx906"}, "no architecture at all");
    CHECK(holds(compile(chosen, log), "twice"));
}

TEST_CASE("kernels of the contract and of the package compile") {
    std::string log;
    for (const auto &[text, name] : {std::pair(contract::gpu_kernels::indices, "indices"),
                                     std::pair(contract::gpu_kernels::spin, "spin"),
                                     std::pair(contract::gpu_kernels::reverse, "reverse")})
        CHECK(holds(compile(request(text), log), name));
    const Code kernels = compile(request(loop_nest_text, {"-std=c++17"}), log);
    for (const char *verb : {"copy_", "deep_copy_", "fill_", "deep_fill_", "transpose_"})
        for (const char *unit : {"1", "2", "4", "8", "16"})
            CHECK(holds(kernels, std::string(verb) + unit));
}

TEST_SUITE_END();

}  // namespace entrepot::backends::gpu
