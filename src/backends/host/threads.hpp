// Threads of the host backend.
#pragma once
#include <csignal>
#include <pthread.h>

#include <exception>
#include <thread>
#include <utility>

namespace entrepot::backends::host {

// Starts a detached thread. Signals are handled by the program's own threads: the new thread
// inherits a mask that blocks all.
// Returns: false if the system has no thread left.
template <class Run> bool start_thread(Run run) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool is_started = true;
    try {
        std::thread(std::move(run)).detach();
    } catch (const std::exception &) {  // std::system_error, or out of memory
        is_started = false;
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return is_started;
}

}  // namespace entrepot::backends::host
