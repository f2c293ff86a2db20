// holds_in_child: runs part of a test in a forked child.
#pragma once
#include <sys/wait.h>
#include <unistd.h>

namespace entrepot {

// Runs the body in a forked child, which is killed if it hangs. Returns: true if the body returned
// true.
template <class Body> bool holds_in_child(Body &&body) {
    const pid_t child = fork();
    if (child == 0) {
        alarm(20);
        _exit(body() ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace entrepot
