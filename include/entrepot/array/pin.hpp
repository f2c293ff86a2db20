// Pinned arrays: host memory of any owner that a device uses in place.
#pragma once
#include <entrepot/array/array.hpp>

#pragma GCC visibility push(default)
namespace entrepot {

// Returns: the elements of `array`, of kind `host` on `device`, at the same address and in the same
//          Memory: work on both is ordered by one access log. The Memory stays pinned until it
//          ends. If the device reads memory of the process and its driver registers none, the
//          result is what Array::on_device returns. If the memory is host-accessible memory of
//          `device` already, it is `array`.
// Throws: Error(exchange) for memory of another device. Otherwise as memory/pin.hpp.
// Blocks: inside the driver.
Array pin(const Array &array, const Device &device);

}  // namespace entrepot
#pragma GCC visibility pop
