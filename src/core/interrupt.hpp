// Interrupt: asks if long work, such as a compiler's run, should end, and delivers warnings.
#pragma once
#include <entrepot/core/error.hpp>

#pragma GCC visibility push(default)
namespace entrepot {

// Returns true after Ctrl-C; the work then ends with an error, which the code that set the check
// interprets.
//
// GIL: called without it, on the waiting thread.
using InterruptCheck = bool (*)() noexcept;
void set_interrupt_check(InterruptCheck check) noexcept;

// Asks the check; false if none is set. A caller that gets true must clean up and fail.
bool is_interrupted() noexcept;

// True if the last is_interrupted() on this thread was true; resets that. It distinguishes the
// resulting failure from others.
bool take_interruption() noexcept;

// Returns true if the program turns the warning into an exception, as Python's filters can.
//
// GIL: called without it, on the thread that calls deliver_warnings().
using WarningSink = bool (*)(const char *message) noexcept;
void set_warning_sink(WarningSink sink) noexcept;

// Keeps a warning until this thread has left the backends and may run other code.
void warn_later(const char *message) noexcept;
// Throws Interrupted if the program has turned the warning into an exception.
void deliver_warnings();

// An error caused by an interruption, or by a warning that became an exception.
class Interrupted : public Error {
public:
    using Error::Error;
};

}  // namespace entrepot
#pragma GCC visibility pop
