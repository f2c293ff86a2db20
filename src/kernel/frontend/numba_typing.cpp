#include "kernel/frontend/numba_typing.hpp"

#include "kernel/frontend/typing.hpp"

#include <algorithm>
#include <array>

namespace entrepot::kernel {

namespace {

// Bits of the smallest float that an integer is combined or unified with. Numba has no entry for
// uint16 with float32 in its table of safe conversions, so operators take float64.
struct IntegerRow {
    Dtype integer;
    std::uint8_t combined, unified;
};
constexpr std::array integer_rows{
    IntegerRow{dtypes::boolean, 16, 16}, IntegerRow{dtypes::int8, 16, 16},
    IntegerRow{dtypes::int16, 32, 32},   IntegerRow{dtypes::int32, 64, 64},
    IntegerRow{dtypes::int64, 64, 64},   IntegerRow{dtypes::uint8, 32, 16},
    IntegerRow{dtypes::uint16, 64, 32},  IntegerRow{dtypes::uint32, 64, 64},
    IntegerRow{dtypes::uint64, 64, 64}};

using Column = std::uint8_t IntegerRow::*;

Dtype wider_float(Dtype floating, Dtype integer, Column column) {
    const std::uint8_t bits =
        (*std::ranges::find(integer_rows, integer, &IntegerRow::integer)).*column;
    return floating.bits >= bits ? floating : Dtype{TypeCode::floating, bits};
}

// The common type if one of the two is a float or complex.
Dtype with_float(Dtype a, Dtype b, Column column) {
    if (is_complex(a) || is_complex(b)) {
        const auto part = [](Dtype each) { return is_complex(each) ? part_of(each) : each; };
        const Dtype common = with_float(part(a), part(b), column);
        return complex_of(common.bits < 32 ? dtypes::float32 : common);
    }
    if (is_float(a) && is_float(b))
        return promoted(a, b);
    return is_float(a) ? wider_float(a, b, column) : wider_float(b, a, column);
}

bool is_whole(Dtype dtype) { return is_integer(dtype) || is_boolean(dtype); }

}  // namespace

Dtype numba_combined(Dtype a, Dtype b) {
    if (!is_whole(a) || !is_whole(b))
        return with_float(a, b, &IntegerRow::combined);
    return is_unsigned(a) && is_unsigned(b) ? dtypes::uint64 : dtypes::int64;
}

Dtype numba_unified(Dtype a, Dtype b) {
    if (!is_whole(a) || !is_whole(b))
        return with_float(a, b, &IntegerRow::unified);
    const bool has_no_integer =
        (a == dtypes::uint64 && is_signed(b)) || (b == dtypes::uint64 && is_signed(a));
    return has_no_integer ? dtypes::float64 : promoted(a, b);
}

}  // namespace entrepot::kernel
