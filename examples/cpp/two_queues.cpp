// Without Python: a kernel runs on each device that is named, and the host adds up its results.
//
//     two_queues host opencl:cpu cuda:0
#include <entrepot/array/array.hpp>
#include <entrepot/array/copy.hpp>
#include <entrepot/array/launch.hpp>
#include <entrepot/device/program.hpp>
#include <entrepot/device/registry.hpp>
#include <entrepot/memory/current.hpp>
#include <entrepot/memory/limit.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <iostream>
#include <numeric>

namespace {

// One kernel, in a language for each kind of device. On the host, a call runs the groups range[10]
// to range[11] of the launch.
constexpr const char *host_source = R"(
    extern "C" void square(const long long *range, void *const *arguments) {
        float *data = (float *)arguments[0];
        for (long long i = range[10]; i < range[11]; ++i)
            data[i] *= data[i];
    })";
constexpr const char *opencl_source = R"(
    kernel void square(global float *data) {
        data[get_global_id(0)] *= data[get_global_id(0)];
    })";
constexpr const char *cuda_source = R"(
    extern "C" __global__ void square(float *data) {
        data[blockIdx.x * blockDim.x + threadIdx.x] *= data[blockIdx.x * blockDim.x + threadIdx.x];
    })";

entrepot::Kernel square_for(const entrepot::Device &device) {
    const char *const source = device.backend().is_host()   ? host_source
                               : device.backend().is_sycl() ? opencl_source
                                                            : cuda_source;
    return entrepot::Program(source, device).kernel("square");
}

float sum_of_squares(const entrepot::Device &device, std::int64_t count) {
    using entrepot::Array, entrepot::Queue, entrepot::UsmKind;

    const Array numbers = Array::empty({&count, 1}, entrepot::dtypes::float32, UsmKind::host,
                                       entrepot::registry::host().default_queue());
    float *const first = static_cast<float *>(numbers.data());
    std::iota(first, first + count, 1.0F);

    // The copy runs on one queue and the kernel on another. The access log of the memory records
    // both, so the kernel waits for the copy.
    const Queue copies = Queue::create(device), kernels = Queue::create(device);
    const Array on_device = entrepot::copy_to(numbers, UsmKind::device, copies);
    entrepot::LaunchArguments arguments(1);
    arguments.add(on_device);
    const auto items = static_cast<std::uint64_t>(count);
    const entrepot::Kernel square = square_for(device);
    entrepot::launch(square, kernels, ep_range{1, {items}, {}}, arguments);

    // The copy back waits for the kernel, and wait() for the copy.
    entrepot::copy(numbers, on_device, copies).wait();
    return std::accumulate(first, first + count, 0.0F);
}

}  // namespace

int main(int argc, char **argv) try {
    if (argc < 2) {
        std::cerr << "usage: two_queues SELECTOR...\n";
        return 2;
    }
    const entrepot::ResourceRef limited = entrepot::make_resource<entrepot::LimitResource>(
        entrepot::default_resource(), std::size_t{1} << 20);
    const entrepot::UseResource scope(limited.get());  // this thread's allocations, until its end
    for (int i = 1; i < argc; ++i) {
        const entrepot::Device device = entrepot::registry::select(argv[i]);
        std::cout << device << ": " << sum_of_squares(device, 100) << '\n';
    }
    return 0;
} catch (const std::exception &error) {
    std::cerr << error.what() << '\n';
    return 1;
}
