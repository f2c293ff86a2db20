// Repeats a system call that a signal has interrupted.
#pragma once
#include <cerrno>

namespace entrepot {

// Returns: the result of `call`, which is -1 with errno set if it fails.
// Requires: the call has no timeout, which would restart.
template <class Call> auto uninterrupted(Call &&call) {
    auto result = call();
    while (result == -1 && errno == EINTR)
        result = call();
    return result;
}

}  // namespace entrepot
