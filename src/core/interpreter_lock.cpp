// The functions of the interpreter that the process has.
#include "core/interpreter_lock.hpp"

namespace entrepot {

constinit std::atomic<const InterpreterLock::Functions *> InterpreterLock::functions_{nullptr};

}  // namespace entrepot
