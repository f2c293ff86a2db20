// Behavior particular to SYCL: native objects, out-of-order queues, several contexts, asynchronous
// errors.
#include "plugin.hpp"

#include <sycl/backend.hpp>
#include <sycl/context.hpp>
#include <sycl/device.hpp>
#include <sycl/properties/all_properties.hpp>
#include <sycl/queue.hpp>
#include <sycl/usm.hpp>

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <barrier>
#include <optional>
#include <set>
#include <stdexcept>

// True if the device of every queue is lost. The plugin calls this definition, not the runtime's.
static std::atomic<bool> is_lost{false};

bool sycl::queue::ext_oneapi_empty() const {
    if (is_lost)
        throw sycl::exception(sycl::make_error_code(sycl::errc::runtime), "the device is lost");
    static const auto of_the_runtime = reinterpret_cast<bool (*)(const sycl::queue *)>(
        dlsym(RTLD_NEXT, "_ZNK4sycl3_V15queue16ext_oneapi_emptyEv"));
    return of_the_runtime(this);
}

namespace entrepot::contract {
namespace {

const Subject &subject() {
    static const Subject only{&sycl_table(), EP_OPENCL_C, "",
                              R"(kernel void spin(global long *out, long steps, long value) {
                                     ulong x = 1;
                                     for (long i = 0; i < steps; ++i)
                                         x = x * 6364136223846793005ul + 1442695040888963407ul;
                                     out[1] = x;
                                     out[0] = value;
                                 })",
                              ""};
    return only;
}

Bench first_device() { return Bench(subject(), devices_of(subject()).at(0)); }

const sycl::device &native_device(const Bench &bench) {
    void *native = nullptr;
    CONTRACT_OK(bench.table.device_native(bench.device, &native));
    return *static_cast<const sycl::device *>(native);
}

const sycl::context &native_context(const Bench &bench, const Context &context) {
    void *native = nullptr;
    CONTRACT_OK(bench.table.context_native(context.get(), &native));
    return *static_cast<const sycl::context *>(native);
}

sycl::queue &native_queue(const Bench &bench, const Queue &queue) {
    void *native = nullptr;
    CONTRACT_OK(bench.table.queue_native(queue.get(), &native));
    return *static_cast<sycl::queue *>(native);
}

Context wrap(const Bench &bench, const sycl::context &native) {
    ep_context handle = nullptr;
    CONTRACT_OK(bench.table.context_from_native(const_cast<sycl::context *>(&native), &handle));
    return {handle, bench.table.context_release};
}

// The wrapper should hold the last copy: it can release an out-of-order queue safely (queues.cpp),
// unlike the runtime.
Queue wrap(const Bench &bench, const sycl::queue &native) {
    ep_queue handle = nullptr;
    CONTRACT_OK(
        bench.table.queue_from_native(nullptr, const_cast<sycl::queue *>(&native), &handle));
    return {handle, bench.table.queue_release};
}

std::vector<ep_device> partition(const Bench &bench, ep_partition how,
                                 std::vector<std::uint32_t> counts) {
    std::size_t count = 0;
    CONTRACT_OK(bench.table.device_partition(bench.device, how, counts.data(), counts.size(),
                                             nullptr, &count));
    std::vector<ep_device> devices(count);
    CONTRACT_OK(bench.table.device_partition(bench.device, how, counts.data(), counts.size(),
                                             devices.data(), &count));
    return devices;
}

bool is_partitionable(const Bench &bench) {
    if (bench.has(EP_PARTITION_EQUALLY) && bench.info.compute_units > 1)
        return true;
    MESSAGE("skipped: ", bench.info.name, " cannot be partitioned into several devices");
    return false;
}

}  // namespace

TEST_CASE("devices are numbered as in sycl::device::get_devices()") {
    const std::vector<sycl::device> natives = sycl::device::get_devices();
    const std::vector<ep_device> devices = devices_of(subject());
    REQUIRE(devices.size() == natives.size());
    for (std::size_t i = 0; i < devices.size(); ++i) {
        const Bench bench(subject(), devices[i]);
        CHECK(native_device(bench) == natives[i]);
        CHECK(bench.info.score == sycl::default_selector_v(natives[i]));
        CHECK(natives[i].get_platform().ext_oneapi_get_default_context() ==
              native_context(bench, bench.context));
        if (natives[i].get_backend() == sycl::backend::opencl)
            CHECK(std::string(bench.info.backend) == "opencl");
    }
}

TEST_CASE("context has one handle while referenced") {
    const Bench bench = first_device();
    const sycl::context native(native_device(bench));
    const Context first = wrap(bench, native), second = wrap(bench, sycl::context(native));
    CHECK(first.get() == second.get());
    CHECK(first.get() != bench.context.get());
    std::int32_t is_default = 1;
    CONTRACT_OK(bench.table.context_is_default(first.get(), &is_default));
    CHECK(is_default == 0);

    const Queue queue = wrap(bench, sycl::queue(native, native_device(bench)));
    ep_context of_queue = nullptr;
    CONTRACT_OK(bench.table.queue_context(queue.get(), &of_queue));
    CHECK(of_queue == first.get());
    bench.table.context_release(of_queue);
}

TEST_CASE("threads intern and release one context concurrently") {
    const Bench bench = first_device();
    const sycl::context native(native_device(bench));
    std::atomic<int> failures = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
        threads.emplace_back([&] {
            for (int round = 0; round < 5000; ++round) {
                ep_context handle = nullptr;
                failures += bench.table.context_from_native(const_cast<sycl::context *>(&native),
                                                            &handle) != EP_OK;
                void *inside = nullptr;
                failures += bench.table.context_native(handle, &inside) != EP_OK ||
                            *static_cast<sycl::context *>(inside) != native;
                bench.table.context_release(handle);
            }
        });
    for (auto &thread : threads)
        thread.join();
    CHECK(failures == 0);
}

TEST_CASE("threads that intern one new queue get the same handle") {
    constexpr int threads = 4;
    const Bench bench = first_device();
    std::array<ep_queue, threads> handles{};
    std::optional<sycl::queue> native;
    int failures = 0;
    const auto begin = [&]() noexcept {
        native.emplace(native_device(bench), sycl::property::queue::in_order{});
    };
    const auto compare = [&]() noexcept {
        failures += std::ranges::count(handles, handles[0]) != threads;
    };
    std::barrier started(threads, begin);
    std::barrier interned(threads, compare);
    std::vector<std::thread> all;
    for (ep_queue &handle : handles)
        all.emplace_back([&] {
            for (int round = 0; round < 500; ++round) {
                started.arrive_and_wait();
                if (bench.table.queue_from_native(nullptr, &*native, &handle) != EP_OK)
                    std::abort();
                interned.arrive_and_wait();
                bench.table.queue_release(handle);
            }
        });
    for (std::thread &thread : all)
        thread.join();
    CHECK(failures == 0);
}

TEST_CASE("equal partitions are the same sub-devices, others differ") {
    const Bench bench = first_device();
    if (!is_partitionable(bench))
        return;
    const auto halves = partition(bench, EP_EQUALLY, {1});
    CHECK(partition(bench, EP_EQUALLY, {1}) == halves);
    const auto one = partition(bench, EP_BY_COUNTS, {1});
    std::set<std::uint32_t> numbers;
    for (const auto &all : {halves, one})
        for (const ep_device device : all) {
            ep_device parent = nullptr;
            CONTRACT_OK(bench.table.device_parent(device, &parent));
            CHECK(parent == bench.device);
            CHECK(numbers.insert(info_of(subject(), device).number).second);
        }
    ep_device again = nullptr;
    void *native = nullptr;
    CONTRACT_OK(bench.table.device_native(halves[1], &native));
    sycl::device copy = *static_cast<sycl::device *>(native);
    CONTRACT_OK(bench.table.device_from_native(&copy, &again));
    CHECK(again == halves[1]);

    // A foreign sub-device is a device of its own, with the right parent, and keeps its handle.
    const auto theirs =
        native_device(bench).create_sub_devices<sycl::info::partition_property::partition_equally>(
            1);
    CONTRACT_OK(bench.table.device_from_native(const_cast<sycl::device *>(&theirs[0]), &again));
    ep_device parent = nullptr, once_more = nullptr;
    CONTRACT_OK(bench.table.device_parent(again, &parent));
    CHECK(parent == bench.device);
    CONTRACT_OK(bench.table.device_from_native(const_cast<sycl::device *>(&theirs[0]), &once_more));
    CHECK(again == once_more);
}

TEST_CASE("unsupported partitions are refused with the supported ones") {
    const Bench bench = first_device();
    std::size_t count = 0;
    const std::uint32_t numa = EP_AFFINITY_NUMA, zero = 0, too_many = bench.info.compute_units + 1;
    if (!bench.has(EP_PARTITION_BY_AFFINITY)) {
        CONTRACT_REFUSED_AS(
            EP_UNSUPPORTED,
            bench.table.device_partition(bench.device, EP_BY_AFFINITY, &numa, 1, nullptr, &count));
        CHECK(last_error().find("what it offers") != std::string::npos);
    }
    if (!is_partitionable(bench))
        return;
    CONTRACT_REFUSED_AS(EP_INVALID, bench.table.device_partition(bench.device, EP_EQUALLY, &zero, 1,
                                                                 nullptr, &count));
    CONTRACT_REFUSED_AS(EP_INVALID, bench.table.device_partition(bench.device, EP_EQUALLY,
                                                                 &too_many, 1, nullptr, &count));
    CONTRACT_REFUSED_AS(EP_INVALID, bench.table.device_partition(bench.device, EP_BY_COUNTS,
                                                                 nullptr, 0, nullptr, &count));
}

TEST_CASE("sub-device has its own context and memory") {
    const Bench bench = first_device();
    if (!is_partitionable(bench))
        return;
    const ep_device sub = partition(bench, EP_EQUALLY, {1})[0];
    ep_queue queue = nullptr;
    CONTRACT_REFUSED_AS(EP_INVALID, bench.table.queue_create(bench.context.get(), sub, 0, &queue));
    CHECK(last_error().find("context of this device") != std::string::npos);

    ep_context handle = nullptr;
    CONTRACT_OK(bench.table.context_create(&sub, 1, &handle));
    const Context own(handle, bench.table.context_release);
    CONTRACT_OK(bench.table.queue_create(own.get(), sub, 0, &queue));
    const Queue in_own(queue, bench.table.queue_release);
    void *pointer = nullptr;
    CONTRACT_OK(
        bench.table.memory_allocate(own.get(), sub, EP_USM_SHARED, 1000, 0, nullptr, &pointer));
    ep_allocation found{};
    CONTRACT_OK(bench.table.memory_query(own.get(), pointer, 1000, EP_QUERY_DEVICE | EP_QUERY_SIZE,
                                         &found));
    CHECK(found.kind == EP_USM_SHARED);
    CHECK((found.device == sub || found.device == nullptr));
    CONTRACT_OK(
        bench.table.memory_query(bench.context.get(), pointer, 1000, EP_QUERY_DEVICE, &found));
    CHECK(found.kind == EP_USM_UNKNOWN);
    const std::int32_t item = 9;
    CONTRACT_OK(bench.table.memory_fill(in_own.get(), pointer, &item, 4, 250));
    CONTRACT_OK(bench.table.queue_wait(in_own.get()));
    CHECK(static_cast<std::int32_t *>(pointer)[249] == 9);
    CONTRACT_OK(bench.table.memory_free(own.get(), pointer, nullptr));
}

TEST_CASE("query reports the start and end of an allocation") {
    const Bench bench = first_device();
    if (std::string(bench.info.backend) != "opencl") {
        MESSAGE("skipped: only OpenCL tells the extent of an allocation");
        return;
    }
    const Memory memory(bench, EP_USM_SHARED, 4096), neighbor(bench, EP_USM_SHARED, 4096);
    ep_allocation found{};
    const auto query = [&](std::ptrdiff_t offset, std::size_t bytes) {
        CONTRACT_OK(bench.table.memory_query(bench.context.get(), memory.at(offset), bytes,
                                             EP_QUERY_SIZE | EP_QUERY_DEVICE, &found));
    };
    query(100, 3996);
    CHECK(found.contained == 1);
    CHECK(found.base == memory.at());
    CHECK(found.size >= 4096);
    CHECK(found.device == bench.device);
    query(100, 1 << 20);
    CHECK(found.contained == 0);
    CHECK(found.base == memory.at());
    query(0, 0);
    CHECK(found.contained == 1);
    query(1, ~std::size_t{0});  // wraps around the address space
    CHECK(found.contained == 0);
}

TEST_CASE("wrapped out-of-order queue is ordered with foreign work") {
    const Bench bench = first_device();
    const Queue queue =
        wrap(bench, sycl::queue(native_context(bench, bench.context), native_device(bench)));
    sycl::queue &theirs = native_queue(bench, queue);
    std::uint32_t flags = 0;
    CONTRACT_OK(bench.table.queue_flags(queue.get(), &flags));
    CHECK(flags == EP_QUEUE_OUT_OF_ORDER);
    const Slow slow(bench);
    const Memory copied(bench, EP_USM_SHARED, 16);
    auto *const values = reinterpret_cast<volatile std::int64_t *>(copied.at());

    SUBCASE("copy follows a kernel, foreign copy follows both") {
        values[0] = -1;
        values[1] = -1;
        slow.submit(queue, 21);
        CONTRACT_OK(bench.table.memory_copy(queue.get(), copied.at(), slow.result(), 8));
        theirs.memcpy(copied.at(8), copied.at(), 8);
        CONTRACT_OK(bench.table.queue_wait(queue.get()));
        CHECK(values[0] == 21);
        CHECK(values[1] == 21);
    }
    SUBCASE("event covers all work of the queue") {
        values[0] = -1;
        slow.submit(queue, 22);
        const Event event = bench.record(queue);
        const Queue reader = bench.queue();
        CONTRACT_OK(bench.table.event_wait_in_queue(reader.get(), event.get()));
        CONTRACT_OK(bench.table.memory_copy(reader.get(), copied.at(), slow.result(), 8));
        bench.wait(reader);
        CHECK(values[0] == 22);
    }
    SUBCASE("later foreign work follows an awaited event") {
        values[0] = -1;
        const Queue producer = bench.queue();
        slow.submit(producer, 23);
        const Event event = bench.record(producer);
        CONTRACT_OK(bench.table.event_wait_in_queue(queue.get(), event.get()));
        theirs.memcpy(copied.at(), slow.result(), 8);
        CONTRACT_OK(bench.table.queue_wait(queue.get()));
        CHECK(values[0] == 23);
    }
}

TEST_CASE("wait for an out-of-order queue does not block other calls") {
    const Bench bench = first_device();
    const Slow slow(bench);
    const Queue queue = bench.queue(EP_QUEUE_OUT_OF_ORDER);
    slow.submit(queue, 1);
    const Event first = bench.record(queue);
    for (int number = 2; number < 5; ++number)
        slow.submit(queue, number);
    std::atomic<bool> waited = false;
    std::thread waiter([&] {
        CONTRACT_OK(bench.table.queue_wait(queue.get()));
        waited = true;
    });
    std::this_thread::sleep_for(std::chrono::duration<double>(Slow::seconds / 4));
    std::int32_t idle = 1;
    CONTRACT_OK(bench.table.queue_is_idle(queue.get(), &idle));
    CHECK((idle == 0 && !waited));
    ep_event marked = first.get();
    CONTRACT_OK(bench.table.event_record(queue.get(), EP_EVENT_PROMPT, &marked));
    CHECK((marked == nullptr && !waited));
    CONTRACT_OK(bench.table.event_wait(first.get()));
    CHECK(!waited);
    waiter.join();
    CONTRACT_OK(bench.table.queue_is_idle(queue.get(), &idle));
    CHECK(idle == 1);
    CONTRACT_OK(bench.table.event_record(queue.get(), EP_EVENT_PROMPT, &marked));
    CHECK(Event(marked, bench.table.event_release) != nullptr);
}

TEST_CASE("events order queues of two contexts without blocking") {
    const Bench bench = first_device();
    const sycl::context elsewhere(native_device(bench));
    const Slow slow(bench);
    const Queue producer = bench.queue();
    for (const bool in_order : {true, false}) {
        const Queue consumer = wrap(bench, in_order ? sycl::queue(elsewhere, native_device(bench),
                                                                  sycl::property::queue::in_order{})
                                                    : sycl::queue(elsewhere, native_device(bench)));
        sycl::queue &native = native_queue(bench, consumer);
        std::int64_t *const copied = sycl::malloc_shared<std::int64_t>(2, native);
        for (const bool wrapped : {false, true}) {
            INFO("in order: ", in_order, ", wrapped: ", wrapped);
            copied[0] = copied[1] = -1;
            slow.submit(producer, 30 + wrapped);
            Event event = bench.record(producer);
            if (wrapped) {
                void *inside = nullptr;
                CONTRACT_OK(bench.table.event_native(event.get(), &inside));
                ep_event handle = nullptr;
                CONTRACT_OK(bench.table.event_from_native(inside, &handle));
                event.reset(handle);
            }
            const auto start = Clock::now();
            CONTRACT_OK(bench.table.event_wait_in_queue(consumer.get(), event.get()));
            native.memcpy(copied, slow.result(), 8);  // later foreign work waits too
            CONTRACT_OK(bench.table.memory_copy(consumer.get(), copied + 1, slow.result(), 8));
            CHECK(seconds_since(start) < Slow::seconds / 4);
            CONTRACT_OK(bench.table.queue_wait(consumer.get()));
            CHECK(copied[0] == 30 + wrapped);
            CHECK(copied[1] == 30 + wrapped);
        }
        sycl::free(copied, native);
    }
}

TEST_CASE("chain of waits through three contexts keeps the order") {
    const Bench bench = first_device();
    const Slow slow(bench);
    const Queue producer = bench.queue();
    const sycl::context second(native_device(bench)), third(native_device(bench));
    const Queue middle =
        wrap(bench, sycl::queue(second, native_device(bench), sycl::property::queue::in_order{}));
    const auto wait_through = [&](const Queue &end, std::int64_t value) {
        const sycl::queue &last = native_queue(bench, end);
        std::int64_t *const copied = sycl::malloc_shared<std::int64_t>(1, last);
        *copied = -1;
        slow.submit(producer, value);
        CONTRACT_OK(bench.table.event_wait_in_queue(middle.get(), bench.record(producer).get()));
        CONTRACT_OK(bench.table.event_wait_in_queue(end.get(), bench.record(middle).get()));
        CONTRACT_OK(bench.table.memory_copy(end.get(), copied, slow.result(), 8));
        CONTRACT_OK(bench.table.queue_wait(end.get()));
        CHECK(*copied == value);
        sycl::free(copied, last);
    };
    wait_through(wrap(bench, sycl::queue(second, native_device(bench))), 41);
    wait_through(
        wrap(bench, sycl::queue(second, native_device(bench), sycl::property::queue::in_order{})),
        42);
    wait_through(wrap(bench, sycl::queue(third, native_device(bench))), 43);
    wait_through(
        wrap(bench, sycl::queue(third, native_device(bench), sycl::property::queue::in_order{})),
        44);
}

TEST_CASE("asynchronous error is reported once by the next wait") {
    const Bench bench = first_device();
    const Queue queue = bench.queue();
    const auto fail = [&](const char *words) {
        native_queue(bench, queue).submit([&](sycl::handler &handler) {
            handler.host_task([words] { throw std::runtime_error(words); });
        });
    };
    fail("the reactor is on fire");
    CONTRACT_REFUSED_AS(EP_DEVICE_ERROR, bench.table.queue_wait(queue.get()));
    CHECK(last_error().find("the reactor is on fire") != std::string::npos);
    bench.wait(queue);

    fail("again");
    const Event event = bench.record(queue);
    CONTRACT_REFUSED_AS(EP_DEVICE_ERROR, bench.table.event_wait(event.get()));
    CHECK(last_error().find("again") != std::string::npos);
    bench.wait(queue);

    {  // no wait, and the work outlives the queue's last reference
        const Queue forgotten = bench.queue();
        native_queue(bench, forgotten).submit([](sycl::handler &handler) {
            handler.host_task([] {
                std::this_thread::sleep_for(std::chrono::milliseconds(50));
                throw std::runtime_error("lost");
            });
        });
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    bench.wait(bench.queue());
}

TEST_CASE("unreferenced queue of a lost device does not block new ones") {
    const Bench bench = first_device();
    {
        const Queue forgotten = bench.queue();
        native_queue(bench, forgotten).submit([](sycl::handler &handler) {
            handler.host_task([] { std::this_thread::sleep_for(std::chrono::milliseconds(200)); });
        });
    }
    is_lost = true;
    ep_queue made = nullptr;
    const ep_status status = bench.table.queue_create(bench.context.get(), bench.device, 0, &made);
    is_lost = false;
    CHECK_MESSAGE(status == EP_OK, last_error());
    bench.table.queue_release(made);
    bench.wait(bench.queue());
}

TEST_CASE("SYCL source known to crash the compiler is refused") {
    const Bench bench = first_device();
    std::uint32_t mask = 0;
    CONTRACT_OK(bench.table.program_dialects(bench.device, &mask));
    if (!(mask & 1u << EP_SYCL_SOURCE)) {
        MESSAGE("skipped: ", bench.info.name, " builds no SYCL source");
        return;
    }
    std::string log;
    const ep_sink sink{&log, [](void *user, const char *text, std::size_t length) {
                           static_cast<std::string *>(user)->append(text, length);
                       }};
    ep_program program = nullptr;
    const std::string deadly = "#include <sycl/sycl.hpp>\nvoid f(sycl::group<1> g) { auto p = "
                               "sycl::ext::oneapi::group_local_memory<int>(g); }";
    CONTRACT_REFUSED_AS(EP_BUILD_FAILED, bench.table.program_build(
                                             bench.context.get(), bench.device, EP_SYCL_SOURCE,
                                             deadly.data(), deadly.size(), "", &sink, &program));
    CHECK(log.find("work_group_memory") != std::string::npos);

    const std::string harmless = R"(#include <sycl/sycl.hpp>
        // group_local_memory in a comment, /* "here" */ and
        constexpr const char *words = "group_local_memory \" group_local_memory";
        constexpr char quote = '"';
        constexpr long million = 1'000'000;
        extern "C"
        SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((sycl::ext::oneapi::experimental::nd_range_kernel<1>))
        void group_local_memory_not(int *p) { *p = FIVE; })";
    CONTRACT_OK(bench.table.program_build(bench.context.get(), bench.device, EP_SYCL_SOURCE,
                                          harmless.data(), harmless.size(), " -DFIVE=5 ", &sink,
                                          &program));
    const Program keep(program, bench.table.program_release);
    ep_kernel kernel = nullptr;
    CONTRACT_OK(bench.table.program_kernel(program, "group_local_memory_not", &kernel));
    bench.table.kernel_release(kernel);
}

TEST_CASE("SPIR-V module runs") {
    const Bench bench = first_device();
    std::uint32_t mask = 0;
    CONTRACT_OK(bench.table.program_dialects(bench.device, &mask));
    if (!(mask & 1u << EP_SPIRV)) {
        MESSAGE("skipped: ", bench.info.name, " builds no SPIR-V");
        return;
    }
    // kernel void store(global uint *out, uint value) { *out = value; }, assembled by hand.
    const auto op = [](std::uint32_t code, std::uint32_t words) { return words << 16 | code; };
    const std::uint32_t words[] = {
        0x07230203,
        0x00010000,
        0,
        20,
        0,  // header: version 1.0, bound 20
        op(17, 2),
        4,
        op(17, 2),
        5,
        op(17, 2),
        6,  // capabilities Addresses,
            // Linkage, Kernel
        // memory model Physical64 OpenCL
        op(14, 3),
        2,
        2,
        op(15, 5),
        6,
        1,
        0x726f7473,
        0x00000065,  // entry point Kernel %1 "store"
        op(19, 2),
        2,  // %2 = void
        op(21, 4),
        3,
        32,
        0,  // %3 = uint
        // %4 = pointer CrossWorkgroup uint
        op(32, 4),
        4,
        5,
        3,
        op(33, 5),
        5,
        2,
        4,
        3,  // %5 = function void (%4, %3)
        op(54, 5),
        2,
        1,
        0,
        5,
        op(55, 3),
        4,
        6,
        op(55, 3),
        3,
        7,  // %1 = function, parameters %6 %7
        op(248, 2),
        8,
        op(62, 5),
        6,
        7,
        2,
        4,
        op(253, 1),
        op(56, 1),  // label, store aligned
                    // 4, return, end
    };
    ep_program program = nullptr;
    CONTRACT_OK(bench.table.program_build(bench.context.get(), bench.device, EP_SPIRV,
                                          reinterpret_cast<const char *>(words), sizeof words, "",
                                          nullptr, &program));
    const Program keep(program, bench.table.program_release);
    ep_kernel handle = nullptr;
    CONTRACT_OK(bench.table.program_kernel(program, "store", &handle));
    const Kernel kernel(handle, bench.table.kernel_release);
    const Memory out(bench, EP_USM_SHARED, 4);
    const std::uint32_t value = 41;
    const ep_argument arguments[] = {pointer_argument(out.at()), bytes_argument(value)};
    const ep_range range{1, {1}, {1}};
    const Queue queue = bench.queue();
    CONTRACT_OK(
        bench.table.kernel_launch(queue.get(), kernel.get(), &range, nullptr, arguments, 2));
    bench.wait(queue);
    CHECK(out.read<std::uint32_t>(1)[0] == 41);

    CONTRACT_REFUSED_AS(EP_INVALID, bench.table.program_build(bench.context.get(), bench.device,
                                                              EP_SPIRV, "not SPIR-V at all...", 20,
                                                              "", nullptr, &program));
}

TEST_CASE("kernel is refused in a queue of another context") {
    const Bench bench = first_device();
    const Kernel kernel = bench.kernel(subject().spin, "spin");
    const Queue elsewhere =
        wrap(bench, sycl::queue(sycl::context(native_device(bench)), native_device(bench)));
    const std::int64_t zero = 0;
    const ep_argument arguments[] = {pointer_argument(nullptr), bytes_argument(zero),
                                     bytes_argument(zero)};
    const ep_range range{1, {1}, {1}};
    CONTRACT_REFUSED_AS(EP_INVALID, bench.table.kernel_launch(elsewhere.get(), kernel.get(), &range,
                                                              nullptr, arguments, 3));
}

TEST_CASE("threads may launch one kernel with different arguments") {
    const Bench bench = first_device();
    const Kernel kernel = bench.kernel(
        "kernel void put(global int *out, int value) { out[get_global_id(0)] = value; }", "put");
    const Memory out(bench, EP_USM_SHARED, 4 * 64 * sizeof(int));
    std::atomic<int> failures = 0;
    std::vector<std::thread> threads;
    for (int number = 0; number < 4; ++number)
        threads.emplace_back([&, number] {
            ep_queue queue = nullptr;
            failures +=
                bench.table.queue_create(bench.context.get(), bench.device, 0, &queue) != EP_OK;
            int *const mine = reinterpret_cast<int *>(out.at()) + 64 * number;
            for (int round = 0; round < 2000; ++round) {
                const int value = 10'000 * number + round;
                const ep_argument arguments[] = {pointer_argument(mine), bytes_argument(value)};
                const ep_range range{1, {64}, {64}};
                failures += bench.table.kernel_launch(queue, kernel.get(), &range, nullptr,
                                                      arguments, 2) != EP_OK;
                failures += bench.table.queue_wait(queue) != EP_OK;
                failures += mine[0] != value || mine[63] != value;
            }
            bench.table.queue_release(queue);
        });
    for (auto &thread : threads)
        thread.join();
    CHECK(failures == 0);
}

}  // namespace entrepot::contract
