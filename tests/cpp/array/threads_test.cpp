// Eight threads at a time, on arrays of their own and on a shared one, on the host, for
// ThreadSanitizer.
#include "memory/release.hpp"
#include <entrepot/array/copy.hpp>
#include <entrepot/array/launch.hpp>
#include <entrepot/exchange/dlpack.hpp>
#include <entrepot/memory/current.hpp>
#include <entrepot/memory/direct.hpp>
#include <entrepot/memory/pool.hpp>
#include <entrepot/memory/statistics.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

using namespace entrepot;
using dlpack::DLManagedTensorVersioned;

namespace {

constexpr int thread_count = 8, rounds = 150;
constexpr std::int64_t items = 3000;

Array make(std::int32_t value, const Queue &queue) {
    const std::int64_t shape[] = {items};
    Array array = Array::empty(shape, dtypes::int32, UsmKind::host, queue);
    fill(array, std::as_bytes(std::span(&value, 1)), queue);
    return array;
}

bool holds(const Array &array, std::int32_t value) {
    array.memory().wait_for_host(Access::read);
    const auto *const first = static_cast<const std::int32_t *>(array.data());
    return std::all_of(first, first + array.size(),
                       [&](std::int32_t each) { return each == value; });
}

// Exports on their way from one thread to another.
class Mailbox {
public:
    void post(DLManagedTensorVersioned *tensor) {
        const std::lock_guard lock(mutex_);
        tensors_.push_back(tensor);
    }
    DLManagedTensorVersioned *take() {
        const std::lock_guard lock(mutex_);
        if (tensors_.empty())
            return nullptr;
        DLManagedTensorVersioned *const oldest = tensors_.front();
        tensors_.erase(tensors_.begin());
        return oldest;
    }

private:
    std::mutex mutex_;
    std::vector<DLManagedTensorVersioned *> tensors_;
};

void run_threads(const std::function<void(int)> &body) {
    std::vector<std::thread> threads;
    for (int number = 0; number < thread_count; ++number)
        threads.emplace_back(body, number);
    for (std::thread &thread : threads)
        thread.join();
}

// Checks that all memory allocated by the body is released.
void balanced(const std::function<void(Resource &)> &body) {
    const ResourceRef counted = make_resource<StatisticsResource>(direct_resource());
    const ResourceRef pool = make_resource<PoolResource>(counted.get());
    body(*pool);
    wait_and_release();
    pool->trim();
    CHECK(static_cast<StatisticsResource &>(*counted).numbers().current_bytes == 0);
}

}  // namespace

TEST_CASE("eight threads allocate, fill, copy, export, import and drop") {
    balanced([](Resource &resource) {
        const Queue common_queue = registry::host().default_queue();
        const Array common = make(-1, common_queue);
        Mailbox mailbox;
        std::atomic<int> wrong{0};
        run_threads([&](int number) {
            const UseResource scope(&resource);
            const Queue own = Queue::create(registry::host());
            for (int round = 0; round < rounds; ++round) {
                const std::int32_t value = number * rounds + round;
                const Queue &queue = round % 2 ? own : common_queue;
                const Array mine = make(value, queue);
                const Array copied = copy_to(mine, UsmKind::host, round % 3 ? own : common_queue);
                const Array shared = copy_to(common, UsmKind::host, own);
                wrong += !holds(copied, value) + !holds(shared, -1);
                mailbox.post(dlpack::to_managed(copied));
                mailbox.post(dlpack::to_managed(common));
                for (int i = 0; i < 2; ++i)
                    if (DLManagedTensorVersioned *const tensor = mailbox.take()) {
                        const Array taken = dlpack::from_managed(tensor);
                        taken.memory().wait_for_host(Access::read);
                        wrong += !holds(taken, *static_cast<const std::int32_t *>(taken.data()));
                    }
            }
        });
        while (DLManagedTensorVersioned *const tensor = mailbox.take())
            tensor->deleter(tensor);
        CHECK(wrong == 0);
        CHECK(holds(common, -1));
    });
}

TEST_CASE("eight threads launch one kernel on their own arrays") {
    balanced([](Resource &resource) {
        const Kernel kernel = Program(R"(
            extern "C" const int increment_arguments = 1;
            extern "C" void increment(const long long *range, void *const *arguments) {
                int *const data = (int *)arguments[0];
                for (long long i = range[10] * range[4]; i < range[11] * range[4]; ++i)
                    ++data[i];
            })",
                                      registry::host())
                                  .kernel("increment");
        std::atomic<int> wrong{0};
        run_threads([&](int number) {
            const UseResource scope(&resource);
            const Queue queues[] = {Queue::create(registry::host()),
                                    Queue::create(registry::host())};
            const Array mine = make(number, queues[0]);
            LaunchArguments arguments(1);
            arguments.add(mine);
            for (int round = 0; round < rounds; ++round)
                launch(kernel, queues[round % 2], {1, {items}, {}}, arguments);
            wrong += !holds(mine, number + rounds);
        });
        CHECK(wrong == 0);
    });
}

TEST_CASE("eight threads write one array: last submission is seen last") {
    balanced([](Resource &resource) {
        std::optional<Array> array;
        {
            const UseResource scope(&resource);
            array = make(0, registry::host().default_queue());
        }
        std::mutex submission;  // orders the submissions; the library orders the writes
        std::int32_t last = 0;
        run_threads([&](int number) {
            const Queue own = Queue::create(registry::host());
            for (std::int32_t round = 0; round < rounds; ++round) {
                const std::lock_guard lock(submission);
                last = number * rounds + round;
                fill(*array, std::as_bytes(std::span(&last, 1)), own);
            }
        });
        CHECK(holds(*array, last));
        array.reset();
    });
}
