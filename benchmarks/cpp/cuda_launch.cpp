// Library for benchmarks/cuda.py: launches and stream waits by the driver itself.
// benchmarks/cuda.py loads it, so that both sides of a comparison run in one process.
#include "cuda_functions.hpp"

#include <chrono>

using benchmarks::check, benchmarks::nothing_ptx;

namespace {

// Uses the current context, which is that of PyTorch and CuPy.
struct Driver {
    CUstream first = nullptr, second = nullptr;
    CUfunction nothing = nullptr, nothing_to_four = nullptr, nothing_to_eight = nullptr;
    CUevent mark = nullptr;
    decltype(&::cuLaunchKernel) launch = DRIVER_FUNCTION(cuLaunchKernel);
    decltype(&::cuEventRecord) record = DRIVER_FUNCTION(cuEventRecord);
    decltype(&::cuStreamWaitEvent) wait = DRIVER_FUNCTION(cuStreamWaitEvent);
    decltype(&::cuMemsetD8Async) fill = DRIVER_FUNCTION(cuMemsetD8Async);

    Driver() {
        CUmodule module = nullptr;
        check(DRIVER_FUNCTION(cuModuleLoadData)(&module, nothing_ptx));
        check(DRIVER_FUNCTION(cuModuleGetFunction)(&nothing, module, "nothing"));
        check(DRIVER_FUNCTION(cuModuleGetFunction)(&nothing_to_four, module, "nothing_to_four"));
        check(DRIVER_FUNCTION(cuModuleGetFunction)(&nothing_to_eight, module, "nothing_to_eight"));
        for (CUstream *stream : {&first, &second})
            check(DRIVER_FUNCTION(cuStreamCreate)(stream, CU_STREAM_NON_BLOCKING));
        check(DRIVER_FUNCTION(cuEventCreate)(&mark, CU_EVENT_DISABLE_TIMING));
    }
    void hand_over(CUstream from, CUstream to) const {
        check(record(mark, from));
        check(wait(to, mark, CU_EVENT_WAIT_DEFAULT));
    }
};

const Driver &driver() {
    static const Driver *const made = new Driver;
    return *made;
}

template <class Call> double nanoseconds(int calls, Call &&call) {
    driver();
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < calls; ++i)
        call();
    return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start)
               .count() /
           calls;
}

void launch(CUfunction kernel, void **arguments, CUstream stream) {
    check(driver().launch(kernel, 1, 1, 1, 128, 1, 1, 0, stream, arguments, nullptr));
}

double launches(CUfunction kernel, void **arguments, int calls) {
    return nanoseconds(calls, [&] { launch(kernel, arguments, driver().first); });
}

}  // namespace

extern "C" {

// Launches with four arguments. Returns: nanoseconds per launch, as all functions here.
__attribute__((visibility("default"))) double driver_launch(CUdeviceptr memory, int calls) {
    float x = 1;
    int n = 2;
    void *arguments[] = {&memory, &memory, &x, &n};
    return launches(driver().nothing, arguments, calls);
}

// Launches with the arguments of an Entrepot kernel of four arrays: the arrays and the range.
__attribute__((visibility("default"))) double driver_launch_of_four(CUdeviceptr memory, int calls) {
    long long range = 16;
    void *arguments[] = {&memory, &memory, &memory, &memory, &range};
    return launches(driver().nothing_to_four, arguments, calls);
}

// Launches with four arrays and the range. The launch waits for the legacy default stream, which
// then waits for it.
__attribute__((visibility("default"))) double driver_launch_between_waits(CUdeviceptr memory,
                                                                          int calls) {
    long long range = 16;
    void *arguments[] = {&memory, &memory, &memory, &memory, &range};
    return nanoseconds(calls, [&] {
        driver().hand_over(CU_STREAM_LEGACY, driver().first);
        launch(driver().nothing_to_four, arguments, driver().first);
        driver().hand_over(driver().first, CU_STREAM_LEGACY);
    });
}

// Launches with eight arrays and the range.
__attribute__((visibility("default"))) double driver_launch_of_eight(CUdeviceptr memory,
                                                                     int calls) {
    long long range = 16;
    void *arguments[] = {&memory, &memory, &memory, &memory, &memory,
                         &memory, &memory, &memory, &range};
    return launches(driver().nothing_to_eight, arguments, calls);
}

// Makes each of two streams wait for the other.
__attribute__((visibility("default"))) double driver_hand_over(int calls) {
    return nanoseconds(calls, [] {
        driver().hand_over(driver().first, driver().second);
        driver().hand_over(driver().second, driver().first);
    });
}

// Launches in each of two streams, each launch after the one before.
__attribute__((visibility("default"))) double driver_launch_there_and_back(CUdeviceptr memory,
                                                                           int calls) {
    float x = 1;
    int n = 2;
    void *arguments[] = {&memory, &memory, &x, &n};
    return nanoseconds(calls, [&] {
        driver().hand_over(driver().second, driver().first);
        launch(driver().nothing, arguments, driver().first);
        driver().hand_over(driver().first, driver().second);
        launch(driver().nothing, arguments, driver().second);
    });
}

// Submits work to the first stream.
__attribute__((visibility("default"))) void driver_work(CUdeviceptr memory, std::size_t bytes) {
    check(driver().fill(memory, 1, bytes, driver().first));
}
}
