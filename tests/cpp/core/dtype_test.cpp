// Dtype: every row of the table round-trips through each of its spellings; others are refused with
// the reason.
#include <doctest/doctest.h>

#include <complex>
#include <cstddef>
#include <set>
#include <sstream>
#include <string>
#include <string_view>

#include <entrepot/core/dtype.hpp>

#include "refusal.hpp"

using namespace entrepot;
using namespace entrepot::dtypes;

TEST_CASE("Dtype is a DLDataType") {
    CHECK(sizeof(Dtype) == 4);
    CHECK(offsetof(Dtype, code) == 0);
    CHECK(offsetof(Dtype, bits) == 1);
    CHECK(offsetof(Dtype, lanes) == 2);
}

TEST_CASE("dtypes survive conversion through all spellings") {
    std::set<std::string_view> names, typestrs, formats;
    for (const DtypeRow &row : dtype_table) {
        CAPTURE(row.name);
        CHECK(find_dtype(row.dtype) == &row);
        CHECK(name_of(row.dtype) == row.name);
        CHECK(dtype_from_name(row.name) == row.dtype);
        CHECK(names.insert(row.name).second);

        CHECK(typestr_of(row.dtype).value_or("") == row.typestr);
        if (!row.typestr.empty()) {
            CHECK(dtype_from_typestr(row.typestr) == row.dtype);
            CHECK(dtype_from_kind_and_size(row.typestr.substr(1)) == row.dtype);
            CHECK(row.typestr.substr(2) == std::to_string(row.dtype.itemsize()));
            CHECK((row.typestr[0] == '|') == (row.dtype.itemsize() == 1));
            CHECK(typestrs.insert(row.typestr).second);
        }

        CHECK(format_of(row.dtype).value_or("") == row.format);
        if (!row.format.empty()) {
            CHECK(dtype_from_format(std::string(row.format).c_str(), row.dtype.itemsize()) ==
                  row.dtype);
            CHECK(formats.insert(row.format).second);
        }
    }
}

TEST_CASE("vector dtypes survive conversion by name") {
    for (const DtypeRow &row : dtype_table)
        for (const std::uint16_t lanes :
             {std::uint16_t{2}, std::uint16_t{4}, std::uint16_t{65535}}) {
            const Dtype vector{row.dtype.code, row.dtype.bits, lanes};
            CAPTURE(name_of(vector));
            CHECK(name_of(vector) == std::string(row.name) + "x" + std::to_string(lanes));
            CHECK(dtype_from_name(name_of(vector)) == vector);
            CHECK(find_dtype(vector) == nullptr);
            CHECK(!typestr_of(vector));
            CHECK(!format_of(vector));
        }
}

TEST_CASE("type outside the table prints its numbers") {
    const auto printed = [](Dtype dtype) {
        std::ostringstream out;
        out << dtype;
        return out.str();
    };
    CHECK(printed({TypeCode::opaque, 24}) == "code 3, 24 bits");
    CHECK(printed({TypeCode::integer, 4, 2}) == "code 0, 4 bits, 2 lanes");
    CHECK(printed(dtypes::float32) == "float32");
}

TEST_CASE("sizes are in bytes, rounded up for types below a byte") {
    CHECK(Dtype{TypeCode::floating, 32, 4}.itemsize() == 16);
    CHECK(Dtype{TypeCode::float4_e2m1fn, 4}.itemsize() == 1);
    CHECK(Dtype{TypeCode::float4_e2m1fn, 4, 2}.itemsize() == 1);
    CHECK(Dtype{TypeCode::float6_e2m3fn, 6, 4}.itemsize() == 3);
    CHECK(Dtype{TypeCode::float6_e2m3fn, 6}.is_subbyte());
    CHECK(!boolean.is_subbyte());
}

TEST_CASE("unknown names are refused") {
    for (const char *name : {"", "x", "x4", "float", "float32x", "float32x1", "float32x0",
                             "float32x04", "float32x65536", "float32x-2", "float32x4 ",
                             "float32x4x4", "Float32", "<f4", "code 3, 24 bits"}) {
        CAPTURE(name);
        CHECK(!dtype_from_name(name));
    }
}

TEST_CASE("typestrs in the host's byte order are accepted") {
    CHECK(dtype_from_typestr("|b1") == boolean);
    CHECK(dtype_from_typestr("<b1") == boolean);
    CHECK(dtype_from_typestr("=f4") == dtypes::float32);
    CHECK(dtype_from_typestr("|f4") == dtypes::float32);
    CHECK(dtype_from_typestr("<c16") == complex128);
    CHECK(dtype_from_typestr(">i1") == int8);
    CHECK(dtype_from_typestr(">b1") == boolean);
}

TEST_CASE("unsupported typestrs are refused with advice") {
    constexpr auto kind = ErrorKind::interface;
    CHECK_REFUSED(kind, "bytes are swapped; copy", dtype_from_typestr(">f4"));
    CHECK_REFUSED(kind, "bytes are swapped; copy", dtype_from_typestr(">c8"));
    CHECK_REFUSED(kind, "items of that kind have 2, 4 or 8 bytes", dtype_from_typestr("<f16"));
    CHECK_REFUSED(kind, "items of that kind have 1, 2, 4 or 8 bytes", dtype_from_typestr("<i3"));
    CHECK_REFUSED(kind, "items of that kind have 1 bytes", dtype_from_typestr("<b2"));
    CHECK_REFUSED(kind, "items of that kind have", dtype_from_typestr("<f04"));
    CHECK_REFUSED(kind, "kind is unknown", dtype_from_typestr("<q8"));
    CHECK_REFUSED(kind, "typestr '<", dtype_from_typestr(std::string_view("<\0f4", 4)));
    CHECK_REFUSED(kind, "structured", dtype_from_typestr("|V12"));
    CHECK_REFUSED(kind, "Python objects", dtype_from_typestr("|O8"));
    CHECK_REFUSED(kind, "view them as int64", dtype_from_typestr("<M8[ns]"));
    CHECK_REFUSED(kind, "view them as int64", dtype_from_typestr("<m8"));
    CHECK_REFUSED(kind, "view(\"uint8\")", dtype_from_typestr("|S3"));
    CHECK_REFUSED(kind, "view(\"uint32\")", dtype_from_typestr("<U3"));
    for (const char *malformed : {"", "<", "<f", "f4", "float32", "B", "4f<", " <f4"})
        CHECK_REFUSED(kind,
                      std::string("typestr '") + malformed +
                          "' cannot be taken: byte order, kind and bytes",
                      dtype_from_typestr(malformed));
}

TEST_CASE("formats of native and standard sizes are accepted") {
    const auto row = [](const char *format, std::int64_t itemsize, Dtype dtype) {
        CAPTURE(format);
        CHECK(dtype_from_format(format, itemsize) == dtype);
    };
    row(nullptr, 1, dtypes::uint8);
    row("c", 1, dtypes::uint8);
    row("<c", 1, dtypes::uint8);
    row(">c", 1, dtypes::uint8);
    row("?", 1, boolean);
    row("!?", 1, boolean);
    row("@f", 4, dtypes::float32);
    row("=d", 8, dtypes::float64);
    row("<q", 8, dtypes::int64);
    row("l", sizeof(long), sizeof(long) == 8 ? dtypes::int64 : int32);
    row("@L", sizeof(long), sizeof(long) == 8 ? uint64 : uint32);
    row("<l", 4, int32);
    row("=L", 4, uint32);
    row("n", sizeof(std::ptrdiff_t), dtypes::int64);
    row("@N", sizeof(std::size_t), uint64);
    row("P", sizeof(void *), uint64);
    row("<P", sizeof(void *), uint64);
    row("Zf", sizeof(std::complex<float>), complex64);
    row("<Zd", 16, complex128);
    row("F", 8, complex64);
    row("=D", 16, complex128);
}

TEST_CASE("unsupported formats are refused with the reason") {
    constexpr auto kind = ErrorKind::exchange;
    CHECK_REFUSED(kind, "bytes are swapped; copy", dtype_from_format(">f", 4));
    CHECK_REFUSED(kind, "bytes are swapped; copy", dtype_from_format("!q", 8));
    CHECK_REFUSED(kind, "structures", dtype_from_format("T{f:x:f:y:}", 8));
    CHECK_REFUSED(kind, "export them as dimensions", dtype_from_format("(2,3)f", 24));
    CHECK_REFUSED(kind, "export the count as a dimension", dtype_from_format("4i", 16));
    CHECK_REFUSED(kind, "export the count as a dimension", dtype_from_format("<12s", 12));
    CHECK_REFUSED(kind, "padding", dtype_from_format("fxxxx", 8));
    CHECK_REFUSED(kind, "padding", dtype_from_format("x", 1));
    CHECK_REFUSED(kind, "strings", dtype_from_format("s", 1));
    CHECK_REFUSED(kind, "strings", dtype_from_format("<w", 4));
    CHECK_REFUSED(kind, "Python objects", dtype_from_format("O", 8));
    CHECK_REFUSED(kind, "long double", dtype_from_format("g", 16));
    CHECK_REFUSED(kind, "long double", dtype_from_format("Zg", 32));
    CHECK_REFUSED(kind, "native mode only", dtype_from_format("=n", 8));
    CHECK_REFUSED(kind, "exactly one item", dtype_from_format("ff", 8));
    CHECK_REFUSED(kind, "exactly one item", dtype_from_format("Z", 8));
    CHECK_REFUSED(kind, "exactly one item", dtype_from_format("@<f", 4));
    CHECK_REFUSED(kind, "names no item", dtype_from_format("", 1));
    CHECK_REFUSED(kind, "names no item", dtype_from_format("<", 1));
}

TEST_CASE("format of one item is known in any byte order") {
    for (const char *const format :
         {static_cast<const char *>(nullptr), "f", "<f", ">f", "!q", "l", "P", "Zd", "c"})
        CHECK(is_format_of_ours(format));
    for (const char *const format :
         {"", ">", "T{f:x:f:y:}", "(2,3)f", "4i", "x", "s", "<w", "O", "g", "<n"})
        CHECK_FALSE(is_format_of_ours(format));
}

TEST_CASE("itemsize contradicting the format is refused") {
    CHECK_REFUSED(ErrorKind::exchange,
                  "means items of 4 bytes, but the buffer gives an itemsize of 8",
                  dtype_from_format("f", 8));
    CHECK_REFUSED(ErrorKind::exchange,
                  "means items of 4 bytes, but the buffer gives an itemsize of 8",
                  dtype_from_format("<l", 8));
    CHECK_REFUSED(ErrorKind::exchange, "itemsize of 4", dtype_from_format(nullptr, 4));
}
