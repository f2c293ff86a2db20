#include "gil.hpp"

#include <core/interpreter_lock.hpp>

namespace entrepot::python {
namespace {

void *release() noexcept { return holds_gil() ? PyEval_SaveThread() : nullptr; }

void acquire(void *released) { reacquire_gil(static_cast<PyThreadState *>(released)); }

constexpr InterpreterLock::Functions functions{release, acquire, holds_gil};

}  // namespace

void set_interpreter_lock() noexcept { InterpreterLock::set(&functions); }

}  // namespace entrepot::python
