// Interrupt: asks the caller whether to continue long work, such as a compiler's run, and delivers warnings.
#pragma once
#include <entrepot/core/error.hpp>

namespace entrepot {

// Called without Python's lock, on the thread that waits. True: a person has pressed Ctrl-C, and what takes long ends with an
// error; who set the check knows what to make of that.
using InterruptCheck = bool (*)() noexcept;
void set_interrupt_check(InterruptCheck check) noexcept;

// False where nobody has set a check. Who is told so fails, as soon as its own work is put away.
bool is_interrupted() noexcept;

// Whether is_interrupted() has said so when it was asked last on this thread, and nobody has asked this since: it tells the
// failure that followed from others.
bool take_interruption() noexcept;

// Called without Python's lock, on the thread that deliver_warnings() is called on. True: the
// program has made an exception of the warning, as Python's filters can.
using WarningSink = bool (*)(const char *message) noexcept;
void set_warning_sink(WarningSink sink) noexcept;

// Keeps a warning until this thread is in no backend any more, and may run other code.
void warn_later(const char *message) noexcept;
// Throws Interrupted where the program has made an exception of it.
void deliver_warnings();

// What failed because it was interrupted, and nothing else.
class Interrupted : public Error {
public:
    using Error::Error;
};

}  // namespace entrepot
