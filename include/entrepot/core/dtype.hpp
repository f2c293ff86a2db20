// Dtype: the type of an element as in DLPack; all other spellings derive from the table here.
#pragma once
#include <entrepot/core/api.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>

// Extensions include this, and each may have been compiled with another version of it. So inline
// functions and tables are hidden, and functions of the library are marked one by one.
#pragma GCC visibility push(hidden)
namespace entrepot {

enum class ENTREPOT_API TypeCode : std::uint8_t {  // DLPack's numbers
    integer = 0,
    unsigned_integer = 1,
    floating = 2,
    opaque = 3,
    bfloat = 4,
    complex = 5,
    boolean = 6,
    float8_e3m4 = 7,
    float8_e4m3 = 8,
    float8_e4m3b11fnuz = 9,
    float8_e4m3fn = 10,
    float8_e4m3fnuz = 11,
    float8_e5m2 = 12,
    float8_e5m2fnuz = 13,
    float8_e8m0fnu = 14,
    float6_e2m3fn = 15,
    float6_e3m2fn = 16,
    float4_e2m1fn = 17,
};

// Has the layout of DLDataType. `lanes` above 1 is a short vector that counts as one element. The
// type is exported because classes of the library have members of it; its functions are not.
struct ENTREPOT_API Dtype {
    TypeCode code = TypeCode::floating;
    std::uint8_t bits = 32;  // of one lane
    std::uint16_t lanes = 1;

    // Bytes of an element; types of 4 or 6 bits take a whole byte (DLPack's
    // IS_SUBBYTE_TYPE_PADDED).
    ENTREPOT_LOCAL constexpr std::int64_t itemsize() const noexcept {
        return (std::int64_t{bits} * lanes + 7) / 8;
    }
    // Required alignment in bytes: that of a complex number's parts, or of a vector's lanes.
    ENTREPOT_LOCAL constexpr std::int64_t alignment() const noexcept {
        return ((code == TypeCode::complex ? bits / 2 : bits) + 7) / 8;
    }
    ENTREPOT_LOCAL constexpr bool is_subbyte() const noexcept { return bits < 8; }

    ENTREPOT_LOCAL constexpr bool operator==(const Dtype &) const noexcept = default;
};

struct DtypeRow {
    Dtype dtype;
    std::string_view name;     // NumPy's and ml_dtypes' name; names are unique
    std::string_view typestr;  // of the array interface; empty if not representable
    std::string_view format;   // of the buffer protocol, native; empty if not representable
};

inline constexpr std::array<DtypeRow, 27> dtype_table{{
    {{TypeCode::boolean, 8}, "bool", "|b1", "?"},
    {{TypeCode::integer, 8}, "int8", "|i1", "b"},
    {{TypeCode::integer, 16}, "int16", "<i2", "h"},
    {{TypeCode::integer, 32}, "int32", "<i4", "i"},
    {{TypeCode::integer, 64}, "int64", "<i8", "q"},
    {{TypeCode::unsigned_integer, 8}, "uint8", "|u1", "B"},
    {{TypeCode::unsigned_integer, 16}, "uint16", "<u2", "H"},
    {{TypeCode::unsigned_integer, 32}, "uint32", "<u4", "I"},
    {{TypeCode::unsigned_integer, 64}, "uint64", "<u8", "Q"},
    {{TypeCode::floating, 16}, "float16", "<f2", "e"},
    {{TypeCode::floating, 32}, "float32", "<f4", "f"},
    {{TypeCode::floating, 64}, "float64", "<f8", "d"},
    {{TypeCode::complex, 64}, "complex64", "<c8", "Zf"},
    {{TypeCode::complex, 128}, "complex128", "<c16", "Zd"},
    {{TypeCode::bfloat, 16}, "bfloat16", "", ""},
    {{TypeCode::float8_e3m4, 8}, "float8_e3m4", "", ""},
    {{TypeCode::float8_e4m3, 8}, "float8_e4m3", "", ""},
    {{TypeCode::float8_e4m3b11fnuz, 8}, "float8_e4m3b11fnuz", "", ""},
    {{TypeCode::float8_e4m3fn, 8}, "float8_e4m3fn", "", ""},
    {{TypeCode::float8_e4m3fnuz, 8}, "float8_e4m3fnuz", "", ""},
    {{TypeCode::float8_e5m2, 8}, "float8_e5m2", "", ""},
    {{TypeCode::float8_e5m2fnuz, 8}, "float8_e5m2fnuz", "", ""},
    {{TypeCode::float8_e8m0fnu, 8}, "float8_e8m0fnu", "", ""},
    {{TypeCode::float6_e2m3fn, 6}, "float6_e2m3fn", "", ""},
    {{TypeCode::float6_e3m2fn, 6}, "float6_e3m2fn", "", ""},
    {{TypeCode::float4_e2m1fn, 4}, "float4_e2m1fn", "", ""},
    {{TypeCode::complex, 32}, "complex32", "", ""},
}};

namespace dtypes {
inline constexpr Dtype boolean{TypeCode::boolean, 8};
inline constexpr Dtype int8{TypeCode::integer, 8}, int16{TypeCode::integer, 16},
    int32{TypeCode::integer, 32}, int64{TypeCode::integer, 64};
inline constexpr Dtype uint8{TypeCode::unsigned_integer, 8}, uint16{TypeCode::unsigned_integer, 16},
    uint32{TypeCode::unsigned_integer, 32}, uint64{TypeCode::unsigned_integer, 64};
inline constexpr Dtype float16{TypeCode::floating, 16}, float32{TypeCode::floating, 32},
    float64{TypeCode::floating, 64}, bfloat16{TypeCode::bfloat, 16};
inline constexpr Dtype complex64{TypeCode::complex, 64}, complex128{TypeCode::complex, 128};
}  // namespace dtypes

// Index in dtype_table by code and size in whole bytes; the table's size if there is no such type.
inline constexpr auto dtype_rows = [] {
    constexpr std::size_t codes = 1 + static_cast<std::size_t>(TypeCode::float4_e2m1fn),
                          sizes = 1 + 128 / 8;
    std::array<std::array<std::uint8_t, sizes>, codes> rows;
    for (auto &row : rows)
        row.fill(dtype_table.size());
    for (std::size_t i = 0; i < dtype_table.size(); ++i)
        rows[static_cast<std::size_t>(dtype_table[i].dtype.code)][dtype_table[i].dtype.bits / 8] =
            static_cast<std::uint8_t>(i);
    return rows;
}();

// Bit set of sizes in whole bytes, for each code of the table.
inline constexpr auto dtype_sizes = [] {
    std::array<std::uint32_t, dtype_rows.size()> sizes{};
    for (const DtypeRow &row : dtype_table)
        if (row.dtype.bits % 8 == 0)
            sizes[static_cast<std::size_t>(row.dtype.code)] |= std::uint32_t{1}
                                                               << (row.dtype.bits / 8);
    return sizes;
}();

// True for types of the table with whole bytes, and vectors of them. The only check of an import's
// fast path.
constexpr bool is_of_whole_bytes(Dtype dtype) noexcept {
    const auto code = static_cast<std::size_t>(dtype.code);
    return dtype.bits % 8 == 0 && code < dtype_sizes.size() &&
           dtype_sizes[code] >> (dtype.bits / 8) & 1 && dtype.lanes != 0;
}

// Formats by code and size, NUL-terminated: faster than reading a row of the table.
inline constexpr auto dtype_formats = [] {
    std::array<std::array<std::array<char, 4>, dtype_rows.front().size()>, dtype_rows.size()>
        formats{};
    for (const DtypeRow &row : dtype_table)
        for (std::size_t i = 0; i < row.format.size(); ++i)
            formats[static_cast<std::size_t>(row.dtype.code)][row.dtype.bits / 8][i] =
                row.format[i];
    return formats;
}();

// The row of a single-lane type, or nullptr. Inline because every export calls it.
constexpr const DtypeRow *find_dtype(Dtype dtype) noexcept {
    const auto code = static_cast<std::size_t>(dtype.code), size = std::size_t{dtype.bits} / 8;
    if (code >= dtype_rows.size() || size >= dtype_rows.front().size())
        return nullptr;
    const std::size_t row = dtype_rows[code][size];
    return row < dtype_table.size() && dtype_table[row].dtype == dtype ? &dtype_table[row]
                                                                       : nullptr;
}

// `float32`, and for vectors `float32x4`. A type outside the table prints its numbers: `code 3, 24
// bits`.
ENTREPOT_API std::string name_of(Dtype dtype);
ENTREPOT_API std::optional<Dtype> dtype_from_name(std::string_view name) noexcept;
// Parses a typestr without byte order, which is then the host's: f4, u1, c8.
ENTREPOT_API std::optional<Dtype> dtype_from_kind_and_size(std::string_view text) noexcept;

// The array interface's typestr: byte order, kind, bytes. nullopt if the type has none.
ENTREPOT_API std::optional<std::string_view> typestr_of(Dtype dtype) noexcept;
// Accepts `<`, `=` and `|`, and `>` for items of one byte.
// Throws: InterfaceError, with the reason, for others.
ENTREPOT_API Dtype dtype_from_typestr(std::string_view typestr);

// The format of PEP 3118 in native form. nullopt if the type has none.
constexpr std::optional<std::string_view> format_of(Dtype dtype) noexcept {
    const auto code = static_cast<std::size_t>(dtype.code), size = std::size_t{dtype.bits} / 8;
    if (code >= dtype_formats.size() || size >= dtype_formats.front().size() ||
        dtype.bits % 8 != 0 || dtype.lanes != 1)
        return std::nullopt;
    const auto &format = dtype_formats[code][size];
    const auto length =
        static_cast<std::size_t>(std::find(format.begin(), format.end(), '\0') - format.begin());
    return length ? std::optional(std::string_view(format.data(), length)) : std::nullopt;
}
// Any single-item format, native (`@`, none) or standard (`=<>!`) sizes; `c` is uint8; a null
// format is bytes.
// Throws: ExchangeError for structures, byte-swapped items, and an itemsize that contradicts the
//         format.
ENTREPOT_API Dtype dtype_from_format(const char *format, std::int64_t itemsize);
// True if the format is one item of a type in the table, in any byte order.
ENTREPOT_API bool is_format_of_ours(const char *format) noexcept;

ENTREPOT_API std::ostream &operator<<(std::ostream &out, Dtype dtype);

}  // namespace entrepot

#pragma GCC visibility pop
