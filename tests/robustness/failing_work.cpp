// Work that fails after it was submitted, on a queue of ours, as nothing in Python can make it: an exception in a host task.
#include <sycl/queue.hpp>

#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>

extern "C" void fail_later(sycl::queue *queue, const char *words) {
    queue->submit([words = std::string(words)](sycl::handler &handler) {
        handler.host_task([words] {
            std::this_thread::sleep_for(std::chrono::milliseconds(50));  // so that whoever comes next has to wait
            throw std::runtime_error(words);
        });
    });
}
