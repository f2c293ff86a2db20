// Control flow and variables: loops, lazy operators, tuples, type inference; each with its whole
// typed form.
#include <doctest/doctest.h>

#include "kernel/tree.hpp"
#include "kernel/types.hpp"

using namespace entrepot;
using namespace entrepot::kernel;
using namespace entrepot::kernel::tree;

TEST_CASE("initial literal of a variable takes the type assigned later") {
    CHECK(lowered({"a", "out"}, {array(f32), array(f32)},
                  {assign("acc", 0),
                   for_range("k", {call("len", {"a"})}, {augment("acc", "+", at("a", "k"))}),
                   assign(at("out", 0), "acc")}) == "kernel k(a: float32[::1], out: float32[::1])\n"
                                                    "  acc: float32\n"
                                                    "  k: int64\n"
                                                    "  acc = 0.0:float32\n"
                                                    "  for k in 0, a.extent0, 1\n"
                                                    "    acc = acc + a[k]\n"
                                                    "  out[0] = acc\n");
}

TEST_CASE("type inference iterates over variables to a fixed point") {
    CHECK(lowered(
              {"a"}, {array(f32)},
              {assign("x", 0), assign("y", 0), assign("z", 0),
               for_range("i", {8}, {assign("z", "y"), assign("y", "x"), assign("x", at("a", "i"))}),
               assign(at("a", 0), "z")}) == "kernel k(a: float32[::1])\n"
                                            "  x: float32\n"
                                            "  y: float32\n"
                                            "  z: float32\n"
                                            "  i: int64\n"
                                            "  x = 0.0:float32\n"
                                            "  y = 0.0:float32\n"
                                            "  z = 0.0:float32\n"
                                            "  for i in 0, 8, 1\n"
                                            "    z = y\n"
                                            "    y = x\n"
                                            "    x = a[i]\n"
                                            "  a[0] = z\n");
}

TEST_CASE("variable of literals is stored as float64, used as float32") {
    CHECK(lowered({"a"}, {array(f32)},
                  {assign("alpha", 2.5), assign(at("a", 0), binary("alpha", "*", at("a", 0)))}) ==
          "kernel k(a: float32[::1])\n"
          "  alpha: float64\n"
          "  alpha = 2.5\n"
          "  a[0] = float32(alpha) * a[0]\n");
}

TEST_CASE("sum starting with a variable of literals is int64") {
    const Tree one = call_of(dtype(i16), {1});
    CHECK(lowered({"a"}, {array(i64)},
                  {assign("w", 8), assign("x", "w"), augment("x", "+", one),
                   assign(at("a", 0), "x")}) == "kernel k(a: int64[::1])\n"
                                                "  w: int64\n"
                                                "  x: int64\n"
                                                "  w = 8\n"
                                                "  x = w\n"
                                                "  x = x + int64(1:int16)\n"
                                                "  a[0] = x\n");
}

TEST_CASE("sum converted to int64 accepts a literal increment") {
    const Tree one = call_of(dtype(i16), {1});
    CHECK(lowered({"a"}, {array(i64)},
                  {assign("t", call_of(dtype(i16), {100})),
                   assign("x", call_of(dtype(i64), {binary("t", "+", one)})), augment("x", "+", 1),
                   assign(at("a", 0), "x")}) == "kernel k(a: int64[::1])\n"
                                                "  t: int16\n"
                                                "  x: int64\n"
                                                "  t = 100:int16\n"
                                                "  x = int64(t + 1:int16)\n"
                                                "  x = x + 1\n"
                                                "  a[0] = x\n");
}

TEST_CASE("loop variable is local unless assigned or read afterwards") {
    CHECK(lowered({"a"}, {array(i64)},
                  {for_range("i", {3}, {assign(at("a", "i"), 1)}),
                   for_range("i", {5}, {assign(at("a", "i"), 2)})}) == "kernel k(a: int64[::1])\n"
                                                                       "  i: int64\n"
                                                                       "  i_2: int64\n"
                                                                       "  for i in 0, 3, 1\n"
                                                                       "    a[i] = 1\n"
                                                                       "  for i_2 in 0, 5, 1\n"
                                                                       "    a[i_2] = 2\n");
    CHECK(lowered({"a"}, {array(i64)},
                  {for_range("i", {3}, {assign(at("a", "i"), 1), assign("i", 100)}),
                   assign(at("a", 0), "i")}) == "kernel k(a: int64[::1])\n"
                                                "  i_loop: int64\n"
                                                "  i: int64\n"
                                                "  for i_loop in 0, 3, 1\n"
                                                "    i = i_loop\n"
                                                "    a[i] = 1\n"
                                                "    i = 100\n"
                                                "  a[0] = i\n");
}

TEST_CASE("loop checks its step for 0 unless the step is a size") {
    CHECK(lowered({"a", "s"}, {array(f32), scalar(i32)},
                  {for_range("i", {0, 10, "s"}, {assign(at("a", 0), 0)})}) ==
          "kernel k(a: float32[::1], s: int32)\n"
          "  step: int64\n"
          "  i: int64\n"
          "  step = int64(s)\n"
          "  if step != 0\n"
          "    for i in 0, 10, step\n"
          "      a[0] = 0.0:float32\n");
    CHECK(lowered({"a"}, {array(f32)},
                  {for_range("i", {global_id(), call("len", {"a"}), call("get_global_size", {0})},
                             {assign(at("a", "i"), 0)})}) ==
          "kernel k(a: float32[::1])\n"
          "  i: int64\n"
          "  for i in global_id0, a.extent0, global_size0\n"
          "    a[i] = 0.0:float32\n");
}

TEST_CASE("statements of a while condition run in every iteration") {
    CHECK(lowered({"a", "b"}, {array(i32), array(i32)},
                  {assign("i", 0),
                   while_(compare(at("a", at("b", "i")), "<", 3), {augment("i", "+", 1)})}) ==
          "kernel k(a: int32[::1], b: int32[::1])\n"
          "  i: int64\n"
          "  index: int64\n"
          "  i = 0\n"
          "  while True\n"
          "    index = int64(b[i])\n"
          "    if not (a[(index < 0) ? (index + a.extent0) : index] < 3:int32)\n"
          "      break\n"
          "    i = i + 1\n");
}

TEST_CASE("known condition removes the branch not taken") {
    const Tree flag = syntax::Constant{false};
    CHECK(lowered({"a"}, {array(f32)},
                  {if_(flag, {assign(at("a", "nowhere"), 1)}, {assign(at("a", 0), 2)})}) ==
          "kernel k(a: float32[::1])\n"
          "  a[0] = 2.0:float32\n");
    CHECK(lowered({"a"}, {array(f32)},
                  {if_(compare(attribute("a", "dtype"), "==", dtype(f32)),
                       {assign(at("a", 0), 1)})}) == "kernel k(a: float32[::1])\n"
                                                     "  a[0] = 1.0:float32\n");
    CHECK(lowered({"a"}, {array(f32)},
                  {assign(at("a", 0), choose(boolean("and", {compare(none(), "is", none()), true}),
                                             1, "no"))}) == "kernel k(a: float32[::1])\n"
                                                            "  a[0] = 1.0:float32\n");
}

TEST_CASE("code after a return is removed") {
    CHECK(lowered({"a"}, {array(f32)}, {returns(), assign(at("a", 0), 1)}) ==
          "kernel k(a: float32[::1])\n  return\n");
}

TEST_CASE("chained comparison evaluates its middle operand once") {
    CHECK(lowered({"a"}, {array(i32)},
                  {if_(chain({0, at("a", 0), 10}, {"<", "<="}), {assign(at("a", 0), 0)})}) ==
          "kernel k(a: int32[::1])\n"
          "  middle: int32\n"
          "  middle = a[0]\n"
          "  if (0:int32 < middle) and (middle <= 10:int32)\n"
          "    a[0] = 0:int32\n");
}

TEST_CASE("second `and` operand's statements run if the first is true") {
    CHECK(lowered({"a", "n"}, {array(i32), scalar(i64)},
                  {if_(boolean("and", {compare("n", ">", 0),
                                       compare(call("atomic.add", {"a", 0, 1}), ">", 5)}),
                       {assign(at("a", 1), 0)})}) ==
          "kernel k(a: int32[::1], n: int64)\n"
          "  old: int32\n"
          "  chosen: bool\n"
          "  if n > 0\n"
          "    old = atomic.add<relaxed, device>(a, 0, 1:int32)\n"
          "    chosen = old > 5:int32\n"
          "  else\n"
          "    chosen = False\n"
          "  if chosen\n"
          "    a[1] = 0:int32\n");
}

TEST_CASE("`or` returns the deciding operand, not a bool") {
    CHECK(lowered({"a"}, {array(i32)}, {assign(at("a", 1), boolean("or", {at("a", 0), 7}))}) ==
          "kernel k(a: int32[::1])\n"
          "  value: int32\n"
          "  value = a[0]\n"
          "  a[1] = bool(value) ? value : 7:int32\n");
}

TEST_CASE("reads are not moved past a later side effect") {
    CHECK(lowered({"a"}, {array(i32)},
                  {assign(at("a", 1), binary(at("a", 0), "+", call("atomic.add", {"a", 0, 1})))}) ==
          "kernel k(a: int32[::1])\n"
          "  old: int32\n"
          "  value: int32\n"
          "  value = a[0]\n"
          "  old = atomic.add<relaxed, device>(a, 0, 1:int32)\n"
          "  a[1] = value + old\n");
}

TEST_CASE("tuple becomes one variable per item") {
    CHECK(lowered({"a"}, {array(f32, 2)},
                  {assign("shape", attribute("a", "shape")),
                   assign("p", tuple({at("a", {0, 0}), 2.0})),
                   assign(at("a", {0, 0}), binary(at("p", 1), "+", at("shape", -1)))}) ==
          "kernel k(a: float32[:, ::1])\n"
          "  shape_0: int64\n"
          "  shape_1: int64\n"
          "  p_0: float32\n"
          "  p_1: float64\n"
          "  shape_0 = a.extent0\n"
          "  shape_1 = a.extent1\n"
          "  p_0 = a[0]\n"
          "  p_1 = 2.0\n"
          "  a[0] = float32(p_1 + float64(shape_1))\n");
}

TEST_CASE("tuple targets are assigned simultaneously") {
    CHECK(lowered({"a"}, {array(f32)},
                  {assign("x", at("a", 0)), assign("y", at("a", 1)),
                   assign(tuple({"x", "y"}), tuple({"y", "x"})),
                   assign(tuple({at("a", 0), at("a", 1)}), tuple({at("a", 1), at("a", 0)}))}) ==
          "kernel k(a: float32[::1])\n"
          "  x: float32\n"
          "  y: float32\n"
          "  item: float32\n"
          "  item_2: float32\n"
          "  x = a[0]\n"
          "  y = a[1]\n"
          "  item = x\n"
          "  x = y\n"
          "  y = item\n"
          "  item_2 = a[0]\n"
          "  a[0] = a[1]\n"
          "  a[1] = item_2\n");
}

TEST_CASE("views are swapped by a tuple assignment") {
    CHECK(lowered({"a", "n"}, {array(f32), scalar(u8)},
                  {assign("t", at("a", slice("n", none(), none()))),
                   assign("u", at("a", slice(3, none(), none()))),
                   assign(tuple({"t", "u"}), tuple({"u", "t"})), assign(at("t", 0), at("u", 0))}) ==
          "kernel k(a: float32[::1], n: uint8)\n"
          "  t_offset: int64\n"
          "  t_extent0: int64\n"
          "  u_offset: int64\n"
          "  u_extent0: int64\n"
          "  part: int64\n"
          "  part_2: int64\n"
          "  t_offset = min(int64(n), a.extent0)\n"
          "  t_extent0 = a.extent0 - min(int64(n), a.extent0)\n"
          "  u_offset = min(3, a.extent0)\n"
          "  u_extent0 = a.extent0 - min(3, a.extent0)\n"
          "  part = t_offset\n"
          "  part_2 = t_extent0\n"
          "  t_offset = u_offset\n"
          "  t_extent0 = u_extent0\n"
          "  u_offset = part\n"
          "  u_extent0 = part_2\n"
          "  a[t_offset] = a[u_offset]\n");
}

TEST_CASE("annotation gives a variable its type") {
    const NodePtr annotated =
        node(Kind::annotate, "", {Tree("x").node, dtype(f32).node, Tree(0).node});
    CHECK(lowered({"a"}, {array(f64)}, {annotated, assign(at("a", 0), binary("x", "+", 1.5))}) ==
          "kernel k(a: float64[::1])\n"
          "  x: float32\n"
          "  x = 0.0:float32\n"
          "  a[0] = float64(x + 1.5:float32)\n");
}
