// Refusals: a program for each check of the language, with the message and its advice.
#include <doctest/doctest.h>

#include "core/refusal.hpp"
#include "kernel/tree.hpp"
#include "kernel/types.hpp"

using namespace entrepot;
using namespace entrepot::kernel;
using namespace entrepot::kernel::tree;

namespace {

struct Program {
    const char *message;
    std::vector<NodePtr> body;
};

// Parameters of every program: a float32 array, an int32 array, a matrix of float32, a complex64
// array that is read-only, an int64.
std::string compiled(const std::vector<NodePtr> &body, const Target &target = {}) {
    return lowered({"a", "k", "m", "z", "n"},
                   {array(f32), array(i32), array(f32, 2), read_only(array(c64)), scalar(i64)},
                   body, target);
}

void check_all(const std::vector<Program> &programs) {
    for (const Program &program : programs)
        CHECK_REFUSED(ErrorKind::kernel, program.message, compiled(program.body));
}

Tree gid() { return global_id(); }
NodePtr put(Tree value) { return assign(at("a", gid()), std::move(value)); }

}  // namespace

TEST_CASE("message has places, text, source lines and carets") {
    const auto refusal = refusal_of([] {
        static_cast<void>(compiled({assign("x", at("a", 0)),
                                    if_(compare(at("a", 1), ">", 0), {assign("x", at("k", 0))})}));
    });
    REQUIRE(refusal);
    CHECK(refusal->message == "kernels.py:4: `x` is int32 here and float32 elsewhere; a variable "
                              "has one type: take another name, or "
                              "convert with float32(...)\n"
                              "    statement 4\n"
                              "    ^^^^^^^^^\n"
                              "kernels.py:2: it is first assigned here\n"
                              "    statement 2\n"
                              "    ^^^^^^^^^");
}

TEST_CASE("carets are placed by characters, on the first line only") {
    syntax::Function function;
    function.file = "f.py";
    function.first_line = 10;
    function.source = "def f():\n\té = \"ü\" + x\n    (a +\n     b)\n";
    CHECK(CompileError(function, {11, 1, 11, 3}, "what").what() ==
          std::string("f.py:11: what\n    é = \"ü\" + x\n    ^"));
    CHECK(CompileError(function, {11, 13, 11, 14}, "what").what() ==
          std::string("f.py:11: what\n    é = \"ü\" + x\n              ^"));
    CHECK(CompileError(function, {12, 4, 13, 7}, "what").what() ==
          std::string("f.py:12: what\n    (a +\n    ^^^^"));
    CHECK(CompileError(function, {99, 0, 99, 1}, "what").what() == std::string("f.py:99: what"));
}

TEST_CASE("wrong types and operands are refused with the reason") {
    check_all({
        {"300 does not fit in uint8",
         {assign("u", call_of(dtype(u8), {at("k", 0)})),
          assign(at("k", 0), binary("u", "+", 300))}},
        {"-1 does not fit in uint8",
         {if_(compare(call_of(dtype(u8), {at("k", 0)}), ">", -1), {put(0)})}},
        {"`x` is float64 here and int32 elsewhere",
         {assign("x", at("k", 0)), assign("x", binary("x", "/", 2))}},
        {"`x` is an array here and a number elsewhere", {assign("x", 1), assign("x", "a")}},
        {"`t` has 3 items here and 2 elsewhere",
         {assign("t", tuple({1, 2})), assign("t", tuple({1, 2, 3}))}},
        {"`r` is a part of `m` here (float32[::1]) and of `a` elsewhere",
         {assign("r", "a"), assign("r", at("m", 0))}},
        {"`x` would be a string", {assign("x", text("hello"))}},
        {"`x` would be None", {assign("x", call("barrier"))}},
        {"a complex number cannot become a float32, which `a` has", {put(at("z", 0))}},
        {"a complex number cannot become a float32; take .real",
         {put(call_of(dtype(f32), {at("z", 0)}))}},
        {"complex numbers have no order", {if_(compare(at("z", 0), "<", 1), {put(0)})}},
        {"`//` is not for complex numbers", {assign("x", binary(at("z", 0), "//", 2))}},
        {"`<<` is for integers, but this is float32", {put(binary(at("a", 0), "<<", 1))}},
        {"`&` is for integers and bools, but this is float32", {put(binary(at("a", 0), "&", 1))}},
        {"`~` is for integers, but this is bool; write `not`",
         {put(unary("~", compare(at("a", 0), "<", 1)))}},
        {"a shift by -1 is an error", {assign(at("k", 0), binary(at("k", 0), "<<", -1))}},
        {"an int to a negative power", {assign(at("k", 0), binary(at("k", 0), "**", -2))}},
        {"`+` is for numbers, but this is float32[::1]; write its element",
         {put(binary("a", "+", 1))}},
        {"`@` multiplies matrices", {put(binary("m", "@", "m"))}},
        {"a division by the literal 0", {put(binary(1, "//", 0))}},
        {"`10 ** 30` has no value that fits", {put(binary(10, "**", 30))}},
        {"a kernel has no starred names and values",
         {assign(tuple({"x", unsupported("Starred")}), tuple({1, 2, 3}))}},
        {"has no truth in a kernel", {if_("a", {put(0)})}},
        {"choose between numbers, but this is float32[::1]",
         {assign("x", choose(compare("n", ">", 0), "a", "a"))}},
        {"kernels do not have `in`", {if_(compare("n", "in", tuple({1, 2})), {put(0)})}},
        {"`is` is for None only", {if_(compare("n", "is", 1), {put(0)})}},
        {"there are 3 items for 2 targets", {assign(tuple({"x", "y"}), tuple({1, 2, 3}))}},
    });
}

TEST_CASE("read of a possibly unassigned variable is refused") {
    check_all({
        {"`x` is read before it is assigned", {put("x"), assign("x", 1.0)}},
        {"`x` may be read before it is assigned",
         {if_(compare("n", ">", 0), {assign("x", 1.0)}), put("x")}},
        {"`x` may be read before it is assigned",
         {for_range("i", {"n"}, {assign("x", 1.0)}), put("x")}},
        {"`i` may be read before it is assigned", {for_range("i", {"n"}, {put(0)}), put("i")}},
        {"`x` may be read before it is assigned",
         {while_(compare("n", ">", 0), {if_(compare("n", "==", 3), {breaks()}), assign("x", 1.0)}),
          put("x")}},
    });
}

TEST_CASE("variable assigned on all paths, or by a loop, is defined") {
    CHECK_NOTHROW(
        compiled({if_(compare("n", ">", 0), {assign("x", 1.0)}, {assign("x", 2.0)}), put("x")}));
    CHECK_NOTHROW(compiled({if_(compare("n", ">", 0), {assign("x", 1.0)}, {returns()}), put("x")}));
    CHECK_NOTHROW(compiled({for_range("i", {4}, {assign("x", 1.0)}), put("x")}));
    CHECK_NOTHROW(compiled(
        {while_(true, {assign("x", 1.0), if_(compare("n", ">", 0), {breaks()})}), put("x")}));
    CHECK_REFUSED(
        ErrorKind::kernel, "`x` may be read",
        compiled({for_range("i", {4}, {if_(compare("n", ">", 0), {continues()}), assign("x", 1.0)}),
                  put("x")}));
}

TEST_CASE("invalid indices and shapes are refused") {
    check_all({
        {"there are 2 indices for float32[::1]", {assign(at("a", {0, 0}), 1)}},
        {"an index is an integer, but this is float32; write int(...)", {put(at("a", at("a", 0)))}},
        {"an index is an integer, but this is bool", {put(at("a", compare("n", ">", 0)))}},
        {"a number is expected here, but this is float32[::1]", {augment(at("m", 0), "+", 1)}},
        {"a part of `m` is assigned at once", {assign(at("m", 0), 1)}},
        {"index 4 is outside of dimension 0 of `p`, which has 4 elements; write one from 0 to 3",
         {assign("p", call("private.array", {4, dtype(f32)})), assign(at("p", 4), 1)}},
        {"index -5 is outside",
         {assign("p", call("private.array", {4, dtype(f32)})), assign(at("p", -5), 1)}},
        {"a shape is known when compiled", {assign("p", call("local.array", {"n", dtype(f32)}))}},
        {"an extent of 0 cannot be", {assign("p", call("local.array", {0, dtype(f32)}))}},
        {"a dtype is expected here", {assign("p", call("local.array", {4, 8}))}},
        {"the step of a slice is 0", {assign("p", at("a", slice(none(), none(), 0)))}},
        {"the step of a slice is known when compiled",
         {assign("p", at("a", slice(none(), none(), "n")))}},
        {"a bound of a slice is an integer", {assign("p", at("a", slice(0.5, none(), none())))}},
        {"the index of a tuple is known when compiled", {put(at(tuple({1, 2}), "n"))}},
        {"there is no item 2 in a tuple of 2 items", {put(at(tuple({1, 2}), 2))}},
        {"the items of a tuple cannot be assigned",
         {assign("t", tuple({1, 2})), assign(at("t", 0), 2)}},
        {"only arrays and tuples have elements, but this is int64", {put(at("n", 0))}},
        {"`z` is read-only and may not be written", {assign(at("z", 0), 1)}},
        {"`c` is constant and may not be written",
         {assign("c", call("constant.array", {tuple({1.0, 2.0})})), assign(at("c", 0), 1)}},
        {"constant.array takes a captured NumPy array, or a tuple of literals",
         {assign("c", call("constant.array", {tuple({1.0, "n"})}))}},
        {"arrays have shape, size, ndim, dtype and T in a kernel, but no `.flat`; write a loop",
         {assign("t", attribute("a", "flat"))}},
        {"but no `.shap`; did you mean `shape`?", {assign("t", attribute("a", "shap"))}},
    });
}

TEST_CASE("unsupported statements are refused") {
    check_all({
        {"a kernel returns nothing", {returns(1)}},
        {"a kernel has no `try` statement; kernels have no exceptions", {unsupported("Try").node}},
        {"a kernel has no list comprehensions; use a tuple, or private.array",
         {assign("x", unsupported("ListComp"))}},
        {"a kernel has no `lambda`; define the function outside",
         {assign("x", unsupported("Lambda"))}},
        {"a kernel's for goes over range(...) only", {for_("x", "a", {put(0)})}},
        {"`range` is a variable of this function",
         {assign("range", 3), for_("i", call_of("range", {3}), {put(0)})}},
        {"the step of range() is 0", {for_range("i", {0, 3, 0}, {put(0)})}},
        {"range() takes integers, but this is 1.5", {for_range("i", {1.5}, {put(0)})}},
        {"range() stands only behind the `in`", {assign("x", call("range", {3}))}},
        {"the variable of a loop over range() is one name",
         {for_range(tuple({"i", "j"}), {3}, {put(0)})}},
        {"kernels do not have the else of a loop",
         {for_("i", call("range", {3}), {put(0)}, {put(1)})}},
        {"kernels do not have the else of a loop",
         {while_(compare("n", ">", 0), {put(0)}, {put(1)})}},
        {"`.real` cannot be assigned",
         {assign("w", at("z", 0)), assign(attribute("w", "real"), 1)}},
        {"a slice stands only between the brackets", {assign("x", whole())}},
    });
}

TEST_CASE("invalid calls are refused") {
    const auto same = function("same", {"x"}, {returns("x")});
    const auto nested = function("nested", {"x"}, {returns(tuple({"x", tuple({"x", 2})}))});
    const auto part = function("part", {"x"}, {returns(at("x", whole()))});
    const auto if_positive = [](syntax::NodePtr then) {
        return if_(compare("n", ">", 0), {std::move(then)});
    };
    const auto either =
        function("either", {"x", "y", "n"}, {if_positive(returns("x")), returns("y")});
    const auto mixed = function("mixed", {"x", "n"}, {if_positive(returns("x")), returns(1)});
    const auto partly = function("partly", {"x", "n"}, {if_positive(returns("x"))});
    check_all({
        {"there is no `enumerate` in a kernel; write `for i in range(len(x))`",
         {assign("x", call("enumerate", {"a"}))}},
        {"there is no `numpy.dot` in a kernel; of NumPy's functions kernels have those of single "
         "numbers",
         {put(call("numpy.dot", {"a", "a"}))}},
        {"`math.sqrt(x)` takes at most 1 argument", {put(call("math.sqrt", {1.0, 2.0}))}},
        {"`math.atan2(y, x)` is not given `x`", {put(call("math.atan2", {1.0}))}},
        {"`barrier(fence=)` has no argument `flags`",
         {evaluate(call_named(builtin("barrier"), {{"flags", 1}}))}},
        {"`round(number, ndigits=)` is given `number` twice",
         {put(call_named(builtin("round"), {{"", at("a", 0)}, {"number", 1.0}}))}},
        {"`math.sqrt(x)` takes its arguments by their places, as in Python: leave `x=` out",
         {put(call_named(builtin("math.sqrt"), {{"x", 1.0}}))}},
        {"`math.sin` is of real numbers, but this is complex64",
         {put(call("math.sin", {at("z", 0)}))}},
        {"`min` takes two numbers or more", {put(call("min", {"n"}))}},
        {"len() is of arrays and tuples, but this is int64", {put(call("len", {"n"}))}},
        {"there is no dimension 3", {put(call("get_global_id", {3}))}},
        {"a dimension is known when compiled", {put(call("get_global_id", {"n"}))}},
        {"has no method `mean` in a kernel", {put(call_of(attribute("a", "mean"), {}))}},
        {"int64 is not a function", {put(call_of("n", {}))}},
        {"`same` takes 1 argument, but 2 are given", {put(call(same, {1, 2}))}},
        {"`same` is not given `x`", {put(call(same, {}))}},
        {"a device function returns numbers, or an array that is its argument, but this is float32",
         {evaluate(call(part, {"a"}))}},
        {"`either` returns something else elsewhere; return `y` on every way",
         {evaluate(call(either, {"a", "a", "n"}))}},
        {"`mixed` returns an array elsewhere; return `x` here, too",
         {evaluate(call(mixed, {"a", "n"}))}},
        {"`partly` returns an array, and ends without one here",
         {evaluate(call(partly, {"a", "n"}))}},
        {"a device function returns a number or a tuple of numbers, but here it is a tuple within "
         "a tuple",
         {put(call(nested, {1}))}},
        {"print() takes strings and numbers, but this is float32[::1]",
         {evaluate(call("print", {"a"}))}},
        {"`print(*values)` has no argument `end`",
         {evaluate(call_named(builtin("print"), {{"end", text("")}}))}},
    });
}

TEST_CASE("invalid returns and recursion of functions are refused") {
    const auto half = function("half", {"x"}, {if_(compare("x", ">", 0), {returns("x")})});
    CHECK_REFUSED(ErrorKind::kernel, "`half` ends without a value here",
                  compiled({put(call(half, {at("a", 0)}))}));
    CHECK_REFUSED(ErrorKind::kernel, "\nkernels.py:3: called here\n    statement 3\n",
                  compiled({put(1), put(call(half, {at("a", 0)}))}));
    const auto until =
        function("until", {"n"},
                 {for_range("i", {"n"}, {evaluate(call("barrier")), returns(1)}), returns(2)});
    CHECK_REFUSED(ErrorKind::kernel,
                  "kernels.py:2: a return within a loop cannot be in `until`, which has a barrier",
                  compiled({put(call(until, {"n"}))}));
    CHECK_REFUSED(ErrorKind::kernel, "\nkernels.py:3: called here\n    statement 3\n",
                  compiled({put(1), put(call(until, {"n"}))}));
    const auto either =
        function("either", {"n"},
                 {if_(compare("n", ">", 1), {if_(compare("n", ">", 2), {returns(1)})}),
                  evaluate(call("barrier")), returns(2)});
    CHECK_REFUSED(
        ErrorKind::kernel,
        "a return that some ways through a condition take and others do not cannot be in `either`",
        compiled({put(call(either, {"n"}))}));
    const auto two =
        function("two", {"x"}, {if_(compare("x", ">", 0), {returns("x")}), returns(1.5)});
    CHECK_REFUSED(ErrorKind::kernel,
                  "the returned value is float (of literals) here and int64 elsewhere; a function "
                  "returns one type: convert with "
                  "float64(...)",
                  compiled({put(call(two, {"n"}))}));

    const auto ping = function("ping", {"x"}, {returns("x")}),
               pong = function("pong", {"x"}, {returns(call(ping, {"x"}))});
    ping->body = function("ping", {"x"}, {returns(call(pong, {"x"}))})->body;
    CHECK_REFUSED(ErrorKind::kernel,
                  "a function may not call itself on a device: `ping` calls `pong` calls `ping`; "
                  "write a loop",
                  compiled({put(call(ping, {"n"}))}));
    ping->body.clear();  // the circle owns itself
}

TEST_CASE("circular type dependency is refused") {
    const Tree chosen = choose(compare(attribute("y", "dtype"), "==", dtype(f32)),
                               call_of(dtype(i32), {1}), call_of(dtype(f32), {1}));
    check_all({{"the types of the variables of `k` depend on each other in a circle; give them by "
                "casts such as float32(...)",
                {assign("y", 0), for_range("i", {2}, {assign("x", chosen), assign("y", "x")}),
                 put("y")}}});
}

TEST_CASE("invalid atomics and group functions are refused") {
    check_all({
        {"`atomic.and` is for int32, int64, uint32 and uint64, but the elements are float32",
         {evaluate(call("atomic.and", {"a", 0, 1}))}},
        {"takes such a number, but this is 1.5; write int32(...)",
         {evaluate(call("atomic.add", {"k", 0, 1.5}))}},
        {"`z` is read-only", {evaluate(call("atomic.add", {"z", 0, 1}))}},
        {"is for global and local memory, but this is int32[4] in private memory",
         {assign("p", call("private.array", {4, dtype(i32)})),
          evaluate(call("atomic.add", {"p", 0, 1}))}},
        {"changes one element; write an index for each dimension",
         {evaluate(call("atomic.add", {"m", 0, 1}))}},
        {"takes an array and an index", {evaluate(call("atomic.add", {"n", 0, 1}))}},
        {"there is no memory order \"strong\"",
         {evaluate(
             call_named(builtin("atomic.load"), {{"", "k"}, {"", 0}, {"order", text("strong")}}))}},
        {"there is no operation \"sum\"", {put(call("group.reduce", {at("a", 0), text("sum")}))}},
        {"\"xor\" is of integers, but this is float32",
         {put(call("group.reduce", {at("a", 0), text("xor")}))}},
        {"a fence is CLK_LOCAL_MEM_FENCE", {evaluate(call("barrier", {4}))}},
    });
}

TEST_CASE("barriers in divergent control flow are refused") {
    const NodePtr barrier = evaluate(call("barrier"));
    const Tree local = call("get_local_id", {0});
    check_all({
        {"this barrier may not be reached by all", {if_(compare(local, "<", 4), {barrier})}},
        {"this may differ between work-items", {if_(compare(local, "<", 4), {put(0)}, {barrier})}},
        {"this barrier", {if_(compare(gid(), ">=", "n"), {returns()}), barrier}},
        {"this barrier", {for_range("i", {local}, {barrier})}},
        {"this barrier",
         {for_range("i", {10}, {if_(compare("i", "==", local), {breaks()}), barrier})}},
        {"this barrier",
         {for_range("i", {10}, {if_(compare("i", "==", local), {continues()}), barrier})}},
        {"this barrier",
         {for_range("i", {10}, {barrier, if_(compare("i", "==", local), {breaks()})})}},
        {"this barrier",
         {assign("x", 0), if_(compare(local, "<", 4), {assign("x", 1)}),
          if_(compare("x", "==", 0), {barrier})}},
        {"this barrier", {assign(at("k", gid()), 0), if_(compare(at("k", 0), "==", 0), {barrier})}},
        {"this barrier",
         {assign("x", 0), while_(compare("x", "<", local), {augment("x", "+", 1)}),
          if_(compare("x", "==", 3), {barrier})}},
        {"this group function",
         {if_(compare(local, "<", 4), {put(call("group.reduce", {at("a", 0)}))})}},
    });
}

TEST_CASE("grid barriers that single groups reach are refused") {
    const NodePtr barrier = evaluate(call("grid_barrier"));
    const Tree group = call("get_group_id", {0});
    const char *const refused = "this barrier of all groups may not be reached by all";
    check_all({
        {refused, {if_(compare(group, "==", 0), {barrier})}},
        {refused, {if_(compare(gid(), ">=", "n"), {returns()}), barrier}},
        {refused, {for_range("i", {group}, {barrier})}},
        {refused,
         {assign("x", call("group.reduce", {at("k", gid())})),
          if_(compare("x", "==", 0), {barrier})}},
    });
    CHECK_NOTHROW(compiled({for_range("i", {"n"}, {barrier})}));
    CHECK_NOTHROW(compiled({if_(compare(call("get_num_groups", {0}), ">", 1), {barrier})}));
}

TEST_CASE("read possibly aliasing a write is not uniform") {
    const std::vector<NodePtr> body{assign(at("a", gid()), 0),
                                    if_(compare(at("k", 0), "==", 0), {evaluate(call("barrier"))})};
    const auto no_alias = [](ArgumentType argument) {
        argument.restrict_ = true;
        return argument;
    };
    CHECK_REFUSED(ErrorKind::kernel, "this barrier",
                  lowered({"a", "k"}, {array(f32), array(i32)}, body));
    CHECK_NOTHROW(lowered({"a", "k"}, {array(f32), no_alias(array(i32))}, body));
    CHECK_NOTHROW(lowered({"a", "k"}, {no_alias(array(f32)), array(i32)}, body));
}

TEST_CASE("barrier in a device function is checked at each call") {
    const auto waits =
        function("waits", {"n"}, {if_(compare("n", ">", 1), {evaluate(call("barrier"))})});
    const auto calls = function("calls", {"m"}, {assign("t", 0), evaluate(call(waits, {"m"}))});
    CHECK_NOTHROW(compiled({evaluate(call(calls, {"n"}))}));
    CHECK_NOTHROW(compiled({evaluate(call(calls, {4}))}));
    const std::string wrong =
        R"(kernels.py:3: this barrier may not be reached by all work-items of a group)";
    CHECK_REFUSED(ErrorKind::kernel, wrong,
                  compiled({put(1), put(2), evaluate(call(calls, {call("get_local_id", {0})}))}));
    CHECK_REFUSED(ErrorKind::kernel, "kernels.py:2: this may differ between work-items",
                  compiled({put(1), put(2), evaluate(call(calls, {call("get_local_id", {0})}))}));
    CHECK_REFUSED(
        ErrorKind::kernel,
        "kernels.py:3: called here\n    statement 3\n    ^^^^^^^^^\nkernels.py:4: called here",
        compiled({put(1), put(2), evaluate(call(calls, {call("get_local_id", {0})}))}));
    CHECK_REFUSED(ErrorKind::kernel, "kernels.py:2: this may differ",
                  compiled({if_(compare(call("get_local_id", {0}), "<", 4),
                                {evaluate(call(calls, {"n"}))})}));
}

TEST_CASE("barriers in uniform control flow are accepted") {
    const NodePtr barrier = evaluate(call("barrier"));
    const Tree local = call("get_local_id", {0});
    CHECK_NOTHROW(compiled({if_(compare("n", "<", 4), {barrier})}));
    CHECK_NOTHROW(compiled({if_(compare(call("get_group_id", {0}), "<", 4), {barrier})}));
    CHECK_NOTHROW(compiled({if_(compare(local, "<", 4), {put(0)}), barrier}));
    CHECK_NOTHROW(compiled({if_(compare(at("k", 0), "==", 0), {barrier})}));  // k is never written
    CHECK_NOTHROW(
        compiled({for_range("i", {10}, {if_(compare("n", "==", "i"), {breaks()}), barrier})}));
    CHECK_NOTHROW(compiled({for_range(
        "j", {10},
        {for_range("i", {10}, {if_(compare("i", "==", local), {breaks()})}), barrier})}));
    CHECK_NOTHROW(compiled({assign("s", call("group.reduce", {at("a", gid())})),
                            if_(compare("s", ">", 0), {barrier})}));
}

TEST_CASE("features missing on the device are refused") {
    Target target;
    target.fp64 = target.atomic64 = target.sub_groups = target.fp16 = target.bf16 = false;
    target.local_memory = 1024;
    const auto on_device = [&](std::vector<NodePtr> body) { return compiled(body, target); };
    CHECK_NOTHROW(on_device({put(binary(at("k", 0), "/", 2))}));  // float32
    CHECK_NOTHROW(on_device({assign("x", 0.5), put("x")}));
    CHECK_REFUSED(ErrorKind::kernel,
                  "kernels.py:2: this is float64, which the device does not have; use float32",
                  on_device({put(binary("n", "/", 2))}));
    CHECK_REFUSED(ErrorKind::kernel, "argument `x` has elements of float64",
                  lowered({"x"}, {array(f64)}, {returns()}, target));
    CHECK_REFUSED(ErrorKind::kernel, "argument `x` is float64",
                  lowered({"x"}, {scalar(f64)}, {returns()}, target));
    CHECK_REFUSED(ErrorKind::kernel, "this is float16",
                  on_device({put(call_of(dtype(f16), {at("a", 0)}))}));
    CHECK_REFUSED(ErrorKind::kernel, "this is bfloat16",
                  on_device({put(call_of(dtype(bf16), {at("a", 0)}))}));
    CHECK_REFUSED(
        ErrorKind::kernel, "the device has no atomics of 64 bits, but the elements are int64",
        lowered({"x"}, {array(i64)}, {evaluate(call("atomic.add", {"x", 0, 1}))}, target));
    CHECK_REFUSED(ErrorKind::kernel, "the device has no sub-groups",
                  on_device({put(call("sub_group.reduce", {at("a", 0)}))}));
    CHECK_REFUSED(ErrorKind::kernel, "the device has no sub-groups",
                  on_device({evaluate(call("sub_group_barrier"))}));
    CHECK_REFUSED(ErrorKind::kernel,
                  "local memory is 1200 bytes with `s`, but a work-group of the device has 1024",
                  on_device({assign("s", call("local.array", {300, dtype(f32)}))}));
    const auto makes = function("makes", {}, {assign("s", call("local.array", {150, dtype(f32)}))});
    CHECK_REFUSED(ErrorKind::kernel,
                  "local memory is 1200 bytes with `s_2`, but a work-group of the device has 1024",
                  on_device({evaluate(call(makes, {})), evaluate(call(makes, {}))}));
}

TEST_CASE("wrong number or dtype of arguments is refused") {
    CHECK_REFUSED(ErrorKind::kernel, "kernel `k` takes 1 argument, but 2 are given",
                  lowered({"a"}, {array(f32), array(f32)}, {returns()}));
    constexpr Dtype f8{TypeCode::float8_e4m3fn, 8};
    CHECK_REFUSED(ErrorKind::kernel,
                  "argument `a` is an array of float8_e4m3fn, with which kernels do not calculate",
                  lowered({"a"}, {array(f8)}, {returns()}));
    CHECK_REFUSED(ErrorKind::kernel, "kernels do not calculate with float8_e4m3fn",
                  compiled({put(call_of(dtype(f8), {1}))}));
}
