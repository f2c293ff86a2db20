// The registry: selection of devices, and reports of absent backends.
#include <entrepot/device/registry.hpp>

#include <doctest/doctest.h>

#include <thread>

#include "core/refusal.hpp"
#include "fake_backend.hpp"

using namespace entrepot;

TEST_CASE("device is found by its selector") {
    fake::backend();
    const std::vector<Device> devices = registry::devices();
    REQUIRE(devices.size() >= 3);
    CHECK(devices.back().selector() == "host");
    for (const Device &device : devices) {
        if (&device.backend() == &fake::backend() && registry::report()[0].present)
            continue;  // a real device has this selector
        CHECK(registry::select(device.selector()) == device);
    }
}

TEST_CASE("host is selected by its own name only") {
    const Device host = registry::select("HOST");
    CHECK(host.selector() == "host");
    CHECK(host.backend().is_host());
    CHECK(registry::select("host:0") == host);
    CHECK(registry::select("cpu") != host);
    CHECK(&registry::backend("host") == &host.backend());
}

TEST_CASE("selector without a number chooses by score") {
    fake::backend();
    CHECK(registry::select("gpu").info().type == EP_GPU);
    CHECK(registry::select("default").info().score >= 10);
}

TEST_CASE("sub-device is found after its creation") {
    const Device device = fake::device(1);
    const Device half = device.partition_equally(2)[1];
    CHECK(registry::select(half.selector()) == half);
    CHECK_REFUSED(ErrorKind::device, "has handed out no sub-device 99",
                  registry::select(device.selector() + "/99"));
}

TEST_CASE("absent device is refused with existing ones and reasons") {
    CHECK_REFUSED(ErrorKind::device, "no device matches 'hip:0'; there are ",
                  registry::select("hip:0"));
    CHECK_REFUSED(ErrorKind::device, "hip: ", registry::select("hip"));
    CHECK_REFUSED(ErrorKind::device, "host", registry::select("gpu:1000"));
    CHECK_REFUSED(ErrorKind::device, "the hip backend is absent: ", registry::backend("hip"));
    CHECK_REFUSED(ErrorKind::device, "there is no backend 'metal'", registry::backend("metal"));
}

TEST_CASE("report has a row and a reason for each known backend") {
    const std::vector<BackendReport> rows = registry::report();
    for (const char *name : {"sycl", "cuda", "hip", "host"}) {
        const auto row = std::ranges::find(rows, name, &BackendReport::name);
        REQUIRE(row != rows.end());
        CHECK(!row->reason.empty());
    }
    CHECK(rows.back().name == "host");
    CHECK(rows.back().present);
}

TEST_CASE("backend of another version or existing name is refused") {
    fake::backend();
    ep_backend other = fake::table();
    CHECK_REFUSED(ErrorKind::value, "there is a backend 'fake' already", registry::add(&other));
    other.version = EP_BACKEND_VERSION + 1;
    CHECK_REFUSED(ErrorKind::value, "wants version", registry::add(&other));
}

TEST_CASE("current queue is the innermost of this thread or the default") {
    const Queue outer = Queue::create(fake::device(0)), inner = Queue::create(fake::device(1));
    const Queue initial = registry::current_queue();
    registry::push_current(outer);
    registry::push_current(inner);
    CHECK(registry::current_queue() == inner);
    CHECK(registry::current_device() == fake::device(1));
    std::thread([&] { CHECK(registry::current_queue() == initial); }).join();
    CHECK_REFUSED(ErrorKind::value, "innermost first", registry::pop_current(outer));
    registry::pop_current(inner);
    CHECK(registry::current_queue() == outer);
    std::thread([&] {
        CHECK_REFUSED(ErrorKind::value, "thread that entered", registry::pop_current(outer));
    }).join();
    registry::pop_current(outer);
    CHECK(registry::current_queue() == initial);
    CHECK_REFUSED(ErrorKind::value, "innermost first", registry::pop_current(outer));
}

TEST_CASE("backend receives the stream of another library") {
    static int stream = 0;
    const auto ask = registry::loader()->foreign_queue;
    CHECK(ask("hip", 3) == nullptr);
    registry::set_foreign_queue([](const char *backend, std::uint32_t device) -> void * {
        return std::string_view(backend) == "hip" && device == 3 ? &stream : nullptr;
    });
    CHECK(ask("hip", 3) == &stream);
    CHECK(ask("cuda", 3) == nullptr);
    registry::set_foreign_queue(nullptr);
}
