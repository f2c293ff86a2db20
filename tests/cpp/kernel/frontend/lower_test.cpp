// Lowering: small kernels, each with its whole typed form.
#include <doctest/doctest.h>

#include "kernel/tree.hpp"
#include "kernel/types.hpp"

using namespace entrepot;
using namespace entrepot::kernel::tree;

TEST_CASE("vector addition lowers to its typed form") {
    CHECK(lowered({"a", "b", "c"}, {array(f32), array(f32), array(f32)},
                  {assign("i", global_id()),
                   assign(at("c", "i"), binary(at("a", "i"), "+", at("b", "i")))}) ==
          "kernel k(a: float32[::1], b: float32[::1], c: float32[::1])\n"
          "  i: int64\n"
          "  i = global_id0\n"
          "  c[i] = a[i] + b[i]\n");
}

TEST_CASE("saxpy lowers its guard, scalar and in-place addition") {
    CHECK(lowered({"n", "alpha", "x", "y"}, {scalar(i32), scalar(f32), array(f32), array(f32)},
                  {assign("i", global_id()),
                   if_(compare("i", "<", "n"),
                       {augment(at("y", "i"), "+", binary("alpha", "*", at("x", "i")))})}) ==
          "kernel k(n: int32, alpha: float32, x: float32[::1], y: float32[::1])\n"
          "  i: int64\n"
          "  i = global_id0\n"
          "  if i < int64(n)\n"
          "    y[i] = y[i] + (alpha * x[i])\n");
}

TEST_CASE("documented example lowers local memory and a barrier") {
    CHECK(lowered({"A"}, {array(f32)},
                  {assign("lm", call_named(builtin("local.array"),
                                           {{"shape", 10}, {"dtype", dtype(f32)}})),
                   assign("i", global_id()), assign(at("lm", "i"), at("A", "i")),
                   evaluate(call("barrier", {1})),
                   augment(at("A", "i"), "+", at("lm", binary(binary(10, "-", 1), "-", "i")))}) ==
          "kernel k(A: float32[::1])\n"
          "  lm: float32[10] in local memory\n"
          "  i: int64\n"
          "  i = global_id0\n"
          "  lm[i] = A[i]\n"
          "  barrier(work_group, local)\n"
          "  A[i] = A[i] + lm[((9 - i) < 0) ? ((9 - i) + 10) : (9 - i)]\n");
}
