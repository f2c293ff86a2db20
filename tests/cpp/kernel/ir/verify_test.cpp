// verify(): finds a typed form that breaks any invariant.
#include <doctest/doctest.h>

#include "kernel/tree.hpp"
#include "kernel/types.hpp"

#include <functional>
#include <stdexcept>

using namespace entrepot;
using namespace entrepot::kernel;
using namespace entrepot::kernel::tree;

namespace {

// for i in range(4): a[i] = f(a[i]) + 1, between an if and an atomic, with a device function before
// it.
ir::Module sound() {
    const auto f = function("f", {"x"}, {returns("x")});
    return lower(
        function(
            "k", {"a", "n"},
            {assign("x", "n"), if_(compare("n", ">", 0), {assign("x", 2)}),
             for_range("i", {4}, {assign(at("a", "i"), binary(call(f, {at("a", "i")}), "+", 1))}),
             evaluate(call("atomic.add", {"a", 0, 1})), evaluate(call("barrier"))}),
        {array(f32), scalar(i64)}, {});
}

void check_broken(const char *message, const std::function<void(ir::Module &)> &damage) {
    ir::Module module = sound();
    damage(module);
    try {
        ir::verify(module);
        FAIL_CHECK("not found: " << message);
    } catch (const std::logic_error &error) {
        CHECK_MESSAGE(std::string(error.what()).find(message) != std::string::npos,
                      std::string(error.what()));
    }
}

ir::Statement &statement(ir::Module &module, std::size_t place) {
    return module.kernel().body.at(place);
}
ir::Expression &stored(ir::Module &module) {
    return statement(module, 2).body.at(0).expressions.at(1);
}

}  // namespace

TEST_CASE("front end produces valid modules") { CHECK_NOTHROW(ir::verify(sound())); }

TEST_CASE("broken invariants are reported") {
    const Type f64_type = scalar_type(f64);
    check_broken("a variable is assigned another type",
                 [&](auto &m) { statement(m, 0).expressions[0] = stored(m).operands[1]; });
    check_broken("there is no such variable", [](auto &m) { statement(m, 0).id = 99; });
    check_broken("a condition is one bool",
                 [&](auto &m) { statement(m, 1).expressions[0] = statement(m, 0).expressions[0]; });
    check_broken("a loop's bounds have its variable's type",
                 [&](auto &m) { statement(m, 2).expressions[0].type = f64_type; });
    check_broken("operands have two types",
                 [&](auto &m) { stored(m).operands[1].type = f64_type; });
    check_broken("a result has another type", [&](auto &m) { stored(m).type = f64_type; });
    check_broken("a store converts nothing",
                 [](auto &m) { stored(m) = statement(m, 0).expressions[0]; });
    check_broken("an offset is an int64",
                 [](auto &m) { statement(m, 2).body[0].expressions[0] = stored(m).operands[1]; });
    check_broken("there is no such root", [](auto &m) { statement(m, 2).body[0].id = 7; });
    check_broken("a call passes another number",
                 [](auto &m) { stored(m).operands[0].operands.clear(); });
    check_broken("there is no such function", [](auto &m) { stored(m).operands[0].id = 1; });
    check_broken("an atomic stands inside",
                 [](auto &m) { stored(m).operands[1] = statement(m, 3).expressions[0]; });
    check_broken("a barrier stands in a device function",
                 [](auto &m) { m.functions[0].body.push_back(statement(m, 4)); });
    check_broken("a function returns another type",
                 [](auto &m) { m.functions[0].body.back().expressions.clear(); });
    check_broken("a jump stands outside of a loop",
                 [](auto &m) { statement(m, 4).act = ir::Act::break_; });
    check_broken("a constant has no value",
                 [](auto &m) { stored(m).operands[1].value = std::monostate{}; });
    check_broken("extents are asked of a kernel's parameters", [](auto &m) {
        ir::Expression extent = statement(m, 0).expressions[0];
        extent.op = ir::Op::extent;
        extent.id = 0;
        m.kernel().roots[0].parameter.reset();
        statement(m, 0).expressions[0] = extent;
    });
}
