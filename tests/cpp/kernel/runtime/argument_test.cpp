// Arguments: keys of specializations, overlapping arrays, and impossible sizes of local memory.
#include "kernel/runtime/argument.hpp"
#include "kernel/runtime/specialization.hpp"

#include <doctest/doctest.h>

#include <array>
#include <vector>

namespace entrepot::kernel {
namespace {

// An array in the host's memory that begins at that element.
Array floats(std::vector<float> &memory, std::size_t first, std::int64_t extent,
             std::int64_t stride = 1) {
    const std::int64_t shape[] = {extent}, strides[] = {stride};
    return Array(Memory::borrow_host(memory.data(), memory.size() * sizeof(float), Owner()),
                 memory.data() + first, dtypes::float32, Layout(shape, strides));
}

}  // namespace

TEST_CASE("arguments for different code have different keys") {
    std::vector<float> memory(16);
    const Array whole = floats(memory, 0, 8), gaps = floats(memory, 0, 8, 2);
    const std::uint64_t key = Argument(whole).key();
    CHECK(key == Argument(floats(memory, 4, 3)).key());
    CHECK(key != Argument(gaps).key());
    CHECK(key != Argument(whole.as_read_only()).key());
    CHECK(key != Argument(whole.viewed_as(dtypes::int32)).key());
    CHECK(key != Argument(dtypes::float32, Scalar()).key());
    CHECK(key != Argument::local(dtypes::float32, std::array<std::int64_t, 1>{8}).key());
}

TEST_CASE("arrays without a common element are apart") {
    std::vector<float> memory(16), other(16);
    const Array first = floats(memory, 0, 8), last = floats(memory, 8, 8),
                middle = floats(memory, 7, 2), far = floats(other, 0, 16);
    std::array arguments{Argument(first), Argument(last), Argument(far)};
    find_aliases(arguments);
    for (const Argument &argument : arguments)
        CHECK(argument.no_alias);
    std::array meeting{Argument(first), Argument(middle), Argument(far)};
    find_aliases(meeting);
    CHECK_FALSE(meeting[0].no_alias);
    CHECK_FALSE(meeting[1].no_alias);
    CHECK(meeting[2].no_alias);
}

TEST_CASE("fields of one array of structs are apart, and from other arrays are not") {
    std::vector<float> memory(16);
    const Array x = floats(memory, 0, 8, 2), y = floats(memory, 1, 8, 2);
    std::array fields{Argument(x), Argument(y)};
    fields[0].struct_id = fields[1].struct_id = 1;
    find_aliases(fields);
    CHECK(fields[0].no_alias);
    CHECK(fields[1].no_alias);
    std::array twice{Argument(x), Argument(y), Argument(x), Argument(y)};
    twice[0].struct_id = twice[1].struct_id = 1;
    twice[2].struct_id = twice[3].struct_id = 2;
    find_aliases(twice);
    for (const Argument &argument : twice)
        CHECK_FALSE(argument.no_alias);
}

TEST_CASE("local memory has a byte count; invalid shapes are refused") {
    CHECK(Argument::local(dtypes::float64, std::array<std::int64_t, 2>{3, 4}).local_bytes() == 96);
    CHECK(Argument::local(dtypes::float64, std::array<std::int64_t, 1>{0}).local_bytes() == 8);
    const std::array<std::int64_t, 2> huge{std::int64_t{1} << 40, std::int64_t{1} << 40};
    CHECK_THROWS_AS((void)Argument::local(dtypes::float64, huge), Error);
    CHECK_THROWS_AS((void)Argument::local(dtypes::float64, std::array<std::int64_t, 1>{-1}), Error);
    CHECK_THROWS_AS((void)Argument::local(dtypes::float64, std::array<std::int64_t, 4>{1, 1, 1, 1}),
                    Error);
}

TEST_CASE("kernels support source dialects and refuse all others") {
    for (const DialectRow &row : dialect_table) {
        const bool is_source = row.dialect != EP_SPIRV && row.dialect != EP_PTX &&
                               row.dialect != EP_CUBIN && row.dialect != EP_HSACO;
        if (is_source)
            CHECK_NOTHROW((void)dialect_of(row.dialect));
        else
            CHECK_THROWS_AS((void)dialect_of(row.dialect), Error);
        CHECK(is_source == ((kernel_dialects() & (1u << row.dialect)) != 0));
    }
}

}  // namespace entrepot::kernel
