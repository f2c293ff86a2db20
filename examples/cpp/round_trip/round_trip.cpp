// Copies numbers of the host to a device and back, in the order that the access log keeps.
//
//     round_trip [DEVICE]
#include <entrepot/array/array.hpp>
#include <entrepot/array/copy.hpp>
#include <entrepot/device/registry.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <exception>
#include <iostream>
#include <numeric>

int main(int argc, char **argv) try {
    using namespace entrepot;
    const Device device = registry::select(argc > 1 ? argv[1] : "host");

    const std::array<std::int64_t, 1> shape{6};
    const Array numbers =
        Array::empty(shape, dtypes::int32, UsmKind::host, registry::host().default_queue());
    auto *const first = static_cast<std::int32_t *>(numbers.data());
    std::iota(first, first + 6, 0);

    const Array on_device = copy_to(numbers, UsmKind::device, device.default_queue());
    // The device may still read the numbers. Entrepot's own operations are ordered after that, but
    // the access log does not see a write through a pointer.
    numbers.memory().wait_for_host(Access::write);
    std::fill(first, first + 6, -1);
    copy(numbers, on_device).wait();
    std::cout << device << ':';
    for (int i = 0; i < 6; ++i)
        std::cout << ' ' << first[i];
    std::cout << '\n';
    return 0;
} catch (const std::exception &error) {
    std::cerr << error.what() << '\n';
    return 1;
}
