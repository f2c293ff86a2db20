// Two devices: copies between them, kernels on peer memory, and work on a device that is not
// current.
#include "backends/gpu/code.hpp"

#include "kernels.hpp"
#include "required.hpp"
#include "table.hpp"

#include <numeric>
#include <string>

namespace entrepot::contract {
namespace {

const Subject &subject() {
    static const Subject only{&gpu_table(), backends::gpu::source_dialect, "", gpu_kernels::spin,
                              ""};
    return only;
}

// Runs body(first, second). With one device only, the message tells CTest that the suite is
// skipped; if two devices are required, the test fails.
template <class Body> void with_two(Body &&body) {
    const std::vector<ep_device> devices = devices_of(subject());
    if (devices.size() < 2) {
        REQUIRE_FALSE(is_required("two_" + std::string(gpu_table().name)));
        MESSAGE("skipped: the driver lists one device");
        return;
    }
    const Bench first(subject(), devices[0]), second(subject(), devices[1]);
    body(first, second);
}

}  // namespace

TEST_SUITE_BEGIN("two devices");

TEST_CASE("queue of either device copies blocks between devices") {
    with_two([](const Bench &first, const Bench &second) {
        std::mt19937 random(5);
        for (const std::size_t bytes :
             {std::size_t{1}, std::size_t{100'000}, std::size_t{20} << 20}) {
            const std::vector<std::uint8_t> values = random_bytes(random, bytes);
            for (const Bench *of_queue : {&first, &second}) {
                const Memory here(first, EP_USM_DEVICE, bytes), there(second, EP_USM_DEVICE, bytes),
                    back(first, EP_USM_DEVICE, bytes);
                here.write(values);
                const Queue queue = of_queue->queue();
                CONTRACT_OK(first.table.memory_copy(queue.get(), there.at(), here.at(), bytes));
                CONTRACT_OK(first.table.memory_copy(queue.get(), back.at(), there.at(), bytes));
                of_queue->wait(queue);
                CHECK(there.read<std::uint8_t>(bytes) == values);
                CHECK(back.read<std::uint8_t>(bytes) == values);
            }
        }
    });
}

TEST_CASE("copy between devices waits for an event without blocking") {
    with_two([](const Bench &first, const Bench &second) {
        const Slow slow(first);
        const Memory there(second, EP_USM_DEVICE, 8);
        const Queue producer = first.queue(), consumer = second.queue();
        slow.submit(producer, 99);
        const Event done = first.record(producer);
        const auto start = Clock::now();
        CONTRACT_OK(second.table.event_wait_in_queue(consumer.get(), done.get()));
        CONTRACT_OK(second.table.memory_copy(consumer.get(), there.at(), slow.result(), 8));
        CHECK(seconds_since(start) < Slow::seconds / 4);
        second.wait(consumer);
        CHECK(there.read<std::int64_t>(1)[0] == 99);
    });
}

TEST_CASE("device of a pointer is found in either context") {
    with_two([](const Bench &first, const Bench &second) {
        const Memory there(second, EP_USM_DEVICE, 1000);
        for (const Bench *bench : {&first, &second}) {
            ep_allocation found{};
            CONTRACT_OK(first.table.memory_query(bench->context.get(), there.at(), 1000,
                                                 EP_QUERY_DEVICE | EP_QUERY_SIZE, &found));
            CHECK(found.kind == EP_USM_DEVICE);
            CHECK(found.device == second.device);
        }
    });
}

TEST_CASE("kernels and strided copies access enabled peer memory") {
    with_two([](const Bench &first, const Bench &second) {
        std::int32_t can = 0;
        CONTRACT_OK(first.table.peer_can_access(first.device, second.device, &can));
        if (!can) {
            CONTRACT_REFUSED_AS(EP_UNSUPPORTED,
                                first.table.peer_enable_access(first.context.get(), second.device));
            MESSAGE("skipped: the devices have no way to each other");
            return;
        }
        CONTRACT_OK(first.table.peer_enable_access(first.context.get(), second.device));
        CONTRACT_OK(first.table.peer_enable_access(first.context.get(), second.device));
        const Memory there(second, EP_USM_DEVICE, 16);
        const Kernel kernel = first.kernel(subject().spin, "spin");
        const std::int64_t steps = 1, value = 123;
        const ep_argument arguments[] = {pointer_argument(there.at()), bytes_argument(steps),
                                         bytes_argument(value)};
        const ep_range range{1, {1}, {1}};
        const Queue queue = first.queue();
        CONTRACT_OK(
            first.table.kernel_launch(queue.get(), kernel.get(), &range, nullptr, arguments, 3));
        first.wait(queue);
        CHECK(there.read<std::int64_t>(1)[0] == 123);

        const std::size_t items = 1000;
        const Memory source(second, EP_USM_DEVICE, 8 * items),
            target(first, EP_USM_DEVICE, 4 * items);
        std::vector<std::int32_t> values(2 * items);
        std::iota(values.begin(), values.end(), 0);
        source.write(values);
        const std::int64_t extent = items, four = 4, eight = 8;
        const ep_box box{1, 4, &extent};
        CONTRACT_OK(first.table.memory_copy_strided(queue.get(), &box, target.at(), &four,
                                                    source.at(), &eight));
        first.wait(queue);
        CHECK(target.read<std::int32_t>(items)[999] == 1998);
    });
}

TEST_CASE("device works while the context of another is current") {
    with_two([](const Bench &first, const Bench &second) {
        void *native = nullptr;
        CONTRACT_OK(first.table.context_native(first.context.get(), &native));
        using Native = decltype(current_context());
        const backends::gpu::Current current(static_cast<Native>(native));
        const Memory there(second, EP_USM_DEVICE, 4000), shared(second, EP_USM_SHARED, 4000),
            pinned(second, EP_USM_HOST, 4000);
        for (const Memory *memory : {&there, &shared, &pinned}) {
            const Queue queue = second.queue();
            const std::uint64_t item = 0x0102030405060708;
            CONTRACT_OK(second.table.memory_fill(queue.get(), memory->at(), &item, 8, 500));
            second.wait(queue);
            CHECK(memory->read<std::uint64_t>(500) == std::vector<std::uint64_t>(500, item));
        }
        CHECK(current_context() == static_cast<Native>(native));
    });
}

TEST_SUITE_END();

}  // namespace entrepot::contract
