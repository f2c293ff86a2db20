// Pinned arrays: host memory of any owner that a device uses in place.
#pragma once
#include <entrepot/array/array.hpp>

#pragma GCC visibility push(default)
namespace entrepot {

// Returns: the elements of `array`, of kind `host` on `device`, at the same address. The memory
//          stays pinned until the last reference to the result is dropped. If the device reads the
//          memory of the process as it is, the result is what Array::on_device returns. If the
//          memory is host-accessible memory of `device` already, it is `array`.
// Throws: Error(exchange) for memory of another device. Otherwise as memory/pin.hpp.
// Blocks: until pending work on the memory is done, and inside the driver.
//
// The result has an access log of its own. Later work on `array` is not ordered with it.
Array pin(const Array &array, const Device &device);

}  // namespace entrepot
#pragma GCC visibility pop
