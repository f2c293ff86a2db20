// Times calls of the CUDA backend (for waits between queues, of the core) against the driver's own,
// alternately in one run.
//
//     cuda_driver            prints medians in nanoseconds, and a ratio
//     cuda_driver launch     only the rows whose names begin with "launch"
#include "compare.hpp"
#include "cuda_functions.hpp"

#include <entrepot/device/context.hpp>
#include <entrepot/device/queue.hpp>
#include <entrepot/device/registry.hpp>

using benchmarks::check, benchmarks::compare, benchmarks::nothing_ptx, benchmarks::ok,
    benchmarks::wanted;

namespace {

constexpr std::size_t block_bytes = std::size_t{1} << 20, work_bytes = std::size_t{1} << 28;

}  // namespace

int main(int argc, char **argv) {
    if (argc > 2) {
        std::fprintf(stderr, "usage: %s [rows]\n", argv[0]);
        return 2;
    }
    wanted = argc == 2 ? argv[1] : "";
    const entrepot::Device on = entrepot::registry::select("cuda:0");
    const entrepot::Context in = on.default_context();
    const ep_backend &table = on.backend().api();
    const ep_device device = on.handle();
    const ep_context context = in.handle();
    // as in a program that uses CUDA
    check(DRIVER_FUNCTION(cuCtxPushCurrent)(static_cast<CUcontext>(in.native())));
    ep_queue first = nullptr, second = nullptr;
    ok(table.queue_create(context, device, 0, &first));
    ok(table.queue_create(context, device, 0, &second));
    CUstream their_first = nullptr, their_second = nullptr;
    const auto create_stream = DRIVER_FUNCTION(cuStreamCreate);
    check(create_stream(&their_first, CU_STREAM_NON_BLOCKING));
    check(create_stream(&their_second, CU_STREAM_NON_BLOCKING));
    std::printf("%s\n", on.info().name);

    const auto synchronize = DRIVER_FUNCTION(cuCtxSynchronize);
    const auto wait_all = [&] { check(synchronize()); };

    // ------------------------------------------------------------- memory
    const auto allocate = DRIVER_FUNCTION(cuMemAllocAsync);
    const auto give_back = DRIVER_FUNCTION(cuMemFreeAsync);
    // By default the driver's pool returns free memory at every synchronization. A program that
    // allocates often changes that.
    CUdevice current = 0;
    CUmemoryPool pool = nullptr;
    cuuint64_t everything = UINT64_MAX;
    check(DRIVER_FUNCTION(cuCtxGetDevice)(&current));
    check(DRIVER_FUNCTION(cuDeviceGetDefaultMemPool)(&pool, current));
    check(DRIVER_FUNCTION(cuMemPoolSetAttribute)(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD,
                                                 &everything));
    compare(
        "allocate + free, 1 MiB",
        [&] {
            void *pointer = nullptr;
            ok(table.memory_allocate(context, device, EP_USM_DEVICE, block_bytes, 0, first,
                                     &pointer));
            ok(table.memory_free(context, pointer, first));
        },
        [&] {
            CUdeviceptr pointer = 0;
            check(allocate(&pointer, block_bytes, their_first));
            check(give_back(pointer, their_first));
        },
        wait_all);
    void *work = nullptr;
    ok(table.memory_allocate(context, device, EP_USM_DEVICE, work_bytes, 0, first, &work));
    const CUdeviceptr their_work = reinterpret_cast<CUdeviceptr>(work);
    const auto attributes_of = DRIVER_FUNCTION(cuPointerGetAttributes);
    ep_allocation found{};
    compare(
        "query: kind, device, base, size",
        [&] {
            ok(table.memory_query(context, work, 4096, EP_QUERY_DEVICE | EP_QUERY_SIZE, &found));
        },
        [&] {
            unsigned type = 0, is_managed = 0;
            int ordinal = -1;
            CUdeviceptr base = 0;
            std::size_t size = 0;
            CUpointer_attribute wanted_ones[] = {
                CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
                CU_POINTER_ATTRIBUTE_RANGE_SIZE};
            void *into[] = {&type, &is_managed, &ordinal, &base, &size};
            check(attributes_of(5, wanted_ones, into, their_work));
        });
    const auto fill = DRIVER_FUNCTION(cuMemsetD8Async);
    const std::uint8_t item = 7;
    compare(
        "fill 4 KiB", [&] { ok(table.memory_fill(first, work, &item, 1, 4096)); },
        [&] { check(fill(their_work, item, 4096, their_first)); }, wait_all);

    // ----------------------------------------------------------- launches
    ep_program program = nullptr;
    ok(table.program_build(context, device, EP_PTX, nothing_ptx, sizeof nothing_ptx - 1, "",
                           nullptr, &program));
    ep_kernel kernel = nullptr;
    ok(table.program_kernel(program, "nothing", &kernel));
    CUmodule module = nullptr;
    CUfunction function = nullptr;
    check(DRIVER_FUNCTION(cuModuleLoadData)(&module, nothing_ptx));
    check(DRIVER_FUNCTION(cuModuleGetFunction)(&function, module, "nothing"));
    const auto launch = DRIVER_FUNCTION(cuLaunchKernel);
    float x = 1;
    int n = 2;
    const ep_range range{1, {128}, {128}};
    const ep_argument arguments[] = {{EP_ARG_POINTER, sizeof work, work},
                                     {EP_ARG_POINTER, sizeof work, work},
                                     {EP_ARG_BYTES, sizeof x, &x},
                                     {EP_ARG_BYTES, sizeof n, &n}};
    compare(
        "launch, 4 arguments",
        [&] { ok(table.kernel_launch(first, kernel, &range, nullptr, arguments, 4)); },
        [&] {
            void *their_arguments[] = {&work, &work, &x, &n};
            check(launch(function, 1, 1, 1, 128, 1, 1, 0, their_first, their_arguments, nullptr));
        },
        wait_all);

    // ------------------------------------------------------------- events
    CUevent mark = nullptr;
    check(DRIVER_FUNCTION(cuEventCreate)(&mark, CU_EVENT_DISABLE_TIMING));
    const auto record = DRIVER_FUNCTION(cuEventRecord);
    const auto wait_behind = DRIVER_FUNCTION(cuStreamWaitEvent);
    const auto hand_over = [&](ep_queue from, ep_queue to) {
        ok(table.queue_wait_queue(from, to));
    };
    const auto their_hand_over = [&](CUstream from, CUstream to) {
        check(record(mark, from));
        check(wait_behind(to, mark, CU_EVENT_WAIT_DEFAULT));
    };
    // There is pending work to wait for. Waiting in both directions makes each event record new
    // work.
    compare(
        "hand over, there and back", [&] { hand_over(first, second), hand_over(second, first); },
        [&] {
            their_hand_over(their_first, their_second), their_hand_over(their_second, their_first);
        },
        [&] {
            check(fill(their_work, item, work_bytes, their_first));
            ok(table.memory_fill(first, work, &item, 1, work_bytes));
        },
        wait_all);
    const entrepot::Queue one = entrepot::Queue::create(on), other = entrepot::Queue::create(on);
    compare(
        "Queue::wait_for, there and back", [&] { other.wait_for(one), one.wait_for(other); },
        [&] {
            their_hand_over(their_first, their_second), their_hand_over(their_second, their_first);
        },
        [&] {
            check(fill(their_work, item, work_bytes, their_first));
            ok(table.memory_fill(one.handle(), work, &item, 1, work_bytes));
            one.take_position();
        },
        wait_all);
    compare(
        "record",
        [&] {
            ep_event event = nullptr;
            ok(table.event_record(first, 0, &event));
            table.event_release(event);
        },
        [&] { check(record(mark, their_first)); }, wait_all);
}
