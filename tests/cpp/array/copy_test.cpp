// Copies and fills with arbitrary strides of axes of extent 1.
#include <entrepot/array/copy.hpp>
#include <entrepot/device/registry.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>

using namespace entrepot;

TEST_CASE("axis of extent 1 may have any stride, even overflowing") {
    const Queue queue = registry::host().default_queue();
    const std::int64_t items[] = {6}, shape[] = {1, 3};
    const Array whole = Array::empty(items, dtypes::int64, UsmKind::host, queue);
    const std::span values(static_cast<std::int64_t *>(whole.data()), 6);
    std::iota(values.begin(), values.end(), 0);
    for (const std::int64_t anything :
         {std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()}) {
        const std::int64_t strides[] = {anything, 2};
        const Array odd(whole.memory(), whole.data(), dtypes::int64, Layout(shape, strides));
        const Array copied = copy_to(odd, UsmKind::host, queue);
        copied.memory().wait_for_host(Access::read);
        CHECK(std::ranges::equal(std::span(static_cast<const std::int64_t *>(copied.data()), 3),
                                 std::array<std::int64_t, 3>{0, 2, 4}));
    }
    const std::int64_t strides[] = {std::numeric_limits<std::int64_t>::max(), 2};
    const std::int64_t nine = 9;
    fill(Array(whole.memory(), whole.data(), dtypes::int64, Layout(shape, strides)),
         std::as_bytes(std::span(&nine, 1)));
    whole.memory().wait_for_host(Access::read);
    CHECK(std::ranges::equal(values, std::array<std::int64_t, 6>{9, 1, 9, 3, 9, 5}));
}
