// Functions: the table, device functions, math, conversions; and work-items together.
#include <doctest/doctest.h>

#include <entrepot/kernel/compiler/functions.hpp>

#include "kernel/compiler/tree.hpp"
#include "kernel/compiler/types.hpp"

#include <algorithm>

using namespace entrepot;
using namespace entrepot::kernel;
using namespace entrepot::kernel::tree;

TEST_CASE("every row of the table is found by its name, and nothing else") {
    for (const FunctionRow &row : functions())
        CHECK(find_function(row.name) == &row);
    CHECK(std::ranges::is_sorted(functions(), {}, &FunctionRow::name));
    CHECK(find_function("math.sqrt2") == nullptr);
    CHECK(find_function("") == nullptr);
}

// Every row that takes numbers only is called with as many as it needs.
TEST_CASE("every function of numbers can be called") {
    for (const FunctionRow &row : functions()) {
        const bool of_numbers = row.rule == Rule::floating || row.rule == Rule::whole || row.rule == Rule::predicate ||
                                row.rule == Rule::numeric || row.rule == Rule::complex || row.rule == Rule::expanded ||
                                row.rule == Rule::conversion;
        if (!of_numbers || row.name == "len" || row.name == "round")
            continue;
        auto node = std::make_shared<Node>();
        node->kind = Kind::call;
        node->operands = {builtin(std::string(row.name).c_str()).node};
        const auto commas = std::ranges::count(row.parameters, ',');
        for (std::ptrdiff_t i = 0; i <= commas; ++i)
            node->operands.push_back(at("x", static_cast<int>(i)).node);
        node->names.resize(node->operands.size() - 1);
        for (const Dtype type : {f32, f64, i32, u8, b1}) {
            const bool is_tuple = row.name == "divmod" || row.name == "math.modf";
            const auto call = is_tuple                ? at(NodePtr(node), 0)
                              : row.name == "complex" ? call_of(builtin("abs"), {NodePtr(node)})
                                                      : Tree(NodePtr(node));
            CHECK_NOTHROW_MESSAGE(lowered({"x", "o"}, {array(type), array(f64)}, {assign(at("o", 0), call)}), row.name);
        }
    }
}

TEST_CASE("functions of floats keep a float's type, and make one of an integer") {
    CHECK(lowered({"a", "k", "o"}, {array(f32), array(i32), array(f64)},
                  {assign(at("o", 0), binary(call("math.sqrt", {at("a", 0)}), "+", call("math.exp", {at("k", 0)}))),
                   assign(at("o", 1), call("math.atan2", {at("a", 0), 1})),
                   assign(at("k", 0), call("math.floor", {at("a", 0)}))}) ==
          "kernel k(a: float32[::1], k: int32[::1], o: float64[::1])\n"
          "  o[0] = float64(sqrt(a[0])) + exp(float64(k[0]))\n"
          "  o[1] = float64(atan2(a[0], 1.0:float32))\n"
          "  k[0] = int32(int64(floor(a[0])))\n");
}

TEST_CASE("Python's own functions") {
    CHECK(lowered({"a", "k"}, {array(f32), array(i32)},
                  {assign(at("a", 0), call("max", {at("a", 0), 1, at("k", 0)})), assign(at("k", 0), call("abs", {at("k", 1)})),
                   assign(at("k", 1), call("round", {at("a", 0)})), assign(at("a", 1), call("round", {at("a", 0), 2})),
                   assign(tuple({at("k", 2), at("k", 3)}), call("divmod", {at("k", 0), 4})),
                   assign(at("a", 2), call("pow", {at("a", 0), 2})), assign(at("k", 4), call("min", {3, 2}))}) ==
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

TEST_CASE("C's division is taken where it is Python's") {
    CHECK(lowered({"k"}, {array(i64)},
                  {assign("i", global_id()), assign(at("k", binary("i", "//", 4)), binary("i", "%", 4)),
                   assign(at("k", 0), binary(at("k", 0), "//", 4)), assign(at("k", 1), binary("i", "//", at("k", 0)))}) ==
          "kernel k(k: int64[::1])\n"
          "  i: int64\n"
          "  i = global_id0\n"
          "  k[i c/ 4] = i c% 4\n"
          "  k[0] = k[0] // 4\n"
          "  k[1] = i // k[0]\n");
}

TEST_CASE("C's division is not taken of what may have wrapped") {
    CHECK(lowered({"k"}, {array(i64)},
                  {assign("h", 7), for_range("i", {9}, {assign("h", binary(binary("h", "*", 31), "+", "i"))}),
                   assign(at("k", binary("h", "%", 16)), binary("h", "//", 16)), assign("j", global_id()),
                   assign("s", call("get_local_size", {0})), assign(at("k", 0), binary(binary("j", "*", 4), "%", "s")),
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

TEST_CASE("complex numbers") {
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

TEST_CASE("a device function is compiled once for the types of a call, literals are compiled in") {
    const auto scale = function("scale", {"x", "factor"}, {returns(binary("x", "*", "factor"))});
    CHECK(lowered({"a", "d"}, {array(f32), array(f64)},
                  {assign(at("a", 0), call(scale, {at("a", 0), 2.0})), assign(at("a", 1), call(scale, {at("a", 1), 2.0})),
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

TEST_CASE("an array goes to a device function as root, offset, extents and strides; a tuple comes back item by item") {
    const auto ends = function("ends", {"v", "i"}, {assign(at("v", "i"), 3.0), returns(tuple({at("v", 0), at("v", -1)}))});
    CHECK(lowered({"a"}, {array(f32, 2)},
                  {assign(tuple({"p", "q"}), call(ends, {at("a", global_id(0)), global_id(1)})),
                   assign(at("a", {0, 0}), binary("p", "+", "q"))}) ==
          "function ends(v: float32[::1], v_offset: int64, v_extent0: int64, i: int64) -> (float32, float32)\n"
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

TEST_CASE("a function without effects may stand in an expression, one with effects is a statement") {
    const auto pure = function("pure", {"x"}, {returns(binary("x", "+", 1))});
    const auto writes = function("writes", {"v"}, {assign(at("v", 0), 1), returns(at("v", 1))});
    CHECK(lowered({"a"}, {array(f32)},
                  {assign(at("a", 0), binary(call(pure, {at("a", 0)}), "*", 2)),
                   assign(at("a", 0), binary(call(writes, {"a"}), "*", 2)), evaluate(call(writes, {"a"}))}) ==
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

TEST_CASE("functions that were called for types of an earlier walk are not kept") {
    const auto twice = function("twice", {"x"}, {returns(binary("x", "+", "x"))});
    CHECK(lowered({"a"}, {array(f32)},
                  {assign("x", 1), for_range("i", {4}, {assign("x", call(twice, {"x"})), augment("x", "+", at("a", "i"))}),
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

TEST_CASE("atomics, fences and barriers") {
    CHECK(lowered({"h"}, {array(i32, 2)},
                  {assign("s", call("local.array", {4, dtype(f32)})), evaluate(call("atomic.add", {"h", tuple({0, 1}), 2})),
                   assign("old", call_named(builtin("atomic.compare_exchange"),
                                            {{"", "h"}, {"", tuple({0, 0})}, {"", 1}, {"", 2}, {"order", text("acq_rel")}})),
                   evaluate(call("atomic.max", {"s", 0, "old"})),
                   evaluate(
                       call_named(builtin("atomic.store"), {{"", "h"}, {"", tuple({0, 0})}, {"", 5}, {"scope", text("system")}})),
                   evaluate(call("mem_fence", {2})), evaluate(call("barrier")), evaluate(call("sub_group_barrier"))}) ==
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

TEST_CASE("group functions are statements of their own") {
    CHECK(lowered({"a"}, {array(f32)},
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

TEST_CASE("print: text, numbers and f-strings") {
    CHECK(lowered({"a"}, {array(f32)},
                  {evaluate(call("print", {text("{x} ="), at("a", 0), call("format", {text("<"), at("a", 1), text(">")})}))}) ==
          "kernel k(a: float32[::1])\n"
          "  print(\"{{x}} = {} <{}>\\n\", a[0], a[1])\n");
}

TEST_CASE("what a kernel tells of itself") {
    const auto module_of = [](std::vector<NodePtr> body) { return lower(function("k", {"a"}, body), {array(f32)}, {}); };
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
