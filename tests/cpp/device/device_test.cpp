// Devices: their names, properties and sub-devices.
#include <entrepot/device/device.hpp>

#include <doctest/doctest.h>

#include <sstream>

#include "core/refusal.hpp"
#include "fake_backend.hpp"

using namespace entrepot;

TEST_CASE("handle has one Device, named by backend, type and number") {
    const Device device = fake::device(1);
    CHECK(device == fake::device(1));
    CHECK(device != fake::device(0));
    CHECK(device.selector() == "opencl:gpu:0");
    CHECK(device.backend().device(nullptr) == Device());
    CHECK(device.root() == device);
    CHECK(!device.parent());
    std::ostringstream out;
    out << device << ", " << Device();
    CHECK(out.str() == "opencl:gpu:0, no device");
}

TEST_CASE("device's properties are queried once") {
    const Device device = fake::device();
    const int asked = fake::world().calls.device_info;
    CHECK(fake::device().info().compute_units == 4);
    CHECK(device.has(EP_FP64));
    CHECK(!device.has(EP_FP16));
    CHECK(fake::world().calls.device_info == asked);
}

TEST_CASE("sub-devices are numbered in their parent and are unique") {
    const Device device = fake::device();
    const std::vector<Device> halves = device.partition_equally(2);
    REQUIRE(halves.size() == 2);
    CHECK(halves[0].parent() == device);
    CHECK(halves[1].root() == device);
    CHECK(halves[1].selector() ==
          device.selector() + "/" + std::to_string(halves[1].info().number));
    CHECK(device.partition_equally(2) == halves);

    const std::uint32_t counts[] = {1, 3};
    const std::vector<Device> parts = device.partition_by_counts(counts);
    REQUIRE(parts.size() == 2);
    CHECK(parts[1].info().compute_units == 3);
    CHECK(parts[0] != halves[0]);

    const std::vector<Device> quarters = halves[0].partition_equally(1);
    CHECK(quarters[1].selector() == halves[0].selector() + "/1");
    CHECK(quarters[1].root() == device);
}

TEST_CASE("partitions by affinity and by equal size differ") {
    const Device device = fake::device();
    const std::vector<Device> nodes = device.partition_by_affinity(EP_AFFINITY_NUMA);
    REQUIRE(nodes.size() == 2);
    CHECK(nodes[0].parent() == device);
    CHECK(nodes[1].info().compute_units == 2);
    CHECK(nodes[1].selector() == device.selector() + "/" + std::to_string(nodes[1].info().number));
    CHECK(device.partition_by_affinity(EP_AFFINITY_NUMA) == nodes);
    CHECK(device.partition_equally(2) != nodes);
    CHECK_REFUSED(ErrorKind::device, "cannot be divided that way",
                  nodes[0].partition_by_affinity(EP_AFFINITY_L3));
}

TEST_CASE("impossible division is refused with both numbers") {
    const Device device = fake::device();
    const std::uint32_t too_many[] = {3, 2};
    CHECK_REFUSED(ErrorKind::value, "ask for 5 compute units, opencl:cpu:0 has 4",
                  device.partition_by_counts(too_many));
    CHECK_REFUSED(ErrorKind::value, "of 0 compute units", device.partition_equally(0));
    CHECK_REFUSED(ErrorKind::value, "without compute units", device.partition_by_counts({}));
    CHECK_REFUSED(ErrorKind::device, "cannot be divided that way",
                  device.partition_by_affinity(EP_AFFINITY_L1));
    CHECK_REFUSED(ErrorKind::device, "cannot be divided that way", device.partition_equally(5));
}

TEST_CASE("default context and queue of a device are made once") {
    const Device device = fake::device(1);
    const Context &context = device.default_context();
    CHECK(&device.default_context() == &context);
    CHECK(context.is_default());
    const Queue &queue = device.default_queue();
    CHECK(&device.default_queue() == &queue);
    CHECK(queue.context() == context);
    CHECK(queue.device() == device);
    CHECK(queue.is_in_order());
}

TEST_CASE("concurrent creation of a default queue leaks nothing") {
    const std::uint32_t fresh[] = {1, 2};
    const Device device = fake::device(1).partition_by_counts(fresh)[0];
    device.default_context();
    const int queues = fake::world().alive.queues;
    const Queue *faster = nullptr;
    fake::world().queue_begins = [&] { faster = &device.default_queue(); };
    CHECK(&device.default_queue() == faster);
    CHECK(fake::world().alive.queues == queues + 1);
    {
        const Queue copy = *faster;
    }
    CHECK(fake::world().alive.queues == queues + 1);
}

TEST_CASE("sub-device uses the root's default context if supported") {
    const std::uint32_t served[] = {1, 1}, alone[] = {2, 1};
    const Device device = fake::device(1);
    CHECK(device.partition_by_counts(served)[0].default_context() == device.default_context());

    fake::world().default_context_serves_sub_devices = false;
    const Device sub = device.partition_by_counts(alone)[0];
    const Context &own = sub.default_context();
    CHECK(own != device.default_context());
    CHECK(own.devices() == std::vector<Device>{sub});
    CHECK(sub.default_queue().context() == own);
    fake::world().default_context_serves_sub_devices = true;
    CHECK(sub.default_context() == own);
}
