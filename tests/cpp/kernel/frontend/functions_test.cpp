// Functions: the table, device functions, math, conversions, and cooperative operations.
#include <doctest/doctest.h>

#include "kernel/frontend/functions.hpp"

#include "kernel/tree.hpp"
#include "kernel/types.hpp"

#include <algorithm>

using namespace entrepot;
using namespace entrepot::kernel;
using namespace entrepot::kernel::tree;

TEST_CASE("functions of the table are found by name, others are not") {
    for (const FunctionRow &row : functions())
        CHECK(find_function(row.name) == &row);
    CHECK(std::ranges::is_sorted(functions(), {}, &FunctionRow::name));
    CHECK(find_function("math.sqrt2") == nullptr);
    CHECK(find_function("") == nullptr);
}

// Calls every function that takes numbers only, or tuples of them, with as many as it needs.
TEST_CASE("all functions of numbers can be called") {
    constexpr Rule of_numbers[] = {Rule::floating,   Rule::whole,    Rule::predicate, Rule::numeric,
                                   Rule::integral,   Rule::counting, Rule::analytic,  Rule::complex,
                                   Rule::conversion, Rule::expanded};
    constexpr std::string_view of_tuples[] = {"math.dist", "math.fsum", "math.prod",
                                              "math.sumprod"};
    for (const FunctionRow &row : functions()) {
        if (std::ranges::find(of_numbers, row.rule) == std::end(of_numbers) || row.name == "len" ||
            row.name == "round" || row.name == "dot")
            continue;
        const bool takes_tuples = std::ranges::find(of_tuples, row.name) != std::end(of_tuples);
        auto node = std::make_shared<Node>();
        node->kind = Kind::call;
        node->operands = {builtin(std::string(row.name).c_str()).node};
        const auto commas = row.name == "math.prod" ? 0 : std::ranges::count(row.parameters, ',');
        for (int i = 0; i <= commas; ++i)
            node->operands.push_back(takes_tuples ? tuple({at("x", i), at("x", i + 1)}).node
                                     : row.name.ends_with("ldexp") && i == 1 ? Tree(3).node
                                                                             : at("x", i).node);
        node->names.resize(node->operands.size() - 1);
        for (const Dtype type : {f32, f64, i32, u8, b1}) {
            if ((row.rule == Rule::integral || row.rule == Rule::counting) &&
                (type == f32 || type == f64))
                continue;
            const bool gives_tuple = row.name == "divmod" || row.name == "cmath.polar" ||
                                     row.name.ends_with(".modf") || row.name.ends_with(".frexp");
            const bool gives_complex = row.name == "complex" || row.name.starts_with("cmath.");
            const auto call = gives_tuple     ? at(NodePtr(node), 0)
                              : gives_complex ? call_of(builtin("abs"), {NodePtr(node)})
                                              : Tree(NodePtr(node));
            CHECK_NOTHROW_MESSAGE(
                lowered({"x", "o"}, {array(type), array(f64)}, {assign(at("o", 0), call)}),
                row.name);
        }
    }
}

TEST_CASE("integer functions keep a type, counting ones return int64") {
    CHECK(lowered({"k", "s", "o"}, {array(i32), array(u8), array(i64)},
                  {assign(at("k", 0), call("math.gcd", {at("k", 0), at("k", 1), 12})),
                   assign(at("s", 0), call("math.isqrt", {at("s", 0)})),
                   assign(at("o", 0), call("math.comb", {at("s", 0), 2})),
                   assign(at("o", 1), call("math.perm", {at("k", 0)})),
                   assign(at("o", 2), call("math.lcm", {}))}) ==
          "kernel k(k: int32[::1], s: uint8[::1], o: int64[::1])\n"
          "  k[0] = gcd(gcd(k[0], k[1]), 12:int32)\n"
          "  s[0] = isqrt(s[0])\n"
          "  o[0] = comb(int64(s[0]), 2)\n"
          "  o[1] = factorial(int64(k[0]))\n"
          "  o[2] = 1\n");
}

TEST_CASE("bitwise_count of an integer of any width returns uint8") {
    CHECK(lowered({"k", "s"}, {array(i32), array(u8)},
                  {assign(at("k", 0), call("numpy.bitwise_count", {at("k", 0)})),
                   assign(at("s", 0), call("numpy.bitwise_count", {at("s", 0)}))}) ==
          "kernel k(k: int32[::1], s: uint8[::1])\n"
          "  k[0] = int32(bitwise_count(k[0]))\n"
          "  s[0] = bitwise_count(s[0])\n");
}

TEST_CASE("functions of tuples are expanded into their items") {
    CHECK(lowered({"a"}, {array(f32)},
                  {assign(at("a", 0), call("math.prod", {tuple({at("a", 0), at("a", 1), 3})})),
                   assign(at("a", 1), call("math.sumprod", {tuple({at("a", 0), 2}),
                                                            tuple({at("a", 1), at("a", 2)})})),
                   assign(at("a", 2), call("math.dist", {tuple({at("a", 0), 2}),
                                                         tuple({at("a", 1), at("a", 2)})}))}) ==
          "kernel k(a: float32[::1])\n"
          "  a[0] = ((1.0:float32 * a[0]) * a[1]) * 3.0:float32\n"
          "  a[1] = (0.0:float32 + (a[0] * a[1])) + (2.0:float32 * a[2])\n"
          "  a[2] = hypot(a[0] - a[1], 2.0:float32 - a[2])\n");
}

TEST_CASE("functions of complex numbers convert a real argument") {
    CHECK(lowered({"a", "z"}, {array(f32), array(c64)},
                  {assign(at("z", 0), call("cmath.sqrt", {at("a", 0)})),
                   assign(at("z", 1), call("cmath.exp", {at("z", 0)})),
                   assign(at("a", 1), call("cmath.phase", {at("z", 0)})),
                   assign(at("z", 2), call("numpy.sin", {at("z", 1)}))}) ==
          "kernel k(a: float32[::1], z: complex64[::1])\n"
          "  z[0] = sqrt(complex64(a[0]))\n"
          "  z[1] = exp(z[0])\n"
          "  a[1] = phase(z[0])\n"
          "  z[2] = sin(z[1])\n");
}

TEST_CASE("functions of floats keep float32 and convert an integer") {
    CHECK(lowered({"a", "k", "o"}, {array(f32), array(i32), array(f64)},
                  {assign(at("o", 0), binary(call("math.sqrt", {at("a", 0)}), "+",
                                             call("math.exp", {at("k", 0)}))),
                   assign(at("o", 1), call("math.atan2", {at("a", 0), 1})),
                   assign(at("k", 0), call("math.floor", {at("a", 0)}))}) ==
          "kernel k(a: float32[::1], k: int32[::1], o: float64[::1])\n"
          "  o[0] = float64(sqrt(a[0])) + exp(float64(k[0]))\n"
          "  o[1] = float64(atan2(a[0], 1.0:float32))\n"
          "  k[0] = int32(int64(floor(a[0])))\n");
}

TEST_CASE("Python's built-in functions have typed forms") {
    CHECK(lowered({"a", "k"}, {array(f32), array(i32)},
                  {assign(at("a", 0), call("max", {at("a", 0), 1, at("k", 0)})),
                   assign(at("k", 0), call("abs", {at("k", 1)})),
                   assign(at("k", 1), call("round", {at("a", 0)})),
                   assign(at("a", 1), call("round", {at("a", 0), 2})),
                   assign(tuple({at("k", 2), at("k", 3)}), call("divmod", {at("k", 0), 4})),
                   assign(at("a", 2), call("pow", {at("a", 0), 2})),
                   assign(at("k", 4), call("min", {3, 2}))}) ==
          "kernel k(a: float32[::1], k: int32[::1])\n"
          "  item: int32\n"
          "  a[0] = max(max(a[0], 1.0:float32), float32(k[0]))\n"
          "  k[0] = abs(k[1])\n"
          "  k[1] = int32(int64(rint(a[0])))\n"
          "  a[1] = rint(a[0] * 100.0:float32) / 100.0:float32\n"
          "  item = k[0] % 4:int32\n"
          "  k[2] = k[0] // 4:int32\n"
          "  k[3] = item\n"
          "  a[2] = a[0] ** 2.0:float32\n"
          "  k[4] = 2:int32\n");
}

TEST_CASE("C's division is used if no operand may be negative") {
    CHECK(lowered(
              {"k"}, {array(i64)},
              {assign("i", global_id()), assign(at("k", binary("i", "//", 4)), binary("i", "%", 4)),
               assign(at("k", 0), binary(at("k", 0), "//", 4)),
               assign(at("k", 1), binary("i", "//", at("k", 0)))}) == "kernel k(k: int64[::1])\n"
                                                                      "  i: int64\n"
                                                                      "  i = global_id0\n"
                                                                      "  k[i c/ 4] = i c% 4\n"
                                                                      "  k[0] = k[0] // 4\n"
                                                                      "  k[1] = i // k[0]\n");
}

TEST_CASE("C's division is not used on a possibly wrapped value") {
    CHECK(lowered({"k"}, {array(i64)},
                  {assign("h", 7),
                   for_range("i", {9}, {assign("h", binary(binary("h", "*", 31), "+", "i"))}),
                   assign(at("k", binary("h", "%", 16)), binary("h", "//", 16)),
                   assign("j", global_id()), assign("s", call("get_local_size", {0})),
                   assign(at("k", 0), binary(binary("j", "*", 4), "%", "s")),
                   assign(at("k", 1), binary(binary(binary("j", "*", "j"), "*", "j"), "//", 2))}) ==
          "kernel k(k: int64[::1])\n"
          "  h: int64\n"
          "  i: int64\n"
          "  j: int64\n"
          "  s: int64\n"
          "  h = 7\n"
          "  for i in 0, 9, 1\n"
          "    h = (h * 31) + i\n"
          "  k[h % 16] = h // 16\n"
          "  j = global_id0\n"
          "  s = local_size0\n"
          "  k[0] = (j * 4) c% s\n"
          "  k[1] = ((j * j) * j) // 2\n");
}

TEST_CASE("C's division is not used for a range with a wrapped bound") {
    const auto divided = [](Tree condition, Tree quotient) {
        const std::string text =
            lowered({"k", "x", "y", "u", "w"},
                    {array(i64), scalar(i64), scalar(i64), scalar(u64), scalar(u8)},
                    {if_(compare("y", ">", 0),
                         {if_(std::move(condition), {assign(at("k", 0), std::move(quotient))})})});
        return text.find(" c/ ") != std::string::npos;
    };
    const Tree quotient = binary("x", "//", 3);
    CHECK(divided(compare("x", ">=", "y"), quotient));
    CHECK(divided(compare("x", ">", -1), quotient));
    CHECK(divided(compare("x", "!=", "y"), binary(binary("y", "//", 2), "//", 3)));
    CHECK_FALSE(divided(compare("x", ">=", binary("y", "+", "y")), quotient));
    CHECK_FALSE(divided(compare("x", ">=", binary("y", "*", 2)), quotient));
    CHECK_FALSE(divided(compare("x", ">=", call("abs", {at("k", 1)})), quotient));
    CHECK_FALSE(divided(compare("x", "==", binary("y", "<<", 1)), quotient));
    CHECK(divided(compare("u", ">", 0), binary("u", "//", "u")));
    CHECK(divided(compare("w", ">", 0), binary("y", "//", "w")));
    CHECK_FALSE(divided(compare("w", ">", call_of(dtype(i8), {binary("y", "+", "y")})),
                        binary("y", "//", "w")));
    CHECK_MESSAGE(!divided(compare("u", ">", 0), binary("y", "//", "u")),
                  "the division is in int64, where u may be negative");
    CHECK_MESSAGE(!divided(compare("u", ">", 0), binary("u", "//", "y")),
                  "the division is in int64, where u may be negative");
}

TEST_CASE("counter with an unknown start may wrap when multiplied") {
    const auto loop = [](Tree value) {
        return lowered({"k", "n"}, {array(i64), scalar(i64)},
                       {if_(compare("n", ">", 0),
                            {for_range("i", {"n", call("len", {"k"})}, {assign(at("k", 0), value)}),
                             for_range("j", {call("len", {"k"})}, {assign(at("k", 1), "j")})})});
    };
    CHECK(loop(binary("i", "//", 3)).find("i c/ 3") != std::string::npos);
    CHECK(loop(binary(binary("i", "*", 4), "//", 3)).find("(i * 4) // 3") != std::string::npos);
}

TEST_CASE("type inference of a long chain of variables terminates") {
    std::vector<NodePtr> body{assign("v0", global_id())};
    for (int i = 1; i <= 100; ++i)
        body.push_back(assign(("v" + std::to_string(i)).c_str(),
                              binary(("v" + std::to_string(i - 1)).c_str(), "//", 2)));
    body.push_back(assign(at("k", "v100"), 0));
    CHECK(lowered({"k"}, {array(i64)}, body).find("v100 = v99 c/ 2\n") != std::string::npos);
}

TEST_CASE("complex numbers have arithmetic, parts and constructors") {
    CHECK(lowered({"z", "a"}, {array(c64), array(f32)},
                  {assign("w", binary(at("z", 0), "*", syntax::Constant{std::complex(0.0, 2.0)})),
                   assign(at("a", 0), binary(attribute("w", "real"), "+", call("abs", {"w"}))),
                   assign(at("z", 1), call("complex", {at("a", 0), 1})),
                   assign(at("z", 2), call_of(attribute("w", "conjugate"), {}))}) ==
          "kernel k(z: complex64[::1], a: float32[::1])\n"
          "  w: complex64\n"
          "  w = z[0] * (0.0 + 2.0j):complex64\n"
          "  a[0] = real(w) + abs(w)\n"
          "  z[1] = make_complex(a[0], 1.0:float32)\n"
          "  z[2] = conj(w)\n");
}

TEST_CASE("device function is compiled once per types and literals") {
    const auto scale = function("scale", {"x", "factor"}, {returns(binary("x", "*", "factor"))});
    CHECK(lowered({"a", "d"}, {array(f32), array(f64)},
                  {assign(at("a", 0), call(scale, {at("a", 0), 2.0})),
                   assign(at("a", 1), call(scale, {at("a", 1), 2.0})),
                   assign(at("a", 2), call(scale, {at("a", 2), at("a", 3)})),
                   assign(at("d", 0), call(scale, {at("d", 0), 2.0}))}) ==
          "function scale(x: float32) -> float32\n"
          "  return x * 2.0:float32\n"
          "function scale_2(x: float32, factor: float32) -> float32\n"
          "  return x * factor\n"
          "function scale_3(x: float64) -> float64\n"
          "  return x * 2.0\n"
          "kernel k(a: float32[::1], d: float64[::1])\n"
          "  a[0] = scale(a[0])\n"
          "  a[1] = scale(a[1])\n"
          "  a[2] = scale_2(a[2], a[3])\n"
          "  d[0] = scale_3(d[0])\n");
}

TEST_CASE("device function takes views and returns tuples by parts") {
    const auto ends = function(
        "ends", {"v", "i"}, {assign(at("v", "i"), 3.0), returns(tuple({at("v", 0), at("v", -1)}))});
    CHECK(lowered({"a"}, {array(f32, 2)},
                  {assign(tuple({"p", "q"}), call(ends, {at("a", global_id(0)), global_id(1)})),
                   assign(at("a", {0, 0}), binary("p", "+", "q"))}) ==
          "function ends(v: float32[::1], v_offset: int64, v_extent0: int64, i: int64) -> "
          "(float32, float32)\n"
          "  v[v_offset + i] = 3.0:float32\n"
          "  return v[v_offset], v[v_offset + (v_extent0 - 1)]\n"
          "kernel k(a: float32[:, ::1])\n"
          "  result: float32\n"
          "  result_2: float32\n"
          "  p: float32\n"
          "  q: float32\n"
          "  result, result_2 = ends(a, global_id0 * a.extent1, a.extent1, global_id1)\n"
          "  p = result\n"
          "  q = result_2\n"
          "  a[0] = p + q\n");
}

TEST_CASE("call with side effects becomes a statement, others do not") {
    const auto pure = function("pure", {"x"}, {returns(binary("x", "+", 1))});
    const auto writes = function("writes", {"v"}, {assign(at("v", 0), 1), returns(at("v", 1))});
    CHECK(lowered({"a"}, {array(f32)},
                  {assign(at("a", 0), binary(call(pure, {at("a", 0)}), "*", 2)),
                   assign(at("a", 0), binary(call(writes, {"a"}), "*", 2)),
                   evaluate(call(writes, {"a"}))}) ==
          "function pure(x: float32) -> float32\n"
          "  return x + 1.0:float32\n"
          "function writes(v: float32[::1], v_offset: int64, v_extent0: int64) -> float32\n"
          "  v[v_offset] = 1.0:float32\n"
          "  return v[v_offset + 1]\n"
          "kernel k(a: float32[::1])\n"
          "  result: float32\n"
          "  a[0] = pure(a[0]) * 2.0:float32\n"
          "  result = writes(a, 0, a.extent0)\n"
          "  a[0] = result * 2.0:float32\n"
          "  writes(a, 0, a.extent0)\n");
}

TEST_CASE("function with a barrier is inlined") {
    const auto sums = function("sums", {"v", "by"},
                               {assign("s", call("local.array", {4, dtype(f32)})),
                                assign("i", call("get_local_id", {0})),
                                if_(compare("by", ">", 3), {returns(tuple({0.5, "i"}))}),
                                assign(at("s", "i"), binary(at("v", "i"), "*", "by")),
                                evaluate(call("barrier")), returns(tuple({at("s", 0), "i"}))});
    CHECK(lowered({"a", "n"}, {array(f32), scalar(i64)},
                  {assign(tuple({"p", "q"}), call(sums, {"a", "n"})), assign(at("a", "q"), "p")}) ==
          "kernel k(a: float32[::1], n: int64)\n"
          "  s: float32[4] in local memory\n"
          "  result: float32\n"
          "  result_2: int64\n"
          "  p: float32\n"
          "  q: int64\n"
          "  i: int64\n"
          "  by: int64\n"
          "  by = n\n"
          "  i = local_id0\n"
          "  if by > 3\n"
          "    result = 0.5:float32\n"
          "    result_2 = i\n"
          "  else\n"
          "    s[i] = a[i] * float32(by)\n"
          "    barrier(work_group, local, global)\n"
          "    result = s[0]\n"
          "    result_2 = i\n"
          "  p = result\n"
          "  q = result_2\n"
          "  a[(q < 0) ? (q + a.extent0) : q] = p\n");
}

TEST_CASE("functions compiled for outdated types are dropped") {
    const auto twice = function("twice", {"x"}, {returns(binary("x", "+", "x"))});
    CHECK(lowered({"a"}, {array(f32)},
                  {assign("x", 1),
                   for_range("i", {4},
                             {assign("x", call(twice, {"x"})), augment("x", "+", at("a", "i"))}),
                   assign(at("a", 0), "x")}) == "function twice(x: float32) -> float32\n"
                                                "  return x + x\n"
                                                "kernel k(a: float32[::1])\n"
                                                "  x: float32\n"
                                                "  i: int64\n"
                                                "  x = 1.0:float32\n"
                                                "  for i in 0, 4, 1\n"
                                                "    x = twice(x)\n"
                                                "    x = x + a[i]\n"
                                                "  a[0] = x\n");
}

TEST_CASE("atomics, fences and barriers have typed forms") {
    CHECK(lowered({"h"}, {array(i32, 2)},
                  {assign("s", call("local.array", {4, dtype(f32)})),
                   evaluate(call("atomic.add", {"h", tuple({0, 1}), 2})),
                   assign("old", call_named(builtin("atomic.compare_exchange"),
                                            {{"", "h"},
                                             {"", tuple({0, 0})},
                                             {"", 1},
                                             {"", 2},
                                             {"order", text("acq_rel")}})),
                   evaluate(call("atomic.max", {"s", 0, "old"})),
                   evaluate(call_named(
                       builtin("atomic.store"),
                       {{"", "h"}, {"", tuple({0, 0})}, {"", 5}, {"scope", text("system")}})),
                   evaluate(call("mem_fence", {2})), evaluate(call("barrier")),
                   evaluate(call("sub_group_barrier"))}) ==
          "kernel k(h: int32[:, ::1])\n"
          "  s: float32[4] in local memory\n"
          "  old: int32\n"
          "  atomic.add<relaxed, device>(h, 1, 2:int32)\n"
          "  old = atomic.compare_exchange<acq_rel, device>(h, 0, 1:int32, 2:int32)\n"
          "  atomic.max<relaxed, work_group>(s, 0, float32(old))\n"
          "  atomic.store<relaxed, system>(h, 0, 5:int32)\n"
          "  fence(device, seq_cst, global)\n"
          "  barrier(work_group, local, global)\n"
          "  barrier(sub_group, local, global)\n");
}

TEST_CASE("group functions are separate statements") {
    CHECK(
        lowered(
            {"a"}, {array(f32)},
            {assign("i", global_id()),
             assign(at("a", "i"), binary(call("group.reduce", {at("a", "i"), text("max")}), "+",
                                         call("sub_group.shuffle_xor", {at("a", "i"), 1}))),
             if_(call("group.any", {compare(at("a", "i"), ">", 3)}), {assign(at("a", "i"), 0)})}) ==
        "kernel k(a: float32[::1])\n"
        "  i: int64\n"
        "  result: float32\n"
        "  result_2: float32\n"
        "  result_3: bool\n"
        "  i = global_id0\n"
        "  result = work_group.reduce<max>(a[i])\n"
        "  result_2 = sub_group.shuffle_xor(a[i], 1)\n"
        "  a[i] = result + result_2\n"
        "  result_3 = work_group.any(a[i] > 3.0:float32)\n"
        "  if result_3\n"
        "    a[i] = 0.0:float32\n");
}

TEST_CASE("print accepts text, numbers and f-strings") {
    CHECK(
        lowered({"a"}, {array(f32)},
                {evaluate(call("print", {text("{x} ="), at("a", 0),
                                         call("format", {text("<"), at("a", 1), text(">")})}))}) ==
        "kernel k(a: float32[::1])\n"
        "  print(\"{{x}} = {} <{}>\\n\", a[0], a[1])\n");
}

TEST_CASE("module reports groups, barriers, prints and dimensions") {
    const auto module_of = [](std::vector<NodePtr> body) {
        return lower(function("k", {"a"}, body), {array(f32)}, {});
    };
    const auto plain = module_of({assign(at("a", global_id()), 1)});
    CHECK_FALSE(plain.uses_groups);
    CHECK_FALSE(plain.has_barriers);
    CHECK(module_of({assign(at("a", call("get_local_id", {0})), 1)}).uses_groups);
    CHECK(module_of({evaluate(call("barrier"))}).has_barriers);
    CHECK(module_of({assign("s", call("local.array", {4, dtype(f32)}))}).uses_groups);
    CHECK(module_of({evaluate(call("group.reduce", {at("a", 0)}))}).has_barriers);
    CHECK(module_of({evaluate(call("print", {1}))}).prints);
    CHECK(plain.dimensions == 1);
    CHECK(module_of({assign(at("a", 0), call("get_local_size", {1}))}).dimensions == 2);
    const auto third = function("third", {"d"}, {returns(global_id(2))});
    CHECK(module_of({assign(at("a", 0), call(third, {0}))}).dimensions == 3);
    CHECK(module_of({assign(at("a", 0), call("get_work_dim"))}).dimensions == 1);
}
