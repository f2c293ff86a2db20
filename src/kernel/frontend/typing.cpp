#include "kernel/frontend/typing.hpp"

#include "kernel/frontend/numba_typing.hpp"

#include <algorithm>

namespace entrepot::kernel {

namespace {

Dtype promoted_integers(Dtype a, Dtype b) {
    if (a.code == b.code)
        return a.bits >= b.bits ? a : b;
    const Dtype with_sign = is_signed(a) ? a : b, without = is_signed(a) ? b : a;
    const int wide = with_sign.bits > without.bits ? with_sign.bits : 2 * without.bits;
    return {TypeCode::integer, static_cast<std::uint8_t>(std::min(wide, 64))};
}

Dtype promoted_floats(Dtype a, Dtype b) {
    if (a.bits == b.bits)
        return a.code == b.code ? a : dtypes::float32;  // float16 with bfloat16
    return a.bits > b.bits ? a : b;
}

}  // namespace

Dtype promoted(Dtype a, Dtype b) {
    if (is_complex(a) || is_complex(b)) {
        const auto part = [](Dtype each) { return is_complex(each) ? part_of(each) : each; };
        return complex_of(promoted(part(a), part(b)));
    }
    if (is_boolean(a))
        return b;
    if (is_boolean(b))
        return a;
    if (is_float(a) && is_float(b))
        return promoted_floats(a, b);
    if (is_float(a) || is_float(b))
        return is_float(a) ? a : b;
    return promoted_integers(a, b);
}

namespace {

Scalar met(Dtype typed, Weak weak, const Target &target) {
    switch (weak) {
    case Weak::none:
    case Weak::boolean:
        return {typed};
    case Weak::integer:
        return {is_boolean(typed) ? dtypes::int64 : typed};
    case Weak::floating:
        return is_float(typed) || is_complex(typed) ? Scalar{typed} : as_float({typed}, target);
    case Weak::complex:
        return {is_complex(typed) ? typed : complex_of(as_float({typed}, target).dtype)};
    }
    return {typed};
}

Weak weak_of(Dtype dtype) {
    return is_boolean(dtype)   ? Weak::boolean
           : is_integer(dtype) ? Weak::integer
           : is_float(dtype)   ? Weak::floating
                               : Weak::complex;
}

}  // namespace

Scalar weak_scalar(Weak weak, const Target &target) {
    switch (weak) {
    case Weak::boolean:
        return {dtypes::boolean, weak};
    case Weak::integer:
        return {dtypes::int64, weak};
    case Weak::floating:
        return {target.fp64 ? dtypes::float64 : dtypes::float32, weak};
    case Weak::complex:
        return {target.fp64 ? dtypes::complex128 : dtypes::complex64, weak};
    case Weak::none:
        break;
    }
    return {};
}

std::string name_of(Scalar scalar) {
    if (scalar.varies)
        return name_of(scalar.dtype);
    switch (scalar.weak) {
    case Weak::boolean:
        return "bool (of literals)";
    case Weak::integer:
        return "int (of literals)";
    case Weak::floating:
        return "float (of literals)";
    case Weak::complex:
        return "complex (of literals)";
    case Weak::none:
        break;
    }
    return name_of(scalar.dtype);
}

Scalar unified(Scalar a, Scalar b, const Target &target) {
    if (a.weak == Weak::none && b.weak == Weak::none)
        return {promoted(a.dtype, b.dtype)};
    if (a.weak != Weak::none && b.weak != Weak::none) {
        Scalar both = weak_scalar(std::max(a.weak, b.weak), target);
        both.varies = both.weak == Weak::integer && (a.varies || b.varies);
        return both;
    }
    const Scalar &typed = a.weak == Weak::none ? a : b, &weak = a.weak == Weak::none ? b : a;
    return weak.varies && is_integer(typed.dtype) ? Scalar{promoted(typed.dtype, weak.dtype)}
                                                  : met(typed.dtype, weak.weak, target);
}

namespace {

// Numba's float64 where a device has none and no operand is one.
Dtype supported(Dtype dtype, Scalar a, Scalar b, const Target &target) {
    const auto is_double = [](Dtype each) {
        return each == dtypes::float64 || each == dtypes::complex128;
    };
    if (target.fp64 || !is_double(dtype) || is_double(a.dtype) || is_double(b.dtype))
        return dtype;
    return is_complex(dtype) ? dtypes::complex64 : dtypes::float32;
}

bool follows_numba(Scalar a, Scalar b, const Rules &rules) {
    return rules.typing == Typing::numba && (a.weak == Weak::none || b.weak == Weak::none);
}

}  // namespace

// With Numba's rules a literal has the type int64, uint64, float64 or complex128. Results of
// literals alone have these types by either rule.
Scalar combined(Scalar a, Scalar b, const Rules &rules) {
    return follows_numba(a, b, rules)
               ? Scalar{supported(numba_combined(a.dtype, b.dtype), a, b, rules.target)}
               : unified(a, b, rules.target);
}

Scalar unified(Scalar a, Scalar b, const Rules &rules) {
    return follows_numba(a, b, rules)
               ? Scalar{supported(numba_unified(a.dtype, b.dtype), a, b, rules.target)}
               : unified(a, b, rules.target);
}

std::optional<Scalar> joined(Scalar a, Scalar b, const Rules &rules) {
    return follows_numba(a, b, rules) ? unified(a, b, rules) : joined(a, b);
}

Scalar as_float(Scalar scalar, const Target &target) {
    if (scalar.weak != Weak::none)
        return weak_scalar(std::max(scalar.weak, Weak::floating), target);
    if (is_float(scalar.dtype) || is_complex(scalar.dtype))
        return scalar;
    return {target.fp64 || scalar.dtype.bits > 32 ? dtypes::float64 : dtypes::float32};
}

std::optional<Scalar> joined(Scalar a, Scalar b) {
    if (a.weak == Weak::none && b.weak == Weak::none)
        return a == b ? std::optional(a) : std::nullopt;
    if (a.weak != Weak::none && b.weak != Weak::none) {
        Scalar both = a.weak >= b.weak ? a : b;
        both.varies = a.varies || b.varies;
        return both;
    }
    const Scalar &typed = a.weak == Weak::none ? a : b, &weak = a.weak == Weak::none ? b : a;
    const bool holds = weak.varies ? typed.dtype == weak.dtype : weak.weak <= weak_of(typed.dtype);
    return holds ? std::optional(typed) : std::nullopt;
}

}  // namespace entrepot::kernel
