// First use at a fork: no child waits for an object that a thread of its parent was making. An
// executable of its own, in which nothing has been used before.
#include "memory/release.hpp"
#include <entrepot/device/registry.hpp>
#include <entrepot/device/stream_library.hpp>
#include <entrepot/memory/current.hpp>
#include <entrepot/memory/direct.hpp>
#include <entrepot/memory/foreign_allocator.hpp>
#include <entrepot/memory/pool.hpp>
#include <entrepot/memory/shareable.hpp>
#include <entrepot/memory/track.hpp>
#include <memory/fd_server.hpp>

#include <doctest/doctest.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <span>
#include <thread>
#include <vector>

#include "support/forked_child.hpp"

using namespace entrepot;

namespace {

using Step = void (*)();

constexpr StreamLibrary some_library{
    .name = "a library",
    .current_stream = [](const StreamLibrary &, const Device &, std::uintptr_t &) noexcept {
        return false;
    }};

Queue host_queue() { return registry::host().default_queue(); }

// Each makes objects that the others do not make before them.
constexpr Step without_device[] = {
    [] { registry::backend("host"); },
    [] { register_stream_library(some_library); },
    [] { release_later(Owner(nullptr, [](void *) {})); },
    [] { current_resource(Device()); },
    [] { live_pools(); },
    [] { live_trackers(); },
    [] { direct_resource()->trim(); },
    [] { shareable_resource()->trim(); },
    [] { deallocate_on_stream(nullptr); },
    [] { senders::unpublish_file(nullptr); },
};
constexpr Step with_host[] = {
    [] { registry::host_place(); },
    [] { Queue::internal_for_context(host_queue().context(), registry::host()); },
    [] { Queue::for_context(Context::create(std::vector{registry::host()}), registry::host()); },
    [] { Memory::allocate(100, UsmKind::host, host_queue()); },
    [] {
        const Memory memory = Memory::allocate(100, UsmKind::host, host_queue());
        memory.record_access(Access::write, host_queue(), host_queue().take_position());
    },
};

std::atomic<bool> steps_may_run{false};
thread_local bool forks_beside_steps = false;

// Registered before the core's handlers, so it runs after them, with the core's locks held. The
// threads then stop at such a lock in the middle of their steps.
[[gnu::constructor(1000)]] void register_handler() {
    pthread_atfork(
        [] {
            if (!forks_beside_steps)
                return;
            steps_may_run = true;
            usleep(300'000);
        },
        nullptr, nullptr);
}

// Returns: true if a child can run the steps that threads of the parent are in at the fork.
bool child_repeats(std::span<const Step> steps) {
    steps_may_run = false;
    std::vector<std::thread> threads;
    for (const Step step : steps)
        threads.emplace_back([step] {
            while (!steps_may_run)
                usleep(100);
            step();
        });
    forks_beside_steps = true;
    const bool holds = holds_in_child([steps] {
        for (const Step step : steps)
            step();
        return true;
    });
    forks_beside_steps = false;
    for (std::thread &each : threads)
        each.join();
    return holds;
}

}  // namespace

TEST_CASE("first use: child repeats the steps of threads") {
    CHECK(child_repeats(without_device));
    CHECK(child_repeats(with_host));
}
