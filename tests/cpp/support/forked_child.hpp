// holds_in_child: runs part of a test in a forked child.
#pragma once
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

namespace entrepot {

// Runs the body in a forked child, which is killed if it hangs. Returns: true if the body returned
// true.
template <class Body> bool holds_in_child(Body &&body, unsigned seconds = 60) {
    const pid_t child = fork();
    if (child == 0) {
        alarm(seconds);
        bool holds = false;
        try {
            holds = body();
        } catch (...) {
        }
        _exit(holds ? 0 : 1);
    }
    int status = -1;
    return waitpid(child, &status, 0) == child && status == 0;
}

// Forks 50 children while another thread calls `work` again and again. Returns: true if the body
// returned true in all of them.
template <class Work, class Body> bool holds_in_children_beside(Work &&work, Body &&body) {
    std::atomic<bool> stop{false};
    std::thread busy([&] {
        while (!stop)
            work();
    });
    int failed = 0;
    for (int i = 0; i < 50; ++i)
        failed += !holds_in_child(body);
    stop = true;
    busy.join();
    return failed == 0;
}

}  // namespace entrepot
