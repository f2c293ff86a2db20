// Pinned arrays on the fake backend: registrations are shared, counted and undone after pending
// work, which is ordered with work on the source.
#include <entrepot/array/copy.hpp>
#include <entrepot/array/pin.hpp>
#include <entrepot/memory/pin.hpp>

#include "core/refusal.hpp"
#include "fake_backend.hpp"
#include "memory/release.hpp"

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

using namespace entrepot;

namespace {

// Ten integers of the host, and how often their owner was released.
struct HostNumbers {
    std::array<std::int32_t, 10> values{};
    std::atomic<int> released = 0;

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

std::string refusal_of_pinning(const Array &array, const Device &device = fake::device()) {
    const auto refused = refusal_of([&] { pin(array, device); });
    REQUIRE(refused);
    CHECK(refused->kind == ErrorKind::exchange);
    return refused->message;
}

// A sub-device with another aspect than the fake's other devices. `units` makes it a new one.
Device device_with(ep_aspect aspect, std::uint32_t units) {
    fake::world().more_aspects = aspect;
    const Device made = fake::device().partition_by_counts(std::span(&units, 1)).front();
    fake::world().more_aspects = 0;
    return made;
}

Device device_that_pins_pages() {
    fake::world().pins_pages = true;
    return device_with(EP_PINS_PAGES, 1);
}

Device device_that_reads_host_memory() { return device_with(EP_READS_HOST_MEMORY, 2); }

// Whole pages of the host, of which parts are pinned.
struct HostPages {
    static constexpr std::size_t page = 4096, count = 3;
    alignas(page) std::array<std::byte, count * page> bytes{};

    ~HostPages() { fake::world().pins_pages = false; }
    Array part(std::size_t begin, std::size_t end, bool read_only = false) {
        const auto extent = static_cast<std::int64_t>(end - begin);
        return Array(Memory::borrow_host(bytes.data() + begin, end - begin, Owner()),
                     bytes.data() + begin, dtypes::uint8, Layout(Extents(&extent, 1)), read_only);
    }
    std::uintptr_t address(std::size_t of_page) const {
        return reinterpret_cast<std::uintptr_t>(bytes.data() + of_page * page);
    }
};

// The first element becomes 7 on the queue, as by a kernel.
void submit_seven(const Array &array, const Queue &queue) {
    auto *const first = static_cast<std::int32_t *>(array.data());
    array.memory().record_access(Access::write, queue, fake::submit(queue, [=] { *first = 7; }));
}

Submitted fill_with(const Array &array, std::int32_t value, const Queue &queue = {}) {
    return fill(array, std::as_bytes(std::span(&value, 1)), queue);
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
    CHECK(pinned.memory() == array.memory());
    CHECK(pinned.is_pinned_view());
    CHECK(fake::world().pinned.size() == 1);
}

TEST_CASE("access of the source waits for work on the pinned array") {
    HostNumbers numbers;
    const Array array = numbers.array();
    const Array pinned = pin(array, fake::device());
    const Queue queue = Queue::create(fake::device());
    fake::hold(queue);
    submit_seven(pinned, queue);
    CHECK(!array.memory().is_ready_for_host(Access::read));
    std::atomic<bool> is_done = false;
    std::thread other([&] {
        fill_with(array, 9).wait();
        is_done = true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    CHECK(!is_done);
    CHECK(numbers.values[0] == 0);
    fake::release(queue);
    other.join();
    CHECK(numbers.values[0] == 9);
    CHECK(array.memory().is_ready_for_host(Access::write));
}

TEST_CASE("work on the pinned array waits for work on the source") {
    HostNumbers numbers;
    const Array array = numbers.array();
    const Queue earlier = Queue::create(fake::device()), later = Queue::create(fake::device());
    fake::hold(earlier);
    const Array first = pin(array, fake::device());
    array.memory().record_access(Access::write, earlier, fake::submit(earlier));
    fill_with(first, 7, later);
    CHECK(numbers.values[0] == 0);
    fake::release(earlier);
    CHECK(numbers.values[0] == 7);
}

TEST_CASE("pinned arrays of two devices are ordered with each other") {
    HostNumbers numbers;
    const Array array = numbers.array();
    const Array here = pin(array, fake::device()), there = pin(array, fake::device(1));
    CHECK(fake::world().pinned.size() == 1);
    const Queue queue = Queue::create(fake::device());
    fake::hold(queue);
    submit_seven(here, queue);
    fill_with(there, 9, Queue::create(fake::device(1)));
    CHECK(numbers.values[0] == 0);
    fake::release(queue);
    CHECK(numbers.values[0] == 9);
}

TEST_CASE("views and other queues of a pinned array stay pinned") {
    HostNumbers numbers;
    const Array pinned = pin(numbers.array(), fake::device());
    CHECK(part_of(pinned, 2, 5).is_pinned_view());
    const Queue queue = Queue::create(fake::device(1));
    const Array there = pinned.on(queue);
    CHECK(there.is_pinned_view());
    CHECK(there.device() == fake::device(1));
    CHECK(pinned.on({}).device() == fake::device());
    // Another backend's queue does not use the registration.
    const Array on_host = pinned.on(registry::host().default_queue());
    CHECK(!on_host.is_pinned_view());
    CHECK(on_host.device() == registry::host());
}

TEST_CASE("memory stays pinned until its last array is released") {
    HostNumbers numbers;
    std::optional<Array> array = numbers.array();
    pin(*array, fake::device());
    CHECK(fake::world().pinned.size() == 1);
    const int calls = fake::world().calls.memory_pin;
    pin(*array, fake::device());
    CHECK(fake::world().calls.memory_pin == calls);
    array.reset();
    CHECK(fake::world().pinned.empty());
    CHECK(numbers.released == 1);
}

TEST_CASE("block of a resource is unpinned after pending work and then returned") {
    const std::int64_t extent = 10;
    const Queue queue = Queue::create(fake::device());
    std::optional<Array> array = Array::empty(Extents(&extent, 1), dtypes::int32, UsmKind::host,
                                              registry::host().default_queue());
    void *const data = array->data();
    std::optional<Array> pinned = pin(*array, fake::device());
    fake::hold(queue);
    submit_seven(*pinned, queue);
    array.reset();
    pinned.reset();
    CHECK(fake::world().pinned.size() == 1);
    fake::release(queue);
    release_finished();
    CHECK(fake::world().pinned.empty());
    const Array again = Array::empty(Extents(&extent, 1), dtypes::int32, UsmKind::host,
                                     registry::host().default_queue());
    CHECK(again.data() == data);  // the pool has it again
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

TEST_CASE("arrays on one page share its registration") {
    HostPages pages;
    const Device device = device_that_pins_pages();
    const int calls = fake::world().calls.memory_pin;
    std::optional<Array> first = pin(pages.part(8, 100), device);
    std::optional<Array> second = pin(pages.part(200, 300), device);
    CHECK(fake::world().calls.memory_pin == calls + 1);
    REQUIRE(fake::world().pinned.size() == 1);
    CHECK(fake::world().pinned.begin()->first == pages.address(0));
    CHECK(fake::world().pinned.begin()->second.bytes == HostPages::page);
    first.reset();
    CHECK(fake::world().pinned.size() == 1);
    const std::uint8_t value = 7;
    fill(*second, std::as_bytes(std::span(&value, 1)), device.default_queue()).wait();
    CHECK(pages.bytes[200] == std::byte{7});
    second.reset();
    CHECK(fake::world().pinned.empty());
    CHECK(pin(pages.part(0, HostPages::page), device).size() == HostPages::page);
}

TEST_CASE("array that shares only a part of its pages is refused by name") {
    HostPages pages;
    const Device device = device_that_pins_pages();
    const Array first = pin(pages.part(8, 100), device);
    const std::string said = refusal_of_pinning(pages.part(4000, 5000), device);
    CHECK(said.find("the 1000 bytes from") != said.npos);
    CHECK(said.find("overlap the 4096 bytes from") != said.npos);
    const Array third = pin(pages.part(2 * HostPages::page, 2 * HostPages::page + 8), device);
    CHECK(refusal_of_pinning(pages.part(4096, 2 * HostPages::page + 4), device).find("overlap") !=
          std::string::npos);
    CHECK(fake::world().pinned.size() == 2);
}

TEST_CASE("device that counts by byte registers two ranges of one page") {
    HostPages pages;
    std::optional<Array> first = pin(pages.part(8, 100), fake::device());
    const Array second = pin(pages.part(200, 300), fake::device());
    CHECK(fake::world().pinned.size() == 2);
    first.reset();
    CHECK(fake::world().pinned.size() == 1);
}

TEST_CASE("device that reads host memory gets a view and registers nothing") {
    HostNumbers numbers;
    fake::world().reads_host_memory = true;
    const Device device = device_that_reads_host_memory();
    const Array array = numbers.array();
    const Array view = pin(array, device);
    CHECK(view.is_device_view());
    CHECK(!view.is_pinned_view());
    CHECK(view.device() == device);
    CHECK(view.memory() == array.memory());
    CHECK(fake::world().pinned.empty());
    fake::world().reads_host_memory = false;
}

TEST_CASE("device that reads host memory and registers it gets a pinned array") {
    HostNumbers numbers;
    const Array pinned = pin(numbers.array(), device_that_reads_host_memory());
    CHECK(pinned.is_pinned_view());
    CHECK(fake::world().pinned.size() == 1);
}

TEST_CASE("device without the aspect is refused if nothing is registered") {
    HostNumbers numbers;
    fake::world().reads_host_memory = true;
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
    std::optional<Array> array = numbers.array();
    fake::device().default_context();
    std::vector<std::thread> threads;
    std::atomic<int> wrong = 0;  // doctest's assertions would serialize the threads
    for (int i = 0; i < 4; ++i)
        threads.emplace_back([&] {
            for (int round = 0; round < 200; ++round)
                wrong += pin(numbers.array(), fake::device()).data() != array->data() ||
                         pin(*array, fake::device()).data() != array->data();
        });
    for (std::thread &thread : threads)
        thread.join();
    CHECK(wrong == 0);
    CHECK(fake::world().pinned.size() == 1);
    CHECK(!array->memory().is_shared());
    array.reset();
    CHECK(fake::world().pinned.empty());
    CHECK(numbers.released == 4 * 200 + 1);
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
