// Operations: their order with the streams of producers and consumers, and what they leave pending.
#include <entrepot/device/stream_library.hpp>
#include <entrepot/memory/direct.hpp>
#include <entrepot/memory/operation.hpp>
#include <entrepot/memory/pin.hpp>
#include <entrepot/memory/pool.hpp>

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/refusal.hpp"
#include "fake_streams.hpp"
#include "memory/device_memory.hpp"

using namespace entrepot;

namespace {

using fake::streaming;

const Queue &legacy() { return legacy_stream_of(streaming()); }

HeldQueue held_queue() { return HeldQueue(streaming()); }

// A library whose current streams the test chooses, for each thread and device.
class Peer : public StreamLibrary {
public:
    explicit Peer(const char *name, bool frees)
        : StreamLibrary{.name = name,
                        .current_stream = answer,
                        .frees_in_stream_order = frees,
                        .takes_exports = true} {}

    const unsigned number = register_stream_library(*this);
    const LibrarySet set = static_cast<LibrarySet>(1u << number);
    mutable std::atomic<int> asked{0};
    std::function<void()> when_asked;  // called without a lock, like code of a library

    // Sets the library's current stream in this thread until the scope ends.
    class On {
    public:
        On(const Peer &peer, const fake::Stream &stream)
            : On(peer, stream.device(), stream.number()) {}
        On(const Peer &peer, const Device &device, std::uintptr_t number)
            : slot_(current[{&peer, device.handle()}]), before_(std::exchange(slot_, number)) {}
        On(const On &) = delete;
        On &operator=(const On &) = delete;
        ~On() { slot_ = before_; }

    private:
        std::optional<std::uintptr_t> &slot_;
        std::optional<std::uintptr_t> before_;
    };

private:
    static bool answer(const StreamLibrary &self, const Device &device,
                       std::uintptr_t &stream) noexcept {
        const Peer &peer = static_cast<const Peer &>(self);
        ++peer.asked;
        if (peer.when_asked)
            peer.when_asked();
        const std::optional<std::uintptr_t> found = current[{&peer, device.handle()}];
        stream = found.value_or(0);
        return found.has_value();
    }

    static thread_local std::map<std::pair<const Peer *, ep_device>, std::optional<std::uintptr_t>>
        current;
};
thread_local std::map<std::pair<const Peer *, ep_device>, std::optional<std::uintptr_t>>
    Peer::current;

// Libraries stay registered until the process ends, and their number is limited.
Peer &peer() {
    static Peer only("a library", false);
    return only;
}
Peer &other_peer() {
    static Peer only("another library", false);
    return only;
}
Peer &freeing_peer() {
    static Peer only("a library that frees in stream order", true);
    return only;
}

// Memory of another library, which records its release.
struct Borrowed {
    std::shared_ptr<std::atomic<bool>> is_released = std::make_shared<std::atomic<bool>>(false);
    Memory memory;

    explicit Borrowed(const Device &device = streaming()) {
        static char bytes[64];
        memory =
            Memory::borrow(bytes, sizeof bytes, UsmKind::device, device, device.default_context(),
                           {new std::shared_ptr(is_released), [](void *given) {
                                const std::unique_ptr<std::shared_ptr<std::atomic<bool>>> flag(
                                    static_cast<std::shared_ptr<std::atomic<bool>> *>(given));
                                **flag = true;
                            }});
    }
    explicit Borrowed(const Peer &owner, const Device &device = streaming()) : Borrowed(device) {
        memory.set_owner_library(owner.number);
    }

    // True if the owner is released once nothing else refers to the memory.
    bool is_released_now() {
        memory = {};
        release_finished();
        return *is_released;
    }
};

// The queue of a stream that its library, like PyTorch, never destroys.
Queue lasting(const fake::Stream &stream) {
    const Queue queue = stream.queue();
    queue.declare_never_destroyed();
    return queue;
}

Memory memory_of_ours(const Queue &queue) {
    return Memory::allocate(1000, UsmKind::device, queue, 0, direct_resource());
}

using ArrayAccess = std::pair<Access, const Memory &>;

// An operation on memory, from wait_for_conflicts() to submitted().
void operate(const Queue &queue, std::initializer_list<ArrayAccess> accesses,
             std::function<void()> run = {}) {
    Operation operation(queue);
    const auto for_each_use = [&](auto &&add) {
        for (const auto &[access, memory] : accesses)
            add(access, memory);
    };
    operation.wait_for_conflicts(for_each_use);
    const std::uint64_t capture = queue.capture();
    const Queue::Position position = fake::submit(queue, std::move(run));
    operation.submitted(position, capture, for_each_use);
}

void write(const Queue &queue, const Memory &memory, std::function<void()> run = {}) {
    operate(queue, {{Access::write, memory}}, std::move(run));
}

void read(const Queue &queue, const Memory &memory, std::function<void()> run = {}) {
    operate(queue, {{Access::read, memory}}, std::move(run));
}

// Order in which work of several queues ran.
struct Trace {
    std::string text;
    std::function<void()> operator()(char letter) {
        return [this, letter] { text += letter; };
    }
};

// Counts driver calls.
int marks_and_waits() {
    release_finished();  // entries of earlier test cases
    const fake::Calls &calls = fake::world().calls;
    return calls.event_record + calls.event_wait_in_queue + calls.event_wait + calls.queue_wait +
           calls.queue_is_idle;
}

}  // namespace

// ------------------------------------------------------------- the owner of memory

namespace {

// Checks that an operation runs between the earlier and the later work of a library's stream.
// Either queue may run first. Calling `operation(run)` submits `run` to `ours`.
template <class Submit>
void check_runs_between(const fake::Stream &theirs, const HeldQueue &ours, bool ours_first,
                        Submit &&operation) {
    CAPTURE(ours_first);
    Trace trace;
    theirs.submit(trace('l'));
    operation(trace('o'));
    theirs.submit(trace('L'));
    if (ours_first)
        ours.finish();
    else
        theirs.finish();
    CHECK(trace.text == (ours_first ? "" : "l"));
    theirs.finish();
    ours.finish();
    CHECK(trace.text == "loL");
}

}  // namespace

TEST_CASE("operation: ordered with the owner's current stream") {
    for (const Access access : {Access::read, Access::write}) {
        CAPTURE(access == Access::read);
        for (const bool ours_first : {true, false}) {
            const fake::Stream theirs(streaming());
            const HeldQueue ours = held_queue();
            const Borrowed x(peer());
            const Peer::On scope(peer(), theirs);
            check_runs_between(theirs, ours, ours_first, [&](std::function<void()> run) {
                operate(ours.queue, {{access, x.memory}}, std::move(run));
            });
        }
    }
}

TEST_CASE("operation: ordered with the stream named by the owner") {
    for (const bool may_be_destroyed : {true, false}) {
        for (const bool ours_first : {true, false}) {
            CAPTURE(may_be_destroyed);
            const fake::Stream theirs(streaming());
            const HeldQueue ours = held_queue();
            const Borrowed x;
            if (may_be_destroyed)
                x.memory.set_owner_stream(theirs.number());
            else
                x.memory.set_owner_queue(lasting(theirs));
            CHECK(x.memory.owner_queue() == theirs.queue());
            check_runs_between(theirs, ours, ours_first, [&](std::function<void()> run) {
                write(ours.queue, x.memory, std::move(run));
            });
        }
    }
}

TEST_CASE("operation: no event is needed on the library's own stream") {
    const fake::Stream theirs(streaming());
    const Peer::On scope(freeing_peer(), theirs);
    const Queue queue = theirs.queue();
    Borrowed x(freeing_peer());
    x.memory.set_for_one_operation();
    const int before = marks_and_waits();
    write(queue, x.memory);
    CHECK(x.memory.has_no_pending_access());
    CHECK(x.is_released_now());
    CHECK(marks_and_waits() == before);
}

TEST_CASE("operation: no event is needed on the legacy default stream") {
    const Peer::On scope(peer(), streaming(), 0);
    const Borrowed x(peer());
    CHECK(x.memory.owner_queue() == legacy());
    fake::hold(legacy());
    const int before = marks_and_waits();
    write(legacy(), x.memory);
    read(legacy(), x.memory);
    CHECK(marks_and_waits() == before);
    fake::release(legacy());
}

TEST_CASE("operation: legacy library orders CUDA's legacy stream") {
    const HeldQueue ours = held_queue();
    const Borrowed x;
    x.memory.set_owner_library(legacy_library);
    fake::hold(legacy());
    Trace trace;
    fake::submit_foreign(legacy(), trace('l'));
    write(ours.queue, x.memory, trace('o'));
    fake::submit_foreign(legacy(), trace('L'));
    ours.finish();
    CHECK(trace.text == "");
    fake::release(legacy());
    CHECK(trace.text == "loL");
}

TEST_CASE("operation: current stream is queried each time") {
    const fake::Stream first(streaming()), second(streaming());
    const HeldQueue one = held_queue(), other = held_queue();
    const Borrowed x(peer());
    Trace trace;
    {
        const Peer::On scope(peer(), first);
        CHECK(x.memory.owner_queue() == first.queue());
        first.submit(trace('1'));
        read(one.queue, x.memory, trace('a'));
    }
    first.submit(trace('!'));  // the stream is no longer the current one
    {
        const Peer::On scope(peer(), second);
        CHECK(x.memory.owner_queue() == second.queue());
        second.submit(trace('2'));
        read(other.queue, x.memory, trace('b'));
    }
    other.finish();
    CHECK(trace.text == "");
    second.finish();
    CHECK(trace.text == "2b");
    one.finish();
    first.finish();
    CHECK(trace.text == "2b1a!");
}

TEST_CASE("operation: current stream is the calling thread's") {
    const fake::Stream mine(streaming()), its(streaming());
    const HeldQueue ours = held_queue();
    const Borrowed x(peer());
    const Peer::On scope(peer(), mine);
    Trace trace;
    mine.submit(trace('m'));
    its.submit(trace('i'));
    std::thread([&] {
        const Peer::On in_thread(peer(), its);
        read(ours.queue, x.memory, trace('o'));
    }).join();
    its.submit(trace('I'));
    ours.finish();
    CHECK(trace.text == "");
    its.finish();
    CHECK(trace.text == "ioI");
    mine.finish();
    CHECK(trace.text == "ioIm");
}

TEST_CASE("operation: ordered with two libraries") {
    const fake::Stream of_one(streaming()), of_other(streaming());
    const HeldQueue ours = held_queue();
    const Borrowed x(peer()), y(other_peer());
    const Peer::On scope(peer(), of_one), other_scope(other_peer(), of_other);
    Trace trace;
    of_one.submit(trace('1'));
    of_other.submit(trace('2'));
    operate(ours.queue, {{Access::read, x.memory}, {Access::write, y.memory}}, trace('o'));
    of_one.submit(trace('.'));
    of_other.submit(trace(':'));
    SUBCASE("first library is late") {
        ours.finish();
        of_other.finish();
        CHECK(trace.text == "2");
        of_one.finish();
    }
    SUBCASE("second library is late") {
        ours.finish();
        of_one.finish();
        CHECK(trace.text == "1");
        of_other.finish();
    }
    SUBCASE("operation is late") {
        of_one.finish();
        of_other.finish();
        CHECK(trace.text == "12");
        ours.finish();
    }
    const std::string later = trace.text.substr(trace.text.find('o'));
    CHECK(trace.text.size() == 5);
    CHECK((later == "o.:" || later == "o:."));
}

TEST_CASE("operation: libraries and streams are queried once") {
    const fake::Stream theirs(streaming());
    const HeldQueue ours = held_queue();
    const Borrowed x(peer()), y(peer()), z(peer());
    z.memory.add_consumers(other_peer().set, Memory::Consumer::holds_object);
    const Peer::On scope(peer(), theirs), other_scope(other_peer(), theirs);
    theirs.submit();
    const int asked = peer().asked, waits = fake::world().calls.event_wait_in_queue,
              marks = fake::world().calls.event_record;
    operate(ours.queue,
            {{Access::read, x.memory}, {Access::read, y.memory}, {Access::write, z.memory}});
    CHECK(peer().asked == asked + 1);
    CHECK(fake::world().calls.event_wait_in_queue == waits + 2);  // the queue, and then the stream
    CHECK(fake::world().calls.event_record == marks + 2);
}

TEST_CASE("operation: library is queried for each device") {
    const fake::Stream near(streaming(0)), far(streaming(1));
    const HeldQueue ours = held_queue();
    const Borrowed x(peer(), streaming(0)), y(peer(), streaming(1)), z(peer(), streaming(0));
    const Peer::On scope(peer(), near), far_scope(peer(), far);
    Trace trace;
    near.submit(trace('n'));
    far.submit(trace('f'));
    operate(ours.queue,
            {{Access::read, x.memory}, {Access::read, y.memory}, {Access::read, z.memory}},
            trace('o'));
    far.submit(trace('F'));
    ours.finish();
    near.finish();
    CHECK(trace.text == "n");
    far.finish();
    CHECK(trace.text == "nfoF");
}

TEST_CASE("operation: stream waits once for the same work") {
    const HeldQueue ours = held_queue();
    const Peer::On scope(peer(), streaming(), legacy_stream);
    const Borrowed x(peer());
    fake::hold(legacy());
    write(legacy(), x.memory);  // logged as a position of the stream
    const int waits = fake::world().calls.event_wait_in_queue;
    write(ours.queue, x.memory);
    CHECK(fake::world().calls.event_wait_in_queue == waits + 2);
    fake::release(legacy());
}

TEST_CASE("operation: resume uses the streams of another operation") {
    const fake::Stream theirs(streaming());
    const HeldQueue ours = held_queue();
    const Borrowed x(peer());
    const Peer::On scope(peer(), theirs);
    Trace trace;
    Operation(ours.queue).wait_for_conflicts(Access::write, x.memory);
    const Queue::Position position = fake::submit(ours.queue, trace('o'));
    Operation rest(ours.queue);
    rest.resume(x.memory);
    rest.submitted(position, 0, [&](auto &&record) { record(Access::write, x.memory); });
    theirs.submit(trace('L'));
    theirs.finish();
    CHECK(trace.text == "");
    ours.finish();
    CHECK(trace.text == "oL");
}

TEST_CASE("operation: host waits for the owner's current stream") {
    const fake::Stream theirs(streaming());
    const Borrowed x(peer());
    const Peer::On scope(peer(), theirs);
    std::atomic<bool> is_done{false};
    CHECK(x.memory.is_ready_for_host(Access::read));
    theirs.submit([&] { is_done = true; });
    CHECK_FALSE(x.memory.is_ready_for_host(Access::read));
    std::thread later([&] { theirs.finish(); });
    x.memory.wait_for_host(Access::read);
    CHECK(is_done);
    later.join();
    CHECK(x.memory.is_ready_for_host(Access::write));
}

// ---------------------------------------------------- libraries that give no stream

TEST_CASE("operation: library without a stream orders nothing") {
    const HeldQueue ours = held_queue(), later = held_queue();
    const Borrowed x(peer());
    Trace trace;
    CHECK_FALSE(x.memory.owner_queue());
    const int before = marks_and_waits();
    write(ours.queue, x.memory, trace('o'));
    CHECK(marks_and_waits() == before);
    read(later.queue, x.memory, trace('r'));  // Entrepot's operations are ordered all the same
    later.finish();
    CHECK(trace.text == "");
    ours.finish();
    CHECK(trace.text == "or");
}

TEST_CASE("operation: destroyed current stream orders nothing") {
    const fake::Stream theirs(streaming());
    const HeldQueue ours = held_queue();
    const Borrowed x(peer());
    const Peer::On scope(peer(), theirs);
    theirs.submit();
    theirs.destroy();
    CHECK_FALSE(x.memory.owner_queue());
    const int uses = fake::streams().uses_of_destroyed;
    Trace trace;
    write(ours.queue, x.memory, trace('o'));
    ours.finish();
    CHECK(trace.text == "o");
    CHECK(fake::streams().uses_of_destroyed == uses);
}

TEST_CASE("operation: error of a library leaves memory usable") {
    const fake::Stream theirs(streaming());
    const HeldQueue ours = held_queue();
    Borrowed x(peer());
    const Peer::On scope(peer(), theirs);
    fake::streams().wrapping_lacks_memory = true;
    CHECK_REFUSED(ErrorKind::allocation, "no memory for a queue", write(ours.queue, x.memory));
    fake::streams().wrapping_lacks_memory = false;
    CHECK(x.memory.has_no_pending_access());
    Trace trace;
    theirs.submit(trace('l'));
    write(ours.queue, x.memory, trace('o'));
    ours.finish();
    CHECK(trace.text == "");
    theirs.finish();
    CHECK(trace.text == "lo");
    CHECK(x.is_released_now());
}

TEST_CASE("operation: failed submission leaves no pending access") {
    const fake::Stream theirs(streaming());
    const HeldQueue ours = held_queue();
    Borrowed x(peer());
    const Peer::On scope(peer(), theirs);
    theirs.submit();
    Operation(ours.queue).wait_for_conflicts(Access::write, x.memory);
    CHECK(x.memory.has_no_pending_access());
    CHECK(x.is_released_now());
}

// --------------------------------------------------------------- streams that end

TEST_CASE("operation: later work needs no destroyed stream") {
    const HeldQueue ours = held_queue();
    Borrowed x(peer());
    const int uses = fake::streams().uses_of_destroyed;
    {
        const fake::Stream theirs(streaming());
        Trace trace;
        {
            const Peer::On scope(peer(), theirs);
            write(theirs.queue(), x.memory, trace('o'));
        }
        theirs.destroy();
        SUBCASE("queue") {
            read(ours.queue, x.memory, trace('r'));
            ours.finish();
            CHECK(trace.text == "");
            theirs.finish();
            CHECK(trace.text == "or");
        }
        SUBCASE("host") {
            CHECK_FALSE(x.memory.is_ready_for_host(Access::write));
            std::thread later([&] { theirs.finish(); });
            x.memory.wait_for_host(Access::write);
            later.join();
            CHECK(trace.text == "o");
            CHECK(x.memory.is_ready_for_host(Access::write));
        }
        SUBCASE("release") {
            CHECK_FALSE(x.is_released_now());
            theirs.finish();
            CHECK(x.is_released_now());
        }
    }
    CHECK(fake::streams().uses_of_destroyed == uses);
}

TEST_CASE("operation: two accesses on a destroyed stream are both kept") {
    const HeldQueue one = held_queue(), other = held_queue();
    const Borrowed x(peer()), y(peer());
    const fake::Stream theirs(streaming());
    Trace trace;
    {
        const Peer::On scope(peer(), theirs);
        operate(theirs.queue(), {{Access::read, x.memory}, {Access::write, y.memory}}, trace('o'));
    }
    theirs.destroy();
    write(one.queue, x.memory, trace('1'));
    write(other.queue, y.memory, trace('2'));
    one.finish();
    other.finish();
    CHECK(trace.text == "");
    theirs.finish();
    CHECK((trace.text == "o12" || trace.text == "o21"));
}

TEST_CASE("operation: memory of Entrepot's needs no destroyed stream") {
    const int uses = fake::streams().uses_of_destroyed;
    const ResourceRef pool = make_resource<PoolResource>(direct_resource());
    const HeldQueue ours = held_queue();
    for (const bool for_stream : {false, true}) {
        CAPTURE(for_stream);
        const fake::Stream theirs(streaming());
        Trace trace;
        Memory memory = Memory::allocate(1000, UsmKind::device,
                                         for_stream ? theirs.queue() : ours.queue, 0, pool.get());
        const void *const address = memory.data();
        write(theirs.queue(), memory, trace('o'));
        theirs.destroy();
        write(ours.queue, memory, trace('w'));
        ours.finish();
        CHECK(trace.text == "");
        theirs.finish();
        CHECK(trace.text == "ow");
        memory = {};
        memory = Memory::allocate(1000, UsmKind::device, ours.queue, 0, pool.get());
        CHECK(memory.data() == address);
    }
    CHECK(fake::streams().uses_of_destroyed == uses);
}

TEST_CASE("release of a block imported again waits for its producer") {
    const fake::Stream theirs(streaming());
    Memory memory =
        Memory::allocate(1000, UsmKind::device, streaming().default_queue(), 0, direct_resource());
    const void *const address = memory.data();
    memory.mark_escaped();
    theirs.submit();
    memory.record_producer(theirs.queue().as_event_queue());
    theirs.destroy();  // the guards of a quarantine do not cover it
    memory = {};
    release_finished();
    CHECK(is_allocated(address));
    theirs.finish();
    release_finished();
    CHECK_FALSE(is_allocated(address));
}

// ------------------------------------------- memory imported for one operation

TEST_CASE("operation: memory is freed in stream order if supported") {
    const fake::Stream theirs(streaming());
    Trace trace;
    bool is_stream_ordered = false;
    SUBCASE("library freeing in stream order") { is_stream_ordered = true; }
    SUBCASE("other library") {}
    Peer &library = is_stream_ordered ? freeing_peer() : peer();
    const Peer::On scope(library, theirs);
    Borrowed x(library);
    x.memory.set_for_one_operation();
    write(theirs.queue(), x.memory, trace('o'));
    CHECK(x.is_released_now() == is_stream_ordered);
    CHECK(trace.text == "");
    theirs.finish();
    CHECK(x.is_released_now());
    CHECK(trace.text == "o");
}

TEST_CASE("operation: memory used on another queue is not freed early") {
    const fake::Stream theirs(streaming());
    const HeldQueue ours = held_queue();
    Trace trace;
    const Peer::On scope(freeing_peer(), theirs);
    Borrowed x(freeing_peer());
    x.memory.set_for_one_operation();
    write(ours.queue, x.memory, trace('o'));
    const bool is_early = x.is_released_now();  // then the library reuses it in stream order
    theirs.submit(trace('R'));
    theirs.finish();
    CHECK(trace.text == "");
    ours.finish();
    CHECK(trace.text == "oR");
    CHECK((is_early || x.is_released_now()));
}

TEST_CASE("operation: accesses on an earlier stream are pending") {
    const fake::Stream first(streaming()), second(streaming());
    const HeldQueue ours = held_queue();
    const Borrowed x(freeing_peer());
    Trace trace;
    {
        const Peer::On scope(freeing_peer(), first);
        write(first.queue(), x.memory, trace('1'));
    }
    const Peer::On scope(freeing_peer(), second);
    write(ours.queue, x.memory, trace('o'));
    ours.finish();
    second.finish();
    CHECK(trace.text == "");
    first.finish();
    CHECK(trace.text == "1o");
}

// ------------------------------------------------------------ consumers of exports

TEST_CASE("operation: ordered with a consumer's current stream") {
    const fake::Stream theirs(streaming());
    const HeldQueue ours = held_queue();
    const Memory memory = memory_of_ours(ours.queue), held = memory;
    memory.add_consumers(peer().set, Memory::Consumer::holds_memory);
    const Peer::On scope(peer(), theirs);
    Trace trace;
    theirs.submit(trace('c'));
    write(ours.queue, memory, trace('o'));
    theirs.submit(trace('C'));
    SUBCASE("entrepot first") {
        ours.finish();
        CHECK(trace.text == "");
    }
    SUBCASE("library first") {
        theirs.finish();
        CHECK(trace.text == "c");
    }
    theirs.finish();
    ours.finish();
    CHECK(trace.text == "coC");
}

TEST_CASE("operation: consumer is dropped with its reference") {
    Trace trace;  // outlives the work of the streams
    const fake::Stream theirs(streaming());
    const HeldQueue ours = held_queue();
    const Memory memory = memory_of_ours(ours.queue);
    std::optional<Memory> held = memory;
    const Peer::On scope(peer(), theirs);
    const auto asks = [&](char letter) {
        const int asked = peer().asked;
        write(ours.queue, memory, trace(letter));
        return peer().asked != asked;
    };
    SUBCASE("consumer holding the memory is dropped") {
        memory.add_consumers(peer().set, Memory::Consumer::holds_memory);
        CHECK(asks('a'));
        CHECK(memory.has_peers());
        theirs.submit(trace('c'));
        held.reset();
        CHECK(asks('b'));  // what the consumer has submitted
        CHECK_FALSE(memory.has_peers());
        CHECK_FALSE(asks('d'));
        ours.finish();
        CHECK(trace.text == "");
        theirs.finish();
        CHECK(trace.text == "acbd");
    }
    SUBCASE("consumer holding an object is kept") {
        memory.add_consumers(peer().set, Memory::Consumer::holds_object);
        held.reset();
        CHECK(asks('a'));
        CHECK(asks('b'));
        CHECK(memory.has_peers());
    }
    SUBCASE("consumer beside one holding an object is kept") {
        memory.add_consumers(peer().set, Memory::Consumer::holds_object);
        memory.add_consumers(other_peer().set, Memory::Consumer::holds_memory);
        held.reset();
        CHECK(asks('a'));
        CHECK(asks('b'));
    }
    SUBCASE("consumer is kept while another view exists") {
        memory.add_consumers(peer().set, Memory::Consumer::holds_memory);
        const Memory view = memory;
        held.reset();
        CHECK(asks('a'));
        CHECK(asks('b'));
    }
}

TEST_CASE("host access: consumer is dropped with its reference") {
    Trace trace;  // outlives the work of the streams
    const fake::Stream theirs(streaming());
    const HeldQueue ours = held_queue();
    const Memory memory = memory_of_ours(ours.queue);
    std::optional<Memory> held = memory;
    std::optional<Peer::On> scope(std::in_place, peer(), theirs);
    memory.add_consumers(peer().set, Memory::Consumer::holds_memory);
    theirs.submit(trace('c'));
    SUBCASE("consumer holding the memory is dropped by the next wait") {
        held.reset();
        CHECK_FALSE(memory.is_ready_for_host(Access::read));
        CHECK(memory.has_peers());
        theirs.finish();
        SUBCASE("waiting") { memory.wait_for_host(Access::read); }
        SUBCASE("asking") { CHECK(memory.is_ready_for_host(Access::read)); }
        CHECK_FALSE(memory.has_peers());
        CHECK(trace.text == "c");
    }
    SUBCASE("consumer is kept while it holds the memory") {
        theirs.finish();
        memory.wait_for_host(Access::read);
        CHECK(memory.is_ready_for_host(Access::read));
        CHECK(memory.has_peers());
    }
    SUBCASE("consumer holding an object is kept") {
        memory.add_consumers(peer().set, Memory::Consumer::holds_object);
        held.reset();
        theirs.finish();
        memory.wait_for_host(Access::write);
        CHECK(memory.is_ready_for_host(Access::write));
        CHECK(memory.has_peers());
    }
    SUBCASE("consumer without a current stream is kept") {
        held.reset();
        scope.reset();
        memory.wait_for_host(Access::read);
        CHECK(trace.text == "");
        CHECK(memory.has_peers());
        theirs.finish();
    }
    SUBCASE("export without a stream neither waits for consumers nor drops them") {
        held.reset();
        CHECK(memory.is_ready_for_export(Access::write));
        memory.wait_for_export(Access::write);
        CHECK(trace.text == "");
        CHECK(memory.has_peers());
        theirs.finish();
    }
    ours.finish();
}

TEST_CASE("operation: failure, read or capture keeps consumers") {
    const fake::Stream theirs(streaming());
    const HeldQueue ours = held_queue();
    const Queue other = Queue::create(streaming());
    const Memory memory = memory_of_ours(ours.queue);
    memory.add_consumers(peer().set, Memory::Consumer::holds_memory);
    const Peer::On scope(peer(), theirs);
    SUBCASE("failure") { Operation(ours.queue).wait_for_conflicts(Access::write, memory); }
    SUBCASE("read") { read(ours.queue, memory); }
    SUBCASE("capture") {
        const std::uint64_t number = fake::begin_capture(other);
        write(other, memory);
        fake::drop(fake::end_capture(number));
    }
    CHECK(memory.has_peers());
    ours.finish();
}

TEST_CASE("operation: access on a named stream is kept by its event") {
    const HeldQueue ours = held_queue();
    const Memory memory = memory_of_ours(ours.queue);
    const fake::Stream theirs(streaming());
    Borrowed x;
    x.memory.set_owner_stream(theirs.number());
    operate(theirs.queue(), {{Access::read, x.memory}, {Access::write, memory}});
    theirs.finish();
    theirs.destroy();
    const int uses = fake::streams().uses_of_destroyed;
    write(ours.queue, memory);
    CHECK(x.is_released_now());
    CHECK(fake::streams().uses_of_destroyed == uses);
    ours.finish();
}

TEST_CASE("operation: stream of consumer and owner is the owner's") {
    for (const bool owner_first : {true, false}) {
        CAPTURE(owner_first);
        const fake::Stream theirs(streaming());
        const Queue ours = Queue::create(streaming());
        const Memory exported = memory_of_ours(Queue::create(streaming()));
        exported.add_consumers(peer().set, Memory::Consumer::holds_object);
        const Borrowed x(peer());
        const Peer::On scope(peer(), theirs);
        Trace trace;
        theirs.submit(trace('l'));
        const std::uint64_t number = fake::begin_capture(ours);
        std::thread later([&] {
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            theirs.finish();
        });
        const ArrayAccess of_x{Access::write, x.memory}, of_exported{Access::write, exported};
        if (owner_first)
            operate(ours, {of_x, of_exported});
        else
            operate(ours, {of_exported, of_x});
        CHECK(trace.text == "l");  // the host has waited for it
        later.join();
        fake::drop(fake::end_capture(number));
    }
}

TEST_CASE("operation: concurrent export keeps the consumers") {
    const fake::Stream theirs(streaming()), other(streaming());
    other.finish();
    const HeldQueue ours = held_queue();
    const Memory memory = memory_of_ours(ours.queue);
    memory.add_consumers(peer().set, Memory::Consumer::holds_memory);
    const auto to_library = [&] {
        memory.add_consumers(peer().set, Memory::Consumer::holds_memory);
    };
    const auto to_queue = [&] {
        memory.add_consumer_queue(lasting(theirs), Memory::Consumer::holds_memory);
    };
    const Peer::On scope(peer(), theirs);
    SUBCASE("export to the library") { peer().when_asked = to_library; }
    SUBCASE("export to a queue") { peer().when_asked = to_queue; }
    SUBCASE("export to a second queue") {
        memory.add_consumer_queue(lasting(other), Memory::Consumer::holds_memory);
        peer().when_asked = to_queue;
    }
    write(ours.queue, memory);
    peer().when_asked = {};
    CHECK(memory.has_peers());
    Trace trace;
    theirs.submit(trace('c'));  // of the new consumer
    write(ours.queue, memory, trace('o'));
    ours.finish();
    CHECK(trace.text == "");
    theirs.finish();
    CHECK(trace.text == "co");
    CHECK_FALSE(memory.has_peers());
}

TEST_CASE("operation: ordered with each queue of a consumer") {
    const fake::Stream one(streaming()), other(streaming());
    const HeldQueue ours = held_queue();
    const Memory memory = memory_of_ours(ours.queue);
    std::optional<Memory> held = memory;
    for (const fake::Stream *each : {&one, &other, &one})
        memory.add_consumer_queue(lasting(*each), Memory::Consumer::holds_memory);
    Trace trace;
    one.submit(trace('1'));
    other.submit(trace('2'));
    write(ours.queue, memory, trace('o'));
    one.submit(trace('.'));
    ours.finish();
    one.finish();
    CHECK(trace.text == "1");
    other.finish();
    CHECK(trace.text == "12o.");
    held.reset();
    write(ours.queue, memory);
    CHECK_FALSE(memory.has_peers());
}

TEST_CASE("operation: last sixteen queues of consumers are kept") {
    constexpr std::size_t most = 16;
    wait_and_release();  // entries of earlier test cases
    const int alive = fake::world().alive.queues;
    {
        std::vector<std::unique_ptr<fake::Stream>> streams;
        const HeldQueue ours = held_queue();
        Memory memory = memory_of_ours(ours.queue);
        for (std::size_t i = 0; i < most + 4; ++i) {
            streams.push_back(std::make_unique<fake::Stream>(streaming()));
            memory.add_consumer_queue(lasting(*streams[i]), Memory::Consumer::holds_object);
        }
        const std::string letters = "abcdefghijklmnopqrst";
        Trace trace;
        for (std::size_t i = 0; i < streams.size(); ++i)
            streams[i]->submit(trace(letters[i]));
        write(ours.queue, memory, trace('O'));
        for (const auto &each : streams)
            each->submit(trace('!'));
        ours.finish();
        for (std::size_t i = most + 4; i-- > 4;) {
            CHECK(trace.text.find('O') == std::string::npos);
            streams[i]->finish();
        }
        CHECK(trace.text == "tsrqponmlkjihgfe"
                            "O" +
                                std::string(most, '!'));
        for (const auto &each : streams)
            each->finish();
        memory = {};
    }
    release_finished();
    CHECK(fake::world().alive.queues == alive);
}

TEST_CASE("operation: host waits for streams of consumers") {
    const fake::Stream theirs(streaming()), named(streaming());
    const HeldQueue ours = held_queue();
    const Memory memory = memory_of_ours(ours.queue);
    memory.add_consumers(peer().set, Memory::Consumer::holds_object);
    memory.add_consumer_queue(lasting(named), Memory::Consumer::holds_object);
    const Peer::On scope(peer(), theirs);
    theirs.submit();
    named.submit();
    theirs.finish();
    CHECK_FALSE(memory.is_ready_for_host(Access::write));
    named.finish();
    CHECK(memory.is_ready_for_host(Access::write));
}

TEST_CASE("release: owner's stream waits for streams of consumers") {
    const fake::Stream theirs(streaming()), of_library(streaming()), named(streaming());
    const Peer::On scope(peer(), theirs), other_scope(other_peer(), of_library);
    Borrowed x(peer());
    x.memory.add_consumers(other_peer().set, Memory::Consumer::holds_memory);
    x.memory.add_consumer_queue(lasting(named), Memory::Consumer::holds_memory);
    Trace trace;
    of_library.submit(trace('c'));
    named.submit(trace('n'));
    CHECK(x.is_released_now());
    theirs.submit(trace('R'));  // reuses the memory
    theirs.finish();
    SUBCASE("consumer's library is late") {
        named.finish();
        CHECK(trace.text == "n");
        of_library.finish();
        CHECK(trace.text == "ncR");
    }
    SUBCASE("consumer's queue is late") {
        of_library.finish();
        CHECK(trace.text == "c");
        named.finish();
        CHECK(trace.text == "cnR");
    }
}

TEST_CASE("pinned host memory: consumers work on the device that it is pinned for") {
    const fake::Stream theirs(streaming());
    Borrowed x(registry::host());
    pin(x.memory, x.memory.data(), x.memory.nbytes(), false, streaming());
    x.memory.add_consumers(peer().set, Memory::Consumer::holds_memory);
    const Peer::On scope(peer(), theirs);
    theirs.submit();
    SUBCASE("host access waits for them") {
        CHECK_FALSE(x.memory.is_ready_for_host(Access::read));
        theirs.finish();
        CHECK(x.memory.is_ready_for_host(Access::read));
    }
    SUBCASE("release waits for them") {
        CHECK_FALSE(x.is_released_now());
        CHECK(fake::world().pinned.size() == 1);
        theirs.finish();
        release_finished();
        CHECK(*x.is_released);
    }
    x.memory = {};
    CHECK(fake::world().pinned.empty());
}

TEST_CASE("pinned block of the host: release waits for consumers on the device") {
    const fake::Stream theirs(streaming());
    const Queue host = registry::host().default_queue();
    Memory memory = Memory::allocate(1000, UsmKind::host, host, 0, direct_resource());
    pin(memory, memory.data(), memory.nbytes(), false, streaming());
    memory.mark_escaped();
    memory.add_consumers(peer().set, Memory::Consumer::holds_memory);
    const Peer::On scope(peer(), theirs);
    theirs.submit();
    memory = {};
    release_finished();
    CHECK(fake::world().pinned.size() == 1);
    theirs.finish();
    release_finished();
    CHECK(fake::world().pinned.empty());
}

TEST_CASE("memory: recycled record has no stream of an earlier owner") {
    const fake::Stream theirs(streaming());
    Borrowed earlier;
    earlier.memory.set_owner_stream(theirs.number());
    CHECK(earlier.memory.has_destroyable_owner_stream());
    const Memory::Record *const record = earlier.memory.record();
    CHECK(earlier.is_released_now());
    const Borrowed later;
    REQUIRE(later.memory.record() == record);
    CHECK_FALSE(later.memory.has_destroyable_owner_stream());
}

TEST_CASE("release: stream named by the owner may be destroyed") {
    const fake::Stream theirs(streaming()), consumer(streaming());
    Borrowed x;
    x.memory.set_owner_stream(theirs.number());
    x.memory.add_consumers(peer().set, Memory::Consumer::holds_memory);
    const Peer::On scope(peer(), consumer);
    const int wrapped = fake::streams().wrapped;
    consumer.submit();
    theirs.destroy();
    const int uses = fake::streams().uses_of_destroyed;
    CHECK_FALSE(x.is_released_now());  // the consumer still works on the memory
    consumer.finish();
    CHECK(x.is_released_now());
    CHECK(fake::streams().uses_of_destroyed == uses);
    CHECK(fake::streams().wrapped == wrapped + 1);  // the consumer's stream alone
}

TEST_CASE("release: no wait without consumers") {
    const fake::Stream theirs(streaming());
    const Peer::On scope(peer(), theirs);
    theirs.submit();
    const int before = marks_and_waits(), asked = peer().asked;
    Borrowed x(peer());
    CHECK(x.is_released_now());
    CHECK(marks_and_waits() == before);
    CHECK(peer().asked == asked);
}

TEST_CASE("release: consumers do not wait for each other") {
    const fake::Stream of_library(streaming()), named(streaming());
    const Peer::On other_scope(other_peer(), of_library);
    Borrowed x(peer());  // whose library has no current stream
    x.memory.add_consumers(other_peer().set, Memory::Consumer::holds_memory);
    x.memory.add_consumer_queue(lasting(named), Memory::Consumer::holds_memory);
    named.submit();
    CHECK_FALSE(x.is_released_now());  // only the host can wait
    Trace trace;
    of_library.submit(trace('c'));
    of_library.finish();
    CHECK(trace.text == "c");
    named.finish();
    release_finished();
    CHECK(*x.is_released);
}

TEST_CASE("release: owner's stream stays out of a consumer's capture") {
    const fake::Stream theirs(streaming()), captured(streaming());
    const Peer::On scope(peer(), theirs), other_scope(other_peer(), captured);
    Borrowed x(peer());
    x.memory.add_consumers(other_peer().set, Memory::Consumer::holds_memory);
    const std::uint64_t number = captured.begin_capture();
    CHECK(x.is_released_now());
    CHECK_FALSE(theirs.is_captured());
    const fake::Graph graph = fake::end_capture(number);
    CHECK(graph.is_valid);
}

// ------------------------------------------------------------------- graph capture

TEST_CASE("release: in one graph, owner's stream waits for consumer's") {
    const fake::Stream theirs(streaming()), consumers(streaming());
    const Peer::On scope(peer(), theirs), other_scope(other_peer(), consumers);
    Borrowed x(peer());
    x.memory.add_consumers(other_peer().set, Memory::Consumer::holds_memory);
    const std::uint64_t number = theirs.begin_capture();
    consumers.queue().wait_for(theirs.queue().record());
    const int waits = fake::world().calls.event_wait_in_queue;
    CHECK(x.is_released_now());
    CHECK(fake::world().calls.event_wait_in_queue == waits + 1);
    fake::drop(fake::end_capture(number));
}

TEST_CASE("release: captured owner's memory waits for consumers") {
    const fake::Stream theirs(streaming()), consumers(streaming());
    const Peer::On scope(peer(), theirs), other_scope(other_peer(), consumers);
    Borrowed x(peer());
    x.memory.add_consumers(other_peer().set, Memory::Consumer::holds_memory);
    consumers.submit();
    const std::uint64_t number = theirs.begin_capture();
    CHECK_FALSE(x.is_released_now());
    CHECK_FALSE(consumers.is_captured());
    fake::drop(fake::end_capture(number));
    consumers.finish();
    release_finished();
    CHECK(*x.is_released);
}

TEST_CASE("finished operations do not accumulate events") {
    const fake::Stream theirs(streaming());
    const Queue queue = theirs.queue();
    const Memory memory = memory_of_ours(streaming().default_queue());
    memory.record_consumer(Access::write, legacy(), Memory::Consumer::holds_memory);
    memory.add_consumers(legacy_library_set, Memory::Consumer::holds_memory);
    const Memory of_consumer = memory;
    const int events = fake::world().alive.events;
    for (int i = 0; i < 100; ++i) {
        write(queue, memory);
        theirs.finish();
    }
    CHECK(fake::world().alive.events < events + 10);
}

TEST_CASE("consumer working until the submission is not dropped") {
    const fake::Stream theirs(streaming());
    const HeldQueue ours = held_queue(), later = held_queue();
    const Peer::On scope(peer(), theirs);
    const Memory memory = memory_of_ours(streaming().default_queue());
    std::optional<Memory> of_consumer = memory;
    memory.add_consumers(peer().set, Memory::Consumer::holds_memory);
    Trace trace;
    {
        Operation operation(ours.queue);
        operation.wait_for_conflicts(Access::write, memory);
        // Simulates another thread of the consumer, which then drops its reference.
        theirs.submit(trace('c'));
        of_consumer.reset();
        const Queue::Position position = fake::submit(ours.queue, trace('o'));
        operation.submitted(position, 0, [&](auto &&add) { add(Access::write, memory); });
    }
    write(later.queue, memory, trace('w'));
    fake::step(theirs.queue());  // the event that before() has recorded, and no more
    ours.finish();
    later.finish();
    CHECK(trace.text == "o");
    theirs.finish();
    later.finish();
    CHECK(trace.text.ends_with("w"));
}

TEST_CASE("operation on a stream declared permanent is recorded") {
    const fake::Stream theirs(streaming());
    const HeldQueue later = held_queue();
    const Memory memory = memory_of_ours(streaming().default_queue());
    const Queue queue = theirs.queue();
    Trace trace;
    fake::world().meanwhile = [&] { queue.declare_never_destroyed(); };
    write(queue, memory, trace('o'));
    fake::world().meanwhile = {};
    REQUIRE_FALSE(queue.may_be_destroyed());
    write(later.queue, memory, trace('w'));
    later.finish();
    CHECK(trace.text == "");
    theirs.finish();
    later.finish();
    CHECK(trace.text == "ow");
}

TEST_CASE("host waits for the operation if a peer's stream cannot") {
    const fake::Stream one(streaming()), two(streaming());
    const HeldQueue ours = held_queue();
    const Borrowed x(peer()), y(other_peer());
    const Peer::On scope(peer(), one), other_scope(other_peer(), two);
    Trace trace;
    Operation operation(ours.queue);
    const auto uses = [&](auto &&add) {
        add(Access::write, x.memory);
        add(Access::write, y.memory);
    };
    operation.wait_for_conflicts(uses);
    const Queue::Position position = fake::submit(ours.queue, trace('o'));
    one.destroy();
    std::thread device([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        one.finish();
        two.finish();
        ours.finish();
    });
    CHECK_THROWS_AS(operation.submitted(position, 0, uses), Error);
    CHECK(trace.text == "o");
    device.join();
}

TEST_CASE("release: without an owner's stream, consumers are waited for") {
    const fake::Stream theirs(streaming());
    Borrowed x;
    SUBCASE("library of the owner has no current stream") {
        x.memory.set_owner_library(peer().number);
    }
    SUBCASE("owner names neither library nor stream") {}
    x.memory.add_consumers(other_peer().set, Memory::Consumer::holds_memory);
    const Peer::On scope(other_peer(), theirs);
    theirs.submit();
    CHECK_FALSE(x.is_released_now());
    theirs.finish();
    release_finished();
    CHECK(*x.is_released);
}

TEST_CASE("capture: captured stream captures the operation's queue") {
    const fake::Stream theirs(streaming());
    const Queue ours = Queue::create(streaming());
    const Borrowed x(peer());
    const Peer::On scope(peer(), theirs);
    const std::uint64_t number = theirs.begin_capture();
    Trace trace;
    theirs.submit(trace('l'));
    write(ours, x.memory, trace('o'));
    theirs.submit(trace('L'));
    CHECK(ours.capture() == number);
    const fake::Graph graph = fake::end_capture(number);
    CHECK(graph.is_valid);
    CHECK(trace.text == "");
    for (const std::function<void()> &work : graph.work)
        work();
    CHECK(trace.text == "loL");
    fake::drop(graph);
}

TEST_CASE("capture of the queue alone: host waits for the owner") {
    const fake::Stream theirs(streaming());
    const Queue ours = Queue::create(streaming());
    const Borrowed x(peer());
    const Peer::On scope(peer(), theirs);
    const std::uint64_t number = fake::begin_capture(ours);
    Trace trace;
    theirs.submit(trace('l'));
    std::thread later([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        theirs.finish();
    });
    write(ours, x.memory, trace('o'));
    CHECK(trace.text == "l");
    later.join();
    CHECK_FALSE(theirs.is_captured());
    theirs.submit(trace('L'));  // runs now
    CHECK(trace.text == "lL");
    const fake::Graph graph = fake::end_capture(number);
    CHECK(graph.is_valid);
    REQUIRE(graph.work.size() == 1);
    graph.work.front()();
    CHECK(trace.text == "lLo");
    fake::drop(graph);
}

TEST_CASE("capture of the queue alone: consumers are not waited for") {
    const fake::Stream theirs(streaming()), named(streaming());
    const Queue ours = Queue::create(streaming());
    const Memory memory = memory_of_ours(Queue::create(streaming()));
    memory.add_consumers(peer().set, Memory::Consumer::holds_object);
    memory.add_consumer_queue(lasting(named), Memory::Consumer::holds_object);
    const Peer::On scope(peer(), theirs);
    theirs.submit();
    named.submit();
    const std::uint64_t number = fake::begin_capture(ours);
    const int waits = fake::world().calls.event_wait;
    std::thread later([&] {  // or a wait would not end
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        theirs.finish();
        named.finish();
    });
    write(ours, memory, [] {});
    later.join();
    CHECK(fake::world().calls.event_wait == waits);
    CHECK_FALSE(theirs.is_captured());
    const fake::Graph graph = fake::end_capture(number);
    CHECK(graph.is_valid);
    CHECK(graph.work.size() == 1);
    fake::drop(graph);
}

TEST_CASE("capture: consumer's stream in the same graph is ordered") {
    const fake::Stream theirs(streaming());
    const Queue ours = Queue::create(streaming());
    const Memory memory = memory_of_ours(Queue::create(streaming()));
    memory.add_consumers(peer().set, Memory::Consumer::holds_object);
    const Peer::On scope(peer(), theirs);
    const std::uint64_t number = theirs.begin_capture();
    ours.wait_for(theirs.queue().record());
    REQUIRE(ours.capture() == number);
    const int waits = fake::world().calls.event_wait_in_queue;
    write(ours, memory);
    CHECK(fake::world().calls.event_wait_in_queue == waits + 2);
    const fake::Graph graph = fake::end_capture(number);
    CHECK(graph.is_valid);
    fake::drop(graph);
}

TEST_CASE("capture: operations on one stream leave one entry") {
    const fake::Stream theirs(streaming());
    const Queue queue = theirs.queue();
    const Borrowed x(peer());
    const Peer::On scope(peer(), theirs);
    const auto captured_writes = [&] {
        const std::uint64_t number = theirs.begin_capture();
        write(queue, x.memory);
        const int events = fake::world().alive.events;
        for (int i = 0; i < 20; ++i)
            write(queue, x.memory);
        CHECK(fake::world().alive.events == events);
        const fake::Graph graph = fake::end_capture(number);
        CHECK(graph.is_valid);
        fake::drop(graph);
        return events;
    };
    const int events = captured_writes();
    // A later capture of the stream replaces the entry of an earlier one.
    CHECK(captured_writes() == events);
    for (int i = 0; i < 20; ++i) {
        write(queue, x.memory);
        theirs.finish();
    }
    CHECK(fake::world().alive.events < events + 10);
}

TEST_CASE("capture: access on a destroyed stream is not queried") {
    const Queue ours = Queue::create(streaming());
    const Borrowed x(peer());
    const fake::Stream theirs(streaming());
    {
        const Peer::On scope(peer(), theirs);
        const std::uint64_t number = theirs.begin_capture();
        write(theirs.queue(), x.memory);
        fake::drop(fake::end_capture(number));
    }
    theirs.finish();
    theirs.destroy();
    const fake::Stream later(streaming());
    const Peer::On scope(peer(), later);
    const int uses = fake::streams().uses_of_destroyed;
    write(ours, x.memory);
    CHECK(fake::streams().uses_of_destroyed == uses);
}

TEST_CASE("capture of another stream: host waits for the others") {
    for (const bool captured_first : {true, false}) {
        CAPTURE(captured_first);
        const fake::Stream plain(streaming()), captured(streaming());
        const Queue ours = Queue::create(streaming());
        const Borrowed x(peer()), y(other_peer());
        const Peer::On scope(peer(), plain), other_scope(other_peer(), captured);
        Trace trace;
        plain.submit(trace('l'));
        const std::uint64_t number = captured.begin_capture();
        std::thread later([&] {
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            plain.finish();
        });
        const ArrayAccess of_x{Access::write, x.memory}, of_y{Access::write, y.memory};
        if (captured_first)
            operate(ours, {of_y, of_x});
        else
            operate(ours, {of_x, of_y});
        CHECK(trace.text == "l");
        later.join();
        CHECK(ours.capture() == number);
        const fake::Graph graph = fake::end_capture(number);
        CHECK(graph.is_valid);
        fake::drop(graph);
    }
}

TEST_CASE("capture: release on a captured stream adds no work") {
    const fake::Stream theirs(streaming());
    const Queue queue = theirs.queue(), other = Queue::create(streaming());
    const Peer::On scope(freeing_peer(), theirs);
    Borrowed x(freeing_peer());
    x.memory.set_for_one_operation();
    const std::uint64_t number = theirs.begin_capture();
    write(queue, x.memory);
    const fake::Graph graph = fake::end_capture(number);
    CHECK(graph.is_valid);
    CHECK(graph.work.empty());  // the operation did nothing
    fake::drop(graph);
    theirs.finish();
    CHECK(x.is_released_now());
}

namespace {

// The driver refuses the legacy default stream, as while a stream that it waits for is captured.
struct LegacyRefused {
    LegacyRefused() { fake::streams().legacy_is_refused = true; }
    ~LegacyRefused() { fake::streams().legacy_is_refused = false; }
};

}  // namespace

TEST_CASE("capture: legacy stream of a consumer is not used") {
    const Queue ours = Queue::create(streaming());
    const Memory memory = memory_of_ours(Queue::create(streaming()));
    SUBCASE("library") { memory.add_consumers(legacy_library_set, Memory::Consumer::holds_object); }
    SUBCASE("queue") { memory.add_consumer_queue(legacy(), Memory::Consumer::holds_object); }
    const std::uint64_t number = fake::begin_capture(ours);
    {
        const LegacyRefused refused;
        write(ours, memory, [] {});
    }
    const fake::Graph graph = fake::end_capture(number);
    CHECK(graph.is_valid);
    CHECK(graph.work.size() == 1);
    fake::drop(graph);
}

TEST_CASE("capture: legacy stream of an owner is refused") {
    const Queue ours = Queue::create(streaming());
    Borrowed x;
    x.memory.set_owner_library(legacy_library);
    const std::uint64_t number = fake::begin_capture(ours);
    {
        const LegacyRefused refused;
        CHECK_REFUSED(ErrorKind::device, "the legacy default stream", write(ours, x.memory));
    }
    const fake::Graph graph = fake::end_capture(number);
    CHECK(graph.is_valid);
    fake::drop(graph);
    CHECK(x.memory.has_no_pending_access());
    write(ours, x.memory);
}

TEST_CASE("capture of the queue alone: legacy stream is waited for") {
    const Queue ours = Queue::create(streaming());
    const Borrowed x;
    x.memory.set_owner_library(legacy_library);
    const std::uint64_t number = fake::begin_capture(ours);
    fake::hold(legacy());
    Trace trace;
    fake::submit_foreign(legacy(), trace('l'));
    std::thread later([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        fake::release(legacy());
    });
    write(ours, x.memory, trace('o'));
    CHECK(trace.text == "l");
    later.join();
    const fake::Graph graph = fake::end_capture(number);
    CHECK(graph.is_valid);
    CHECK(legacy().capture() == 0);
    fake::drop(graph);
}

// ------------------------------------------------------------------------- threads

TEST_CASE("operation: threads share memory, libraries and queues") {
    constexpr int threads = 4, rounds = 200;
    Borrowed x(peer());
    Memory memory = memory_of_ours(Queue::create(streaming()));
    memory.add_consumers(other_peer().set, Memory::Consumer::holds_object);
    std::vector<std::unique_ptr<fake::Stream>> streams;
    for (int i = 0; i < threads; ++i) {
        streams.push_back(std::make_unique<fake::Stream>(streaming()));
        streams.back()->finish();
    }
    const Queue shared = Queue::create(streaming());
    std::atomic<int> run{0};
    const auto work = [&](int thread) {
        const fake::Stream &stream = *streams[static_cast<std::size_t>(thread)];
        const Peer::On scope(peer(), stream), other_scope(other_peer(), stream);
        const Queue own = Queue::create(streaming());
        const auto count = [&] { ++run; };
        for (int round = 0; round < rounds; ++round) {
            const Memory held = memory;
            memory.add_consumers(peer().set, Memory::Consumer::holds_memory);
            memory.add_consumer_queue(lasting(stream), Memory::Consumer::holds_memory);
            operate(round % 2 ? own : shared, {{Access::read, x.memory}, {Access::write, memory}},
                    count);
            write(stream.queue(), x.memory, count);
            stream.submit(count);
            static_cast<void>(memory.is_ready_for_host(Access::read));
        }
    };
    std::vector<std::thread> all;
    for (int thread = 0; thread < threads; ++thread)
        all.emplace_back(work, thread);
    for (std::thread &each : all)
        each.join();
    CHECK(run == threads * rounds * 3);
    memory.wait_for_host(Access::write);
    CHECK(x.is_released_now());
}

TEST_CASE("operation: consumers are added and dropped by threads") {
    constexpr int rounds = 500;
    const fake::Stream theirs(streaming());
    theirs.finish();
    const Memory memory = memory_of_ours(Queue::create(streaming()));
    std::thread exporter([&] {
        for (int round = 0; round < rounds; ++round) {
            const Memory held = memory;
            memory.add_consumers(peer().set, Memory::Consumer::holds_memory);
            memory.add_consumer_queue(lasting(theirs), Memory::Consumer::holds_memory);
        }
    });
    const Peer::On scope(peer(), theirs);
    const Queue ours = Queue::create(streaming());
    for (int round = 0; round < rounds; ++round)
        write(ours, memory);
    exporter.join();
    write(ours, memory);
    CHECK_FALSE(memory.has_peers());
}
