// Ranges: lower and upper bounds of variables, from all assignments to them.
#include <doctest/doctest.h>

#include "kernel/ir/ranges.hpp"

#include "kernel/build_ir.hpp"
#include "kernel/tree.hpp"
#include "kernel/types.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>

using namespace entrepot;
using namespace entrepot::kernel;
using namespace entrepot::kernel::tree;

namespace {

constexpr std::int64_t least64 = std::numeric_limits<std::int64_t>::min(),
                       most64 = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t least32 = std::numeric_limits<std::int32_t>::min(),
                       most32 = std::numeric_limits<std::int32_t>::max();
constexpr Range all64{least64, most64}, all32{least32, most32};

// Range of the variable `v` in a kernel of arrays of 64 and 8 bits, and numbers of 64, 32 and 8.
Range of_v(const std::vector<NodePtr> &body) {
    const ir::Module module =
        lower(function("k", {"a", "b", "n", "m", "u"}, body),
              {array(i64), array(i8), scalar(i64), scalar(i32), scalar(u8)}, {});
    const auto &variables = module.kernel().variables;
    const auto v = std::ranges::find(variables, "v", &ir::Variable::name);
    REQUIRE(v != variables.end());
    return RangeAnalysis(module.kernel())
        .of(static_cast<ir::VariableId>(v - variables.begin()))
        .value();
}

// Range after `v = 0`.
Range of_v_from_0(std::vector<NodePtr> body) {
    body.insert(body.begin(), assign("v", 0));
    return of_v(body);
}

Tree converted(Dtype to, Tree value) { return call_of(dtype(to), {std::move(value)}); }
NodePtr grows(int by = 1) { return augment("v", "+", by); }
NodePtr keep() { return assign(at("a", 0), "v"); }

}  // namespace

TEST_CASE("range of an expression follows from its operands") {
    CHECK(of_v({assign("v", binary(at("b", 0), "+", "u"))}) == Range{-128, 127 + 255});
    CHECK(of_v({assign("v", binary(converted(i64, at("b", 0)), "+", "u"))}) ==
          Range{-128, 127 + 255});
    CHECK(of_v({assign("v", binary(converted(i64, "u"), "-", at("b", 0)))}) ==
          Range{-127, 255 + 128});
    CHECK(of_v({assign("v", binary(converted(i64, at("b", 0)), "*",
                                   converted(i64, at("b", 1))))}) == Range{-127 * 128, 128 * 128});
    CHECK(of_v({assign("v", unary("-", converted(i64, "u")))}) == Range{-255, 0});
    CHECK(of_v({assign("v", binary(converted(i64, at("b", 0)), "//", 3))}) == Range{-128, 127});
    CHECK(of_v({assign("v", binary(converted(i64, at("b", 0)), "//", at("b", 1)))}) == all64);
    CHECK(of_v({assign("v", binary("n", "%", 7))}) == Range{0, 6});
    CHECK(of_v({assign("v", binary("n", "%", "n"))}) == all64);
    CHECK(of_v({assign("v", binary("n", "&", 15))}) == Range{0, 15});
    CHECK(of_v({assign("v", binary(converted(i64, "u"), "<<", 4))}) == Range{0, 255 * 16});
    CHECK(of_v({assign("v", binary("n", "<<", 4))}) == all64);
    CHECK(of_v({assign("v", binary(converted(i64, at("b", 0)), ">>", "u"))}) == Range{-128, 127});
    CHECK(of_v({assign("v", call("min", {"n", 9}))}) == Range{least64, 9});
    CHECK(of_v({assign("v", call("max", {"n", 9}))}) == Range{9, most64});
    CHECK(of_v({assign("v", choose(compare("n", ">", 0), 3, 8))}) == Range{3, 8});
    CHECK(of_v({assign("v", call("len", {"a"}))}) == Range{0, most64});
    CHECK(of_v({assign("v", binary("n", "+", 1))}) == all64);
    CHECK(of_v({assign("v", converted(i32, "n"))}) == all32);
    CHECK(of_v({assign("v", converted(i64, converted(u64, "n")))}) == all64);
    CHECK(of_v({assign("v", converted(i64, converted(f64, "n")))}) == all64);
}

TEST_CASE("range of a variable covers all assigned values") {
    CHECK(of_v_from_0({if_(compare("n", ">", 0), {assign("v", 7)}), keep()}) == Range{0, 7});
    CHECK(of_v_from_0({assign("w", "v"), assign("v", binary("w", "+", 1)),
                       while_(true, {assign("v", binary("w", "*", 3)), assign("w", "v")})}) ==
          all64);
}

TEST_CASE("long chain of variables does not overflow the stack") {
    ir::Building build("chain");
    ir::VariableId last = build.variable("v", i64);
    build.add(ir::Building::assign(last, ir::number(0)));
    for (int i = 0; i < 50'000; ++i) {
        ir::Expression next = ir::operation(ir::Op::add, i64, {build.read(last), ir::number(1)});
        last = build.variable("v", i64);
        build.add(ir::Building::assign(last, std::move(next)));
    }
    CHECK(RangeAnalysis(build.kernel()).of(last) == all64);
    RangeAnalysis in_order(build.kernel());
    for (ir::VariableId each = 0; each <= last; each += 100)
        REQUIRE(in_order.of(each) == Range{each, each});
}

TEST_CASE("loop counter is within the loop's range") {
    const auto counts = [](std::initializer_list<Tree> bounds) {
        return of_v({for_range("v", bounds, {keep()})});
    };
    CHECK(counts({100}) == Range{0, 99});
    CHECK(counts({10, -3, -2}) == Range{-2, 10});
    CHECK(counts({"n"}) == Range{0, most64 - 1});
    CHECK(counts({"m"}) == Range{0, most32 - 1});
    CHECK(counts({"n", -1, -1}) == Range{0, most64});
    CHECK(counts({0, 100, "u"}) == Range{0, 99});
    CHECK(counts({0, 100, at("b", 0)}) == Range{0, 99});
    CHECK(counts({0, 100, "n"}) == Range{0, 99});
}

TEST_CASE("incremented variable is bounded by the iterations") {
    CHECK(of_v_from_0({for_range("k", {100}, {grows()}), keep()}) == Range{0, 100});
    CHECK(of_v_from_0({for_range("k", {100},
                                 {for_range("l", {0, 10, 3}, {grows(2), augment("v", "-", 5)})}),
                       keep()}) == Range{-5 * 400, 2 * 400});
    CHECK(of_v_from_0({for_range("k", {100}, {augment("v", "+", converted(i64, "u"))}), keep()}) ==
          Range{0, 25500});
    CHECK(of_v_from_0({for_range("k", {100}, {assign("v", binary(1, "+", "v"))}), keep()}) ==
          Range{0, 100});
    CHECK(of_v_from_0({for_range("k", {"n"}, {grows()}), keep()}) == Range{0, most64});
    CHECK(of_v_from_0({for_range("k", {"n"}, {grows(2)}), keep()}) == all64);
    CHECK(of_v_from_0({for_range("k", {100}, {augment("v", "+", "v")}), keep()}) == all64);
    CHECK(of_v_from_0({while_(compare("n", ">", at("a", 0)), {grows()}), keep()}) == all64);
    CHECK(of_v_from_0({for_range("k", {3, 1}, {grows()}), keep()}) == Range{0, 0});
}

TEST_CASE("variable exceeds its loop condition by one step at most") {
    const auto stops = [](Tree condition, std::vector<NodePtr> body) {
        return of_v_from_0({while_(std::move(condition), std::move(body)), keep()});
    };
    const Tree below = compare("v", "<", 100), other = compare(at("a", 0), "<", 4);
    CHECK(stops(below, {grows()}) == Range{0, 100});
    CHECK(stops(compare("v", "<=", 100), {grows(3)}) == Range{0, 103});
    CHECK(stops(compare(100, ">", "v"), {grows()}) == Range{0, 100});
    CHECK(stops(boolean("and", {other, below}), {grows()}) == Range{0, 100});
    CHECK(stops(boolean("and", {compare("v", ">", -7), below}), {grows()}) == Range{0, 100});
    CHECK(stops(below, {if_(other, {continues()}), if_(other, {grows(2)}, {breaks()})}) ==
          Range{0, 101});
    CHECK(stops(compare("v", "<", "m"), {grows()}) == Range{0, most32});
    CHECK(stops(compare("v", "<", "m"), {grows(2)}) == Range{0, most32 + 1});
    CHECK_MESSAGE(stops(compare(converted(i32, "v"), "<", "m"), {grows(2)}) == all64,
                  "the comparison converts v to 32 bits, which may wrap");
    CHECK(stops(compare("v", "<", "n"), {grows()}) == Range{0, most64});
    CHECK(stops(compare("v", "<", "n"), {grows(2)}) == all64);
    CHECK(stops(compare("v", ">=", -100), {augment("v", "-", 3)}) == Range{-103, 0});
    CHECK(stops(compare("v", ">", -100), {grows(-3)}) == Range{-102, 0});
    CHECK(stops(below, {for_range("k", {4}, {augment("v", "+", binary("n", "%", 5))})}) == all64);
    CHECK_MESSAGE(stops(boolean("or", {other, below}), {grows()}) == all64,
                  "the other condition may hold instead");
    CHECK_MESSAGE(stops(compare("v", ">", -100), {grows()}) == all64,
                  "the condition limits the other end");
    CHECK_MESSAGE(stops(below, {grows(), grows()}) == all64,
                  "the condition is not tested before the second change");
    CHECK_MESSAGE(stops(below, {grows(), if_(other, {assign("v", 0)})}) == all64,
                  "v changes between the test and the next change");
    CHECK_MESSAGE(stops(below, {while_(other, {grows()})}) == all64,
                  "an inner loop repeats the change without a test");
}
