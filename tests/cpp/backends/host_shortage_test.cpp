// The host backend's queues if no thread can be started, or memory for further work is missing.
//
// Each case runs in a child process with a new executor: its threads fail from the beginning.
#include "backends/host/native.hpp"
#include "backends/host/resident.hpp"

#include <doctest/doctest.h>

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <exception>
#include <memory>
#include <new>
#include <vector>

#include "support/forked_child.hpp"

static std::atomic<bool> has_no_memory{false};

void *operator new(std::size_t bytes) {
    void *const block = has_no_memory ? nullptr : std::malloc(bytes);
    if (!block)
        throw std::bad_alloc();
    return block;
}
void operator delete(void *block) noexcept { std::free(block); }
void operator delete(void *block, std::size_t) noexcept { std::free(block); }

namespace entrepot::backends::host {
namespace {

// Waits for a flag, and then calls a function.
struct Gate final : Work {
    Gate(std::atomic<bool> &opened, void (*before_end)()) : is_open(&opened), then(before_end) {}
    bool run(Queue &) override {
        while (!*is_open)
            usleep(100);
        if (then)
            then();
        return true;
    }
    std::atomic<bool> *is_open;
    void (*then)();
};

struct Call final : Work {
    explicit Call(void (*called)()) : function(called) {}
    bool run(Queue &) override {
        function();
        return true;
    }
    void (*function)();
};

struct WaitFor final : Work {
    explicit WaitFor(Event &waited_for) : event(&waited_for) {}
    bool run(Queue &queue) override { return !event->defer_completion_of(queue); }
    IntrusivePtr<Event> event;
};

struct Complete final : Work {
    explicit Complete(Event &completed) : event(&completed) {}
    bool run(Queue &) override {
        event->complete();
        return true;
    }
    IntrusivePtr<Event> event;
};

std::atomic<int> iterations{0};

struct Spread final : Work {
    bool run(Queue &queue) override {
        return spread(queue, 4, 1, [](std::uint64_t first, std::uint64_t last) {
            iterations += static_cast<int>(last - first);
        });
    }
};

// Makes every start of a thread fail: its default stack is too large.
void refuse_threads() {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, std::size_t{1} << 46);
    pthread_setattr_default_np(&attributes);
}

// Keeps a queue busy, on a thread of its own with a small stack, until the gate is opened.
class Holder {
public:
    Holder(Queue &held, void (*before_end)() = nullptr) : queue_(held), then_(before_end) {
        pthread_attr_t attributes;
        pthread_attr_init(&attributes);
        pthread_attr_setstacksize(&attributes, std::size_t{256} << 10);
        const auto hold = [](void *self) -> void * {
            auto &holder = *static_cast<Holder *>(self);
            holder.queue_.submit(Gate(holder.is_open_, holder.then_));
            return nullptr;
        };
        if (pthread_create(&thread_, &attributes, hold, this) != 0)
            _exit(10);
        while (queue_.is_idle())
            usleep(100);
    }
    void open_and_join() {
        is_open_ = true;
        pthread_join(thread_, nullptr);
    }

private:
    Queue &queue_;
    void (*then_)();
    std::atomic<bool> is_open_{false};
    pthread_t thread_{};
};

// Groups of which one may lack memory for its arguments.
struct Groups final : ResidentGroups {
    Groups(std::uint64_t count, std::uint64_t lacking) : ResidentGroups(count), lacks(lacking) {}
    std::vector<void *> prepare() const override {
        if (prepared.fetch_add(1) + 1 == lacks)
            throw std::bad_alloc();
        return {};
    }
    void run(std::uint64_t, void **) noexcept override { ++ran; }
    void finished(std::exception_ptr error) noexcept override {
        failed = error != nullptr;
        is_finished = true;
    }
    const std::uint64_t lacks;  // 0: none
    mutable std::atomic<std::uint64_t> prepared{0};
    std::atomic<int> ran{0};
    std::atomic<bool> failed{false}, is_finished{false};
};

constexpr int many = 3000;

}  // namespace

TEST_CASE("queues without threads: chain of queues uses no stack") {
    CHECK(holds_in_child([] {
        refuse_threads();
        std::vector<Queue *> queues;
        std::vector<Event *> events;
        queues.push_back(new Queue(0));
        Holder holder(*queues.front());
        for (int i = 0; i < many; ++i) {
            if (i != 0) {
                queues.push_back(new Queue(0));
                queues.back()->submit(WaitFor(*events.back()));
            }
            events.push_back(new Event(*queues.back()));
            queues.back()->submit(Complete(*events.back()));
        }
        holder.open_and_join();
        for (Queue *queue : queues)
            queue->wait();
        return events.back()->is_done();
    }));
}

TEST_CASE("queues without threads: loops in one queue use no stack") {
    CHECK(holds_in_child([] {
        refuse_threads();
        auto *const queue = new Queue(0);
        Holder holder(*queue);
        for (int i = 0; i < many; ++i)
            queue->submit(Spread());
        holder.open_and_join();
        queue->wait();
        return iterations == 4 * many;
    }));
}

TEST_CASE("queues without memory: earlier submissions still complete") {
    for (const bool with_threads : {true, false})
        CHECK(holds_in_child([&] {
            if (!with_threads)
                refuse_threads();
            static std::atomic<bool> is_done{false};
            auto *const queue = new Queue(0), *const other = new Queue(0);
            Holder holder(*queue, [] { has_no_memory = true; });
            auto *const event = new Event(*queue);
            other->submit(WaitFor(*event));
            other->submit(Call([] { is_done = true; }));
            queue->submit(Complete(*event));
            queue->submit(Spread());  // fails without memory
            queue->submit(Call([] { has_no_memory = false; }));
            queue->submit(Spread());
            holder.open_and_join();
            other->wait();
            bool is_told = false;
            try {
                queue->wait();
            } catch (const Refusal &refusal) {
                is_told = refusal.status == EP_DEVICE_ERROR;
            }
            queue->wait();
            return is_done && is_told && iterations == 4;
        }));
}

TEST_CASE("cooperative launch: no group runs without a thread for each") {
    CHECK(holds_in_child([] {
        refuse_threads();
        const auto groups = std::make_shared<Groups>(3, 0);
        try {
            groups->start();
        } catch (const Refusal &refusal) {
            return refusal.status == EP_DEVICE_ERROR && groups->ran == 0 && !groups->is_finished;
        }
        return false;
    }));
}

TEST_CASE("cooperative launch: no group runs if one lacks memory") {
    for (const std::uint64_t lacking : {0u, 1u, 8u}) {
        const auto groups = std::make_shared<Groups>(8, lacking);
        groups->start();
        while (!groups->is_finished)
            usleep(100);
        CHECK(groups->prepared == 8);
        CHECK(groups->failed == (lacking != 0));
        CHECK(groups->ran == (lacking != 0 ? 0 : 8));
    }
}

}  // namespace entrepot::backends::host
