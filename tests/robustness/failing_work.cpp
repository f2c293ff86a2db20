// Work that fails after it was submitted, on a queue of ours, as nothing in Python can make it: an exception in a host task.
#include <sycl/queue.hpp>

#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>

static sycl::event fail(sycl::queue *queue, const char *words, int milliseconds) {
    return queue->submit([words = std::string(words), milliseconds](sycl::handler &handler) {
        handler.host_task([words, milliseconds] {
            std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
            throw std::runtime_error(words);
        });
    });
}

// Whoever comes next has to wait for it.
extern "C" void fail_later(sycl::queue *queue, const char *words) { fail(queue, words, 50); }

// It has failed when this returns, and nobody was told.
extern "C" void fail_at_once(sycl::queue *queue, const char *words) { fail(queue, words, 0).wait(); }
