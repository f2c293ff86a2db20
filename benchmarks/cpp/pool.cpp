// Times an allocation from the pool and a borrowed host buffer against the driver and malloc:
// medians in nanoseconds.
//
//     benchmark_pool [SELECTOR]     SELECTOR names the device (default: host)
#include <entrepot/device/registry.hpp>
#include <entrepot/memory/direct.hpp>
#include <entrepot/memory/memory.hpp>
#include <entrepot/memory/resource.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <thread>
#include <vector>

using namespace entrepot;

namespace {

constexpr int repeats = 21;

double median_ns(int calls, const std::function<void(int)> &run) {
    std::vector<double> times;
    run(calls / 10 + 1);
    for (int i = 0; i < repeats; ++i) {
        const auto begin = std::chrono::steady_clock::now();
        run(calls);
        times.push_back(
            std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin)
                .count() /
            calls);
    }
    std::nth_element(times.begin(), times.begin() + repeats / 2, times.end());
    return times[repeats / 2];
}

void print(const char *what, double ns) { std::printf("%-64s %10.1f\n", what, ns); }

template <class T> inline void keep(const T &value) { asm volatile("" : : "g"(&value) : "memory"); }

void allocate_and_free(int calls, std::size_t bytes, UsmKind kind, const Queue &queue,
                       Resource *resource) {
    for (int i = 0; i < calls; ++i)
        keep(Memory::allocate(bytes, kind, queue, 0, resource));
}

void many_alive(int calls, std::size_t bytes, UsmKind kind, const Queue &queue) {
    std::vector<Memory> alive(100);
    for (int i = 0; i < calls; ++i)
        alive[static_cast<std::size_t>(i) % alive.size()] = Memory::allocate(bytes, kind, queue);
}

void with_a_use(int calls, std::size_t bytes, UsmKind kind, const Queue &queue) {
    for (int i = 0; i < calls; ++i) {
        const Memory memory = Memory::allocate(bytes, kind, queue);
        memory.wait_for_conflicts(Access::write, queue);
        memory.record_access(Access::write, queue, queue.take_position());
    }
}

void escaped(int calls, std::size_t bytes, UsmKind kind, const Queue &queue) {
    for (int i = 0; i < calls; ++i)
        Memory::allocate(bytes, kind, queue).mark_escaped();
}

void borrow_host(int calls) {
    static char bytes[64];
    for (int i = 0; i < calls; ++i)
        keep(Memory::borrow_host(bytes, sizeof bytes, Owner(bytes, [](void *) {})));
}

void malloc_and_free(int calls, std::size_t bytes) {
    for (int i = 0; i < calls; ++i) {
        void *const block = std::malloc(bytes);
        keep(block);
        std::free(block);
    }
}

template <class Work> void on_threads(int count, Work work) {
    std::vector<std::thread> threads;
    for (int i = 0; i < count; ++i)
        threads.emplace_back(work);
    for (std::thread &thread : threads)
        thread.join();
}

void run(const Device &device) {
    const Queue queue = device.default_queue();
    constexpr UsmKind kind = UsmKind::device;
    constexpr std::size_t small = 1024, large = std::size_t{1} << 20, huge = std::size_t{16} << 20;
    std::printf("%s, kind device, allocate + free, ns\n", device.selector().c_str());
    print("pool, 1 KiB",
          median_ns(200000, [&](int n) { allocate_and_free(n, small, kind, queue, nullptr); }));
    print("pool, 1 MiB",
          median_ns(200000, [&](int n) { allocate_and_free(n, large, kind, queue, nullptr); }));
    print("pool, 16 MiB",
          median_ns(50000, [&](int n) { allocate_and_free(n, huge, kind, queue, nullptr); }));
    print("pool, 1 KiB, 100 alive",
          median_ns(200000, [&](int n) { many_alive(n, small, kind, queue); }));
    print("pool, 1 KiB, used by its queue",
          median_ns(100000, [&](int n) { with_a_use(n, small, kind, queue); }));
    print("pool, 1 KiB, seen by foreign code",
          median_ns(100000, [&](int n) { escaped(n, small, kind, queue); }));
    print("pool, 1 MiB, seen by foreign code",
          median_ns(20000, [&](int n) { escaped(n, large, kind, queue); }));
    print("pool, 1 KiB, shared, used by its queue",
          median_ns(2000, [&](int n) { with_a_use(n, small, UsmKind::shared, queue); }));
    print("pool, 1 KiB, on two threads", median_ns(200000, [&](int n) {
              on_threads(2, [&] { allocate_and_free(n, small, kind, queue, nullptr); });
          }));
    print("direct, 1 KiB", median_ns(5000, [&](int n) {
              allocate_and_free(n, small, kind, queue, direct_resource());
          }));
    print("direct, 1 MiB", median_ns(2000, [&](int n) {
              allocate_and_free(n, large, kind, queue, direct_resource());
          }));
    print("borrow_host", median_ns(500000, borrow_host));
    print("malloc, 1 KiB", median_ns(500000, [&](int n) { malloc_and_free(n, small); }));
    print("malloc, 1 MiB", median_ns(100000, [&](int n) { malloc_and_free(n, large); }));
}

}  // namespace

int main(int count, char **arguments) {
    try {
        run(registry::select(count > 1 ? arguments[1] : "host"));
    } catch (const std::exception &error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
