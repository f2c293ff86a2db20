// Arrays: elements, indices from the end, sub-arrays, address spaces; each with its whole typed
// form.
#include <doctest/doctest.h>

#include "kernel/frontend/bounds.hpp"
#include "kernel/ir/ranges.hpp"

#include "kernel/tree.hpp"
#include "kernel/types.hpp"

#include <cstring>
#include <optional>
#include <type_traits>

using namespace entrepot;
using namespace entrepot::kernel;
using namespace entrepot::kernel::tree;

TEST_CASE("contiguous matrix is indexed by extents, others by strides") {
    CHECK(
        lowered({"a"}, {array(f32, 3)}, {assign(at("a", {global_id(0), global_id(1), 2}), 1.0)}) ==
        "kernel k(a: float32[:, :, ::1])\n"
        "  a[(((global_id0 * a.extent1) + global_id1) * a.extent2) + 2] = 1.0:float32\n");
    CHECK(lowered({"a"}, {array(f32, 2, false)},
                  {assign(at("a", {global_id(0), global_id(1)}), 1.0)}) ==
          "kernel k(a: float32[:, :])\n"
          "  a[(global_id0 * a.stride0) + (global_id1 * a.stride1)] = 1.0:float32\n");
}

TEST_CASE("only a possibly negative index is counted from the end") {
    CHECK(lowered({"a", "n"}, {array(f32), scalar(i64)}, {assign(at("a", "n"), at("a", -1))}) ==
          "kernel k(a: float32[::1], n: int64)\n"
          "  a[(n < 0) ? (n + a.extent0) : n] = a[a.extent0 - 1]\n");
    CHECK(lowered({"a", "n"}, {array(f32), scalar(u32)}, {assign(at("a", "n"), 1)}) ==
          "kernel k(a: float32[::1], n: uint32)\n"
          "  a[int64(n)] = 1.0:float32\n");
}

TEST_CASE("unsigned value converted to a signed type may be negative") {
    CHECK(lowered({"a", "n"}, {array(f32), scalar(u64)}, {assign(at("a", "n"), 1)}) ==
          "kernel k(a: float32[::1], n: uint64)\n"
          "  index: int64\n"
          "  index = int64(n)\n"
          "  a[(index < 0) ? (index + a.extent0) : index] = 1.0:float32\n");
    CHECK(lowered({"k", "n"}, {array(i8), scalar(u8)},
                  {assign(at("k", 0), binary(call_of(dtype(i8), {"n"}), "//", 4))}) ==
          "kernel k(k: int8[::1], n: uint8)\n"
          "  k[0] = int8(n) // 4:int8\n");
}

static_assert(!std::is_convertible_v<Assumed, Proved> && !std::is_constructible_v<Proved, Assumed>);
static_assert(!std::is_convertible_v<Proved, Assumed> && !std::is_constructible_v<Assumed, Proved>);
static_assert(!std::is_convertible_v<std::optional<Assumed>, std::optional<Range>>);

TEST_CASE("possibly wrapping index is counted from the end") {
    const auto indexed = [](Tree index) {
        return lowered({"a", "v", "n"}, {array(f32), scalar(i8), scalar(i64)},
                       {if_(boolean("and", {compare("v", ">=", 0), compare("n", ">=", 0)}),
                            {assign(at("a", index), 1)})});
    };
    for (const Tree &index :
         {binary("v", "+", "v"), binary("v", "*", 2), binary("v", "<<", 1),
          call("abs", {binary("v", "+", "v")}), binary("n", "+", "n"), binary("n", "*", 2),
          binary("n", "<<", 1), binary(binary("n", "*", 2), ">>", 1)})
        CHECK(indexed(index).find("< 0) ? (") != std::string::npos);
    for (const Tree &index :
         {Tree("v"), binary("v", "%", 3), binary(call_of(dtype(i64), {"v"}), "+", "v"), Tree("n"),
          binary("n", "+", 1), binary(binary("n", "+", global_id()), "+", "v"), call("abs", {"n"})})
        CHECK(indexed(index).find("< 0) ? (") == std::string::npos);
}

TEST_CASE("nonnegative loaded value may wrap when doubled or multiplied") {
    const auto indexed = [](Tree index) {
        return lowered({"a", "k"}, {array(f32), array(i64)},
                       {assign("v", at("k", 0)),
                        if_(compare("v", ">=", 0), {assign(at("a", std::move(index)), 1)})})
            .find("< 0) ? (");
    };
    CHECK(indexed("v") == std::string::npos);
    CHECK(indexed(binary("v", "+", global_id())) == std::string::npos);
    CHECK(indexed(binary("v", "+", "v")) != std::string::npos);
    CHECK(indexed(binary("v", "*", global_id())) != std::string::npos);
    CHECK(indexed(binary(global_id(), "*", call("len", {"a"}))) == std::string::npos);
}

TEST_CASE("possibly wrapping slice bound is counted from the end") {
    const auto length = [](Tree stop) {
        return lowered(
            {"a", "n"}, {array(f32), scalar(i64)},
            {if_(compare("n", ">=", 0), {assign("t", at("a", slice(none(), stop, none()))),
                                         assign(at("a", 0), call("len", {"t"}))})});
    };
    CHECK(length("n").find("t_extent0 = min(n, a.extent0)\n") != std::string::npos);
    CHECK(length(binary("n", "+", 1)).find("t_extent0 = max(min(((n + 1) < 0) ? ") !=
          std::string::npos);
    CHECK(
        length(binary(global_id(), "+", 1)).find("t_extent0 = min(global_id0 + 1, a.extent0)\n") !=
        std::string::npos);
}

TEST_CASE("incremented variable needs no sign test, doubled one does") {
    const auto growing = [](Tree next) {
        return lowered({"a", "n"}, {array(f32), scalar(i64)},
                       {assign("s", 1), assign("t", 1),
                        while_(compare("s", "<", "n"),
                               {assign(at("a", "s"), 1), assign("t", "s"), assign("s", next)})});
    };
    const auto has_test = [&](Tree next) {
        return growing(next).find("(s < 0) ? (") != std::string::npos;
    };
    CHECK_FALSE(has_test(binary("s", "+", 1)));
    CHECK_FALSE(has_test(binary("s", "+", call("get_global_size", {0}))));
    CHECK_FALSE(has_test(binary("s", "+", binary(call("len", {"a"}), "*", global_id()))));
    CHECK(has_test(binary("s", "+", "s")));
    CHECK(has_test(binary("s", "*", 2)));
    CHECK(has_test(binary("t", "*", 2)));
    CHECK(has_test(binary("t", "+", "s")));
    CHECK(has_test(binary("s", "+", "n")));
    CHECK(has_test(binary("s", "+", call("abs", {"n"}))));
    CHECK(has_test(binary("s", "+", call("max", {"n", 0}))));
}

TEST_CASE("computed index is evaluated once") {
    CHECK(lowered({"a", "b"}, {array(f32), array(i32)}, {assign(at("a", at("b", 0)), 1)}) ==
          "kernel k(a: float32[::1], b: int32[::1])\n"
          "  index: int64\n"
          "  index = int64(b[0])\n"
          "  a[(index < 0) ? (index + a.extent0) : index] = 1.0:float32\n");
}

TEST_CASE("conditions give lower bounds of an index") {
    CHECK(
        lowered({"a", "b", "n"}, {array(f32), array(f32), scalar(i64)},
                {assign("i", global_id()),
                 if_(boolean("and", {compare("i", ">", 0), compare("i", "<", binary("n", "-", 1))}),
                     {assign(at("b", "i"), binary(at("a", binary("i", "-", 1)), "+",
                                                  at("a", binary("i", "+", 1))))})}) ==
        "kernel k(a: float32[::1], b: float32[::1], n: int64)\n"
        "  i: int64\n"
        "  i = global_id0\n"
        "  if (i > 0) and (i < (n - 1))\n"
        "    b[i] = a[i - 1] + a[i + 1]\n");
    CHECK(lowered({"a"}, {array(f32)},
                  {assign("i", global_id()), if_(compare("i", "==", 0), {returns()}),
                   assign(at("a", "i"), at("a", binary("i", "-", 1)))}) ==
          "kernel k(a: float32[::1])\n"
          "  i: int64\n"
          "  i = global_id0\n"
          "  if i == 0\n"
          "    return\n"
          "  a[i] = a[i - 1]\n");
}

TEST_CASE("`!=` only narrows a range at its lower bound") {
    const auto after = [](Tree other) {
        return lowered({"k", "n", "m"}, {array(i64), scalar(i64), scalar(u64)},
                       {if_(compare("n", "==", other), {returns()}),
                        assign(at("k", 0), binary("n", "//", 4))});
    };
    CHECK(after("m").ends_with("k[0] = n // 4\n"));
    CHECK(after(0).ends_with("k[0] = n // 4\n"));
    CHECK(after(call("len", {"k"})).ends_with("k[0] = n // 4\n"));
}

TEST_CASE("range from a condition ends where the variable changes") {
    CHECK(lowered({"a", "i"}, {array(f32), scalar(i64)},
                  {if_(compare("i", ">", 0), {assign(at("a", "i"), 0), augment("i", "-", 2),
                                              assign(at("a", "i"), 1)})}) ==
          "kernel k(a: float32[::1], i: int64)\n"
          "  if i > 0\n"
          "    a[i] = 0.0:float32\n"
          "    i = i - 2\n"
          "    a[(i < 0) ? (i + a.extent0) : i] = 1.0:float32\n");
    CHECK(lowered({"a", "i"}, {array(f32), scalar(i64)},
                  {if_(compare("i", ">=", 0),
                       {while_(compare("i", "!=", 7),
                               {assign(at("a", "i"), 0), augment("i", "-", 2)})})}) ==
          "kernel k(a: float32[::1], i: int64)\n"
          "  if i >= 0\n"
          "    while i != 7\n"
          "      a[(i < 0) ? (i + a.extent0) : i] = 0.0:float32\n"
          "      i = i - 2\n");
}

TEST_CASE("decremented variable needs a sign test, incremented one not") {
    CHECK(lowered({"a", "n"}, {array(f32), scalar(i64)},
                  {assign("i", 0), assign("j", 9),
                   while_(compare("i", "<", "n"), {assign(at("a", "i"), at("a", "j")),
                                                   augment("i", "+", 1), augment("j", "-", 1)})}) ==
          "kernel k(a: float32[::1], n: int64)\n"
          "  i: int64\n"
          "  j: int64\n"
          "  i = 0\n"
          "  j = 9\n"
          "  while i < n\n"
          "    a[i] = a[(j < 0) ? (j + a.extent0) : j]\n"
          "    i = i + 1\n"
          "    j = j - 1\n");
}

TEST_CASE("row of a matrix is an offset into its array") {
    CHECK(lowered({"a"}, {array(f32, 2)},
                  {assign("row", at("a", global_id(0))),
                   for_range("k", {call("len", {"row"})},
                             {assign(at("row", "k"), binary("k", "*", 2))})}) ==
          "kernel k(a: float32[:, ::1])\n"
          "  row_offset: int64\n"
          "  k: int64\n"
          "  row_offset = global_id0 * a.extent1\n"
          "  for k in 0, a.extent1, 1\n"
          "    a[row_offset + k] = float32(k * 2)\n");
}

TEST_CASE("slices are clamped as in Python") {
    CHECK(lowered({"a"}, {array(f32)},
                  {assign("t", at("a", slice(2, 8, none()))),
                   assign(at("t", 1), call("len", {"t"}))}) ==
          "kernel k(a: float32[::1])\n"
          "  t_offset: int64\n"
          "  t_extent0: int64\n"
          "  t_offset = min(2, a.extent0)\n"
          "  t_extent0 = max(min(8, a.extent0) - min(2, a.extent0), 0)\n"
          "  a[t_offset + 1] = float32(t_extent0)\n");
    CHECK(lowered({"a"}, {array(f32)}, {assign(at(at("a", slice(none(), none(), -1)), 3), 1)}) ==
          "kernel k(a: float32[::1])\n"
          "  a[(a.extent0 - 1) - 3] = 1.0:float32\n");
}

TEST_CASE("slice of an array of known shape has a known shape") {
    const auto with = [](Tree part) {
        return lowered({"o"}, {array(i64)},
                       {assign("p", call("private.array", {tuple({6, 8}), dtype(f32)})),
                        assign("t", part), assign(at("o", 0), call("len", {"t"})),
                        assign(at("t", {1, 1}), 1)});
    };
    const std::string head = "kernel k(o: int64[::1])\n  p: float32[6, 8] in private memory\n";
    CHECK(with(at("p", {slice(1, -1, none()), slice(none(), 4, 2)})) ==
          head + "  o[0] = 4\n  p[18] = 1.0:float32\n");
    CHECK(with(at("p", {slice(none(), none(), -2), whole()})) ==
          head + "  o[0] = 3\n  p[25] = 1.0:float32\n");
    CHECK(with(at("p", {slice(4, 1, -1), slice(100, none(), -3)})) ==
          head + "  o[0] = 3\n  p[28] = 1.0:float32\n");
    CHECK(with(at("p", node(Kind::ellipsis))) == head + "  o[0] = 6\n  p[9] = 1.0:float32\n");
}

TEST_CASE("rebound view stores its offset and extent in variables") {
    CHECK(lowered({"a"}, {array(f32)},
                  {assign("rest", "a"),
                   while_(compare(call("len", {"rest"}), ">", 1),
                          {assign(at("rest", 0), 0),
                           assign("rest", at("rest", slice(1, none(), none())))})}) ==
          "kernel k(a: float32[::1])\n"
          "  rest_offset: int64\n"
          "  rest_extent0: int64\n"
          "  rest_offset = 0\n"
          "  rest_extent0 = a.extent0\n"
          "  while rest_extent0 > 1\n"
          "    a[rest_offset] = 0.0:float32\n"
          "    rest_offset = rest_offset + min(1, rest_extent0)\n"
          "    rest_extent0 = rest_extent0 - min(1, rest_extent0)\n");
}

TEST_CASE("in-place assignment computes its offset once") {
    CHECK(lowered({"a", "b"}, {array(f32), array(i32)}, {augment(at("a", at("b", 0)), "*", 2)}) ==
          "kernel k(a: float32[::1], b: int32[::1])\n"
          "  index: int64\n"
          "  offset: int64\n"
          "  index = int64(b[0])\n"
          "  offset = (index < 0) ? (index + a.extent0) : index\n"
          "  a[offset] = a[offset] * 2.0:float32\n");
}

TEST_CASE("store converts as in C, a literal at compile time") {
    CHECK(lowered({"k", "a"}, {array(i32), array(f32)},
                  {assign(at("k", 0), at("a", 0)), assign(at("k", 1), 2.7)}) ==
          "kernel k(k: int32[::1], a: float32[::1])\n"
          "  k[0] = int32(a[0])\n"
          "  k[1] = 2:int32\n");
}

TEST_CASE("captured arrays and tuples become constant memory once") {
    auto captured = std::make_shared<ConstantArray>();
    captured->dtype = f32;
    captured->shape = {2};
    const float values[] = {1.5f, 2.5f};
    captured->bytes.resize(sizeof values);
    std::memcpy(captured->bytes.data(), values, sizeof values);
    const Tree weights = syntax::Constant{std::shared_ptr<const ConstantArray>(captured)};
    CHECK(lowered({"a"}, {array(f32)},
                  {assign("w", call("constant.array", {weights})),
                   assign("c", call("constant.array", {tuple({1, 2, 3}), dtype(i16)})),
                   assign(at("a", 0), binary(binary(at("w", 0), "+", at(weights, global_id())), "+",
                                             at("c", -1)))}) ==
          "kernel k(a: float32[::1])\n"
          "  w: float32[2] in constant memory\n"
          "  c: int16[3] in constant memory\n"
          "  a[0] = (w[0] + w[global_id0]) + float32(c[2])\n");
    const ir::Module module =
        lower(function("k", {"a"},
                       {assign("c", call("constant.array", {weights, dtype(f64)})),
                        assign(at("a", 0), at("c", 1))}),
              {array(f32)}, {});
    REQUIRE(module.kernel().roots.size() == 3);
    const auto &converted = *module.kernel().roots[2].values;
    double second = 0;
    std::memcpy(&second, converted.bytes.data() + 8, 8);
    CHECK(converted.bytes.size() == 16);
    CHECK(second == 2.5);
}

TEST_CASE("debug build checks an index against its extent") {
    Target target;
    target.debug = true;
    CHECK(lowered({"a"}, {array(f32)}, {assign(at("a", global_id()), 1)}, target) ==
          "kernel k(a: float32[::1])\n"
          "  a[checked(global_id0, a.extent0)] = 1.0:float32\n");
}

TEST_CASE("reads and writes are tracked through device functions") {
    const auto put = function("put", {"v"}, {assign(at("v", 0), 1)});
    const ir::Module module =
        lower(function("k", {"a", "b", "c"},
                       {assign(at("a", 0), at("b", 0)), evaluate(call(put, {"c"}))}),
              {array(f32), array(f32), array(f32)}, {});
    const auto &roots = module.kernel().roots;
    CHECK((roots[0].written && !roots[0].read));
    CHECK((roots[1].read && !roots[1].written));
    CHECK((roots[2].written && !roots[2].read));
    CHECK_FALSE(module.uses_groups);
}

TEST_CASE("transposed array swaps extents and strides in place") {
    CHECK(lowered({"m", "a"}, {array(f32, 2), array(f32)},
                  {assign("t", attribute("m", "T")), assign(at("t", {2, 1}), at("a", 0)),
                   assign(at("a", 0), at(attribute("a", "T"), 1)),
                   assign(at("a", 1), at(attribute(attribute("m", "T"), "shape"), 0))}) ==
          "kernel k(m: float32[:, ::1], a: float32[::1])\n"
          "  m[2 + m.extent1] = a[0]\n"
          "  a[0] = a[1]\n"
          "  a[1] = float32(m.extent1)\n");
}
