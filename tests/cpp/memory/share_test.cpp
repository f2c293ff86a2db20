// Memory of other libraries between processes, on the fake backend: pieces, files and refusals.
#include <entrepot/array/array_handle.hpp>
#include <entrepot/memory/operation.hpp>
#include <entrepot/memory/share.hpp>

#include "core/refusal.hpp"
#include "fake_backend.hpp"
#include "memory/device_memory.hpp"
#include <memory/fd_server.hpp>

#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

using namespace entrepot;

namespace {

constexpr std::size_t block_bytes = 4096;

// Adjacent blocks of another library, as PyTorch's expandable segments have them.
struct ForeignBlocks {
    std::vector<std::int32_t> values;

    explicit ForeignBlocks(std::size_t count, ep_ipc_form form = EP_IPC_FILE)
        : values(count * block_bytes / sizeof(std::int32_t)) {
        fake::device();
        for (std::size_t i = 0; i < values.size(); ++i)
            values[i] = static_cast<std::int32_t>(i);
        for (std::size_t i = 0; i < count; ++i)
            fake::world().shareable[address() + i * block_bytes] = {block_bytes, form};
    }
    ForeignBlocks(const ForeignBlocks &) = delete;
    ForeignBlocks &operator=(const ForeignBlocks &) = delete;
    ~ForeignBlocks() { fake::world().shareable.clear(); }

    std::uintptr_t address() const { return reinterpret_cast<std::uintptr_t>(values.data()); }

    // Every `step`-th element from `first` on.
    Array array(std::int64_t first, std::int64_t extent, std::int64_t step = 1) {
        const Device device = fake::device();
        Memory memory = Memory::borrow(values.data(), values.size() * sizeof(std::int32_t),
                                       UsmKind::device, device, device.default_context(), Owner());
        return Array(std::move(memory), values.data() + first, dtypes::int32,
                     Layout(Extents(&extent, 1), Extents(&step, 1)));
    }
};

std::ptrdiff_t open_files() {
    const std::filesystem::directory_iterator files("/proc/self/fd");
    return std::distance(begin(files), end(files));
}

ArrayHandle passed_on(const ArrayHandle &handle) { return ArrayHandle::from_bytes(handle.bytes()); }

std::vector<std::int32_t> values_of(const Array &array) {
    std::vector<std::int32_t> found;
    for (std::int64_t i = 0; i < array.size(); ++i)
        found.push_back(
            reinterpret_cast<const std::int32_t *>(array.data())[i * array.strides()[0]]);
    return found;
}

// Work of the queue that stays pending.
void access(const HeldQueue &held, Access how, const Array &array) {
    const Use use = held.submit();
    array.memory().record_access(how, use.queue, use.position);
}

// True if work of a new queue on the array runs now.
bool runs_now(Access access, const Array &array) {
    const Queue queue = Queue::create(fake::device());
    Operation(queue).wait_for_conflicts(access, array.memory());
    bool has_run = false;
    fake::submit(queue, [&] { has_run = true; });
    const bool ran_at_once = has_run;
    // The caller releases the queue that it waits for, and the flag ends with this function.
    if (!ran_at_once) {
        const std::unique_lock locked(fake::world().mutex);
        queue.handle()->pending.back().run = {};
    }
    return ran_at_once;
}

// The handle as another process sees it.
ArrayHandle of_another_process(ArrayHandle handle) {
    for (SharedPiece &piece : handle.memory.pieces)
        ++piece.sender.process;
    return handle;
}

}  // namespace

TEST_CASE("array in one block is shared by one piece") {
    ForeignBlocks blocks(2);
    const Array array = blocks.array(5, 3);
    const ArrayHandle handle = ArrayHandle::of(array);
    REQUIRE(handle.memory.pieces.size() == 1);
    CHECK(handle.memory.offset == 20);
    CHECK(values_of(passed_on(handle).open()) == std::vector<std::int32_t>{5, 6, 7});
}

TEST_CASE("array across blocks is shared by all of them in order") {
    ForeignBlocks blocks(3);
    const Array array = blocks.array(1023, 3, 1024);
    const ArrayHandle handle = ArrayHandle::of(array);
    CHECK(handle.memory.pieces.size() == 3);
    const Array opened = passed_on(handle).open();
    CHECK(opened.memory().nbytes() == 3 * block_bytes);
    CHECK(values_of(opened) == std::vector<std::int32_t>{1023, 2047, 3071});
}

TEST_CASE("reversed array is shared from its lowest element") {
    ForeignBlocks blocks(2);
    const Array array = blocks.array(1025, 3, -1);
    const ArrayHandle handle = ArrayHandle::of(array);
    CHECK(handle.memory.pieces.size() == 2);
    CHECK(handle.memory.offset == 1023 * 4);
    CHECK(values_of(passed_on(handle).open()) == std::vector<std::int32_t>{1025, 1024, 1023});
}

TEST_CASE("files of foreign memory are closed when the memory ends") {
    ForeignBlocks blocks(2);
    const std::ptrdiff_t before = [&] {
        std::optional<Array> first = blocks.array(0, 1);
        ArrayHandle::of(*first);  // starts the server
        first.reset();
        return open_files();
    }();
    std::optional<Array> array = blocks.array(0, 2048);
    const ArrayHandle handle = ArrayHandle::of(*array);
    CHECK(open_files() == before + 2);
    const int calls = fake::world().calls.ipc_export;
    const ArrayHandle again = ArrayHandle::of(*array);
    CHECK(fake::world().calls.ipc_export == calls);
    CHECK(again.bytes() == handle.bytes());
    array.reset();
    CHECK(open_files() == before);
    CHECK_REFUSED(ErrorKind::exchange, "shared memory: ", handle.open());
}

TEST_CASE("memory that the driver names is opened by others only") {
    ForeignBlocks blocks(1, EP_IPC_DRIVER);
    const Array array = blocks.array(2, 2);
    const ArrayHandle handle = ArrayHandle::of(array);
    CHECK_REFUSED(ErrorKind::exchange, "this process shared it", passed_on(handle).open());
    CHECK(values_of(of_another_process(passed_on(handle)).open()) ==
          std::vector<std::int32_t>{2, 3});
    fake::world().shareable.clear();
    CHECK_REFUSED(ErrorKind::exchange, "shared memory: the fake has no such memory",
                  of_another_process(passed_on(handle)).open());
}

TEST_CASE("array across allocations that the driver names is refused") {
    ForeignBlocks blocks(2, EP_IPC_DRIVER);
    CHECK_REFUSED(ErrorKind::exchange, "lie in 2 allocations of the driver",
                  ArrayHandle::of(blocks.array(0, 2048)));
}

TEST_CASE("memory that the backend does not share is refused with its words") {
    ForeignBlocks blocks(1);
    const Array array = blocks.array(0, 4);
    fake::world().shareable.clear();
    CHECK_REFUSED(ErrorKind::exchange, "share: the fake shares no memory: allocate it from",
                  ArrayHandle::of(array));
}

TEST_CASE("handle with altered bytes is refused") {
    ForeignBlocks blocks(2, EP_IPC_FILE);
    const Array array = blocks.array(1023, 2);
    ArrayHandle handle = ArrayHandle::of(array);
    ArrayHandle other = handle;
    other.memory.pieces.pop_back();
    CHECK_REFUSED(ErrorKind::value, "reaches beyond its memory of 4096 bytes", other.open());
    other = handle;
    other.memory.pieces[0].ipc.size = other.memory.pieces[1].ipc.size = UINT64_MAX;
    CHECK_REFUSED(ErrorKind::value, "more bytes than 64 bits", other.open());
    other = handle;
    other.memory.offset = UINT64_MAX;
    CHECK_REFUSED(ErrorKind::value, "reaches beyond its memory", other.open());
    const std::string bytes = handle.bytes();
    CHECK_REFUSED(ErrorKind::value, "cut short",
                  ArrayHandle::from_bytes(bytes.substr(0, bytes.size() / 2)));
}

TEST_CASE("pending write is shared as an event without a wait") {
    ForeignBlocks blocks(1);
    const Array array = blocks.array(0, 4);
    const int waits = fake::world().calls.event_wait + fake::world().calls.queue_wait;
    std::optional<HeldQueue> held(std::in_place);
    access(*held, Access::write, array);
    const ArrayHandle handle = passed_on(ArrayHandle::of(array));
    REQUIRE(handle.memory.pending);
    CHECK(handle.memory.host_wait.empty());
    const Array opened = handle.open(), again = handle.open();
    CHECK_FALSE(opened.memory().is_ready_for_host(Access::read));
    CHECK_FALSE(runs_now(Access::read, opened));
    CHECK_FALSE(runs_now(Access::write, again));
    CHECK(fake::world().calls.event_wait + fake::world().calls.queue_wait == waits);
    held.reset();
    CHECK(runs_now(Access::read, opened));
    CHECK(opened.memory().is_ready_for_host(Access::write));
    CHECK(again.memory().is_ready_for_host(Access::write));
}

TEST_CASE("memory without pending work is shared without an event") {
    ForeignBlocks blocks(1);
    const Array array = blocks.array(0, 4);
    const HeldQueue busy;
    fake::submit(busy.queue);
    const int records = fake::world().calls.ipc_event_record;
    const ArrayHandle handle = ArrayHandle::of(array);
    CHECK_FALSE(handle.memory.pending);
    CHECK(fake::world().calls.ipc_event_record == records);
    CHECK(runs_now(Access::write, passed_on(handle).open()));
}

TEST_CASE("shares of the same pending work have one event") {
    ForeignBlocks blocks(2);
    const Array first = blocks.array(0, 4), second = blocks.array(1024, 4);
    const HeldQueue held;
    access(held, Access::write, first);
    access(held, Access::write, second);
    const int records = fake::world().calls.ipc_event_record;
    const std::string bytes = ArrayHandle::of(first).bytes();
    for (int i = 0; i < 100; ++i) {
        CHECK(ArrayHandle::of(first).bytes() == bytes);
        CHECK(ArrayHandle::of(second).memory.pending);
    }
    CHECK(fake::world().calls.ipc_event_record == records + 1);
    access(held, Access::write, first);
    CHECK(ArrayHandle::of(first).bytes() != bytes);
    CHECK(fake::world().calls.ipc_event_record == records + 2);
}

TEST_CASE("receiver of a read-only array waits for no reads") {
    ForeignBlocks blocks(1);
    const Array array = blocks.array(0, 4);
    const HeldQueue held;
    access(held, Access::read, array);
    const Array read_only(array.memory(), array.data(), array.dtype(), array.layout(), true);
    CHECK_FALSE(ArrayHandle::of(read_only).memory.pending);
    const ArrayHandle handle = ArrayHandle::of(array);
    REQUIRE(handle.memory.pending);
    CHECK_FALSE(runs_now(Access::write, passed_on(handle).open()));
}

TEST_CASE("work of several queues is shared as one event") {
    ForeignBlocks blocks(1);
    const Array array = blocks.array(0, 4);
    std::optional<HeldQueue> first(std::in_place), second(std::in_place);
    access(*first, Access::read, array);
    access(*second, Access::read, array);
    const Array opened = passed_on(ArrayHandle::of(array)).open();
    CHECK_FALSE(runs_now(Access::write, opened));
    first.reset();
    CHECK_FALSE(runs_now(Access::write, opened));
    second.reset();
    CHECK(runs_now(Access::write, opened));
}

TEST_CASE("opened memory is closed while work of its maker is pending") {
    ForeignBlocks blocks(1);
    const Array array = blocks.array(0, 4);
    const HeldQueue held;
    access(held, Access::write, array);
    const std::size_t before = fake::world().allocations.size();
    std::optional<Array> opened = passed_on(ArrayHandle::of(array)).open();
    CHECK(fake::world().allocations.size() == before + 1);
    opened.reset();
    CHECK(fake::world().allocations.size() == before);
}

TEST_CASE("opened memory is shared on with the event of its maker") {
    ForeignBlocks blocks(1);
    const Array array = blocks.array(0, 4);
    std::optional<HeldQueue> held(std::in_place);
    access(*held, Access::write, array);
    const Array opened = passed_on(ArrayHandle::of(array)).open();
    fake::world().shareable[reinterpret_cast<std::uintptr_t>(opened.memory().data())] = {
        block_bytes, EP_IPC_FILE};
    const ArrayHandle onward = passed_on(ArrayHandle::of(opened));
    REQUIRE(onward.memory.pending);
    const Array last = onward.open();
    CHECK_FALSE(runs_now(Access::read, last));
    held.reset();
    CHECK(runs_now(Access::read, last));
}

TEST_CASE("share waits on the host if the backend has no events") {
    ForeignBlocks blocks(1);
    const Array array = blocks.array(0, 4);
    const HeldQueue held;
    access(held, Access::write, array);
    fake::world().shares_events = false;
    std::thread releaser([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        fake::release(held.queue);
    });
    const ArrayHandle handle = ArrayHandle::of(array);
    releaser.join();
    fake::world().shares_events = true;
    CHECK_FALSE(handle.memory.pending);
    CHECK(handle.memory.host_wait ==
          "no event can stand for the pending work: the fake has no events for other processes");
    CHECK(array.memory().is_ready_for_host(Access::write));
}

TEST_CASE("share of captured work is refused") {
    ForeignBlocks blocks(1);
    const Array array = blocks.array(0, 4);
    const Queue queue = Queue::create(fake::device());
    const std::uint64_t capture = fake::begin_capture(queue);
    array.memory().record_access(Access::write, queue, fake::submit(queue));
    CHECK_REFUSED(ErrorKind::device, "captured into a graph", ArrayHandle::of(array));
    fake::drop(fake::end_capture(capture));
}

TEST_CASE("handle of another version is refused by name") {
    ForeignBlocks blocks(1);
    std::string bytes = ArrayHandle::of(blocks.array(0, 4)).bytes();
    bytes[bytes.find('3')] = '2';
    CHECK_REFUSED(ErrorKind::value, "of another one: use the same release",
                  ArrayHandle::from_bytes(bytes));
}
