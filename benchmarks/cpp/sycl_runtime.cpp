// Times calls of the SYCL backend against the runtime's own, alternately in one run.
//
//     sycl_runtime libentrepot_sycl9.so            prints medians in nanoseconds, and a ratio
//     sycl_runtime libentrepot_sycl9.so launch     only the rows whose names begin with "launch"
//
// The build needs include/, the SYCL headers and libsycl (see src/backends/sycl/CMakeLists.txt for
// the flags).
#include "compare.hpp"

#include <sycl/backend.hpp>
#include <sycl/context.hpp>
#include <sycl/device.hpp>
#include <sycl/ext/oneapi/experimental/enqueue_functions.hpp>
#include <sycl/kernel_bundle.hpp>
#include <sycl/properties/all_properties.hpp>
#include <sycl/queue.hpp>
#include <sycl/usm.hpp>

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <string>

using benchmarks::compare, benchmarks::ok, benchmarks::wanted;

namespace {

namespace syclex = sycl::ext::oneapi::experimental;

const ep_loader loader{sizeof(ep_loader),
                       EP_BACKEND_VERSION,
                       [](const char *message) { std::fprintf(stderr, "%s\n", message); },
                       [](const char *) {},
                       [](const char *) -> const char * { return nullptr; },
                       nullptr,
                       nullptr};

const ep_backend &load(const char *path) {
    void *const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const auto entry =
        library ? reinterpret_cast<ep_backend_entry>(dlsym(library, EP_BACKEND_ENTRY)) : nullptr;
    const ep_backend *table = nullptr;
    if (!entry || entry(&loader, &table) != EP_OK) {
        std::fprintf(stderr, "%s is not a backend: %s\n", path, library ? "no entry" : dlerror());
        std::exit(1);
    }
    return *table;
}

constexpr const char *source =
    "kernel void add(global int *out, int value) { out[get_global_id(0)] += value; }";

}  // namespace

int main(int argc, char **argv) {
    if (argc < 2 || argc > 3) {
        std::fprintf(stderr, "usage: %s libentrepot_sycl9.so [rows]\n", argv[0]);
        return 2;
    }
    wanted = argc == 3 ? argv[2] : "";
    const ep_backend &table = load(argv[1]);
    ep_device device = nullptr;
    ok(table.device_at(0, &device));
    void *native = nullptr;
    ok(table.device_native(device, &native));
    const sycl::device their_device = *static_cast<sycl::device *>(native);
    ep_context context = nullptr;
    ok(table.device_default_context(device, &context));
    ok(table.context_native(context, &native));
    const sycl::context their_context = *static_cast<sycl::context *>(native);
    ep_queue queue = nullptr, profiling = nullptr;
    ok(table.queue_create(context, device, 0, &queue));
    ok(table.queue_create(context, device, EP_QUEUE_PROFILING, &profiling));
    sycl::queue theirs(their_context, their_device, sycl::property::queue::in_order{});
    sycl::queue out_of_order(their_context, their_device);
    ep_queue wrapped = nullptr;
    ok(table.queue_from_native(nullptr, &out_of_order, &wrapped));
    std::printf("%s\n", their_device.get_info<sycl::info::device::name>().c_str());

    // ------------------------------------------------------------- memory
    for (const std::size_t bytes : {std::size_t{1} << 10, std::size_t{1} << 20}) {
        compare(("allocate + free device, " + std::to_string(bytes >> 10) + " KiB").c_str(),
                [&] {
                    void *pointer = nullptr;
                    ok(table.memory_allocate(context, device, EP_USM_DEVICE, bytes, 0, nullptr,
                                             &pointer));
                    ok(table.memory_free(context, pointer, nullptr));
                },
                [&] {
                    sycl::free(sycl::malloc_device(bytes, their_device, their_context),
                               their_context);
                });
    }
    void *a = nullptr, *b = nullptr;
    ok(table.memory_allocate(context, device, EP_USM_DEVICE, 1 << 20, 0, nullptr, &a));
    ok(table.memory_allocate(context, device, EP_USM_DEVICE, 1 << 20, 0, nullptr, &b));
    ep_allocation found{};
    compare(
        "query: kind, base, containment / kind",
        [&] { ok(table.memory_query(context, a, 4096, 0, &found)); },
        [&] {
            found.kind = sycl::get_pointer_type(a, their_context) == sycl::usm::alloc::device
                             ? EP_USM_DEVICE
                             : EP_USM_UNKNOWN;
        });
    compare(
        "query: and device and size / kind and device",
        [&] { ok(table.memory_query(context, a, 4096, EP_QUERY_DEVICE | EP_QUERY_SIZE, &found)); },
        [&] {
            found.kind = sycl::get_pointer_type(a, their_context) == sycl::usm::alloc::device
                             ? EP_USM_DEVICE
                             : EP_USM_UNKNOWN;
            (void)sycl::get_pointer_device(a, their_context);
        });

    // ------------------------------------------------------------- copies
    const auto wait_all = [&] {
        ok(table.queue_wait(queue));
        theirs.wait();
        out_of_order.wait();
    };
    compare(
        "copy 4 KiB + wait / with an event",
        [&] { ok(table.memory_copy(queue, a, b, 4096)), ok(table.queue_wait(queue)); },
        [&] { theirs.memcpy(a, b, 4096).wait(); });
    compare(
        "copy 4 KiB + wait / without",
        [&] { ok(table.memory_copy(queue, a, b, 4096)), ok(table.queue_wait(queue)); },
        [&] { syclex::memcpy(theirs, a, b, 4096), theirs.wait(); });
    compare(
        "copy 4 KiB + wait, out of order, fenced / not",
        [&] { ok(table.memory_copy(wrapped, a, b, 4096)), ok(table.queue_wait(wrapped)); },
        [&] { out_of_order.memcpy(a, b, 4096), out_of_order.wait(); });
    const std::uint32_t item = 7;
    compare(
        "fill 4 KiB + wait",
        [&] { ok(table.memory_fill(queue, a, &item, 4, 1024)), ok(table.queue_wait(queue)); },
        [&] { theirs.fill(a, item, 1024).wait(); });

    const std::int64_t shape[] = {512, 256}, rows[] = {1024, 4}, columns[] = {4, 2048},
                       every_second[] = {2048, 4};
    const ep_box box{2, 4, shape};
    // (The runtime's own two-dimensional copy falls back to a kernel that only DPC++ can compile.)
    compare(
        "copy 256 of every 512 floats / memcpy of as much",
        [&] {
            ok(table.memory_copy_strided(queue, &box, a, rows, b, every_second)),
                ok(table.queue_wait(queue));
        },
        [&] { theirs.memcpy(a, b, 512 * 1024).wait(); });
    compare(
        "transpose 512 x 256 float / memcpy of as much",
        [&] {
            ok(table.memory_copy_strided(queue, &box, a, rows, b, columns)),
                ok(table.queue_wait(queue));
        },
        [&] { theirs.memcpy(a, b, 512 * 1024).wait(); });

    // ------------------------------------------------------------- launches
    ep_program program = nullptr;
    ok(table.program_build(context, device, EP_OPENCL_C, source,
                           std::char_traits<char>::length(source), "", nullptr, &program));
    ep_kernel kernel = nullptr;
    ok(table.program_kernel(program, "add", &kernel));
    // The runtime's side launches the same kernel, built in the same way.
    const auto find = [](const char *name) {
        return dlsym(dlopen("libOpenCL.so.1", RTLD_NOLOAD | RTLD_LAZY), name);
    };
    const auto create =
        reinterpret_cast<decltype(&clCreateProgramWithSource)>(find("clCreateProgramWithSource"));
    const auto build = reinterpret_cast<decltype(&clBuildProgram)>(find("clBuildProgram"));
    const auto create_kernel = reinterpret_cast<decltype(&clCreateKernel)>(find("clCreateKernel"));
    const char *text = source;
    const cl_program their_program =
        create(sycl::get_native<sycl::backend::opencl>(their_context), 1, &text, nullptr, nullptr);
    const cl_device_id id = sycl::get_native<sycl::backend::opencl>(their_device);
    build(their_program, 1, &id, "", nullptr, nullptr);
    const sycl::kernel their_kernel = sycl::make_kernel<sycl::backend::opencl>(
        create_kernel(their_program, "add", nullptr), their_context);

    const int value = 1;
    const ep_range range{1, {64}, {64}};
    const auto launch = [&](ep_queue on) {
        const ep_argument arguments[] = {{EP_ARG_POINTER, sizeof a, a},
                                         {EP_ARG_BYTES, sizeof value, &value}};
        ok(table.kernel_launch(on, kernel, &range, nullptr, arguments, 2));
    };
    const auto command = [&](sycl::handler &handler) {
        handler.set_arg(0, a);
        handler.set_arg(1, syclex::raw_kernel_arg(&value, sizeof value));
        handler.parallel_for(sycl::nd_range<1>(64, 64), their_kernel);
    };
    compare(
        "launch / with an event", [&] { launch(queue); }, [&] { theirs.submit(command); },
        wait_all);
    compare(
        "launch / without", [&] { launch(queue); }, [&] { syclex::submit(theirs, command); },
        wait_all);
    compare(
        "launch + wait / with an event", [&] { launch(queue), ok(table.queue_wait(queue)); },
        [&] { theirs.submit(command), theirs.wait(); });
    compare(
        "launch + wait / without", [&] { launch(queue), ok(table.queue_wait(queue)); },
        [&] { syclex::submit(theirs, command), theirs.wait(); });
    compare(
        "launch + wait, profiling", [&] { launch(profiling), ok(table.queue_wait(profiling)); },
        [&] { theirs.submit(command), theirs.wait(); });

    // --------------------------------------------------------------- events
    compare(
        "record on an idle queue / barrier",
        [&] {
            ep_event event = nullptr;
            ok(table.event_record(queue, 0, &event));
            table.event_release(event);
        },
        [&] { (void)theirs.ext_oneapi_submit_barrier(); });
    compare(
        "launch + record + wait for it / with an event",
        [&] {
            launch(queue);
            ep_event event = nullptr;
            ok(table.event_record(queue, 0, &event));
            ok(table.event_wait(event));
            table.event_release(event);
        },
        [&] { theirs.submit(command).wait(); });
    ep_event done = nullptr;
    ok(table.event_record(queue, 0, &done));
    compare(
        "wait in a queue for what is done", [&] { ok(table.event_wait_in_queue(queue, done)); },
        [&] {
            (void)theirs.ext_oneapi_submit_barrier({*static_cast<sycl::event *>([&] {
                void *e = nullptr;
                ok(table.event_native(done, &e));
                return e;
            }())});
        });
    std::int32_t flag = 0;
    compare(
        "is an event done", [&] { ok(table.event_is_done(done, &flag)); },
        [&] { (void)theirs.ext_oneapi_empty(); });
    compare(
        "is a queue idle", [&] { ok(table.queue_is_idle(queue, &flag)); },
        [&] { (void)theirs.ext_oneapi_empty(); });

    // -------------------------------------------------------------- handles
    compare(
        "wrap and release a queue / copy one",
        [&] {
            ep_queue handle = nullptr;
            ok(table.queue_from_native(nullptr, &theirs, &handle));
            table.queue_release(handle);
        },
        [&] { [[maybe_unused]] volatile bool kept = sycl::queue(theirs) == theirs; });
    compare(
        "wrap and release a context / copy one",
        [&] {
            ep_context handle = nullptr;
            ok(table.context_from_native(const_cast<sycl::context *>(&their_context), &handle));
            table.context_release(handle);
        },
        [&] {
            [[maybe_unused]] volatile bool kept = sycl::context(their_context) == their_context;
        });
    compare(
        "create and release a queue",
        [&] {
            ep_queue handle = nullptr;
            ok(table.queue_create(context, device, 0, &handle));
            table.queue_release(handle);
        },
        [&] { sycl::queue made(their_context, their_device, sycl::property::queue::in_order{}); });
}
