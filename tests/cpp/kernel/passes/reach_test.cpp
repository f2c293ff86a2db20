// Reach: indices that a launch can check against an array's bounds, since every work-item uses
// them.
#include <doctest/doctest.h>

#include "kernel/tree.hpp"
#include "kernel/types.hpp"

#include <sstream>

using namespace entrepot;
using namespace entrepot::kernel;
using namespace entrepot::kernel::tree;

namespace {

// Lines "argument axis: constant + coefficients" of a kernel of a matrix, a vector and a number.
std::string reach_of(const std::vector<NodePtr> &body, bool debug = false) {
    Target target;
    target.dimensions = 2;
    target.debug = debug;
    const Compiled compiled = compile(function("k", {"m", "v", "n"}, body),
                                      {array(f32, 2), array(f32), scalar(i64)}, target);
    std::ostringstream text;
    for (const Reach &reach : compiled.reach)
        for (const Reach::Axis &axis : reach.axes)
            text << (axis.argument == 0 ? "m" : "v") << axis.axis
                 << (axis.counts_from_end ? " from end" : "") << ": " << reach.constant << " + "
                 << reach.by_id[0] << "i + " << reach.by_id[1] << "j\n";
    return text.str();
}

NodePtr fill_at(Tree index) { return assign(at("v", std::move(index)), 1); }

}  // namespace

TEST_CASE("affine index of ids is known, also through variables") {
    CHECK(reach_of({fill_at(global_id(0))}) == "v0: 0 + 1i + 0j\n");
    CHECK(reach_of({assign("i", global_id(0)), assign("j", global_id(1)),
                    assign(at("m", {binary("j", "+", 2), binary(binary(3, "*", "i"), "-", "j")}),
                           at("v", "i"))}) ==
          "v0: 0 + 1i + 0j\nm0: 2 + 0i + 1j\nm1 from end: 0 + 3i + -1j\n");
    CHECK(reach_of({fill_at(binary(global_id(0), "-", 1))}) == "v0 from end: -1 + 1i + 0j\n");
    CHECK(reach_of({fill_at(-2), fill_at(7)}) == "v0 from end: -2 + 0i + 0j\nv0: 7 + 0i + 0j\n");
    CHECK(reach_of({augment(at("v", global_id(0)), "+", at("v", global_id(0)))}) ==
          "v0: 0 + 1i + 0j\n");
    CHECK(reach_of({evaluate(call("atomic.add", {"v", global_id(0), 1}))}) == "v0: 0 + 1i + 0j\n");
    CHECK(reach_of({fill_at(global_id(0))}, true).empty());
}

TEST_CASE("index other than affine in global ids is unknown") {
    CHECK(reach_of({fill_at("n")}).empty());
    CHECK(reach_of({fill_at(binary(global_id(0), "*", "n"))}).empty());
    CHECK(reach_of({fill_at(binary(global_id(0), "*", global_id(0)))}).empty());
    CHECK(reach_of({fill_at(binary(call("len", {"v"}), "-", 1))}).empty());
    CHECK(reach_of({fill_at(call("get_local_id", {0}))}).empty());
    CHECK(reach_of({assign("i", global_id(0)), if_(compare("n", ">", 0), {assign("i", 0)}),
                    fill_at("i")})
              .empty());
    CHECK(reach_of({assign("part", at("v", slice(2, none(), none()))),
                    assign(at("part", global_id(0)), 1)})
              .empty());
}

TEST_CASE("conditional access is not counted as made by all work-items") {
    const Tree is_within = compare(global_id(0), "<", "n");
    const NodePtr store = fill_at(global_id(0));
    const Tree load = at("v", global_id(0));
    CHECK(reach_of({if_(is_within, {store}, {store})}).empty());
    CHECK(reach_of({if_(is_within, {returns()}), store}).empty());
    CHECK(reach_of({for_range("k", {"n"}, {store})}).empty());
    CHECK(reach_of({while_(is_within, {store})}).empty());
    CHECK(
        reach_of({if_(boolean("and", {is_within, compare(load, ">", 0)}), {fill_at(0)})}).empty());
    CHECK(reach_of({assign("x", choose(is_within, load, 0.0)), fill_at("n")}).empty());
    CHECK(reach_of({for_range("k", {3}, {if_(is_within, {breaks()}), store})}).empty());
    CHECK(reach_of({for_range("k", {3}, {if_(is_within, {continues()}), store})}).empty());
    CHECK(reach_of({for_range("k", {3}, {if_(is_within, {returns()})}), store}).empty());
    const std::string whole = "v0: 0 + 1i + 0j\n";
    CHECK(reach_of({for_range("k", {3}, {store, if_(is_within, {breaks()})})}) == whole);
    CHECK(reach_of({while_(is_within, {breaks()}), store}) == whole);
    CHECK(reach_of({store, if_(is_within, {returns()})}) == whole);
    CHECK(reach_of({if_(compare(load, ">", 0), {fill_at("n")})}) == whole);
}
