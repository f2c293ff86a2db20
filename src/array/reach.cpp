#include "array/reach.hpp"
#include "core/interpreter_lock.hpp"

namespace entrepot {
namespace {

// True for default contexts of one backend that copies between them; other contexts share nothing.
bool are_peers(const Queue &queue, const Array &array) {
    return &array.context().backend() == &queue.backend() && queue.device().has(EP_PEER_COPIES) &&
           queue.context().is_default() && array.context().is_default();
}

}  // namespace

[[gnu::hot]] bool reaches(const Queue &queue, const Array &array) {
    if (array.context() == queue.context() ||
        (array.is_host_accessible() && queue.device().has(EP_READS_HOST_MEMORY)))
        return true;
    if (!are_peers(queue, array))
        return false;
    if (array.is_host_accessible())
        return true;
    if (!queue.device().can_access(array.device()))
        return false;
    const InterpreterLock::Released released;
    queue.backend().call(&ep_backend::peer_enable_access, queue.context().handle(),
                         array.device().handle());
    return true;
}

}  // namespace entrepot
