#include "gil.hpp"

#include <entrepot/core/interpreter_lock.hpp>

namespace entrepot::python {
namespace {

void *release() noexcept { return holds_gil() ? PyEval_SaveThread() : nullptr; }

void acquire(void *released) {
    RestAfterTheEnd rest;
    PyEval_RestoreThread(static_cast<PyThreadState *>(released));
    rest.came_back();
}

constexpr InterpreterLock::Functions functions{release, acquire};

}  // namespace

void set_interpreter_lock() noexcept { InterpreterLock::set(&functions); }

}  // namespace entrepot::python
