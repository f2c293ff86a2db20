// Managed tensors of other libraries as owners: their deleters are called with the GIL held, never on a driver's thread.
#pragma once
#include "../errors.hpp"
#include "../owner.hpp"

#include <entrepot/exchange/dlpack_abi.hpp>

namespace entrepot::python {

// Deleters do not know, as Python's own destructors do, that an exception may be on its way.
template <class Managed> void call_deleter(void *tensor) {
    auto *const managed = static_cast<Managed *>(tensor);
    const SetErrorAside aside;
    if (managed->deleter)
        managed->deleter(managed);
}

// Takes the tensor over. Deleters of Python libraries take the GIL themselves: on a thread of a driver, one would wait for a
// thread that waits for the driver.
template <class Managed> Owner keep_tensor(Managed *managed) noexcept {
    return Owner(managed, release_with_gil<call_deleter<Managed>>);
}

}  // namespace entrepot::python
