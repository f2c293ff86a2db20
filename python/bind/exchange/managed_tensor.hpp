// Managed tensors of other libraries as owners. Their deleters run with the
// GIL, never on a driver thread.
#pragma once
#include "../memory/owner.hpp"
#include "../support/errors.hpp"

#include <entrepot/exchange/dlpack_abi.hpp>

namespace entrepot::python {

// Saves a pending exception: unlike Python destructors, deleters do not expect one.
template <class Managed> void call_deleter(void *tensor) {
    auto *const managed = static_cast<Managed *>(tensor);
    const SetErrorAside aside;
    if (managed->deleter)
        managed->deleter(managed);
}

// Takes ownership of the tensor. Deleters of Python libraries take the GIL. On a driver thread that
// would deadlock with a thread that holds the GIL and waits for the driver.
template <class Managed> Owner keep_tensor(Managed *managed) noexcept {
    return Owner(managed, release_with_gil<call_deleter<Managed>>);
}

}  // namespace entrepot::python
