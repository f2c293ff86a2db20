// Contexts: their identity, their devices, and queries about pointers.
#include <entrepot/device/context.hpp>

#include <doctest/doctest.h>

#include <sstream>
#include <thread>

#include "core/refusal.hpp"
#include "fake_backend.hpp"

using namespace entrepot;

static Context context_of(const Device &device) { return Context::create({&device, 1}); }

TEST_CASE("native context is one Context, released with the last use") {
    const Device device = fake::device();
    const int alive = fake::world().alive.contexts;
    {
        const Context context = context_of(device);
        CHECK(context.devices() == std::vector<Device>{device});
        CHECK(!context.is_default());
        CHECK(context != context_of(device));
        const Context again = Context::from_native(fake::backend(), context.native());
        CHECK(again == context);
        CHECK(again.record() == context.record());
        CHECK(fake::world().alive.contexts == alive + 1);
    }
    CHECK(fake::world().alive.contexts == alive);
}

TEST_CASE("default context keeps its record forever if adopted first") {
    const Device device = fake::device(1);
    ep_context handle = nullptr;
    fake::backend().call(&ep_backend::device_default_context, device.handle(), &handle);
    const Context::Record *record;
    {
        const Context first = Context::adopt(fake::backend(), handle);
        CHECK(first.is_default());
        record = first.record();
    }
    CHECK(device.default_context().record() == record);
}

TEST_CASE("context lists its devices") {
    std::ostringstream out;
    const Device both[] = {fake::device(0), fake::device(1)};
    out << both[0].default_context() << "; " << Context::create(both) << "; " << Context();
    CHECK(
        out.str() ==
        "the default context of opencl:cpu:0; a context of opencl:cpu:0, opencl:gpu:0; no context");
}

TEST_CASE("context of no devices, or of two backends, is refused") {
    const Device mixed[] = {fake::device(), registry::select("host")};
    CHECK_REFUSED(ErrorKind::value, "at least one", Context::create({}));
    CHECK_REFUSED(ErrorKind::value, "opencl:cpu:0 and host", Context::create(mixed));
}

TEST_CASE("query returns the kind, device and block of a pointer") {
    const Device device = fake::device();
    const Context &context = device.default_context();
    void *pointer = nullptr;
    fake::backend().call(&ep_backend::memory_allocate, context.handle(), device.handle(),
                         EP_USM_SHARED, std::size_t{100}, std::size_t{0}, nullptr, &pointer);
    const ep_allocation found =
        context.query(static_cast<char *>(pointer) + 10, 90, EP_QUERY_DEVICE | EP_QUERY_SIZE);
    CHECK(found.kind == EP_USM_SHARED);
    CHECK(found.device == device.handle());
    CHECK(found.base == pointer);
    CHECK(found.size == 100);
    CHECK(found.contained == 1);
    CHECK(context.query(pointer, 101).contained == 0);
    CHECK(context_of(device).query(pointer, 1).kind == EP_USM_UNKNOWN);
    fake::backend().call(&ep_backend::memory_free, context.handle(), pointer, nullptr);
    CHECK(context.query(pointer, 1).kind == EP_USM_UNKNOWN);
}

TEST_CASE("error of the backend is an exception with its message") {
    const Context &context = fake::device().default_context();
    fake::refuse_next(EP_DEVICE_ERROR, "the device is lost");
    CHECK_REFUSED(ErrorKind::device, "the device is lost", context.query(nullptr, 1));
    fake::refuse_next(EP_OUT_OF_MEMORY, "no block left");
    CHECK_REFUSED(ErrorKind::allocation, "no block left", context.query(nullptr, 1));
    fake::refuse_next(EP_INVALID, "a wrong flag");
    CHECK_REFUSED(ErrorKind::value, "a wrong flag", context.query(nullptr, 1));
}

TEST_CASE("context is released if the import fails halfway") {
    const Device device = fake::device();
    const int alive = fake::world().alive.contexts;
    ep_context handle = nullptr;
    const ep_device self = device.handle();
    fake::backend().call(&ep_backend::context_create, &self, std::size_t{1}, &handle);
    fake::refuse_next(EP_DEVICE_ERROR, "lost");
    CHECK_REFUSED(ErrorKind::device, "lost", Context::adopt(fake::backend(), handle));
    CHECK(fake::world().alive.contexts == alive);
}

TEST_CASE("concurrent import and release of a context is safe") {
    const Device device = fake::device();
    const int alive = fake::world().alive.contexts;
    ep_context handle = nullptr;
    const ep_device self = device.handle();
    fake::backend().call(&ep_backend::context_create, &self, std::size_t{1}, &handle);
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
        threads.emplace_back([&] {
            for (int round = 0; round < 20000; ++round) {
                const Context context = Context::from_native(fake::backend(), handle);
                if (context.handle() != handle || context.devices().size() != 1)
                    std::abort();
            }
        });
    for (std::thread &thread : threads)
        thread.join();
    fake::backend().drop(&ep_backend::context_release, handle);
    CHECK(fake::world().alive.contexts == alive);
}
