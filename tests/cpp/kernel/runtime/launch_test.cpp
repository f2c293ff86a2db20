// Launches: local ranges, dialects, local memory, and waits for readers.
#include "kernel/runtime/launch.hpp"

#include <doctest/doctest.h>

#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "fake_backend.hpp"

namespace entrepot::kernel {
namespace {

using Extents = std::array<std::uint64_t, 3>;

// Local range of a launch over so many work-items, for a kernel that ignores work-items beyond the
// range.
Extents rounded(const Device &device, const Extents &global) {
    Specialization made;
    made.kernel = Program("scale", device).kernel("scale");
    made.rounds_up = true;
    ep_range range{};
    range.ndim = 3;
    std::ranges::copy(global, range.global);
    return std::to_array(choose_local_range(made, "k", range, device).local);
}

// Sets the fake's kernel function until the scope ends, also by an exception.
class KernelRuns {
public:
    explicit KernelRuns(decltype(fake::World::kernel) kernel) {
        fake::world().kernel = std::move(kernel);
    }
    ~KernelRuns() { fake::world().kernel = nullptr; }
    KernelRuns(const KernelRuns &) = delete;
    KernelRuns &operator=(const KernelRuns &) = delete;
};

}  // namespace

TEST_CASE("rounded-up groups respect the limit of each dimension") {
    fake::make_devices(fake::world());
    // as CUDA's are: z, y, x
    std::ranges::copy(Extents{64, 256, 256}, fake::world().devices[0]->info.max_work_items);
    const Device device = fake::device();
    CHECK(rounded(device, {1, 1, 5'000'000}) == Extents{1, 1, 256});
    CHECK(rounded(device, {4'000'000, 1, 1}) == Extents{64, 1, 4});
    CHECK(rounded(device, {5'000'000, 1, 1}) == Extents{64, 1, 4});
    CHECK(rounded(device, {1, 5'000'000, 1}) == Extents{1, 128, 2});
}

TEST_CASE("kernels use the best dialect the device can build") {
    const auto chosen = [](std::uint32_t mask) {
        fake::world().dialects = mask;
        const Device device = fake::device();
        return std::pair(default_dialect(device), dialect_for(device, {}));
    };
    const auto bit = [](ep_dialect dialect) { return 1u << dialect; };
    CHECK(chosen(bit(EP_OPENCL_C) | bit(EP_SYCL_SOURCE) | bit(EP_SPIRV)) ==
          std::pair(std::optional(EP_OPENCL_C), EP_OPENCL_C));
    CHECK(chosen(bit(EP_SYCL_SOURCE) | bit(EP_SPIRV)) ==
          std::pair(std::optional(EP_SYCL_SOURCE), EP_SYCL_SOURCE));
    CHECK(chosen(bit(EP_CUDA_CPP) | bit(EP_PTX)) ==
          std::pair(std::optional(EP_CUDA_CPP), EP_CUDA_CPP));
    fake::world().dialects = bit(EP_SPIRV);
    CHECK(default_dialect(fake::device()) == std::nullopt);
    fake::world().dialects = 0;
    CHECK_THROWS_AS((void)dialect_for(fake::device(), {}), Error);
    Options asked;
    asked.dialect = EP_SYCL_SOURCE;
    CHECK(dialect_for(fake::device(), asked) == EP_SYCL_SOURCE);
    fake::world().dialects = bit(EP_OPENCL_C);
}

TEST_CASE("local arrays sized at launch get their bytes or are refused") {
    const Device device = fake::device();
    Specialization made;
    made.kernel = Program("scale", device).kernel("scale");
    made.compiled.parameters.push_back(
        {CompiledParameter::What::arrays, 0, 31'744 - 16, dtypes::uint8});
    made.compiled.parameters.push_back({CompiledParameter::What::arrays, 0, 16, dtypes::uint8});
    std::vector<ep_argument> given;
    const KernelRuns kept([&](const ep_range &, const ep_argument *arguments, std::size_t count) {
        given.assign(arguments, arguments + count);
    });
    ep_range range{};
    range.ndim = 1;
    range.global[0] = 4;
    const Queue queue = Queue::create(device);
    launch(made, syntax::Function(), queue, range, {});
    queue.wait();
    REQUIRE(given.size() == 2);
    CHECK(given[0].kind == EP_ARG_LOCAL);
    CHECK(given[0].size == 31'744 - 16);
    CHECK(given[1].size == 16);
    made.compiled.parameters.back().dimension += 16;
    CHECK_THROWS_WITH_AS(launch(made, syntax::Function(), queue, range, {}),
                         doctest::Contains("needs 32784 bytes of local memory"), Error);
}

TEST_CASE("only large launches with groups that divide are coarsened") {
    const Device device = fake::device();
    const std::uint64_t enough = 4 * 2048 * device.info().compute_units;
    const auto range = [](std::uint64_t rows, std::uint64_t columns, std::uint64_t local_rows,
                          std::uint64_t local_columns) {
        return ep_range{2, {rows, columns, 0}, {local_rows, local_columns, 0}};
    };
    CHECK(should_coarsen(range(enough, 1, 0, 0), device, false));
    CHECK_FALSE(should_coarsen(range(enough - 1, 1, 0, 0), device, false));
    CHECK_FALSE_MESSAGE(should_coarsen(range(1, enough, 0, 0), device, false), "one row");
    CHECK(should_coarsen(range(16, enough, 6, 4), device, false));
    CHECK(should_coarsen(range(16, enough, 8, 16), device, true));
    CHECK_FALSE_MESSAGE(should_coarsen(range(16, enough, 0, 0), device, true), "no local range");
    CHECK_FALSE_MESSAGE(should_coarsen(range(16, enough, 6, 32), device, true),
                        "6 is no multiple of 4");
    CHECK_FALSE_MESSAGE(should_coarsen(range(16, enough, 4, 16), device, true),
                        "half a warp is left");
    CHECK_FALSE_MESSAGE(should_coarsen(range(16, enough, 8, 64), device, true),
                        "too large for a group");
    CHECK_FALSE_MESSAGE(should_coarsen(range(~0ull, ~0ull, 0, 0), device, false), "does not fit");
}

TEST_CASE("threads of a coarsened launch cover every work-item") {
    const Device device = fake::device();
    Specialization made;
    made.kernel = Program("scale", device).kernel("scale");
    made.compiled.items_per_thread = 4;
    ep_range threads{};
    const KernelRuns kept(
        [&](const ep_range &range, const ep_argument *, std::size_t) { threads = range; });
    const Queue queue = Queue::create(device);
    const auto launched = [&](const ep_range &range) {
        launch(made, syntax::Function(), queue, range, {});
        queue.wait();
        return std::pair(std::to_array(threads.global), std::to_array(threads.local));
    };
    made.compiled.parameters.assign(2, {CompiledParameter::What::global_size, 0, 0, dtypes::int64});
    made.rounds_up = true;
    CHECK(launched({1, {1025, 0, 0}, {}}) == std::pair(Extents{512, 0, 0}, Extents{256, 0, 0}));
    CHECK(launched({2, {9, 100, 0}, {}}) == std::pair(Extents{3, 256, 0}, Extents{1, 256, 0}));
    CHECK_MESSAGE(launched({1, {4096, 0, 0}, {1024, 0, 0}}) ==
                      std::pair(Extents{1024, 0, 0}, Extents{256, 0, 0}),
                  "a kernel without groups takes a smaller group than was asked for");
    made.compiled.uses_groups = true;
    made.rounds_up = false;
    CHECK(launched({2, {32, 48, 0}, {16, 16, 0}}) ==
          std::pair(Extents{8, 48, 0}, Extents{4, 16, 0}));
}

TEST_CASE("launch reading and writing an array waits for its readers") {
    const Device device = fake::device();
    const Kernel kernel = Program("scale", device).kernel("scale");
    const Queue reader = Queue::create(device), queue = Queue::create(device);
    const std::int64_t shape[] = {4};
    const Array array = Array::empty(shape, dtypes::uint8, UsmKind::device, queue);
    const ep_argument pointer = {EP_ARG_POINTER, sizeof(void *), array.data()};
    const ep_argument arguments[] = {pointer, pointer};
    ep_range range{};
    range.ndim = 1;
    range.global[0] = 4;
    for (const auto &[first, second] :
         {std::pair(Access::read, Access::write), std::pair(Access::write, Access::read),
          std::pair(Access::write, Access::write)}) {
        array.memory().wait_for_conflicts(Access::read, reader);
        array.memory().record_access(Access::read, reader, fake::submit(reader));
        CHECK(!array.memory().can_access_without_wait(queue));
        const ArrayUse uses[] = {{&array, first, 0}, {&array, second, 1}};
        const int waits = fake::world().calls.event_wait_in_queue;
        entrepot::launch(kernel, queue, range, arguments, uses);
        CHECK(fake::world().calls.event_wait_in_queue == waits + 1);
        CHECK(array.memory().can_access_without_wait(queue));
    }
    const Queue other_reader = Queue::create(device);
    const Array other = Array::empty(shape, dtypes::uint8, UsmKind::device, queue);
    for (const auto &[read, by] : {std::pair(&array, reader), std::pair(&other, other_reader)}) {
        read->memory().wait_for_conflicts(Access::read, by);
        read->memory().record_access(Access::read, by, fake::submit(by));
    }
    const int waits = fake::world().calls.event_wait_in_queue;
    const ArrayUse uses[] = {{&array, Access::write, 0}, {&other, Access::write, 1}};
    entrepot::launch(kernel, queue, range, arguments, uses);
    CHECK(fake::world().calls.event_wait_in_queue == waits + 2);
}

}  // namespace entrepot::kernel
