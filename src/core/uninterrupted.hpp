// uninterrupted: a system call that is made again when a signal has ended it.
#pragma once
#include <cerrno>

namespace entrepot {

// Returns: what `call` returns, which is -1 with errno set where it fails. Not for calls whose
// timeout would begin anew.
template <class Call> auto uninterrupted(Call &&call) {
    auto result = call();
    while (result == -1 && errno == EINTR)
        result = call();
    return result;
}

}  // namespace entrepot
