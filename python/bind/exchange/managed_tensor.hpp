// Managed tensors of other libraries as owners: their deleters are called with the GIL held, never on a driver's thread.
#pragma once
#include "../owner.hpp"

#include <entrepot/exchange/dlpack_abi.hpp>

namespace entrepot::python {

// Takes the tensor over. Deleters of Python libraries take the GIL themselves: on a thread of a driver, one would wait for a
// thread that waits for the driver.
template <class Managed> Owner keep_tensor(Managed *managed) noexcept {
    return Owner(managed, [](void *handle) {
        release_with_gil(handle, [](void *tensor) {
            auto *const held = static_cast<Managed *>(tensor);
            if (held->deleter)
                held->deleter(held);
        });
    });
}

}  // namespace entrepot::python
