// Work that fails after submission to an Entrepot queue. Python cannot make it: a host task that
// throws.
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

// Fails 50 ms later, in whichever call next waits for the queue.
extern "C" void fail_later(sycl::queue *queue, const char *words) { fail(queue, words, 50); }

// Has failed when this returns; no call has reported the error yet.
extern "C" void fail_at_once(sycl::queue *queue, const char *words) {
    fail(queue, words, 0).wait();
}
