// Pinned arrays on the fake backend: registrations are shared, counted and undone after pending
// work.
#include <entrepot/array/pin.hpp>
#include <entrepot/memory/pin.hpp>

#include "core/refusal.hpp"
#include "fake_backend.hpp"

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <thread>
#include <vector>

using namespace entrepot;

namespace {

// Ten integers of the host, and how often their owner was released.
struct HostNumbers {
    std::array<std::int32_t, 10> values{};
    int released = 0;

    Array array(bool read_only = false) {
        const std::int64_t extent = 10;
        Memory memory = Memory::borrow_host(
            values.data(), sizeof values,
            Owner(this, [](void *self) { ++static_cast<HostNumbers *>(self)->released; }));
        return Array(std::move(memory), values.data(), dtypes::int32, Layout(Extents(&extent, 1)),
                     read_only);
    }
};

Array part_of(const Array &array, std::int64_t begin, std::int64_t end) {
    const std::array<IndexEntry, 1> index{IndexEntry{IndexEntry::Kind::slice, begin, end, 1}};
    return array.select(index);
}

std::string refusal_of_pinning(const Array &array) {
    const auto refused = refusal_of([&] { pin(array, fake::device()); });
    REQUIRE(refused);
    CHECK(refused->kind == ErrorKind::exchange);
    return refused->message;
}

}  // namespace

TEST_CASE("pinned array has the address, the layout and the device") {
    HostNumbers numbers;
    const Array array = numbers.array();
    const Array pinned = pin(array, fake::device());
    CHECK(pinned.data() == array.data());
    CHECK(pinned.size() == 10);
    CHECK(pinned.device() == fake::device());
    CHECK(pinned.context() == fake::device().default_context());
    CHECK(pinned.kind() == UsmKind::host);
    CHECK(fake::world().pinned.size() == 1);
    REQUIRE(pinned_source(pinned.memory().owner()));
    CHECK(*pinned_source(pinned.memory().owner()) == array.memory());
    CHECK(!pinned_source(array.memory().owner()));
}

TEST_CASE("last pinned array ends the registration and releases the owner") {
    HostNumbers numbers;
    std::optional<Array> first = pin(numbers.array(), fake::device());
    std::optional<Array> view = part_of(*first, 2, 5);
    first.reset();
    CHECK(fake::world().pinned.size() == 1);
    CHECK(numbers.released == 0);
    view.reset();
    CHECK(fake::world().pinned.empty());
    CHECK(numbers.released == 1);
}

TEST_CASE("memory stays pinned while work on it is pending") {
    HostNumbers numbers;
    const Queue queue = Queue::create(fake::device());
    std::optional<Array> pinned = pin(numbers.array(), fake::device());
    fake::hold(queue);
    pinned->memory().record_access(Access::read, queue, fake::submit(queue));
    pinned.reset();
    CHECK(fake::world().pinned.size() == 1);
    CHECK(numbers.released == 0);
    fake::release(queue);
    HostNumbers others;
    others.array();  // a later call releases what is done
    CHECK(fake::world().pinned.empty());
    CHECK(numbers.released == 1);
}

TEST_CASE("range inside a pinned range shares its registration") {
    HostNumbers numbers;
    const int calls = fake::world().calls.memory_pin;
    std::optional<Array> whole = pin(numbers.array(), fake::device());
    const Array inside = pin(part_of(numbers.array(), 3, 7), fake::device(1));
    CHECK(inside.device() == fake::device(1));
    CHECK(fake::world().calls.memory_pin == calls + 1);
    whole.reset();
    CHECK(fake::world().pinned.size() == 1);
}

TEST_CASE("range that overlaps a pinned range is refused with both ranges") {
    HostNumbers numbers;
    const Array middle = pin(part_of(numbers.array(), 3, 7), fake::device());
    const std::string said = refusal_of_pinning(numbers.array());
    CHECK(said.find("the 40 bytes from") != said.npos);
    CHECK(said.find("overlap the 16 bytes from") != said.npos);
    CHECK(refusal_of_pinning(part_of(numbers.array(), 0, 4)).find("overlap") != said.npos);
    CHECK(refusal_of_pinning(part_of(numbers.array(), 6, 10)).find("overlap") != said.npos);
    CHECK(pin(part_of(numbers.array(), 0, 3), fake::device()).size() == 3);
    CHECK(pin(part_of(numbers.array(), 7, 10), fake::device()).size() == 3);
    CHECK(fake::world().pinned.size() == 1);
}

TEST_CASE("memory that another library has registered is refused") {
    HostNumbers numbers;
    const auto begin = reinterpret_cast<std::uintptr_t>(numbers.values.data());
    fake::world().pinned[begin + 8] = {4, false};
    CHECK(refusal_of_pinning(numbers.array()) == "pin: a part of the memory is registered already");
    fake::world().pinned.clear();
    CHECK(pin(numbers.array(), fake::device()).size() == 10);
}

TEST_CASE("read-only memory is pinned read-only and not shared for writing") {
    HostNumbers numbers;
    std::optional<Array> pinned = pin(numbers.array(true), fake::device());
    CHECK(pinned->read_only());
    CHECK(fake::world().pinned.begin()->second.read_only);
    CHECK(refusal_of_pinning(numbers.array()).find("were pinned read-only") != std::string::npos);
    pinned = pin(numbers.array(true), fake::device());  // shares it
    pinned.reset();
    pinned = pin(numbers.array(), fake::device());
    CHECK(pin(numbers.array(true), fake::device()).read_only());
}

TEST_CASE("device that reads host memory gets a view and registers nothing") {
    HostNumbers numbers;
    fake::world().reads_host_memory = true;
    // The fake's devices lack the aspect.
    CHECK_REFUSED(ErrorKind::exchange, "on_device: ", pin(numbers.array(), fake::device()));
    fake::world().reads_host_memory = false;
    CHECK(fake::world().pinned.empty());
}

TEST_CASE("backend that pins no memory is quoted") {
    HostNumbers numbers;
    fake::world().pins = false;
    CHECK(refusal_of_pinning(numbers.array()) == "pin: the fake pins no memory");
    fake::world().pins = true;
    CHECK(numbers.released == 1);
}

TEST_CASE("array without elements registers nothing") {
    HostNumbers numbers;
    const int calls = fake::world().calls.memory_pin;
    const Array empty = pin(part_of(numbers.array(), 4, 4), fake::device());
    CHECK(empty.size() == 0);
    CHECK(empty.device() == fake::device());
    CHECK(fake::world().calls.memory_pin == calls);
}

TEST_CASE("reversed array is pinned from its lowest element") {
    HostNumbers numbers;
    const std::array<IndexEntry, 1> reversed{
        IndexEntry{IndexEntry::Kind::slice, INT64_MAX, INT64_MIN, -1}};
    const Array array = numbers.array().select(reversed);
    const Array pinned = pin(array, fake::device());
    CHECK(pinned.data() == array.data());
    CHECK(pinned.strides()[0] == -1);
    CHECK(fake::world().pinned.begin()->first ==
          reinterpret_cast<std::uintptr_t>(numbers.values.data()));
    CHECK(fake::world().pinned.begin()->second.bytes == sizeof numbers.values);
}

TEST_CASE("threads share one registration and the last one ends it") {
    HostNumbers numbers;
    const Array array = numbers.array();
    fake::device().default_context();
    std::vector<std::thread> threads;
    std::atomic<int> wrong = 0;  // doctest's assertions would serialize the threads
    for (int i = 0; i < 4; ++i)
        threads.emplace_back([&] {
            for (int round = 0; round < 200; ++round)
                wrong += pin(array, fake::device()).data() != array.data();
        });
    for (std::thread &thread : threads)
        thread.join();
    CHECK(wrong == 0);
    CHECK(fake::world().pinned.empty());
    CHECK(!array.memory().is_shared());
}

TEST_CASE("device memory is refused and host-accessible memory stays as it is") {
    const std::int64_t extent = 4;
    const Queue queue = fake::device().default_queue();
    const Array device = Array::empty(Extents(&extent, 1), dtypes::int32, UsmKind::device, queue);
    const std::string said = refusal_of_pinning(device);
    CHECK(said.find("pin: the memory is device memory of") == 0);
    const Array host = Array::empty(Extents(&extent, 1), dtypes::int32, UsmKind::host, queue);
    CHECK(pin(host, fake::device()).memory() == host.memory());
    // Views of another device than the memory's become arrays of the device that is asked for.
    CHECK(pin(host.host(), fake::device()).device() == fake::device());
    CHECK(pin(host, registry::host()).device() == registry::host());
    HostNumbers numbers;
    CHECK(pin(numbers.array(), registry::host()).device() == registry::host());
}
