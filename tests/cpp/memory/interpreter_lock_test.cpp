// The GIL is released wherever a runtime may block the thread: the runtime may wait for another
// thread that takes the GIL.
#include "core/interpreter_lock.hpp"
#include <entrepot/device/program.hpp>
#include <entrepot/device/registry.hpp>
#include <entrepot/memory/direct.hpp>

#include <chrono>
#include <future>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "memory/device_memory.hpp"

using namespace entrepot;

namespace {

// Simulates an interpreter while it lives; the creating thread holds its lock.
class Interpreter {
public:
    Interpreter() {
        InterpreterLock::set(&functions);
        acquire(&lock);
    }
    ~Interpreter() {
        release();
        InterpreterLock::set(nullptr);
        fake::world().may_keep = {};
    }

    static inline std::mutex lock;
    static inline thread_local bool is_ours = false;

private:
    static void *release() noexcept {
        if (!std::exchange(is_ours, false))
            return nullptr;
        lock.unlock();
        return &lock;
    }
    static void acquire(void *) {
        lock.lock();
        is_ours = true;
    }
    static bool is_held() noexcept { return is_ours; }

    static constexpr InterpreterLock::Functions functions{release, acquire, is_held};
};

// True if the body makes calls that may block, each of them without the lock.
template <class Body> bool gives_it_up(Body &&body) {
    int calls = 0, calls_with_it = 0;
    fake::world().may_keep = [&] {
        ++calls;
        calls_with_it += Interpreter::is_ours;
    };
    body();
    fake::world().may_keep = {};
    return calls > 0 && calls_with_it == 0 && Interpreter::is_ours;
}

Memory pending_memory(const Queue &queue) {
    Memory memory = Memory::allocate(1000, UsmKind::shared, queue);
    memory.record_access(Access::write, queue, fake::submit(queue));
    return memory;
}

}  // namespace

TEST_CASE("GIL is released around possibly blocking calls") {
    const HeldQueue busy;
    const Queue other = Queue::create(fake::device());
    const Memory memory = pending_memory(busy.queue);
    const Interpreter interpreter;

    SUBCASE("access to memory from another queue") {
        CHECK(gives_it_up([&] { memory.wait_for_conflicts(Access::write, other); }));
    }
    SUBCASE("wait for a queue") {
        CHECK(gives_it_up([&] { other.wait_for(busy.queue); }));
    }
    SUBCASE("wait for an event") {
        const Event event = busy.queue.record();
        CHECK(gives_it_up([&] { other.wait_for(event); }));
    }
    SUBCASE("recording an event") {
        CHECK(gives_it_up([&] { busy.queue.record(); }));
    }
    SUBCASE("recording an event without blocking") {
        CHECK(gives_it_up([&] { busy.queue.try_record(); }));
    }
    SUBCASE("poll of a position") {
        const Queue::Position position = fake::submit(busy.queue);
        fake::submit(busy.queue);
        busy.queue.native();  // from now on, an idle queue does not show that it is done
        CHECK(gives_it_up([&] { CHECK_FALSE(busy.queue.is_done(position)); }));
    }
    SUBCASE("recorded lazy event") {
        const Event lazy_event = busy.queue.lazy_event();
        CHECK(gives_it_up([&] { busy.queue.submitting(); }));
    }
    SUBCASE("requested lazy event") {
        const Event lazy_event = busy.queue.lazy_event();
        CHECK(gives_it_up([&] { lazy_event.native(); }));
    }
    SUBCASE("waiting") {
        busy.finish();
        CHECK(gives_it_up([&] { busy.queue.wait(); }));
        CHECK(gives_it_up(
            [&] { fake::submit(busy.queue), busy.queue.wait_at(busy.queue.position()); }));
        fake::submit(busy.queue);
        CHECK(gives_it_up([&] { busy.queue.record().wait(); }));
    }
    SUBCASE("creating and releasing queues") {
        CHECK(gives_it_up([&] { Queue::create(fake::device()); }));
    }
    SUBCASE("importing queues") {
        CHECK(gives_it_up([&] { Queue::from_native(fake::backend(), busy.queue.handle()); }));
    }
    SUBCASE("contexts") {
        const Device device = fake::device();
        CHECK(gives_it_up([&] { Context::create({&device, 1}); }));
        CHECK(gives_it_up(
            [&] { Context::from_native(fake::backend(), device.default_context().native()); }));
    }
    SUBCASE("releasing a context with its last event") {
        const Device device = fake::device();
        std::optional<Queue> queue(Queue::create(Context::create({&device, 1}), device, {}));
        fake::hold(*queue);
        fake::submit(*queue);
        std::optional<Event> event(queue->record());
        fake::release(*queue);
        queue.reset();
        CHECK(gives_it_up([&] { event.reset(); }));
    }
    SUBCASE("creating and releasing programs") {
        std::optional<Program> program;
        CHECK(gives_it_up([&] { program.emplace("twice", fake::device()); }));
        std::optional<Kernel> kernel;
        CHECK(gives_it_up([&] { kernel = program->kernel("twice"); }));
        program.reset();
        CHECK(gives_it_up([&] { kernel.reset(); }));
    }
    SUBCASE("time between events, and query of peer access") {
        const Queue timing = Queue::create(fake::device(), {.profiling = true});
        const Event from = timing.record(), to = timing.record();
        to.wait();
        CHECK(gives_it_up([&] { from.seconds_until(to); }));
        CHECK(gives_it_up([&] { fake::device().can_access(fake::device()); }));
    }
    SUBCASE("recording an event for a context") {
        fake::world().marks_contexts = true;
        CHECK(gives_it_up([&] { CHECK(record_all(fake::device().default_context())->is_done()); }));
        fake::world().marks_contexts = false;
    }
    SUBCASE("allocating from the driver") {
        CHECK(gives_it_up(
            [&] { Memory::allocate(1000, UsmKind::host, other, 0, direct_resource()); }));
    }
}

TEST_CASE("streams of libraries are queried with the GIL, then without") {
    static std::vector<bool> with_it;
    with_it.clear();
    const Interpreter interpreter;
    registry::set_foreign_queue([](const char *, std::uint32_t) -> void * {
        with_it.push_back(Interpreter::is_ours);
        return nullptr;
    });
    fake::world().marks_contexts = true;
    SUBCASE("recording an event for a context") {
        record_all(fake::device().default_context());
        CHECK(with_it == std::vector{true, false});
    }
    SUBCASE("building and releasing a program") {
        Program("twice", fake::device());
        CHECK(with_it == std::vector{true, false, true, false});
    }
    registry::set_foreign_queue(nullptr);
    fake::world().marks_contexts = false;
}

TEST_CASE("waiting for a thread blocked by the runtime releases the GIL") {
    const HeldQueue busy;
    fake::submit(busy.queue);
    const Interpreter interpreter;
    std::promise<void> is_inside;
    bool callback_had_its_turn = false;
    fake::world().may_keep = [&, is_first = true]() mutable {
        if (!std::exchange(is_first, false))
            return;
        is_inside.set_value();
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
        while (!callback_had_its_turn && std::chrono::steady_clock::now() < end) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
            const std::unique_lock callback(Interpreter::lock, std::try_to_lock);
            callback_had_its_turn = callback.owns_lock();
        }
    };
    std::thread kept([&] { busy.queue.record(); });
    is_inside.get_future().wait();
    busy.queue.record();
    kept.join();
    CHECK(callback_had_its_turn);
}
