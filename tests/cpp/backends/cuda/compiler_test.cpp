// NVRTC: targets for each device and driver, error messages, and use of the cache.
#include "backends/gpu/compiler.hpp"

#include "backends/cache.hpp"

#include <backends/contract.hpp>

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace entrepot::backends::gpu {
namespace {

const std::string source = R"(
    template <class T> __global__ void scale(T *x, T by) { x[threadIdx.x] *= by; }
    extern "C" __global__ void twice(float *x) { x[threadIdx.x] *= 2; })";

Request request(std::string text = source, Words options = {}) {
    return {std::move(text), std::move(options), "", {90, 13000}};
}

std::size_t files_in_cache() {
    const std::filesystem::path place =
        std::filesystem::path(std::getenv("ENTREPOT_CACHE_DIR")) / "cuda";
    if (!std::filesystem::exists(place))
        return 0;
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(place), {}));
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

bool is_cubin(const Code &code) {
    return code.image.starts_with("\x7f"
                                  "ELF");
}

}  // namespace

TEST_CASE("options naming files are recognized") {
    for (const char *option : {"-I/place", "-include=a.h", "--include-path=/place",
                               "--pre-include=a.h", "--use-pch=a.pch"})
        CHECK_MESSAGE(name_files({option}), option);
    for (const char *option : {"-arch=sm_90", "-DI=1", "--std=c++20", "--use_fast_math"})
        CHECK_FALSE_MESSAGE(name_files({option}), option);
}

TEST_CASE("code is a cubin for the device") {
    std::string log;
    const Code code = compile(request(), log);
    CHECK(is_cubin(code));
    CHECK(code.image.find("twice") != std::string::npos);
    CHECK(code.lowered_name.empty());
}

TEST_CASE("newer device gets PTX, dropped architecture is refused") {
    std::string log;
    Request newer = request();
    newer.target.compute_capability = 990;
    CHECK(compile(newer, log).image.find(".version") != std::string::npos);
    Request older = request();
    older.target.compute_capability = 20;
    check_refused(EP_UNSUPPORTED, "the device has 2.0", older);
}

TEST_CASE("driver older than the compiler is refused with advice") {
    Request old = request();
    old.target.driver_version = 11040;
    check_refused(EP_UNSUPPORTED, "this one, which is of CUDA 11.4", old);
    check_refused(EP_UNSUPPORTED, "nvidia-cuda-nvrtc-cu12", old);
}

TEST_CASE("template has its lowered name, also from the cache") {
    std::string log;
    Request one = request();
    one.expression = "scale<double>";
    const Code code = compile(one, log);
    CHECK(code.lowered_name.find("scale") != std::string::npos);
    CHECK(code.image.find(code.lowered_name) != std::string::npos);
    CHECK_MESSAGE(compile(one, log).lowered_name == code.lowered_name,
                  "the cache has the lowered name as well");
    one.expression = "scale<Unknown>";
    check_refused(EP_BUILD_FAILED, "Unknown", one);
}

TEST_CASE("wrong source is logged, wrong options are named") {
    check_refused(EP_BUILD_FAILED, "nonsense", request("__global__ void bad() { nonsense }"));
    check_refused(EP_INVALID, "--no-such-option", request(source, {"--no-such-option"}));
}

TEST_CASE("installed headers of the toolkit are found") {
    std::string log;
    Request with_half = request("#include <cuda_fp16.h>\nextern \"C\" __global__ void "
                                "half_it(__half *x) { *x = __hmul(*x, *x); }");
    try {
        CHECK(is_cubin(compile(with_half, log)));
    } catch (const Refusal &) {
        // NVRTC's package alone has no headers
        CHECK(log.find("cuda_fp16.h") != std::string::npos);
    }
}

TEST_CASE("equal request is taken from the cache, others are compiled") {
    std::string log;
    const Request first = request(source + "\n// cached");
    const std::size_t before = files_in_cache();
    const Code code = compile(first, log);
    CHECK(files_in_cache() == before + 1);
    CHECK(compile(first, log).image == code.image);
    CHECK(files_in_cache() == before + 1);

    Request other = first;
    other.options = {"-DN=1"};
    compile(other, log);
    CHECK(files_in_cache() == before + 2);
    other = first;
    other.target.compute_capability = 80;
    compile(other, log);
    CHECK(files_in_cache() == before + 3);
    other = first;
    other.source += ' ';
    compile(other, log);
    CHECK(files_in_cache() == before + 4);
}

TEST_CASE("compiler updated in place has another key") {
    CHECK(newest_rtc().stamp == stamp_of(newest_rtc().path));
    Rtc updated = newest_rtc();
    updated.stamp += " later";
    CHECK(identity(updated) != identity(newest_rtc()));
}

TEST_CASE("programs including files are not cached") {
    std::string log;
    const std::size_t before = files_in_cache();
    CHECK(is_cubin(compile(request(source + "\n// not cached", {"-I/nowhere"}), log)));
    CHECK(files_in_cache() == before);

    const std::filesystem::path header =
        std::filesystem::temp_directory_path() / ("entrepot-" + std::to_string(getpid()) + ".h");
    const Request including =
        request("# include \"" + header.string() +
                "\"\nextern \"C\" __global__ void NAME(float *x) { *x = 1; }");
    for (const std::string name : {"before", "behind"}) {
        std::ofstream(header) << "#define NAME " << name;
        CHECK(compile(including, log).image.find(name) != std::string::npos);
    }
    std::filesystem::remove(header);
    CHECK(files_in_cache() == before);
}

TEST_CASE("option of the user selects the architecture") {
    std::string log;
    CHECK(compile(request(source, {"--gpu-architecture=compute_80"}), log)
              .image.find(".target sm_80") != std::string::npos);
}

TEST_CASE("code for capability 9.0 has its own instructions") {
    std::string log;
    Request hopper = request("#ifndef __CUDA_ARCH_FEAT_SM90_ALL\n#error no wgmma\n#endif\n"
                             "extern \"C\" __global__ void own(float *x) { *x = 1; }");
    hopper.target.compute_capability = 90;
    CHECK(is_cubin(compile(hopper, log)));
}

}  // namespace entrepot::backends::gpu
