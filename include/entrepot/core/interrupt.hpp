// Interrupt: how who called is asked whether it still wants what takes long, as a compiler's run.
#pragma once

namespace entrepot {

// Called without Python's lock, on the thread that waits. True: a person has pressed Ctrl-C, and what takes long ends with an
// error; who set the check knows what to make of that.
using InterruptCheck = bool (*)() noexcept;
void set_interrupt_check(InterruptCheck check) noexcept;

// False where nobody has set a check.
bool is_interrupted() noexcept;

}  // namespace entrepot
