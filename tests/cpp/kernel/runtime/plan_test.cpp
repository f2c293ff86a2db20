// Plans: launches that may reuse a plan, and the arrays and numbers that each launch passes.
#include "kernel/runtime/launch.hpp"
#include "kernel/runtime/plan.hpp"

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "fake_backend.hpp"

namespace entrepot::kernel {
namespace {

using What = CompiledParameter::What;

// A kernel of two arrays, a number and local memory, which takes an extent and a stride, on a fake
// device.
struct Launches {
    Device device = fake::device();
    Queue queue = Queue::create(device);
    Array first = on_device(8), second = on_device(8);
    double number = 1;
    std::int64_t local_extent = 4;
    ep_range range{1, {8, 1, 1}, {0, 0, 0}};
    Specialization made;
    PlanCache plans;
    std::vector<const void *> pointers;  // of the last launch that ran
    std::vector<double> numbers;
    std::vector<std::int64_t> extents;
    std::size_t local_bytes = 0;

    Launches() {
        fake::world().argument_count = -1;
        made.kernel = Program("scale", device).kernel("scale");
        made.compiled.parameters = {{What::pointer, 0, 0, {}},
                                    {What::pointer, 1, 0, {}},
                                    {What::value, 2, 0, dtypes::float64},
                                    {What::local, 3, 0, {}},
                                    {What::extent, 0, 0, {}},
                                    {What::stride, 1, 0, {}}};
        made.accesses.assign(4, Access::write);
        fake::world().kernel = [this](const ep_range &, const ep_argument *given, std::size_t) {
            pointers = {given[0].value, given[1].value};
            numbers.resize(1);
            std::memcpy(numbers.data(), given[2].value, sizeof(double));
            local_bytes = given[3].size;
            extents.resize(2);
            std::memcpy(&extents[0], given[4].value, sizeof(std::int64_t));
            std::memcpy(&extents[1], given[5].value, sizeof(std::int64_t));
        };
    }
    ~Launches() {
        fake::world().kernel = nullptr;
        fake::world().argument_count = 2;
    }
    Launches(const Launches &) = delete;
    Launches &operator=(const Launches &) = delete;

    Array on_device(std::int64_t extent, Dtype dtype = dtypes::float32) const {
        return Array::empty(std::array{extent}, dtype, UsmKind::device, queue);
    }

    std::vector<Argument> arguments() const {
        Scalar scalar;
        std::memcpy(scalar.bytes.data(), &number, sizeof number);
        scalar.size = sizeof number;
        std::vector<Argument> all{Argument(first), Argument(second),
                                  Argument(dtypes::float64, scalar),
                                  Argument::local(dtypes::float32, std::array{local_extent})};
        find_aliases(all);
        return all;
    }

    // A queue of the same device in a context of its own.
    Queue elsewhere() const {
        return Queue::create(Context::create(std::array{device}), device, {});
    }

    bool is_planned() { return static_cast<bool>(plans.find(queue, range, arguments())); }

    // Launches as Python does. Returns: true if there was a plan.
    bool launch() {
        const std::vector<Argument> all = arguments();
        const PlanCache::Lease plan = plans.find(queue, range, all);
        if (plan)
            plan->launch(queue, all);
        else
            kernel::launch(made, syntax::Function(), queue, range, all, &plans);
        queue.wait();
        return static_cast<bool>(plan);
    }
};

}  // namespace

TEST_CASE("repeated launch uses the plan with new arrays and numbers") {
    Launches launches;
    CHECK_FALSE(launches.launch());
    for (int round = 0; round < 2; ++round) {
        launches.number += 1.5;
        launches.first = launches.on_device(8);
        CHECK(launches.launch());
        CHECK(launches.pointers ==
              std::vector<const void *>{launches.first.data(), launches.second.data()});
        CHECK(launches.numbers.front() == launches.number);
        CHECK(launches.extents == std::vector<std::int64_t>{8, 1});
        CHECK(launches.local_bytes == 16);
    }
    std::swap(launches.first, launches.second);
    CHECK(launches.launch());
    CHECK(launches.pointers ==
          std::vector<const void *>{launches.first.data(), launches.second.data()});
}

TEST_CASE("launch with different properties needs its own plan") {
    Launches launches;
    launches.launch();
    REQUIRE(launches.is_planned());
    SUBCASE("type") { launches.second = launches.on_device(8, dtypes::int32); }
    SUBCASE("extent") { launches.second = launches.on_device(9); }
    SUBCASE("dimensions") {
        launches.second = launches.second.reshaped(std::array<std::int64_t, 2>{2, 4});
    }
    SUBCASE("stride") {
        const Array twice = launches.on_device(16);
        launches.second = twice.select(std::array{IndexEntry{IndexEntry::Kind::slice, 0, 16, 2}});
        REQUIRE(launches.second.size() == 8);
    }
    SUBCASE("read-only") { launches.second = launches.second.as_read_only(); }
    SUBCASE("range") { launches.range.global[0] = 4; }
    SUBCASE("local range") { launches.range.local[0] = 4; }
    SUBCASE("local memory") { launches.local_extent = 5; }
    SUBCASE("elements in common") {
        const Array whole = launches.on_device(12);
        const auto part = [&](std::int64_t start) {
            return whole.select(
                std::array{IndexEntry{IndexEntry::Kind::slice, start, start + 8, 1}});
        };
        launches.first = part(0);
        launches.second = part(4);
    }
    SUBCASE("context of the queue") { launches.queue = launches.elsewhere(); }
    SUBCASE("context of an array") {
        launches.second = Array::empty(std::array<std::int64_t, 1>{8}, dtypes::float32,
                                       UsmKind::device, launches.elsewhere());
    }
    CHECK_FALSE(launches.is_planned());
}

TEST_CASE("launch on another device of the context needs its own plan") {
    Launches launches;
    const std::array both{launches.device, registry::devices(launches.device.backend())[1]};
    const Context context = Context::create(both);
    launches.queue = Queue::create(context, both[0], {});
    launches.made.kernel = Program("scale", both[0], {}, {}, context).kernel("scale");
    launches.first = launches.on_device(8);
    launches.second = launches.on_device(8);
    launches.launch();
    REQUIRE(launches.is_planned());
    launches.queue = Queue::create(context, both[1], {});
    CHECK_FALSE(launches.is_planned());
}

TEST_CASE("launch with overlap or without work-items has no plan") {
    Launches launches;
    SUBCASE("overlapping arrays") { launches.second = launches.first; }
    SUBCASE("empty range") { launches.range.global[0] = 0; }
    launches.launch();
    CHECK_FALSE(launches.is_planned());
}

TEST_CASE("launch with memory of another context has no plan") {
    Launches launches;
    const Array own = launches.second;
    launches.second = Array::empty(std::array<std::int64_t, 1>{8}, dtypes::float32, UsmKind::host,
                                   launches.elsewhere());
    launches.plans.insert(launches.made, launches.queue, launches.range, launches.range,
                          launches.arguments());
    launches.second = own;
    CHECK_FALSE(launches.is_planned());
    launches.plans.insert(launches.made, launches.queue, launches.range, launches.range,
                          launches.arguments());
    CHECK(launches.is_planned());
}

TEST_CASE("plan serves one launch at a time, and may be replaced") {
    Launches launches;
    launches.launch();
    {
        const PlanCache::Lease used =
            launches.plans.find(launches.queue, launches.range, launches.arguments());
        REQUIRE(used);
        CHECK_FALSE(launches.is_planned());
        launches.first = launches.on_device(8);
        CHECK_FALSE(launches.launch());  // runs without a plan
        CHECK(launches.pointers.front() == launches.first.data());
    }
    REQUIRE(launches.is_planned());

    // A type of the same width has the same slot.
    launches.first = launches.on_device(8, dtypes::int32);
    CHECK_FALSE(launches.launch());
    CHECK_FALSE(launches.launch());
    CHECK(launches.launch());
    launches.first = launches.on_device(8);
    CHECK_FALSE(launches.is_planned());
}

TEST_CASE("concurrent equal launches use a plan one at a time") {
    Launches launches;
    launches.launch();
    const std::vector<Argument> arguments = launches.arguments();
    std::atomic<int> having{0}, together{0}, served{0};
    const auto work = [&] {
        for (int round = 0; round < 2'000; ++round) {
            const PlanCache::Lease lease =
                launches.plans.find(launches.queue, launches.range, arguments);
            if (lease) {
                together += ++having != 1;
                ++served;
                --having;
            } else {
                launches.plans.insert(launches.made, launches.queue, launches.range, launches.range,
                                      arguments);
            }
        }
    };
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i)
        threads.emplace_back(work);
    for (std::thread &thread : threads)
        thread.join();
    CHECK(together == 0);
    CHECK(served > 0);
    CHECK(launches.is_planned());
}

}  // namespace entrepot::kernel
