// Launches: the local ranges that they get.
#include <entrepot/kernel/runtime/launch.hpp>

#include <doctest/doctest.h>

#include <array>

#include "fake_backend.hpp"

namespace entrepot::kernel {
namespace {

using Extents = std::array<std::uint64_t, 3>;

// What a launch of that many work-items gets, of a kernel whose work-items beyond the range do nothing.
Extents rounded(const Device &device, const Extents &global) {
    Specialisation made;
    made.kernel = Program("scale", device).kernel("scale");
    made.compiled.parameters.push_back({CompiledParameter::What::global_size});
    ep_range range{};
    range.ndim = 3;
    std::ranges::copy(global, range.global);
    return std::to_array(fitted(made, range, device).local);
}

}  // namespace

TEST_CASE("groups that are rounded up keep to the device's limits in each dimension") {
    fake::make_devices(fake::world());
    std::ranges::copy(Extents{64, 256, 256}, fake::world().devices[0]->info.max_work_items);  // as CUDA's are: z, y, x
    const Device device = fake::device();
    CHECK(rounded(device, {1, 1, 5'000'000}) == Extents{1, 1, 256});
    CHECK(rounded(device, {4'000'000, 1, 1}) == Extents{64, 1, 4});
    CHECK(rounded(device, {5'000'000, 1, 1}) == Extents{64, 1, 4});
    CHECK(rounded(device, {1, 5'000'000, 1}) == Extents{1, 128, 2});
}

}  // namespace entrepot::kernel
