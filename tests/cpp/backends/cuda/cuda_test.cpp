// Behavior particular to CUDA: foreign contexts, streams and memory, default streams, programs in
// three forms, and cooperative launches.
#include "backends/gpu/compiler.hpp"

#include "functions.hpp"

namespace entrepot::contract {
namespace {

using backends::gpu::check;
using backends::gpu::driver;

const char *const spin =
    R"(extern "C" __global__ void spin(long long *out, long long steps, long long value) {
                                unsigned long long x = 1;
                                for (long long i = 0; i < steps; ++i)
                                    x = x * 6364136223846793005ull + 1442695040888963407ull;
                                out[1] = x;
                                out[0] = value;
                            })";

const Subject &subject() {
    static const Subject only{&gpu_table(), EP_CUDA_CPP, "", spin, ""};
    return only;
}

Bench first_device() { return Bench(subject(), devices_of(subject()).at(0)); }

CUdevice ordinal_of(const Bench &bench) {
    void *native = nullptr;
    CONTRACT_OK(bench.table.device_native(bench.device, &native));
    return *static_cast<const CUdevice *>(native);
}

CUcontext native_context(const Bench &bench, const Context &context) {
    void *native = nullptr;
    CONTRACT_OK(bench.table.context_native(context.get(), &native));
    return static_cast<CUcontext>(native);
}

CUstream native_stream(const Bench &bench, const Queue &queue) {
    void *native = nullptr;
    CONTRACT_OK(bench.table.queue_native(queue.get(), &native));
    return *static_cast<const CUstream *>(native);
}

Queue wrap(const Bench &bench, CUstream stream) {
    ep_queue handle = nullptr;
    CONTRACT_OK(bench.table.queue_from_native(nullptr, &stream, &handle));
    return {handle, bench.table.queue_release};
}

ep_allocation query(const Bench &bench, const void *pointer, std::size_t bytes = 1) {
    ep_allocation found{};
    CONTRACT_OK(bench.table.memory_query(bench.context.get(), pointer, bytes,
                                         EP_QUERY_DEVICE | EP_QUERY_SIZE, &found));
    return found;
}

// Runs work of each kind through the table, without a current context. Returns: true if the results
// are right.
bool works(const ep_backend &table) {
    const std::uint32_t item = 0x01020304;
    std::vector<std::uint32_t> out(1000);
    ep_device device = nullptr;
    ep_context context = nullptr;
    ep_queue queue = nullptr;
    ep_event event = nullptr;
    void *memory = nullptr, *pinned = nullptr;
    bool right =
        table.device_at(0, &device) == EP_OK &&
        table.device_default_context(device, &context) == EP_OK &&
        table.queue_create(context, device, 0, &queue) == EP_OK &&
        table.memory_allocate(context, device, EP_USM_DEVICE, 4000, 0, queue, &memory) == EP_OK &&
        table.memory_allocate(context, device, EP_USM_HOST, 4000, 0, queue, &pinned) == EP_OK &&
        table.memory_fill(queue, memory, &item, 4, 1000) == EP_OK &&
        table.memory_copy(queue, pinned, memory, 4000) == EP_OK &&
        table.event_record(queue, 0, &event) == EP_OK && table.event_wait(event) == EP_OK &&
        table.memory_copy(queue, out.data(), memory, 4000) == EP_OK &&
        table.queue_wait(queue) == EP_OK;
    right = right && out == std::vector<std::uint32_t>(1000, item) &&
            std::memcmp(pinned, out.data(), 4000) == 0;
    right = right && table.memory_free(context, memory, queue) == EP_OK &&
            table.memory_free(context, pinned, queue) == EP_OK;
    table.event_release(event);
    table.queue_release(queue);
    table.context_release(context);
    return right;
}

// A foreign context, which is current on this thread until the scope ends.
struct OwnContext {
    CUcontext native = nullptr;
    OwnContext(CUdevice device) {
        using Create = CUresult (*)(CUcontext *, unsigned, CUdevice);
        check(driver_function<Create>("cuCtxCreate_v2")(&native, 0, device), "cuCtxCreate");
    }
    ~OwnContext() {
        using Destroy = CUresult (*)(CUcontext);
        driver_function<Destroy>("cuCtxDestroy_v2")(native);
    }
};

Program build(const Bench &bench, ep_dialect dialect, const std::string &source,
              const char *options = "") {
    ep_program program = nullptr;
    std::string log;
    const ep_sink sink{&log, [](void *user, const char *text, std::size_t length) {
                           static_cast<std::string *>(user)->append(text, length);
                       }};
    INFO("the build log: ", log);
    CONTRACT_OK(bench.table.program_build(bench.context.get(), bench.device, dialect, source.data(),
                                          source.size(), options, &sink, &program));
    return {program, bench.table.program_release};
}

Kernel kernel_of(const Bench &bench, const Program &program, const char *name) {
    ep_kernel handle = nullptr;
    CONTRACT_OK(bench.table.program_kernel(program.get(), name, &handle));
    return {handle, bench.table.kernel_release};
}

void run(const Bench &bench, const Kernel &kernel, const ep_range &range,
         const std::vector<ep_argument> &arguments, const ep_cooperation *cooperation = nullptr) {
    const Queue queue = bench.queue();
    CONTRACT_OK(bench.table.kernel_launch(queue.get(), kernel.get(), &range, cooperation,
                                          arguments.data(), arguments.size()));
    bench.wait(queue);
}

}  // namespace

// ---------------------------------------------------------------- contexts

TEST_CASE("primary context is retained while used, and released after") {
    CUdevice device = 0;
    const auto is_active = [&] {
        unsigned flags = 0;
        int active = 0;
        check(driver().cuDevicePrimaryCtxGetState(device, &flags, &active),
              "cuDevicePrimaryCtxGetState");
        return active != 0;
    };
    {
        const Bench bench = first_device();
        device = ordinal_of(bench);
        CHECK(is_active());
        const Queue queue = bench.queue();
    }
    CHECK_FALSE(is_active());
}

TEST_CASE("thread without a current context stays without one") {
    const ep_backend &table = gpu_table();
    bool right = false;
    CUcontext after = reinterpret_cast<CUcontext>(1);
    std::thread([&] {
        right = works(table);
        driver().cuCtxGetCurrent(&after);
    }).join();
    CHECK(right);
    CHECK(after == nullptr);
}

TEST_CASE("foreign current context stays current during calls") {
    const Bench bench = first_device();
    std::thread([&] {
        const OwnContext other(ordinal_of(bench));
        CHECK(current_context() == other.native);
        CHECK(works(bench.table));
        const Kernel kernel = bench.kernel(spin, "spin");
        const Memory out(bench, EP_USM_DEVICE, 16);
        const std::int64_t steps = 1, value = 5;
        run(bench, kernel, {1, {1}, {1}},
            {pointer_argument(out.at()), bytes_argument(steps), bytes_argument(value)});
        CHECK(out.read<std::int64_t>(1)[0] == 5);
        CHECK(current_context() == other.native);
    }).join();
}

TEST_CASE("foreign context is wrapped without a copy") {
    const Bench bench = first_device();
    std::thread([&] {
        const OwnContext other(ordinal_of(bench));
        ep_context handle = nullptr;
        CONTRACT_OK(bench.table.context_from_native(other.native, &handle));
        const Context wrapped(handle, bench.table.context_release);
        std::int32_t answer = 1;
        CONTRACT_OK(bench.table.context_is_default(wrapped.get(), &answer));
        CHECK(answer == 0);
        CHECK(wrapped.get() != bench.context.get());
        CONTRACT_OK(bench.table.context_from_native(native_context(bench, bench.context), &handle));
        const Context primary(handle, bench.table.context_release);
        CHECK(primary.get() == bench.context.get());
    }).join();
}

// ----------------------------------------------------------------- streams

TEST_CASE("foreign stream is wrapped once and never destroyed") {
    const Bench bench = first_device();
    CUstream stream = nullptr;
    {
        const backends::gpu::Current current(native_context(bench, bench.context));
        check(driver().cuStreamCreate(&stream, CU_STREAM_DEFAULT), "cuStreamCreate");
    }
    {
        const Queue first = wrap(bench, stream), second = wrap(bench, stream);
        CHECK(first.get() == second.get());
        CHECK(native_stream(bench, first) == stream);
        const Slow slow(bench);
        slow.submit(first, 3);
        CHECK(driver().cuStreamQuery(stream) == CUDA_ERROR_NOT_READY);
        bench.wait(second);
        CHECK(driver().cuStreamQuery(stream) == CUDA_SUCCESS);
    }
    CHECK(driver().cuStreamSynchronize(stream) == CUDA_SUCCESS);
    driver().cuStreamDestroy(stream);
}

TEST_CASE("created streams do not wait for the legacy default stream") {
    const Bench bench = first_device();
    const backends::gpu::Current current(native_context(bench, bench.context));
    const Slow slow(bench);
    const Queue legacy = wrap(bench, CU_STREAM_LEGACY), null = wrap(bench, nullptr),
                own = bench.queue();
    CHECK(legacy.get() == null.get());
    slow.submit(legacy, 1);
    bench.wait(own);
    std::int32_t idle = 1;
    CONTRACT_OK(bench.table.queue_is_idle(legacy.get(), &idle));
    CHECK(idle == 0);
    bench.wait(legacy);
}

TEST_CASE("per-thread default stream differs between threads") {
    const Bench bench = first_device();
    const backends::gpu::Current current(native_context(bench, bench.context));
    const Slow slow(bench);
    const Queue mine = wrap(bench, CU_STREAM_PER_THREAD);
    CHECK(mine.get() == wrap(bench, CU_STREAM_PER_THREAD).get());
    slow.submit(mine, 21);
    std::thread([&] {
        const backends::gpu::Current there(native_context(bench, bench.context));
        const Queue theirs = wrap(bench, CU_STREAM_PER_THREAD);
        CHECK(theirs.get() != mine.get());
        std::int32_t idle = 0;
        CONTRACT_OK(bench.table.queue_is_idle(theirs.get(), &idle));
        CHECK(idle == 1);
        CONTRACT_OK(bench.table.queue_is_idle(mine.get(), &idle));
        CHECK_MESSAGE(idle == 0, "the last event of the other thread's stream is queried");

        const std::uint32_t item = 0;
        CONTRACT_REFUSED_AS(
            EP_INVALID, bench.table.memory_fill(mine.get(), const_cast<std::byte *>(slow.result()),
                                                &item, 4, 1));
        const Event done = bench.record(mine);
        CONTRACT_OK(bench.table.event_wait_in_queue(theirs.get(), done.get()));
        std::int64_t value = 0;
        CONTRACT_OK(bench.table.memory_copy(theirs.get(), &value, slow.result(), sizeof value));
        bench.wait(theirs);
        CHECK(value == 21);
        bench.wait(mine);
    }).join();
}

TEST_CASE("queue is created for the device of its context only") {
    const Bench bench = first_device();
    ep_queue queue = nullptr;
    CONTRACT_REFUSED_AS(
        EP_INVALID, bench.table.queue_create(bench.context.get(), bench.device, 1u << 9, &queue));
    const std::vector<ep_device> devices = devices_of(subject());
    if (devices.size() > 1)
        CONTRACT_REFUSED_AS(EP_INVALID,
                            bench.table.queue_create(bench.context.get(), devices[1], 0, &queue));
}

// ------------------------------------------------------------------ memory

TEST_CASE("kinds are pinned, device and managed memory of the driver") {
    const Bench bench = first_device();
    const auto ask = [](CUpointer_attribute what, const void *pointer, auto answer) {
        void *answers[] = {&answer};
        check(driver().cuPointerGetAttributes(1, &what, answers,
                                              reinterpret_cast<CUdeviceptr>(pointer)),
              "cuPointerGetAttributes");
        return answer;
    };
    const Memory pinned(bench, EP_USM_HOST, 100), device(bench, EP_USM_DEVICE, 100),
        managed(bench, EP_USM_SHARED, 100);
    CHECK(ask(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, pinned.at(), 0u) == CU_MEMORYTYPE_HOST);
    CHECK(ask(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, device.at(), 0u) == CU_MEMORYTYPE_DEVICE);
    CHECK(ask(CU_POINTER_ATTRIBUTE_IS_MANAGED, managed.at(), 0) == 1);
    CHECK_MESSAGE(ask(CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, device.at(), CUmemoryPool{}) != nullptr,
                  "device memory comes from a pool of the driver");
    const ep_allocation found = query(bench, device.at(), 100);
    CHECK(found.kind == EP_USM_DEVICE);
    CHECK(found.device == bench.device);
    CHECK(found.base == device.at());
    CHECK(found.contained == 1);
}

TEST_CASE("memory of the driver's other allocators is recognized") {
    const Bench bench = first_device();
    const backends::gpu::Current current(native_context(bench, bench.context));
    CUdeviceptr plain = 0;
    check(driver().cuMemAlloc(&plain, 1000), "cuMemAlloc");
    const ep_allocation of_plain = query(bench, reinterpret_cast<void *>(plain + 10), 990);
    CHECK(of_plain.kind == EP_USM_DEVICE);
    CHECK(of_plain.device == bench.device);
    CHECK(of_plain.base == reinterpret_cast<void *>(plain));
    CHECK(of_plain.contained == 1);
    check(driver().cuMemFree(plain), "cuMemFree");

    std::vector<std::byte> ours(1 << 16);
    check(driver_function<decltype(&::cuMemHostRegister)>("cuMemHostRegister_v2")(ours.data(),
                                                                                  ours.size(), 0),
          "cuMemHostRegister");
    CHECK(query(bench, ours.data()).kind == EP_USM_HOST);
    check(driver_function<decltype(&::cuMemHostUnregister)>("cuMemHostUnregister")(ours.data()),
          "cuMemHostUnregister");
    CHECK(query(bench, ours.data()).kind == EP_USM_UNKNOWN);
}

TEST_CASE("virtual memory without a context is recognized") {
    const Bench bench = first_device();
    CUmemAllocationProp properties{};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location = backends::gpu::location_on(ordinal_of(bench));
    const std::size_t bytes = std::size_t{2} << 20;
    CUmemGenericAllocationHandle block = 0;
    CUdeviceptr place = 0;
    CUmemAccessDesc access{properties.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    check(driver_function<decltype(&::cuMemCreate)>("cuMemCreate")(&block, bytes, &properties, 0),
          "cuMemCreate");
    check(driver_function<decltype(&::cuMemAddressReserve)>("cuMemAddressReserve")(&place, bytes, 0,
                                                                                   0, 0),
          "cuMemAddressReserve");
    check(driver_function<decltype(&::cuMemMap)>("cuMemMap")(place, bytes, 0, block, 0),
          "cuMemMap");
    check(driver_function<decltype(&::cuMemSetAccess)>("cuMemSetAccess")(place, bytes, &access, 1),
          "cuMemSetAccess");
    const ep_allocation found = query(bench, reinterpret_cast<void *>(place + 100), 1000);
    CHECK(found.kind == EP_USM_DEVICE);
    CHECK(found.device == bench.device);
    const Queue queue = bench.queue();
    const std::uint8_t item = 7;
    CONTRACT_OK(
        bench.table.memory_fill(queue.get(), reinterpret_cast<void *>(place), &item, 1, bytes));
    bench.wait(queue);
    driver_function<decltype(&::cuMemUnmap)>("cuMemUnmap")(place, bytes);
    driver_function<decltype(&::cuMemAddressFree)>("cuMemAddressFree")(place, bytes);
    driver_function<decltype(&::cuMemRelease)>("cuMemRelease")(block);
}

TEST_CASE("memory is freed in stream order, without a wait") {
    const Bench bench = first_device();
    const Slow slow(bench);
    const Queue queue = bench.queue();
    void *memory = nullptr;
    CONTRACT_OK(bench.table.memory_allocate(bench.context.get(), bench.device, EP_USM_DEVICE,
                                            1 << 20, 0, queue.get(), &memory));
    slow.submit(queue, 1);
    const auto start = Clock::now();
    CONTRACT_OK(bench.table.memory_free(bench.context.get(), memory, queue.get()));
    CHECK(seconds_since(start) < Slow::seconds / 4);
    bench.wait(queue);
}

TEST_CASE("copies of pageable memory are ordered and do not block") {
    const Bench bench = first_device();
    const Slow slow(bench);
    const Queue queue = bench.queue();
    for (const std::size_t bytes :
         {std::size_t{1}, std::size_t{4} << 20, (std::size_t{9} << 20) + 3}) {
        std::mt19937 random(7);
        std::vector<std::uint8_t> source = random_bytes(random, bytes), between(bytes),
                                  target(bytes);
        const std::vector<std::uint8_t> expected = source;
        const Memory memory(bench, EP_USM_DEVICE, bytes);
        {  // the first use allocates chunks of pinned memory, which may be slow
            slow.submit(queue, 0);
            CONTRACT_OK(bench.table.memory_copy(queue.get(), memory.at(), source.data(), bytes));
            bench.wait(queue);
        }
        slow.submit(queue, 1);
        const auto start = Clock::now();
        CONTRACT_OK(bench.table.memory_copy(queue.get(), memory.at(), source.data(), bytes));
        CONTRACT_OK(bench.table.memory_copy(queue.get(), between.data(), memory.at(), bytes));
        CONTRACT_OK(bench.table.memory_copy(queue.get(), target.data(), between.data(), bytes));
        CHECK(seconds_since(start) < Slow::seconds / 4);
        bench.wait(queue);
        CHECK(target == expected);
        CHECK(seconds_since(start) > Slow::seconds / 4);
    }
}

TEST_CASE("more items than a launch can number are copied in parts") {
    const Bench bench = first_device();
    if (bench.info.global_memory < std::uint64_t{16} << 30) {
        MESSAGE("skipped: ", bench.info.name, " has less than 16 GiB of memory");
        return;
    }
    const std::int64_t items = (std::int64_t{1} << 31) + 1000;
    const Memory from(bench, EP_USM_DEVICE, static_cast<std::size_t>(2 * items)),
        to(bench, EP_USM_DEVICE, static_cast<std::size_t>(items));
    const Queue queue = bench.queue();
    const std::uint8_t odd_and_even[] = {3, 4}, zero = 0;
    CONTRACT_OK(bench.table.memory_fill(queue.get(), from.at(), odd_and_even, 2,
                                        static_cast<std::size_t>(items)));
    CONTRACT_OK(
        bench.table.memory_fill(queue.get(), to.at(), &zero, 1, static_cast<std::size_t>(items)));
    const std::int64_t last = items - 1;
    const std::uint8_t other = 7;
    CONTRACT_OK(bench.table.memory_fill(queue.get(), from.at(1 + 2 * last), &other, 1, 1));
    const ep_box box{1, 1, &items};
    const std::int64_t one = 1, two = 2;
    CONTRACT_OK(
        bench.table.memory_copy_strided(queue.get(), &box, to.at(), &one, from.at(1), &two));
    std::uint8_t seen[3] = {};
    CONTRACT_OK(bench.table.memory_copy(queue.get(), &seen[0], to.at(), 1));
    CONTRACT_OK(bench.table.memory_copy(queue.get(), &seen[1], to.at(items / 2), 1));
    CONTRACT_OK(bench.table.memory_copy(queue.get(), &seen[2], to.at(last), 1));
    bench.wait(queue);
    CHECK(seen[0] == 4);
    CHECK(seen[1] == 4);
    CHECK(seen[2] == 7);
}

TEST_CASE("rows and slices of rows are copied with any pitch") {
    const Bench bench = first_device();
    std::mt19937 random(9);
    for (const std::size_t width : {100u, 4096u, 5000u})
        for (const ep_usm_kind kind : bench.kinds()) {
            const std::vector<std::int64_t> shape{5, 7, static_cast<std::int64_t>(width)};
            const auto w = static_cast<std::int64_t>(width);
            const Strided to{
                {7 * (w + 64), w + 64, 1}, 0, static_cast<std::size_t>(5 * 7 * (w + 64))};
            const Strided from{
                {9 * (w + 8), w + 8, 1}, 0, static_cast<std::size_t>(5 * 9 * (w + 8))};
            const Strided uneven{
                {7 * (w + 8) + 3, w + 8, 1}, 0, static_cast<std::size_t>(5 * (7 * (w + 8) + 3))};
            check_strided(bench, random, shape, 1, to, &from);
            check_strided(bench, random, shape, 1, to, &uneven);
            check_strided(bench, random, shape, 1, uneven, &to);
            const Memory pinned(bench, kind, from.buffer), device(bench, EP_USM_DEVICE, to.buffer),
                back(bench, kind, from.buffer);
            const std::vector<std::uint8_t> values = random_bytes(random, from.buffer);
            pinned.write(values);
            back.write(values);
            const Queue queue = bench.queue();
            const ep_box box{3, 1, shape.data()};
            CONTRACT_OK(bench.table.memory_copy_strided(queue.get(), &box, device.at(),
                                                        to.strides.data(), pinned.at(),
                                                        from.strides.data()));
            CONTRACT_OK(bench.table.memory_copy_strided(
                queue.get(), &box, back.at(), from.strides.data(), device.at(), to.strides.data()));
            bench.wait(queue);
            CHECK(back.read<std::uint8_t>(from.buffer) == values);
        }
}

TEST_CASE("transpositions of all item sizes and odd shapes are right") {
    const Bench bench = first_device();
    std::mt19937 random(10);
    for (const std::size_t itemsize : {1u, 2u, 4u, 8u, 16u})
        for (const std::vector<std::int64_t> &shape : {std::vector<std::int64_t>{3, 100, 77},
                                                       {33, 2, 65},
                                                       {16, 16, 5},
                                                       {1, 129, 31},
                                                       {4, 31, 97}}) {
            const auto item = static_cast<std::int64_t>(itemsize);
            const std::int64_t a = shape[0], b = shape[1], c = shape[2];
            const std::size_t bytes = static_cast<std::size_t>(a * b * c) * itemsize;
            const Strided rows{{b * c * item, c * item, item}, 0, bytes};
            for (const Strided &columns :
                 {Strided{{b * c * item, item, b * item}, 0, bytes},
                  Strided{{item, a * c * item, a * item}, 0, bytes},
                  Strided{{b * c * item, -item, b * item}, (b - 1) * item, bytes}}) {
                check_strided(bench, random, shape, itemsize, rows, &columns);
                check_strided(bench, random, shape, itemsize, columns, &rows);
            }
        }
}

// ---------------------------------------------------------------- programs

TEST_CASE("kernels are found by their C++ names, also templates") {
    const Bench bench = first_device();
    const Program program = build(bench, EP_CUDA_CPP, R"(
        namespace space {
        template <class T, int factor> __global__ void scale(T *x) { x[threadIdx.x] *= factor; }
        }
        __global__ void negate(int *x) { x[threadIdx.x] = -x[threadIdx.x]; })");
    const Memory data(bench, EP_USM_DEVICE, 4 * 8);
    data.write(std::vector<float>{1, 2, 3, 4});
    run(bench, kernel_of(bench, program, "space::scale<float, 3>"), {1, {4}, {4}},
        {pointer_argument(data.at())});
    CHECK(data.read<float>(4) == std::vector<float>{3, 6, 9, 12});
    data.write(std::vector<double>{1, 2, 3, 4});
    run(bench, kernel_of(bench, program, "space::scale<double, -1>"), {1, {4}, {4}},
        {pointer_argument(data.at())});
    CHECK(data.read<double>(4) == std::vector<double>{-1, -2, -3, -4});
    data.write(std::vector<int>{1, 2, 3, 4});
    run(bench, kernel_of(bench, program, "negate"), {1, {4}, {4}}, {pointer_argument(data.at())});
    CHECK(data.read<int>(4) == std::vector<int>{-1, -2, -3, -4});

    ep_kernel kernel = nullptr;
    CONTRACT_REFUSED_AS(
        EP_INVALID, bench.table.program_kernel(program.get(), "space::scale<Unknown, 3>", &kernel));
    CHECK(last_error().find("Unknown") != std::string::npos);
}

TEST_CASE("PTX and cubins are built as programs") {
    const Bench bench = first_device();
    int major = 0, minor = 0;
    check(driver().cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
                                        ordinal_of(bench)),
          "attribute");
    check(driver().cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
                                        ordinal_of(bench)),
          "attribute");
    std::string log;
    const backends::gpu::Code cubin =
        backends::gpu::compile({spin, {}, "", {10 * major + minor, driver().version}}, log);
    REQUIRE(cubin.image.starts_with("\x7f"));
    const std::string ptx = R"(
        .version 7.0
        .target sm_70
        .address_size 64
        .visible .entry spin(.param .u64 out, .param .u64 steps, .param .u64 value) {
            .reg .b64 %a, %v;
            ld.param.u64 %a, [out];
            ld.param.u64 %v, [value];
            st.global.u64 [%a], %v;
            ret;
        })";
    for (const auto &[dialect, source] : {std::pair{EP_CUBIN, cubin.image}, {EP_PTX, ptx}}) {
        const Program program = build(bench, dialect, source);
        const Memory out(bench, EP_USM_DEVICE, 16);
        const std::int64_t steps = 1, value = 40 + dialect;
        run(bench, kernel_of(bench, program, "spin"), {1, {1}, {1}},
            {pointer_argument(out.at()), bytes_argument(steps), bytes_argument(value)});
        CHECK(out.read<std::int64_t>(1)[0] == value);
        ep_kernel kernel = nullptr;
        CONTRACT_REFUSED_AS(EP_INVALID,
                            bench.table.program_kernel(program.get(), "other", &kernel));
        if (driver().cuModuleEnumerateFunctions != nullptr)
            CHECK_MESSAGE(last_error().find("it has: spin") != std::string::npos, last_error());
    }
    for (const auto &[dialect, source] :
         {std::pair{EP_CUBIN, ptx},
          {EP_PTX, cubin.image},
          {EP_PTX, std::string(".version 99.9\n.target sm_70\n")}}) {
        ep_program program = nullptr;
        CONTRACT_REFUSED_AS(EP_BUILD_FAILED,
                            bench.table.program_build(bench.context.get(), bench.device, dialect,
                                                      source.data(), source.size(), "", nullptr,
                                                      &program));
    }
}

TEST_CASE("program released during a capture is unloaded afterwards") {
    if (driver().cuCtxRecordEvent == nullptr) {
        MESSAGE("skipped: the driver records no events of contexts, so programs live as long as "
                "their context");
        return;
    }
    const Bench bench = first_device();
    const Queue queue = bench.queue();
    const auto free_bytes = [&] {
        const backends::gpu::Current current(native_context(bench, bench.context));
        std::size_t free = 0, all = 0;
        check(driver().cuMemGetInfo(&free, &all), "cuMemGetInfo");
        return free;
    };
    constexpr std::size_t half = std::size_t{128} << 20;
    const std::size_t before = free_bytes();
    Program program = build(bench, EP_CUDA_CPP, R"(__device__ char room[256 << 20];
        extern "C" __global__ void touch() { room[threadIdx.x] = 1; })");
    Kernel kernel = kernel_of(bench, program, "touch");
    run(bench, kernel, {1, {32}, {32}}, {});
    REQUIRE(free_bytes() + half < before);

    const CUstream stream = native_stream(bench, queue);
    check(driver_function<CUresult (*)(CUstream, int)>("cuStreamBeginCapture_v2")(stream, 0),
          "cuStreamBeginCapture");
    kernel.reset();
    program.reset();
    CUgraph graph = nullptr;
    check(driver_function<CUresult (*)(CUstream, CUgraph *)>("cuStreamEndCapture")(stream, &graph),
          "cuStreamEndCapture");
    check(driver_function<CUresult (*)(CUgraph)>("cuGraphDestroy")(graph), "cuGraphDestroy");
    for (int tries = 0; tries < 100 && free_bytes() + half < before; ++tries) {
        // A build unloads released programs.
        build(bench, EP_CUDA_CPP, "extern \"C\" __global__ void other() {}");
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    CHECK(free_bytes() + half > before);
}

TEST_CASE("kernel reports registers, local memory and group limits") {
    const Bench bench = first_device();
    const Program program = build(bench, EP_CUDA_CPP, R"(
        extern "C" __global__ void __launch_bounds__(128) takes(float *x) {
            __shared__ float kept[500];
            kept[threadIdx.x] = x[threadIdx.x];
            __syncthreads();
            x[threadIdx.x] = kept[127 - threadIdx.x];
        })");
    ep_kernel_info info{};
    CONTRACT_OK(
        bench.table.kernel_info(kernel_of(bench, program, "takes").get(), bench.device, &info));
    CHECK(info.registers > 0);
    CHECK(info.local_memory >= 2000);
    CHECK(info.max_work_group == 128);
    CHECK(info.preferred_multiple == 32);
}

TEST_CASE("structs are passed by value, wrong sizes are refused") {
    const Bench bench = first_device();
    struct Pair {
        double a;
        std::int32_t b[5];
    };
    const Program program = build(bench, EP_CUDA_CPP, R"(
        struct Pair { double a; int b[5]; };
        extern "C" __global__ void add(double *out, Pair pair, char c) {
            *out = pair.a + pair.b[4] + c;
        })");
    const Kernel kernel = kernel_of(bench, program, "add");
    const Memory out(bench, EP_USM_DEVICE, 8);
    const Pair pair{1.5, {0, 0, 0, 0, 40}};
    const char c = 2;
    run(bench, kernel, {1, {1}, {1}},
        {pointer_argument(out.at()), bytes_argument(pair), bytes_argument(c)});
    CHECK(out.read<double>(1)[0] == 43.5);
    if (driver().cuFuncGetParamInfo == nullptr)
        return;
    const Queue queue = bench.queue();
    const ep_range range{1, {1}, {1}};
    const ep_argument wrong[] = {pointer_argument(out.at()), bytes_argument(pair),
                                 bytes_argument(pair)};
    CONTRACT_REFUSED_AS(EP_INVALID, bench.table.kernel_launch(queue.get(), kernel.get(), &range,
                                                              nullptr, wrong, 3));
    CHECK(last_error().find("argument 2") != std::string::npos);
    CONTRACT_REFUSED_AS(EP_INVALID, bench.table.kernel_launch(queue.get(), kernel.get(), &range,
                                                              nullptr, wrong, 2));
}

TEST_CASE("dynamic shared memory may exceed 48 KiB in several arguments") {
    const Bench bench = first_device();
    const Program program = build(bench, EP_CUDA_CPP, R"(
        extern "C" __global__ void fill(int *out, int second) {
            extern __shared__ int kept[];
            for (int i = threadIdx.x; i < second + 4; i += blockDim.x)
                kept[i] = i;
            __syncthreads();
            if (threadIdx.x == 0) {
                out[0] = kept[second - 1];
                out[1] = kept[second];
            }
        })");
    const Kernel kernel = kernel_of(bench, program, "fill");
    const Memory out(bench, EP_USM_DEVICE, 8);
    const std::int32_t second = 15'000;
    REQUIRE(bench.info.local_memory > 61'000);
    run(bench, kernel, {1, {64}, {64}},
        {pointer_argument(out.at()), bytes_argument(second), local_argument(59'990),
         local_argument(16)});
    CHECK(out.read<std::int32_t>(2) == std::vector<std::int32_t>{14'999, 15'000});
    const Queue queue = bench.queue();
    const ep_range range{1, {64}, {64}};
    const ep_argument wrong[] = {pointer_argument(out.at()), bytes_argument(second),
                                 local_argument(bench.info.local_memory), local_argument(16)};
    CONTRACT_REFUSED_AS(EP_INVALID, bench.table.kernel_launch(queue.get(), kernel.get(), &range,
                                                              nullptr, wrong, 4));
}

TEST_CASE("static shared memory counts towards the 48 KiB limit") {
    const Bench bench = first_device();
    const Program program = build(bench, EP_CUDA_CPP, R"(
        extern "C" __global__ void both(int *out, int dynamic) {
            extern __shared__ int given[];
            __shared__ int own[4096];
            for (int i = threadIdx.x; i < 4096; i += blockDim.x)
                own[i] = i;
            for (int i = threadIdx.x; i < dynamic; i += blockDim.x)
                given[i] = -i;
            __syncthreads();
            if (threadIdx.x == 0)
                out[0] = own[4095] + given[dynamic - 1];
        })");
    const Kernel kernel = kernel_of(bench, program, "both");
    const Memory out(bench, EP_USM_DEVICE, 4);
    REQUIRE(bench.info.local_memory >= 57'344);
    for (const std::int32_t dynamic : {8192, 10'240, 8193}) {
        run(bench, kernel, {1, {64}, {64}},
            {pointer_argument(out.at()), bytes_argument(dynamic),
             local_argument(static_cast<std::size_t>(dynamic) * 4)});
        CHECK(out.read<std::int32_t>(1) == std::vector<std::int32_t>{4096 - dynamic});
    }
}

TEST_CASE("groups of a cooperative launch may wait and must all fit") {
    const Bench bench = first_device();
    const Program program = build(bench, EP_CUDA_CPP, R"(
        extern "C" __global__ void meet(unsigned *arrived, unsigned *out) {
            atomicAdd(arrived, 1);
            while (atomicAdd(arrived, 0) < gridDim.x) {}
            out[blockIdx.x] = *reinterpret_cast<volatile unsigned *>(arrived);
            unsigned high, low;  // address of the groups' grid barrier; 0 in any other launch
            asm("mov.u32 %0, %%envreg1;" : "=r"(high));
            asm("mov.u32 %0, %%envreg2;" : "=r"(low));
            out[gridDim.x] = (high | low) != 0;
        })");
    const Kernel kernel = kernel_of(bench, program, "meet");
    const std::uint64_t groups = bench.info.compute_units;
    const Memory arrived(bench, EP_USM_DEVICE, 4), out(bench, EP_USM_DEVICE, 4 * (groups + 1));
    arrived.write(std::vector<std::uint32_t>{0});
    const std::vector<ep_argument> arguments{pointer_argument(arrived.at()),
                                             pointer_argument(out.at())};
    const ep_cooperation cooperation{1, {}};
    run(bench, kernel, {1, {groups}, {1}}, arguments, &cooperation);
    CHECK(out.read<std::uint32_t>(groups) ==
          std::vector<std::uint32_t>(groups, static_cast<std::uint32_t>(groups)));
    CHECK(out.read<std::uint32_t>(groups + 1).back() == 1);
    const Queue queue = bench.queue();
    std::uint64_t most = 0, of_large_groups = 0;
    CONTRACT_OK(bench.table.kernel_resident_groups(kernel.get(), bench.device, 1, 0, &most));
    CONTRACT_OK(
        bench.table.kernel_resident_groups(kernel.get(), bench.device, 1024, 0, &of_large_groups));
    CHECK(most >= groups);
    CHECK(of_large_groups >= groups);
    CHECK(of_large_groups < most);
    const ep_range too_many{1, {most + 1}, {1}};
    CONTRACT_REFUSED_AS(EP_INVALID, bench.table.kernel_launch(queue.get(), kernel.get(), &too_many,
                                                              &cooperation, arguments.data(), 2));
    CHECK(last_error().find(std::to_string(most + 1) + " work-groups") != std::string::npos);
    CHECK(last_error().find("runs " + std::to_string(most) + " of them") != std::string::npos);
}

TEST_CASE("clusters have the requested size if supported") {
    const Bench bench = first_device();
    int has_clusters = 0;
    check(driver().cuDeviceGetAttribute(&has_clusters, CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH,
                                        ordinal_of(bench)),
          "attribute");
    const Program program = build(bench, EP_CUDA_CPP, R"(
        extern "C" __global__ void rank(unsigned *out) {
            unsigned rank = 0, size = 0;
        #if __CUDA_ARCH__ >= 900
            asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
            asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
        #endif
            out[2 * blockIdx.x] = rank;
            out[2 * blockIdx.x + 1] = size;
        })");
    const Kernel kernel = kernel_of(bench, program, "rank");
    const Memory out(bench, EP_USM_DEVICE, 4 * 2 * 16);
    const std::vector<ep_argument> arguments{pointer_argument(out.at())};
    const Queue queue = bench.queue();
    const ep_range range{1, {16 * 32}, {32}};
    for (const std::uint64_t size : {4u, 16u}) {
        const ep_cooperation cooperation{0, {size, 0, 0}};
        if (!has_clusters) {
            CONTRACT_REFUSED_AS(EP_UNSUPPORTED,
                                bench.table.kernel_launch(queue.get(), kernel.get(), &range,
                                                          &cooperation, arguments.data(), 1));
            continue;
        }
        run(bench, kernel, range, arguments, &cooperation);
        std::vector<std::uint32_t> expected;
        for (std::uint32_t group = 0; group < 16; ++group) {
            expected.push_back(group % static_cast<std::uint32_t>(size));
            expected.push_back(static_cast<std::uint32_t>(size));
        }
        CHECK(out.read<std::uint32_t>(32) == expected);
    }
    const ep_cooperation uneven{0, {3, 0, 0}};
    CONTRACT_REFUSED(
        bench.table.kernel_launch(queue.get(), kernel.get(), &range, &uneven, arguments.data(), 1));
}

TEST_CASE("too many work-groups are refused with both numbers") {
    const Bench bench = first_device();
    const Kernel kernel = bench.kernel(spin, "spin");
    const std::int64_t zero = 0;
    const ep_argument arguments[] = {pointer_argument(nullptr), bytes_argument(zero),
                                     bytes_argument(zero)};
    const Queue queue = bench.queue();
    const ep_range range{2, {70'000, 32}, {1, 32}};
    CONTRACT_REFUSED_AS(EP_INVALID, bench.table.kernel_launch(queue.get(), kernel.get(), &range,
                                                              nullptr, arguments, 3));
    CHECK(last_error().find("70000 work-groups, and CUDA allows 65535") != std::string::npos);
}

}  // namespace entrepot::contract
