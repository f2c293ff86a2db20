// Layout: the addresses of every view, on random layouts and at the edges of 64 bits.
#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>
#include <set>
#include <sstream>
#include <type_traits>
#include <utility>
#include <vector>

#include <entrepot/core/layout.hpp>

#include "refusal.hpp"

using namespace entrepot;

namespace {

using Numbers = std::vector<std::int64_t>;
using Kind = IndexEntry::Kind;

constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max(),
                       smallest = std::numeric_limits<std::int64_t>::min();

Numbers numbers(Extents extents) { return {extents.begin(), extents.end()}; }

// Addresses of all elements, the last axis fastest, computed from shape and strides alone.
Numbers addresses(const Layout &layout, std::int64_t offset = 0) {
    Numbers found{offset};
    for (std::size_t axis = 0; axis < layout.ndim(); ++axis) {
        Numbers next;
        for (const std::int64_t address : found)
            for (std::int64_t i = 0; i < layout.shape()[axis]; ++i)
                next.push_back(address + i * layout.strides()[axis]);
        found = std::move(next);
    }
    return found;
}

class Random {
public:
    explicit Random(unsigned seed) : engine_(seed) {}

    std::int64_t between(std::int64_t low, std::int64_t high) {
        return std::uniform_int_distribution<std::int64_t>(low, high)(engine_);
    }

    // Returns: a layout that is small enough to list all addresses. Extents of 0 and 1 occur, and
    //          negative, broadcast and overlapping strides.
    Layout layout() {
        Numbers shape, strides;
        for (std::int64_t axis = between(0, 6); axis > 0; --axis) {
            shape.push_back(between(0, 40) == 0 ? 0 : between(1, 4));
            strides.push_back(between(-12, 12));
        }
        if (between(0, 1) == 0)
            return Layout(shape, strides);
        Layout regular(shape);
        std::vector<std::int64_t> axes(shape.size());
        std::iota(axes.begin(), axes.end(), 0);
        if (between(0, 1) == 0)
            std::shuffle(axes.begin(), axes.end(), engine_);
        Layout moved = regular.transposed(axes);
        Numbers stepped = numbers(moved.strides());
        for (std::int64_t &stride : stepped)
            stride *= between(0, 3) == 0 ? between(-2, 2) : 1;
        return Layout(moved.shape(), stepped);
    }

    std::mt19937 &engine() { return engine_; }

private:
    std::mt19937 engine_;
};

// Python's slice, one element after the other.
Numbers positions(const IndexEntry &slice, std::int64_t extent) {
    const auto from_end = [&](std::int64_t bound) { return bound < 0 ? bound + extent : bound; };
    Numbers found;
    if (slice.step > 0)
        for (std::int64_t i = std::max<std::int64_t>(from_end(slice.start), 0);
             i < extent && i < from_end(slice.stop); i += slice.step)
            found.push_back(i);
    else
        for (std::int64_t i = std::min(from_end(slice.start), extent - 1);
             i >= 0 && i > from_end(slice.stop); i += slice.step)
            found.push_back(i);
    return found;
}

// True if strides exist that give the addresses in order, as NumPy's reshape requires.
bool some_strides_name(const Numbers &wanted, const Numbers &shape) {
    Numbers strides(shape.size(), 0);
    std::int64_t below = 1;
    for (std::size_t axis = shape.size(); axis-- > 0;) {
        if (shape[axis] > 1)
            strides[axis] = wanted[static_cast<std::size_t>(below)] - wanted[0];
        below *= shape[axis];
    }
    return addresses(Layout(shape, strides), wanted[0]) == wanted;
}

// Returns: a random shape of `size` elements, some of its extents 1.
Numbers random_factors(std::int64_t size, Random &random) {
    Numbers shape;
    while (size > 1) {
        std::int64_t factor = random.between(1, std::min<std::int64_t>(size, 8));
        while (size % factor != 0)
            --factor;
        shape.push_back(factor);
        size /= factor;
    }
    std::shuffle(shape.begin(), shape.end(), random.engine());
    return shape;
}

IndexEntry at(std::int64_t i) { return {Kind::integer, i}; }
IndexEntry slice(std::int64_t start, std::int64_t stop, std::int64_t step = 1) {
    return {Kind::slice, start, stop, step};
}
constexpr IndexEntry newaxis{Kind::newaxis}, ellipsis{Kind::ellipsis},
    whole{Kind::slice, 0, largest, 1};

}  // namespace

static_assert(std::is_nothrow_move_constructible_v<Layout> &&
              std::is_nothrow_move_assignable_v<Layout>);

TEST_CASE("C-contiguous strides are recognized for any number of axes") {
    for (std::size_t ndim = 0; ndim <= 6; ++ndim) {
        const Numbers shape(ndim, 3);
        const Layout regular(shape);
        CHECK(regular.is_packed());
        CHECK(Layout(shape, regular.strides()).is_packed());
        CHECK(Layout(shape, regular.strides()) == regular);
        for (std::size_t axis = 0; axis < ndim; ++axis) {
            Numbers strides = numbers(regular.strides()), empty = shape, negative = shape;
            ++strides[axis];
            const Layout other(shape, strides);
            CHECK(!other.is_packed());
            CHECK(numbers(other.shape()) == shape);
            CHECK(numbers(other.strides()) == strides);
            CHECK(other.size() == regular.size());
            empty[axis] = 0;
            CHECK(Layout(empty, regular.strides()).size() == 0);
            CHECK(numbers(Layout(empty, regular.strides()).strides()) ==
                  numbers(regular.strides()));
            negative[axis] = -3;
            CHECK_REFUSED(ErrorKind::value, "negative", Layout(negative, regular.strides()));
        }
    }
    const Numbers shape{3, std::int64_t{1} << 61, 2}, strides{std::int64_t{1} << 62, 2, 1};
    CHECK_REFUSED(ErrorKind::overflow, "too many elements", Layout(shape, strides));
}

TEST_CASE("C-contiguous layout has NumPy's strides, also if empty") {
    CHECK(numbers(Layout{4, 3}.strides()) == Numbers{3, 1});
    CHECK(numbers(Layout{3, 0, 4}.strides()) == Numbers{4, 4, 1});
    CHECK(Layout{3, 0, 4}.size() == 0);
    CHECK(Layout().ndim() == 0);
    CHECK(Layout().size() == 1);
    CHECK(Layout{5}.size() == 5);
}

TEST_CASE("layouts survive copies, moves and self-assignment") {
    for (std::size_t ndim = 0; ndim <= Layout::max_ndim; ++ndim) {
        CAPTURE(ndim);
        Numbers shape(ndim, 1), strides(ndim);
        std::iota(strides.begin(), strides.end(), 7);
        if (ndim > 0)
            shape[ndim / 2] = 3;
        const Layout original(shape, strides);
        CHECK(numbers(original.shape()) == shape);
        CHECK(numbers(original.strides()) == strides);
        CHECK(original.size() == (ndim > 0 ? 3 : 1));

        Layout copy(original);
        CHECK(copy == original);
        Layout moved(std::move(copy));
        CHECK(moved == original);
        CHECK(copy == Layout());
        CHECK(copy.size() == 1);

        Layout &same = moved;
        moved = same;
        CHECK(moved == original);
        moved = std::move(same);
        CHECK(moved == original);

        for (const std::size_t other_ndim :
             {std::size_t{0}, std::size_t{2}, std::size_t{5}, std::size_t{9}}) {
            Layout target{Numbers(other_ndim, 2)};
            target = original;
            CHECK(target == original);
            Layout other{Numbers(other_ndim, 2)};
            other = std::move(target);
            CHECK(other == original);
            CHECK(other.size() == original.size());
            CHECK(target == Layout());
        }
    }
}

TEST_CASE("layouts are equal by shape and strides") {
    CHECK(Layout{2, 3} == Layout{2, 3});
    CHECK(Layout{2, 3} != Layout{3, 2});
    CHECK(Layout{2, 3} != Layout{2, 3, 1});
    CHECK(Layout{2, 3} != Layout{2, 3}.transposed({}));
    CHECK(Layout(Numbers{1}, Numbers{1}) != Layout(Numbers{1}, Numbers{2}));
}

TEST_CASE("invalid shapes are refused") {
    CHECK_REFUSED(ErrorKind::value, "axis 1 of shape (2, -3)", Layout{2, -3});
    CHECK_REFUSED(ErrorKind::value, "axis 0", Layout(Numbers{-1}, Numbers{1}));
    CHECK_REFUSED(ErrorKind::value, "axis 1", Layout(Numbers{0, smallest}, Numbers{1, 1}));
    CHECK_REFUSED(ErrorKind::value, "65 dimensions", Layout(Numbers(65, 1)));
    CHECK_REFUSED(ErrorKind::value, "65 dimensions", Layout(Numbers(65, 1), Numbers(65, 1)));
    CHECK_REFUSED(ErrorKind::value, "differ in length", Layout(Numbers{2, 3}, Numbers{1}));
    CHECK_REFUSED(ErrorKind::value, "negative", Layout(Numbers{1, 1, 1, 1, 1, -1}));
}

TEST_CASE("element counts fit 64 bits, ignoring zeros as in NumPy") {
    constexpr std::int64_t half = std::int64_t{1} << 32;
    CHECK(Layout{largest}.size() == largest);
    CHECK(Layout{half, half / 2 - 1}.size() == half * (half / 2 - 1));
    CHECK_REFUSED(ErrorKind::overflow, "too many elements", Layout{half, half / 2});
    CHECK_REFUSED(ErrorKind::overflow, "too many elements", Layout{half, 0, half});
    CHECK_REFUSED(ErrorKind::overflow, "too many elements",
                  Layout(Numbers{half, half}, Numbers{0, 0}));
    CHECK_REFUSED(ErrorKind::overflow, "too many elements",
                  Layout(Numbers{half, half, 1, 1, 1, 1}));
}

TEST_CASE("reach of strides fits 64 bits unless empty") {
    CHECK(Layout(Numbers{2}, Numbers{largest}).size() == 2);
    CHECK(Layout(Numbers{2}, Numbers{-largest}).size() == 2);
    CHECK(Layout(Numbers{1, 1}, Numbers{largest, smallest}).size() == 1);
    CHECK(Layout(Numbers{0, 5}, Numbers{largest, smallest}).size() == 0);
    CHECK_REFUSED(ErrorKind::overflow, "reach further", Layout(Numbers{2}, Numbers{smallest}));
    CHECK_REFUSED(ErrorKind::overflow, "reach further", Layout(Numbers{3}, Numbers{largest}));
    CHECK_REFUSED(ErrorKind::overflow, "reach further", Layout(Numbers{2, 2}, Numbers{largest, 1}));
    CHECK_REFUSED(ErrorKind::overflow, "reach further",
                  Layout(Numbers{2, 2}, Numbers{largest, -1}));
    CHECK_REFUSED(ErrorKind::overflow, "reach further",
                  Layout(Numbers{1, 1, 1, 1, 3}, Numbers{0, 0, 0, 0, largest}));
}

TEST_CASE("byte count includes repeated elements, and fits 64 bits") {
    CHECK(Layout{4, 3}.nbytes(8) == 96);
    CHECK(Layout(Numbers{1000}, Numbers{0}).nbytes(8) == 8000);
    CHECK_REFUSED(ErrorKind::overflow, "more bytes", Layout{largest}.nbytes(2));
}

TEST_CASE("byte range covers the addresses of the elements") {
    Random random(1);
    for (int round = 0; round < 3000; ++round) {
        const Layout layout = random.layout();
        CAPTURE(layout);
        const std::int64_t itemsize = random.between(1, 16);
        const ByteRange range = layout.byte_range(itemsize);
        const Numbers named = addresses(layout);
        if (named.empty()) {
            CHECK(range.size() == 0);
            continue;
        }
        CHECK(range.begin == *std::min_element(named.begin(), named.end()) * itemsize);
        CHECK(range.end == (*std::max_element(named.begin(), named.end()) + 1) * itemsize);
    }
    CHECK_REFUSED(ErrorKind::overflow, "reaches further",
                  Layout(Numbers{2}, Numbers{largest}).byte_range(1));
    CHECK_REFUSED(ErrorKind::overflow, "reaches further",
                  Layout(Numbers{2}, Numbers{largest / 2}).byte_range(4));
    CHECK_REFUSED(ErrorKind::overflow, "reaches further",
                  Layout(Numbers{2, 2}, Numbers{largest / 2, -largest / 2}).byte_range(2));
    CHECK_REFUSED(ErrorKind::overflow, "reaches further",
                  Layout(Numbers{2}, Numbers{-largest}).byte_range(1));
    CHECK(Layout(Numbers{2}, Numbers{1 - largest}).byte_range(1).size() == largest);
}

TEST_CASE("contiguity follows NumPy's rules") {
    const auto contiguous = [](const Layout &layout) {
        return std::pair(layout.is_c_contiguous(), layout.is_f_contiguous());
    };
    CHECK(contiguous(Layout()) == std::pair(true, true));
    CHECK(contiguous(Layout{7}) == std::pair(true, true));
    CHECK(contiguous(Layout{4, 3}) == std::pair(true, false));
    CHECK(contiguous(Layout{4, 3}.transposed({})) == std::pair(false, true));
    CHECK(contiguous(Layout(Numbers{4, 1, 3}, Numbers{3, -99, 1})) == std::pair(true, false));
    CHECK(contiguous(Layout(Numbers{1, 5, 1}, Numbers{0, 1, 77})) == std::pair(true, true));
    CHECK(contiguous(Layout(Numbers{3, 0}, Numbers{5, -2})) == std::pair(true, true));
    CHECK(contiguous(Layout(Numbers{5}, Numbers{2})) == std::pair(false, false));
    CHECK(contiguous(Layout(Numbers{5}, Numbers{-1})) == std::pair(false, false));
    CHECK(contiguous(Layout(Numbers{2, 5}, Numbers{0, 1})) == std::pair(false, false));

    Random random(2);
    for (int round = 0; round < 3000; ++round) {
        const Layout layout = random.layout();
        CAPTURE(layout);
        Numbers dense(static_cast<std::size_t>(layout.size()));
        std::iota(dense.begin(), dense.end(), 0);
        CHECK(layout.is_c_contiguous() == (addresses(layout) == dense));
        CHECK(layout.is_f_contiguous() == (addresses(layout.transposed({})) == dense));
    }
}

TEST_CASE("layout reported as disjoint does not overlap itself") {
    Random random(3);
    int overlapping = 0, apart = 0;
    for (int round = 0; round < 5000; ++round) {
        const Layout layout = random.layout();
        CAPTURE(layout);
        const Numbers named = addresses(layout);
        const bool overlaps = std::set(named.begin(), named.end()).size() != named.size();
        if (overlaps)
            CHECK(layout.may_overlap_itself());
        overlapping += overlaps;
        apart += !layout.may_overlap_itself();
    }
    CHECK(overlapping > 100);
    CHECK(apart > 100);

    CHECK(!Layout{4, 3}.may_overlap_itself());
    CHECK(!Layout(Numbers{4, 3}, Numbers{-1, 4}).may_overlap_itself());
    CHECK(!Layout(Numbers{4, 1}, Numbers{1, 0}).may_overlap_itself());
    CHECK(Layout(Numbers{4, 3}, Numbers{1, 3}).may_overlap_itself());
    CHECK(Layout(Numbers{4}, Numbers{0}).may_overlap_itself());
    CHECK(!Layout(Numbers{1}, Numbers{smallest}).may_overlap_itself());
}

TEST_CASE("index selects the same elements as in Python") {
    Random random(4);
    int entries = 0;
    for (int round = 0; round < 20000; ++round) {
        const Layout layout = random.layout();
        std::vector<IndexEntry> index;
        // Selected positions for each axis of the source, and the resulting shape.
        std::vector<Numbers> taken;
        Numbers shape;
        const std::size_t ellipsis_at = static_cast<std::size_t>(random.between(0, 8));
        const std::size_t skipped = static_cast<std::size_t>(random.between(0, 2));
        const auto take_whole = [&](std::size_t axes) {
            for (; axes > 0 && taken.size() < layout.ndim(); --axes) {
                taken.emplace_back(static_cast<std::size_t>(layout.shape()[taken.size()]));
                std::iota(taken.back().begin(), taken.back().end(), 0);
                shape.push_back(layout.shape()[taken.size() - 1]);
            }
        };
        bool shortened = false;
        while (taken.size() < layout.ndim() && !shortened) {
            const std::size_t axis = taken.size();
            const std::int64_t extent = layout.shape()[axis];
            if (axis == ellipsis_at && skipped <= layout.ndim() - axis &&
                std::none_of(index.begin(), index.end(), [](const IndexEntry &entry) {
                    return entry.kind == Kind::ellipsis;
                })) {
                index.push_back(ellipsis);
                take_whole(skipped);
                continue;
            }
            switch (random.between(0, 7)) {
            case 0:
                index.push_back(newaxis);
                shape.push_back(1);
                break;
            case 1:
            case 2:
                if (extent > 0) {
                    index.push_back(at(random.between(-extent, extent - 1)));
                    const std::int64_t i = index.back().start;
                    taken.push_back({i < 0 ? i + extent : i});
                }
                break;
            case 3:
                // Without an ellipsis, further entries may be omitted.
                shortened = std::none_of(index.begin(), index.end(), [](const IndexEntry &entry) {
                    return entry.kind == Kind::ellipsis;
                });
                break;
            default: {
                const auto bound = [&](std::int64_t sentinel) {
                    return random.between(0, 3) == 0 ? sentinel : random.between(-6, 6);
                };
                std::int64_t step = random.between(-3, 3);
                step = step == 0 ? (random.between(0, 1) == 0 ? largest : -largest) : step;
                // The sentinels are those of PySlice_Unpack for None.
                const std::int64_t start = bound(step > 0 ? 0 : largest),
                                   stop = bound(step > 0 ? largest : smallest);
                index.push_back(slice(start, stop, step));
                // The reference steps by addition: a step over the whole axis is the same as the
                // largest.
                IndexEntry small = index.back();
                small.step = std::clamp<std::int64_t>(step, -100, 100);
                taken.push_back(positions(small, extent));
                shape.push_back(static_cast<std::int64_t>(taken.back().size()));
            }
            }
        }
        take_whole(layout.ndim());
        entries += static_cast<int>(index.size());

        Numbers expected{0};
        for (std::size_t axis = 0; axis < layout.ndim(); ++axis) {
            Numbers next;
            for (const std::int64_t address : expected)
                for (const std::int64_t i : taken[axis])
                    next.push_back(address + i * layout.strides()[axis]);
            expected = std::move(next);
        }

        const Layout::View view = layout.select(index);
        CAPTURE(layout);
        CAPTURE(view.layout);
        CHECK(numbers(view.layout.shape()) == shape);
        CHECK(view.layout.size() == static_cast<std::int64_t>(expected.size()));
        CHECK(addresses(view.layout, view.offset) == expected);
        if (expected.empty())
            CHECK(view.offset == 0);
    }
    CHECK(entries > 20000);
}

TEST_CASE("view of a view equals one index, with NumPy's strides") {
    const Layout::View view =
        Layout{5, 6}.select(std::vector{slice(largest, smallest, -2), newaxis, slice(1, 5, 3)});
    CHECK(numbers(view.layout.shape()) == Numbers{3, 1, 2});
    CHECK(numbers(view.layout.strides()) == Numbers{-12, 0, 3});
    CHECK(view.offset == 25);
    CHECK(Layout{5, 6}.select({}).layout == Layout{5, 6});
    CHECK(Layout().select(std::vector{ellipsis}).layout == Layout());
    CHECK(numbers(Layout().select(std::vector{newaxis, ellipsis, newaxis}).layout.shape()) ==
          Numbers{1, 1});
}

TEST_CASE("invalid indices are refused") {
    const Layout layout{4, 3};
    CHECK_REFUSED(ErrorKind::index, "index 3 is out of bounds for axis 1 of extent 3",
                  layout.select(std::vector{whole, at(3)}));
    CHECK_REFUSED(ErrorKind::index, "index -5 is out of bounds for axis 0 of extent 4",
                  layout.select(std::vector{at(-5)}));
    CHECK_REFUSED(ErrorKind::index, "axis 1", layout.select(std::vector{ellipsis, at(smallest)}));
    CHECK_REFUSED(ErrorKind::index, "axis 1",
                  layout.select(std::vector{newaxis, at(0), at(largest)}));
    CHECK_REFUSED(ErrorKind::index, "2-dimensional, but 3 were given",
                  layout.select(std::vector{at(0), whole, at(0)}));
    CHECK_REFUSED(ErrorKind::index, "single ellipsis",
                  layout.select(std::vector{ellipsis, ellipsis}));
    CHECK_REFUSED(ErrorKind::index, "65 dimensions", layout.select(std::vector(63, newaxis)));
    CHECK(layout.select(std::vector(62, newaxis)).layout.ndim() == 64);
    CHECK_REFUSED(ErrorKind::value, "step cannot be zero",
                  layout.select(std::vector{slice(0, 1, 0)}));
    CHECK_REFUSED(ErrorKind::index, "extent 0", Layout{0}.select(std::vector{at(0)}));
}

TEST_CASE("slices near the limits of 64 bits do not overflow") {
    CHECK(Layout(Numbers{2}, Numbers{largest})
              .select(std::vector{slice(largest, smallest, -1)})
              .offset == largest);
    CHECK(Layout(Numbers{1}, Numbers{largest})
              .select(std::vector{slice(0, largest, largest)})
              .layout.size() == 1);
    CHECK(Layout{3}.select(std::vector{slice(largest, smallest, smallest)}).offset == 2);
    CHECK(Layout(Numbers{0, 5}, Numbers{1, largest}).select(std::vector{whole, at(4)}).offset == 0);
    CHECK(Layout(Numbers{5, 0}, Numbers{smallest, 1})
              .select(std::vector{slice(0, 5, 2)})
              .layout.size() == 0);
}

TEST_CASE("transposition moves each axis") {
    Random random(5);
    for (int round = 0; round < 2000; ++round) {
        const Layout layout = random.layout();
        Numbers axes(layout.ndim());
        std::iota(axes.begin(), axes.end(), 0);
        std::shuffle(axes.begin(), axes.end(), random.engine());
        Numbers named = axes;
        for (std::int64_t &axis : named)
            axis -= random.between(0, 1) * static_cast<std::int64_t>(layout.ndim());
        const Layout moved = layout.transposed(named);
        CHECK(moved.size() == layout.size());
        for (std::size_t to = 0; to < axes.size(); ++to) {
            const std::size_t from = axes.empty() ? to : static_cast<std::size_t>(axes[to]);
            CHECK(moved.shape()[to] == layout.shape()[from]);
            CHECK(moved.strides()[to] == layout.strides()[from]);
        }
        CHECK(layout.transposed({}).transposed({}) == layout);
    }
    CHECK(numbers(Layout{2, 3, 4}.transposed({}).shape()) == Numbers{4, 3, 2});
    CHECK_REFUSED(ErrorKind::value, "0 is there twice", Layout{2, 3}.transposed(Numbers{0, 0}));
    CHECK_REFUSED(ErrorKind::value, "-1 is there twice", Layout{2, 3}.transposed(Numbers{1, -1}));
    CHECK_REFUSED(ErrorKind::value, "2 is out of range", Layout{2, 3}.transposed(Numbers{0, 2}));
    CHECK_REFUSED(ErrorKind::value, "each must be named once", Layout{2, 3}.transposed(Numbers{0}));
    CHECK_REFUSED(ErrorKind::value, "is there twice",
                  Layout(Numbers(64, 1)).transposed(Numbers(64, 63)));
}

TEST_CASE("reshape keeps addresses, and fails only if no strides exist") {
    Random random(6);
    int without_copy = 0, only_by_copy = 0;
    for (int round = 0; round < 20000; ++round) {
        const Layout layout = random.layout();
        if (layout.size() == 0)
            continue;
        Numbers shape = random_factors(layout.size(), random);
        for (std::int64_t ones = random.between(0, 2); ones > 0; --ones)
            shape.insert(shape.begin() + random.between(0, static_cast<std::int64_t>(shape.size())),
                         1);
        CAPTURE(layout);
        CAPTURE(tuple_text(shape));
        Numbers asked = shape;
        if (!asked.empty() && random.between(0, 1) == 0)
            asked[static_cast<std::size_t>(
                random.between(0, static_cast<std::int64_t>(asked.size()) - 1))] = -1;

        const std::optional<Layout> result = layout.reshaped(asked);
        CHECK(result.has_value() == some_strides_name(addresses(layout), shape));
        if (result) {
            CHECK(numbers(result->shape()) == shape);
            CHECK(addresses(*result) == addresses(layout));
        }
        ++(result ? without_copy : only_by_copy);
    }
    CHECK(without_copy > 1000);
    CHECK(only_by_copy > 1000);
}

TEST_CASE("empty, scalar and strided layouts are reshaped") {
    CHECK(Layout{6}.reshaped(Numbers{2, -1}) == Layout{2, 3});
    CHECK(Layout{1}.reshaped(Numbers{}) == Layout());
    CHECK(Layout().reshaped(Numbers{-1}) == Layout{1});
    CHECK(Layout{0, 3}.reshaped(Numbers{3, 0, 7}) == Layout{3, 0, 7});
    CHECK(Layout{0, 3}.reshaped(Numbers{-1, 5}) == Layout{0, 5});
    CHECK(Layout(Numbers{0, 3}, Numbers{-7, 2}).reshaped(Numbers{0}) == Layout{0});
    CHECK(Layout{3}.broadcast_to(Numbers{2, 3}).reshaped(Numbers{6}) == std::nullopt);
    CHECK(Layout{1}.broadcast_to(Numbers{6}).reshaped(Numbers{2, 3}) ==
          Layout(Numbers{2, 3}, Numbers{0, 0}));
    CHECK(Layout(Numbers{1, 3}, Numbers{55, 2}).reshaped(Numbers{1, 3}) ==
          Layout(Numbers{1, 3}, Numbers{55, 2}));
    CHECK(Layout(Numbers{3}, Numbers{2}).reshaped(Numbers{1, 3, 1}) ==
          Layout(Numbers{1, 3, 1}, Numbers{6, 2, 1}));
    CHECK(Layout(Numbers{2}, Numbers{largest}).reshaped(Numbers{1, 2, 1})->size() == 2);
    CHECK(Layout(Numbers(64, 1)).reshaped(Numbers{1}) == Layout{1});

    CHECK_REFUSED(ErrorKind::value,
                  "cannot reshape an array of shape (2, 3) into (4,): it has 6 elements, not 4",
                  Layout{2, 3}.reshaped(Numbers{4}));
    CHECK_REFUSED(ErrorKind::value, "not a multiple of 4", Layout{6}.reshaped(Numbers{4, -1}));
    CHECK_REFUSED(ErrorKind::value, "only one extent can be -1",
                  Layout{6}.reshaped(Numbers{-1, -1}));
    CHECK_REFUSED(ErrorKind::value, "cannot be negative", Layout{6}.reshaped(Numbers{-2, -3}));
    CHECK_REFUSED(ErrorKind::value, "-1 can be any extent", Layout{0}.reshaped(Numbers{0, -1}));
    CHECK_REFUSED(ErrorKind::value, "it has 6 elements, not 0", Layout{6}.reshaped(Numbers{0}));
    CHECK_REFUSED(ErrorKind::value, "it has 6 elements",
                  Layout{6}.reshaped(Numbers{largest, largest}));
    CHECK_REFUSED(ErrorKind::value, "it has 0 elements",
                  Layout{0}.reshaped(Numbers{largest, largest}));
    CHECK_REFUSED(ErrorKind::overflow, "too many elements",
                  Layout{0}.reshaped(Numbers{0, largest, largest}));
    CHECK_REFUSED(ErrorKind::value, "at most 64", Layout{1}.reshaped(Numbers(65, 1)));
}

TEST_CASE("view with another item size covers the same bytes") {
    CHECK(Layout{4, 3}.viewed_as(8, 8) == Layout{4, 3});
    CHECK(Layout{4, 3}.viewed_as(8, 4) == Layout{4, 6});
    CHECK(Layout{4, 6}.viewed_as(4, 8) == Layout{4, 3});
    CHECK(Layout(Numbers{3, 4}, Numbers{-8, 1}).viewed_as(4, 8) ==
          Layout(Numbers{3, 2}, Numbers{-4, 1}));
    CHECK(Layout(Numbers{3, 4}, Numbers{0, 1}).viewed_as(4, 2) ==
          Layout(Numbers{3, 8}, Numbers{0, 1}));
    CHECK(Layout(Numbers{3, 1}, Numbers{2, 99}).viewed_as(4, 1) ==
          Layout(Numbers{3, 4}, Numbers{8, 1}));
    CHECK(Layout(Numbers{3, 6}, Numbers{6, 1}).viewed_as(2, 3) ==
          Layout(Numbers{3, 4}, Numbers{4, 1}));
    CHECK(numbers(Layout{3, 0}.viewed_as(4, 8).shape()) == Numbers{3, 0});
    CHECK(Layout(Numbers{1, 2}, Numbers{7, 1}).viewed_as(4, 8).size() == 1);
    CHECK(Layout(Numbers{1, 2}, Numbers{largest, 1}).viewed_as(4, 8).size() == 1);

    CHECK_REFUSED(ErrorKind::value, "0-dimensional", Layout().viewed_as(8, 4));
    CHECK_REFUSED(ErrorKind::value, "last axis must be contiguous, its stride is 3",
                  Layout{3, 3}.transposed({}).viewed_as(8, 4));
    CHECK_REFUSED(ErrorKind::value, "the 12 bytes of the last axis", Layout{4, 3}.viewed_as(4, 8));
    CHECK_REFUSED(ErrorKind::value, "must be a multiple of the new one",
                  Layout{3, 3}.viewed_as(8, 3));
    CHECK_REFUSED(ErrorKind::value, "axis 0 steps 12 bytes",
                  Layout(Numbers{2, 2}, Numbers{3, 1}).viewed_as(4, 8));
    CHECK_REFUSED(ErrorKind::overflow, "further than 64 bits",
                  Layout(Numbers{2, 2}, Numbers{largest / 2, 1}).viewed_as(4, 8));
    CHECK_REFUSED(ErrorKind::overflow, "longer than 64 bits", Layout{largest}.viewed_as(4, 2));
    CHECK_REFUSED(ErrorKind::overflow, "reach further",
                  Layout(Numbers{2, 2}, Numbers{largest / 8, 1}).viewed_as(8, 1));
}

TEST_CASE("broadcast repeats elements with a stride of 0") {
    const Layout column(Numbers{3, 1}, Numbers{5, 9});
    CHECK(column.broadcast_to(Numbers{2, 3, 4}) == Layout(Numbers{2, 3, 4}, Numbers{0, 5, 0}));
    CHECK(column.broadcast_to(Numbers{3, 1}) == column);
    CHECK(column.broadcast_to(Numbers{3, 0}).size() == 0);
    CHECK(Layout().broadcast_to(Numbers{2, 2}) == Layout(Numbers{2, 2}, Numbers{0, 0}));
    CHECK_REFUSED(ErrorKind::value, "axis 0 has extent 3, which is neither 1 nor 2",
                  column.broadcast_to(Numbers{2, 4}));
    CHECK_REFUSED(ErrorKind::value, "fewer dimensions", column.broadcast_to(Numbers{3}));
    CHECK_REFUSED(ErrorKind::value, "negative", column.broadcast_to(Numbers{-1, 3, 1}));
}

TEST_CASE("layout prints as tuples") {
    CHECK(tuple_text({}) == "()");
    CHECK(tuple_text(Numbers{4}) == "(4,)");
    CHECK(tuple_text(Numbers{4, -3}) == "(4, -3)");
    std::ostringstream out;
    out << Layout{4, 3};
    CHECK(out.str() == "shape (4, 3) and strides (3, 1)");
}
