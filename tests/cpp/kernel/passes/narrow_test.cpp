// Narrowing: 32-bit counters, and signed arithmetic that is written plainly in OpenCL C.
#include <doctest/doctest.h>

#include "kernel/tree.hpp"
#include "kernel/types.hpp"

#include <cstdint>
#include <limits>

using namespace entrepot;
using namespace entrepot::kernel;
using namespace entrepot::kernel::tree;

namespace {

// Source of a kernel of an array and numbers of 64 and 32 bits.
std::string source(const std::vector<NodePtr> &body, Dialect dialect = Dialect::opencl_c) {
    Target target;
    target.dialect = dialect;
    return compile(function("k", {"a", "n", "m"}, body), {array(i64), scalar(i64), scalar(i32)},
                   target)
        .source;
}

bool has(const std::string &source, const std::string &text) {
    return source.find(text) != std::string::npos;
}

// Writes the loop's final count to a[0].
std::string counting(Tree condition, int by, Dialect dialect = Dialect::opencl_c) {
    return source({assign("v", 0), while_(std::move(condition), {augment("v", "+", by)}),
                   assign(at("a", 0), "v")},
                  dialect);
}
std::string looping(std::initializer_list<Tree> bounds, Dialect dialect = Dialect::opencl_c) {
    return source({for_range("v", bounds, {assign(at("a", 0), "v")})}, dialect);
}

}  // namespace

TEST_CASE("counter within 32 bits is stored as int, read as long") {
    const std::string text =
        counting(boolean("and", {compare("v", "<", 100), compare(at("a", 0), "<", 4)}), 1);
    CHECK(has(text, "    int v = 0;\n"));
    CHECK(has(text, "while (v < 100 && a[0] < 4)"));
    CHECK(has(text, "        v += 1;\n"));
    CHECK(has(text, "a[0] = (long)v;"));
    CHECK(has(counting(compare("v", "<", "n"), 1), "    long v = 0;\n"));
    CHECK(has(counting(compare("v", "<", "m"), 1), "int v = 0;"));
    CHECK(has(counting(compare("v", "<", "m"), 1), "while (v < m)"));
    CHECK_MESSAGE(has(counting(compare("v", "<", "m"), 2), "long v = 0;"), "m may be 2**31 - 1");
}

TEST_CASE("loop counts in 32 bits if the counter's end value fits") {
    CHECK(has(looping({100}), "for (int v = 0; v < 100; ++v) {"));
    CHECK(has(looping({100}), "a[0] = (long)v;"));
    CHECK(has(looping({"m"}), "for (int v = 0; v < m; ++v) {"));
    CHECK(has(looping({"m", -5, -1}), "for (int v = m; v > -5; --v) {"));
    CHECK(has(looping({"m", -5, -1000}), "for (int v = m; v > -5; v -= 1000) {"));
    CHECK(has(looping({0, "m", 2}), "for (long v = 0; v < (long)m; v += 2) {"));
    CHECK(has(looping({"n"}), "for (long v = 0; v < n; ++v) {"));
    CHECK(has(looping({0, 100, "m"}), "for (long v = 0"));
    CHECK(
        has(looping({2147483646, 2147483647}), "for (int v = 2147483646; v < 2147483647; ++v) {"));
    CHECK(has(looping({2147483643, 2147483646, 2}),
              "for (int v = 2147483643; v < 2147483646; v += 2) {"));
    CHECK(has(looping({2147483644, 2147483647, 2}),
              "for (long v = 2147483644; v < 2147483647; v += 2) {"));
    CHECK(has(looping({0, binary(call_of(dtype(i64), {"m"}), "+", 1)}), "for (long v = 0; v < "));
}

TEST_CASE("loop with a possibly overflowing step counts iterations") {
    CHECK(has(looping({100, -1, -2147483647 - 1}), "for (int v = 100; v > -1; v -= 2147483648) {"));
    const auto below_most = [](std::int64_t by) {
        return Tree(syntax::Constant{std::numeric_limits<std::int64_t>::max() - by});
    };
    CHECK(has(looping({below_most(3), below_most(0), 2}),
              "v_left = range_length_int64(v, 9223372036854775807L, 2); v_left != 0; "
              "--v_left, v = (long)((ulong)v + (ulong)2)) {"));
    CHECK(has(looping({below_most(3), below_most(0), 1}), "v < 9223372036854775807L; ++v) {"));
    CHECK(has(looping({below_most(3), below_most(1), 2}), "v < 9223372036854775806L; v += 2) {"));
    CHECK(has(looping({"n", call("len", {"a"}), 2}), "v_left"));
    CHECK(has(looping({"m", "n", 2}), "for (long v = (long)m; v < n; v += 2) {"));
    CHECK(has(looping({"n", -1, -2}), "for (long v = n; v > -1; v -= 2) {"));
    CHECK_MESSAGE(has(looping({global_id(), call("len", {"a"}), 32}), "v < a_extent0; v += 32) {"),
                  "a sum of an extent and 32 does not overflow in practice");
}

TEST_CASE("64-bit variables are kept where narrowing gains nothing") {
    CHECK(has(source({for_range("v", {10}, {assign(at("a", "v"), "v")})}),
              "for (long v = 0; v < 10; ++v) {"));
    CHECK(has(source({for_range(
                  "v", {10},
                  {assign("w", binary("v", "*", 3)), assign(at("a", binary("w", "+", 1)), 0)})}),
              "for (long v = 0; v < 10; ++v) {"));
    CHECK(has(source({assign("v", 3), assign(at("a", 0), "v")}), "const long v = 3;"));
    CHECK(has(looping({100}, Dialect::cpp), "for (long long v = 0; v < 100; ++v) {"));
}

TEST_CASE("64-bit arithmetic wraps by casts in OpenCL C and CUDA") {
    const std::string text =
        source({assign("v", at("a", 1)), assign(at("a", 0), binary(binary("v", "*", "n"), "+", 1)),
                assign(at("a", 2), unary("-", "v")), assign(at("a", 3), binary("v", "<<", 3)),
                augment("v", "-", "n"), assign(at("a", 4), "v")});
    CHECK(has(text, "a[0] = (long)((ulong)(long)((ulong)v * (ulong)n) + (ulong)1);"));
    CHECK(has(text, "a[2] = (long)(-(ulong)v);"));
    CHECK(has(text, "a[3] = (long)((ulong)v << 3);"));
    CHECK(has(text, "v = (long)((ulong)v - (ulong)n);"));
    const auto shifted = [](Tree value) {
        return source({assign(at("a", 0), binary(std::move(value), "<<", 3))}, Dialect::cuda);
    };
    CHECK_MESSAGE(has(shifted(call_of(dtype(i64), {"m"})),
                      "(long long)((unsigned long long)(long long)m << 3);"),
                  "the result fits, but shifting a negative number is undefined");
    CHECK(has(shifted(call_of(dtype(i8), {"m"})), "(signed char)((unsigned)(signed char)m << 3);"));
    CHECK(has(shifted(binary("n", "&", 15)), "a[0] = (n & 15) << 3;"));
    const NodePtr square = assign("v", binary("n", "*", "n")),
                  next = assign("w", binary("v", "+", 1));
    CHECK(has(source({square, next, assign(at("a", 0), "w")}), "v = (long)((ulong)n * (ulong)n);"));
    const NodePtr product = assign(at("a", 0), binary(at("a", 1), "*", "n"));
    CHECK(has(source({product}, Dialect::cuda),
              "a[0] = (long long)((unsigned long long)a[1] * (unsigned long long)n);"));
    CHECK(has(source({product}, Dialect::cpp), "a[0] = a[1] * n;"));
    CHECK(has(source({product}, Dialect::sycl), "a[0] = a[1] * n;"));
}

TEST_CASE("provably fitting arithmetic and offsets have no casts") {
    CHECK(has(source({assign(at("a", 0), binary(global_id(), "+", 1))}),
              "a[0] = (long)get_global_id(0) + 1;"));
    const Tree place = binary(global_id(), "*", call("len", {"a"}));
    CHECK(has(source({assign(at("a", binary(place, "+", 1)), 0)}),
              "a[(long)get_global_id(0) * a_extent0 + 1] = 0;"));
    CHECK(has(counting(compare("v", "<", "n"), 1), "        v += 1;\n"));
    CHECK(has(counting(compare("v", "<", "n"), 2), "        v = (long)((ulong)v + (ulong)2);\n"));
    CHECK(has(source({for_range("v", {"n"}, {assign(at("a", 0), binary("v", "+", 1))})}),
              "a[0] = v + 1;"));
    const FunctionPtr reads = function("reads", {"x"}, {returns(at("x", 1))});
    Target target;
    target.dialect = Dialect::opencl_c;
    const std::string text =
        compile(
            function("k", {"a"}, {assign(at("a", {0, 0}), call(reads, {at("a", global_id())}))}),
            {array(i64, 2)}, target)
            .source;
    CHECK_MESSAGE(has(text, "reads(a, (long)((ulong)(long)get_global_id(0) * (ulong)a_extent1)"),
                  "the function may not read the element");
    CHECK(has(text, "x[x_offset + 1]"));
}

TEST_CASE("offset without a certain access wraps by casts") {
    const Tree place = binary(binary(global_id(), "*", call("len", {"a"})), "+", "v");
    const NodePtr guarded = if_(compare("n", "<", 9), {assign(at("a", place), 0)});
    const std::string hoisted = source({for_range("v", {7}, {guarded})});
    CHECK(has(hoisted,
              "const long offset = (long)((ulong)(long)get_global_id(0) * (ulong)a_extent0);\n"));
    const std::string named =
        source({assign("v", global_id()),
                assign("p", binary(binary("v", "*", call("len", {"a"})), "+", 1)),
                if_(compare("v", "<", "n"), {assign(at("a", "p"), 0)})});
    CHECK(has(named,
              "const long p = (long)((ulong)(long)((ulong)v * (ulong)a_extent0) + (ulong)1);"));
    const std::string stepping = source(
        {assign("p", 0),
         for_range("k", {"n"}, {assign(at("a", "p"), 0), augment("p", "+", call("len", {"a"}))})});
    CHECK(has(stepping, "p = (long)((ulong)p + (ulong)a_extent0);"));
}

TEST_CASE("nonnegative id expression converts to float64 as unsigned") {
    const auto converted = [](Tree value, Dtype to = f64, Dialect dialect = Dialect::opencl_c) {
        return source(
            {assign("i", global_id()), assign(at("a", 0), call_of(dtype(to), {std::move(value)}))},
            dialect);
    };
    CHECK(has(converted("i"), "(double)(ulong)i"));
    CHECK(has(converted(binary("i", "*", 4)), "(double)(ulong)(i * 4)"));
    CHECK_MESSAGE(has(converted(binary("i", "-", 4)), "(double)(i - 4)"),
                  "the value may be negative");
    CHECK_MESSAGE(has(converted(call("len", {"a"})), "(double)a_extent0"),
                  "the conversion of a single number would be slower");
    CHECK_MESSAGE(has(converted("i", f32), "(float)i"),
                  "the conversion of a float32 vector would be slower");
    CHECK(has(converted("i", f64, Dialect::cpp), "(double)i"));
}
