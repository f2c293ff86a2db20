// Library for benchmarks/runtime.py: a kernel launched by the SYCL runtime itself. Both sides of a
// comparison thus run in one process, on one queue, with the same threads awake.
#include <sycl/backend.hpp>
#include <sycl/ext/oneapi/experimental/graph.hpp>
#include <sycl/kernel_bundle.hpp>
#include <sycl/properties/queue_properties.hpp>
#include <sycl/queue.hpp>

#include <dlfcn.h>

#include <chrono>

namespace {

sycl::kernel kernel_of(const sycl::queue &queue, const char *source, const char *name) {
    const auto find = [](const char *function) {
        return dlsym(dlopen("libOpenCL.so.1", RTLD_NOLOAD | RTLD_LAZY), function);
    };
    const auto create =
        reinterpret_cast<decltype(&clCreateProgramWithSource)>(find("clCreateProgramWithSource"));
    const auto build = reinterpret_cast<decltype(&clBuildProgram)>(find("clBuildProgram"));
    const auto create_kernel = reinterpret_cast<decltype(&clCreateKernel)>(find("clCreateKernel"));
    const cl_program program = create(sycl::get_native<sycl::backend::opencl>(queue.get_context()),
                                      1, &source, nullptr, nullptr);
    const cl_device_id device = sycl::get_native<sycl::backend::opencl>(queue.get_device());
    build(program, 1, &device, "", nullptr, nullptr);
    return sycl::make_kernel<sycl::backend::opencl>(create_kernel(program, name, nullptr),
                                                    queue.get_context());
}

namespace syclex = sycl::ext::oneapi::experimental;
using Executable = syclex::command_graph<syclex::graph_state::executable>;

}  // namespace

extern "C" {

// The kernel `name` of an OpenCL C source, on the queue's device; it lives as long as the process.
__attribute__((visibility("default"))) void *runtime_kernel(const sycl::queue *queue,
                                                            const char *source, const char *name) {
    return new sycl::kernel(kernel_of(*queue, source, name));
}

// Use of a launch's event; the numbers are those of the Python side. With Intel's CPU driver
// (2026.2), a wait for the kernel's own event also waits for later work. A wait for Entrepot's
// event does not, nor does one for a barrier's event (`mark`).
enum class Use { drop, keep, wait, mark };

// Launches 64 work-items `calls` times. The kernel's parameters are `count` arrays, then an int if
// there is a `value`. Returns: nanoseconds per launch.
__attribute__((visibility("default"))) double runtime_launch(sycl::queue *queue,
                                                             const sycl::kernel *kernel,
                                                             void *const *arrays, int count,
                                                             const int *value, int calls, Use use) {
    const auto command = [&](sycl::handler &handler) {
        for (int i = 0; i < count; ++i)
            handler.set_arg(i, arrays[i]);
        if (value != nullptr)
            handler.set_arg(count, *value);
        handler.parallel_for(sycl::nd_range<1>(64, 64), *kernel);
    };
    sycl::event kept;
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < calls; ++i) {
        if (use == Use::drop)
            queue->submit(command);
        else if (use == Use::keep)
            kept = queue->submit(command);
        else if (use == Use::wait)
            queue->submit(command).wait();
        else {
            queue->submit(command);
            kept = queue->ext_oneapi_submit_barrier();
        }
    }
    const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - start;
    queue->wait();
    return time.count() / calls;
}
// A command graph of `launches` launches of 64 work-items, as the runtime records them from a
// queue. The kernel's parameters are `array`, then an int. The graph lives as long as the process.
__attribute__((visibility("default"))) void *runtime_graph(const sycl::queue *queue,
                                                           const sycl::kernel *kernel, void *array,
                                                           int value, int launches) {
    sycl::queue recorded(queue->get_context(), queue->get_device(),
                         sycl::property::queue::in_order{});
    syclex::command_graph graph(queue->get_context(), queue->get_device());
    graph.begin_recording(recorded);
    for (int i = 0; i < launches; ++i)
        recorded.submit([&](sycl::handler &handler) {
            handler.set_arg(0, array);
            handler.set_arg(1, value);
            handler.parallel_for(sycl::nd_range<1>(64, 64), *kernel);
        });
    graph.end_recording(recorded);
    return new Executable(graph.finalize());
}

__attribute__((visibility("default"))) void runtime_replay(sycl::queue *queue,
                                                           const Executable *graph) {
    queue->submit([&](sycl::handler &handler) { handler.ext_oneapi_graph(*graph); });
    queue->wait();
}
}
