// Behavior particular to HIP: default stream, own error state, devices of foreign streams, code
// objects.
#include "../gpu/table.hpp"

#include "../gpu/kernels.hpp"
#include "backends/gpu/compiler.hpp"

namespace entrepot::contract {
namespace {

using backends::gpu::driver;

const Subject &subject() {
    static const Subject only{&gpu_table(), EP_HIP_CPP, "", gpu_kernels::spin, ""};
    return only;
}

Bench first_device() { return Bench(subject(), devices_of(subject()).at(0)); }

void *native_stream(const Bench &bench, const Queue &queue) {
    void *native = nullptr;
    CONTRACT_OK(bench.table.queue_native(queue.get(), &native));
    return *static_cast<void **>(native);
}

Queue wrap(const Bench &bench, void *stream) {
    ep_queue handle = nullptr;
    CONTRACT_OK(bench.table.queue_from_native(nullptr, &stream, &handle));
    return {handle, bench.table.queue_release};
}

}  // namespace

TEST_CASE("default stream is NULL and usable") {
    const Bench bench = first_device();
    const Queue queue = wrap(bench, nullptr);
    CHECK(native_stream(bench, queue) == nullptr);
    const Memory memory(bench, EP_USM_DEVICE, 4000);
    const std::uint32_t item = 0x01020304;
    CONTRACT_OK(bench.table.memory_fill(queue.get(), memory.at(), &item, 4, 1000));
    bench.wait(queue);
    CHECK(memory.read<std::uint32_t>(1000) == std::vector<std::uint32_t>(1000, item));
}

TEST_CASE("foreign stream reports its own device") {
    const Bench bench = first_device();
    backends::gpu::CUstream stream = nullptr;
    REQUIRE(driver().hipSetDevice(0) == 0);
    REQUIRE(driver().cuStreamCreate(&stream, 1) == 0);
    {
        const Queue queue = wrap(bench, stream);
        ep_device device = nullptr;
        CONTRACT_OK(bench.table.queue_device(queue.get(), &device));
        CHECK(device == bench.device);
    }
    CHECK(driver().cuStreamDestroy(stream) == 0);
}

TEST_CASE("calls leave no pending error in the runtime") {
    const Bench bench = first_device();
    const Slow slow(bench);
    const Queue queue = bench.queue();
    slow.submit(queue, 1);
    std::int32_t idle = 1;
    CONTRACT_OK(bench.table.queue_is_idle(queue.get(), &idle));
    CHECK_FALSE(idle);
    ep_allocation found{};
    int on_the_stack = 0;
    CONTRACT_OK(
        bench.table.memory_query(bench.context.get(), &on_the_stack, 4, EP_QUERY_SIZE, &found));
    CHECK(found.kind == EP_USM_UNKNOWN);
    CHECK(driver().hipGetLastError() == 0);
    bench.wait(queue);
}

TEST_CASE("code object is loaded, other binaries are refused") {
    const Bench bench = first_device();
    std::string log;
    const std::string image =
        backends::gpu::compile({gpu_kernels::spin, {}, "", backends::gpu::target_of(0)}, log).image;
    ep_program program = nullptr;
    CONTRACT_OK(bench.table.program_build(bench.context.get(), bench.device, EP_HSACO, image.data(),
                                          image.size(), "", nullptr, &program));
    ep_kernel kernel = nullptr;
    CONTRACT_OK(bench.table.program_kernel(program, "spin", &kernel));
    bench.table.kernel_release(kernel);
    bench.table.program_release(program);
    CONTRACT_REFUSED_AS(EP_BUILD_FAILED,
                        bench.table.program_build(bench.context.get(), bench.device, EP_HSACO,
                                                  "nonsense", 8, "", nullptr, &program));
    CONTRACT_REFUSED_AS(EP_UNSUPPORTED,
                        bench.table.program_build(bench.context.get(), bench.device, EP_PTX,
                                                  "nonsense", 8, "", nullptr, &program));
}

}  // namespace entrepot::contract
