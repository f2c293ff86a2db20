// Programs and kernels: builds, their errors, and launches.
#include "core/interrupt.hpp"
#include <entrepot/device/program.hpp>

#include <doctest/doctest.h>

#include "core/refusal.hpp"
#include "fake_backend.hpp"

using namespace entrepot;

static const ep_argument two[] = {{EP_ARG_LOCAL, 64, nullptr}, {EP_ARG_LOCAL, 64, nullptr}};

static ep_range range(std::uint64_t global, std::uint64_t local = 0) {
    return {1, {global}, {local}};
}

TEST_CASE("program uses the device's first dialect and has a log") {
    const Program program("scale", fake::device());
    CHECK(program.dialect() == EP_OPENCL_C);
    CHECK(program.device() == fake::device());
    CHECK(program.context() == fake::device().default_context());
    CHECK(program.log() == "built by hand");
}

TEST_CASE("refused source has a log, refused dialect a list") {
    CHECK_REFUSED(ErrorKind::kernel, "found an error\nbuilt by hand",
                  Program("error", fake::device()));
    CHECK_REFUSED(ErrorKind::device,
                  "does not build PTX (dialect 'ptx'); the dialects it builds: 'opencl-c'",
                  Program("scale", fake::device(), EP_PTX));
}

TEST_CASE("interrupted build is reported, other failures are not") {
    set_interrupt_check([]() noexcept { return true; });
    CHECK(is_interrupted());
    CHECK_THROWS_AS(Program("error", fake::device()), Interrupted);
    CHECK_REFUSED(ErrorKind::kernel, "found an error\nbuilt by hand",
                  Program("error", fake::device()));
    CHECK(is_interrupted());
    CHECK_NOTHROW(Program("scale", fake::device()));  // the interrupt came after the build
    CHECK_REFUSED(ErrorKind::kernel, "found an error\nbuilt by hand",
                  Program("error", fake::device()));
    set_interrupt_check(nullptr);
}

TEST_CASE("kernel owns its program, and both are released") {
    const auto [contexts, queues, events, programs, kernels] = fake::world().alive;
    {
        const Kernel kernel = Program("scale", fake::device()).kernel("scale");
        CHECK(kernel.name() == "scale");
        CHECK(kernel.info().max_work_group == 256);
        CHECK(fake::world().alive.programs == programs + 1);
    }
    CHECK(fake::world().alive.programs == programs);
    CHECK(fake::world().alive.kernels == kernels);
    CHECK_REFUSED(ErrorKind::kernel, "no kernel 'missing'",
                  Program("scale", fake::device()).kernel("missing"));
}

TEST_CASE("launch runs in the queue's order and has a position") {
    const Queue queue = Queue::create(fake::device());
    const Kernel kernel = Program("scale", fake::device()).kernel("scale");
    int launches = 0;
    fake::world().kernel = [&](const ep_range &given, const ep_argument *, std::size_t) {
        ++launches;
        CHECK(given.global[0] == 8);
    };
    fake::hold(queue);
    const Queue::Position position = kernel.launch(queue, range(8, 4), two);
    CHECK(launches == 0);
    CHECK(!queue.is_done(position));
    fake::release(queue);
    CHECK(launches == 1);
    CHECK(queue.is_done(position));
    kernel.launch(queue, range(0), two);
    CHECK(launches == 1);
    fake::world().kernel = nullptr;
}

TEST_CASE("invalid launch is refused with both numbers") {
    const Device device = fake::device();
    const Queue &queue = device.default_queue();
    const Kernel kernel = Program("scale", device).kernel("scale");
    const ep_argument big[] = {{EP_ARG_LOCAL, 40000, nullptr}, {EP_ARG_LOCAL, 64, nullptr}};
    CHECK_REFUSED(ErrorKind::kernel, "takes 2 arguments, 1 were given",
                  kernel.launch(queue, range(8), {two, 1}));
    CHECK_REFUSED(ErrorKind::kernel, "of 512 work-items, the most on opencl:cpu:0 is 256",
                  kernel.launch(queue, range(1024, 512), two));
    CHECK_REFUSED(ErrorKind::kernel, "groups of 3 do not divide the 8 work-items",
                  kernel.launch(queue, range(8, 3), two));
    CHECK_REFUSED(ErrorKind::kernel, "needs 41088 bytes of local memory, opencl:cpu:0 has 32768",
                  kernel.launch(queue, range(8), big));
    CHECK_REFUSED(ErrorKind::kernel, "has no work-items",
                  kernel.launch(queue, {2, {8, 8}, {4, 0}}, two));
    CHECK_REFUSED(ErrorKind::kernel, "1 to 3 dimensions, this one 4",
                  kernel.launch(queue, {4, {}, {}}, two));
    const Queue elsewhere = Queue::create(Context::create({&device, 1}), device, {});
    CHECK_REFUSED(ErrorKind::kernel, "build the program for the queue's context",
                  kernel.launch(elsewhere, range(8), two));
}

TEST_CASE("dialects are found by name, and unsupported ones are refused") {
    for (const DialectRow &row : dialect_table) {
        CHECK(dialect_from(name_of(row.dialect)) == row.dialect);
        CHECK(names_of(1u << row.dialect) == std::string("'") + row.name + "'");
    }
    CHECK(names_of(0) == "none");
    CHECK_REFUSED(ErrorKind::value, "one of 'opencl-c', 'spirv' was expected, not 'ptx'",
                  (void)dialect_from("ptx", 1u << EP_OPENCL_C | 1u << EP_SPIRV));
}
