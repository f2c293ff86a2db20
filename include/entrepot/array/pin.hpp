// Pinned arrays: host memory of any owner that a device uses in place.
#pragma once
#include <entrepot/array/array.hpp>

#pragma GCC visibility push(default)
namespace entrepot {

// Returns: the elements of `array`, of kind `host` on `device`, at the same address. The memory
//          stays pinned until the last reference to the result is dropped. If the device reads all
//          memory of the process, the result is a view (Array::on_device). For host-accessible
//          memory of `device`, it is `array`.
// Throws: Error(exchange) for memory of another device, and as entrepot::pin of memory/pin.hpp.
// Blocks: until pending work on the memory is done, and inside the driver.
//
// The result has an access log of its own. Later work on `array` is not ordered with it.
Array pin(const Array &array, const Device &device);

}  // namespace entrepot
#pragma GCC visibility pop
