// from_address: an Array of memory that is given by its address, with an optional owner or deleter.
#include <exchange/address.hpp>

#include "../array_object/array_object.hpp"
#include "../core/dtype.hpp"
#include "../memory/deleter.hpp"
#include "../memory/placement.hpp"
#include "../support/errors.hpp"
#include "../support/guarded.hpp"
#include "../support/parameters.hpp"
#include "../support/reference.hpp"
#include "../support/release.hpp"
#include "create.hpp"
#include "methods.hpp"

namespace entrepot::python {
namespace {

const Parameters of_from_address("from_address", 3, 3,
                                 {"address", "shape", "dtype", "strides", "device", "queue",
                                  "read_only", "owner", "deleter"});

void *first_element(PyObject *address) {
    if (PyBool_Check(address) || !PyIndex_Check(address))
        throw Error(ErrorKind::type, "from_address: the address must be an int, not a ",
                    Py_TYPE(address)->tp_name);
    return address_from(checked(PyNumber_Index(address)).get(), "first argument");
}

Deleter deleter_from(PyObject *owner, PyObject *deleter, void *address) {
    if (owner && deleter)
        throw Error(
            ErrorKind::value,
            "from_address: owner and deleter were both given, and memory is released in one way "
            "only: ",
            "by dropping the owner, or by calling the deleter, which may hold what it needs");
    return owner     ? Deleter::of_owner(owner)
           : deleter ? Deleter::of_object(deleter, address)
                     : Deleter();
}

}  // namespace

PyObject *from_address(PyObject *, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    return guarded([&] {
        drain_released();
        const auto [address, shape, dtype, strides, device, queue, read_only, owner, deleter] =
            of_from_address.read(args, nargs, kwnames);
        address::Descriptor what;
        what.data = first_element(address);
        what.dtype = dtype_from(dtype);
        const std::vector<std::int64_t> extents = extents_from(shape);
        what.layout =
            unless_none(strides) ? Layout(extents, extents_from(strides)) : Layout(extents);
        what.read_only = is_true(read_only);
        if (unless_none(device) || unless_none(queue)) {
            Placement where = placement_from(device, nullptr, queue);
            what.device = where.queue.device();
            if (unless_none(queue))
                what.queue = std::move(where.queue);
        }
        Deleter last = deleter_from(unless_none(owner), unless_none(deleter), what.data);
        PyObject *const array = wrap(address::verify(std::move(what), std::move(last.owner)));
        if (array)
            last.arm();
        return array;
    });
}

}  // namespace entrepot::python
