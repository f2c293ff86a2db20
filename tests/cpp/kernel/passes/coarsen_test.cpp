// Thread coarsening: the code for several work-items of a thread, and the kernels that have none.
#include <doctest/doctest.h>

#include "kernel/tree.hpp"
#include "kernel/types.hpp"

#include "kernel/compiler.hpp"
#include "kernel/passes/coarsen.hpp"

#include <string>
#include <utility>
#include <vector>

using namespace entrepot;
using namespace entrepot::kernel;
using namespace entrepot::kernel::tree;

namespace {

struct Options {
    std::uint32_t dimensions = 1;
    bool coarsens = true;
    Dialect dialect = Dialect::cuda;
    bool debug = false;
};

// A kernel of the arrays `out` and `a`, and the number `n`.
Compiled compiled(std::vector<NodePtr> body, Options options = {}) {
    Target target;
    target.dialect = options.dialect;
    target.dimensions = options.dimensions;
    target.coarsens = options.coarsens;
    target.debug = options.debug;
    return compile(function("k", {"out", "a", "n"}, std::move(body)),
                   {array(f32, options.dimensions), array(f32, options.dimensions), scalar(i64)},
                   target);
}

std::size_t count(const Compiled &code, const std::string &text) {
    std::size_t found = 0;
    for (std::size_t at = 0; (at = code.source.find(text, at)) != std::string::npos;
         at += text.size())
        ++found;
    return found;
}

NodePtr copy_element() { return assign(at("out", global_id()), at("a", global_id())); }

Tree local_id(int dimension) { return call("get_local_id", {dimension}); }

// The inner loop of a product of matrices: `k` numbers of a row and of a column in local memory.
std::vector<NodePtr> product(Tree row, Tree column, std::vector<NodePtr> more = {},
                             std::vector<NodePtr> last = {}) {
    std::vector<NodePtr> loop{
        assign(at("s", {local_id(0), local_id(1)}), at("a", {global_id(0), global_id(1)})),
        evaluate(call("barrier")),
        for_range("k", {16},
                  {augment("total", "+",
                           binary(at("s", {std::move(row), "k"}), "*",
                                  at("s", {"k", std::move(column)})))}),
        evaluate(call("barrier"))};
    loop.insert(loop.end(), last.begin(), last.end());
    std::vector<NodePtr> body{assign("s", call("local.array", {tuple({16, 16}), dtype(f32)})),
                              assign("total", 0.0), for_range("t", {"n"}, std::move(loop))};
    body.insert(body.end(), more.begin(), more.end());
    body.push_back(assign(at("out", {global_id(0), global_id(1)}), "total"));
    return body;
}

}  // namespace

TEST_CASE("short kernel executes four guarded work-items in a thread") {
    const Compiled code = compiled({copy_element()});
    CHECK(code.can_coarsen);
    CHECK(code.items_per_thread == coarsened_items);
    CHECK(count(code, "< global_size0") == 2 * coarsened_items);
    CHECK(count(code, "if (") == 1 + coarsened_items);
    CHECK(count(code, "return;") == 0);
    CHECK(count(code, "out[") == 2 * coarsened_items);
    CHECK(count(code, "threadIdx.x + (long long)blockDim.x * 3") > 0);
}

TEST_CASE("kernel without coarsening has a guard for its work-item") {
    const Compiled code = compiled({copy_element()}, {.coarsens = false});
    CHECK(code.can_coarsen);
    CHECK(code.items_per_thread == 1);
    CHECK(count(code, ">= global_size0)") == 1);
    CHECK(count(code, "out[") == 1);
}

TEST_CASE("guard with return becomes a condition of each work-item") {
    const Compiled code =
        compiled({if_(compare(global_id(), ">=", "n"), {returns()}), copy_element()});
    CHECK(code.items_per_thread == coarsened_items);
    CHECK(count(code, "return;") == 0);
    CHECK(count(code, "if (") == 1 + coarsened_items);
    CHECK(count(code, "out[") == 2 * coarsened_items);
}

TEST_CASE("work-items of a product share barriers and loops") {
    const Compiled code = compiled(product(local_id(0), local_id(1)), {.dimensions = 2});
    CHECK(code.items_per_thread == coarsened_items);
    CHECK(count(code, "__syncthreads();") == 2);
    CHECK(count(code, "for (") == 2);
    CHECK(count(code, "total_2 += ") + count(code, "total2 += ") == 1);
    CHECK(count(code, "out[") == coarsened_items);
}

TEST_CASE("kernel is not coarsened if that would change its meaning or gain nothing") {
    const auto can = [](std::vector<NodePtr> body, Options options = {}) {
        return compiled(std::move(body), options).can_coarsen;
    };
    CHECK_FALSE_MESSAGE(can({copy_element()}, {.dialect = Dialect::cpp}), "not a GPU");
    CHECK_FALSE_MESSAGE(can({copy_element()}, {.debug = true}), "a report of one work-item");
    CHECK_FALSE_MESSAGE(can({evaluate(call("atomic.add", {"out", 0, 1.0}))}), "may wait");
    CHECK_FALSE_MESSAGE(can({evaluate(call("print", {global_id()}))}), "order of lines");
    CHECK_FALSE_MESSAGE(can({for_range("i", {"n"}, {copy_element()})}), "loop");
    CHECK_FALSE_MESSAGE(
        can({assign(at("out", global_id()), call("math.exp", {at("a", global_id())}))}),
        "arithmetic");
    CHECK_FALSE_MESSAGE(
        can({if_(compare("n", "<", 4), {if_(compare("n", "<", 2), {returns()}), copy_element()})}),
        "return in a condition");
    CHECK_FALSE_MESSAGE(can(product(local_id(0), local_id(0)), {.dimensions = 2}),
                        "nothing shared");
    CHECK_FALSE_MESSAGE(
        can(product(local_id(0), local_id(1), {assign("total", call("group.reduce", {"total"}))}),
            {.dimensions = 2}),
        "group function");
}

TEST_CASE("continue of some work-items becomes a condition of each") {
    const auto jumping = [&](Tree condition) {
        return compiled(
            product(local_id(0), local_id(1), {},
                    {if_(std::move(condition), {continues()}), augment("total", "+", 1.0)}),
            {.dimensions = 2});
    };
    const Compiled some = jumping(compare(local_id(0), "==", 3));
    CHECK(some.items_per_thread == coarsened_items);
    CHECK(count(some, "continue;") == 0);
    CHECK(count(some, "+= 1.0f") == coarsened_items);
    const Compiled all = jumping(compare("t", "==", 3));
    CHECK_MESSAGE(count(all, "continue;") == 1, "the group continues together");
}
