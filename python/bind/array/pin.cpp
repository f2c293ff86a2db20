// pin: host memory of any object that is imported, used by a device in place.
#include <entrepot/array/pin.hpp>

#include "../array_object/array_object.hpp"
#include "../exchange/routes.hpp"
#include "../memory/placement.hpp"
#include "../support/guarded.hpp"
#include "../support/parameters.hpp"
#include "methods.hpp"

namespace entrepot::python {
namespace {

const Parameters of_pin("pin", 1, 1, {"x", "device"});

}  // namespace

PyObject *pin(PyObject *, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    return guarded([&] {
        const auto [object, device] = of_pin.read(args, nargs, kwnames);
        const Placement where = placement_from(device, nullptr, nullptr);
        const Array array = is_array(object) ? array_of(object) : import_array(object, {});
        return wrap(entrepot::pin(array, where.queue.device()));
    });
}

}  // namespace entrepot::python
