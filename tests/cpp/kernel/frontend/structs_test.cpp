// Structs and short vectors: parameters split by their fields, and what becomes of expressions.
#include <doctest/doctest.h>

#include "kernel/frontend/structs.hpp"

#include "kernel/tree.hpp"
#include "kernel/types.hpp"

#include <memory>
#include <string>
#include <vector>

using namespace entrepot;
using namespace entrepot::kernel;
using namespace entrepot::kernel::tree;

namespace {

// struct { float x; double mass; }
StructTypePtr particle() {
    auto type = std::make_shared<StructType>();
    type->itemsize = 16;
    type->fields = {{"x", {}, nullptr, f32, 0, {}, {}}, {"mass", {}, nullptr, f64, 8, {}, {}}};
    return type;
}

// Typed form of a kernel whose first parameter is a struct, and whose second one is an array.
std::string lowered_with(const StructArgument &argument, const std::vector<ArgumentType> &types,
                         const std::vector<NodePtr> &body) {
    const auto whole = function("k", {"p", "o"}, body);
    return ir::text_of(lower(with_structs(*whole, {argument, {}}), types, {}));
}

}  // namespace

TEST_CASE("fields of a contiguous array have constant strides and one extent") {
    const auto i = global_id(0);
    CHECK(lowered_with({StructForm::contiguous, particle()},
                       {array(f32, 1, false), array(f64, 1, false), array(f64)},
                       {assign(at("o", 0), attribute(at("p", -1), "mass")),
                        assign(attribute(at("p", i), "x"), 2)}) ==
          "kernel k(p_x: float32[:], p_mass: float64[:], o: float64[::1])\n"
          "  o[0] = p_mass[(p_x.extent0 - 1) * 2]\n"
          "  p_x[global_id0 * 4] = 2.0:float32\n");
}

TEST_CASE("fields of an array with gaps have strides of their own") {
    CHECK(lowered_with({StructForm::array, particle()},
                       {array(f32, 1, false), array(f64, 1, false), array(f64)},
                       {assign(at("o", 0), attribute(at("p", global_id(0)), "mass"))}) ==
          "kernel k(p_x: float32[:], p_mass: float64[:], o: float64[::1])\n"
          "  o[0] = p_mass[global_id0 * p_mass.stride0]\n");
}

TEST_CASE("struct passed by value is a number for each field") {
    CHECK(lowered_with({StructForm::value, particle()}, {scalar(f32), scalar(f64), array(f64)},
                       {assign(at("o", 0), attribute("p", "mass"))}) ==
          "kernel k(p_x: float32, p_mass: float64, o: float64[::1])\n"
          "  o[0] = p_mass\n");
}

TEST_CASE("vector is a number for each component") {
    const StructTypePtr type = vector_type({TypeCode::floating, 32, 2});
    CHECK(lowered_with({StructForm::contiguous, type},
                       {array(f32, 1, false), array(f32, 1, false), array(f64)},
                       {assign(at("p", 0), binary(at("p", 1), "*", 2)),
                        assign(at("o", 0), call("dot", {at("p", 0), at("p", 1)}))}) ==
          "kernel k(p_x: float32[:], p_y: float32[:], o: float64[::1])\n"
          "  field: float32\n"
          "  field_2: float32\n"
          "  field = p_x[2] * 2.0:float32\n"
          "  field_2 = p_y[2] * 2.0:float32\n"
          "  p_x[0] = field\n"
          "  p_y[0] = field_2\n"
          "  o[0] = float64((p_x[0] * p_x[2]) + (p_y[0] * p_y[2]))\n");
}

TEST_CASE("layouts are equal if their fields are") {
    auto other = std::make_shared<StructType>(*particle());
    CHECK(same(particle(), other));
    CHECK(text_of(*particle()) == text_of(*other));
    other->fields[1].offset = 4;
    CHECK_FALSE(same(particle(), other));
    CHECK(text_of(*particle()) != text_of(*other));
    CHECK_FALSE(same(particle(), nullptr));
    CHECK(same(StructTypePtr(), nullptr));
}

TEST_CASE("names of layouts list the fields") {
    CHECK(kernel::name_of(*particle()) == "a struct of x and mass");
    CHECK(kernel::name_of(*vector_type({TypeCode::floating, 32, 4})) == "float32x4");
    CHECK(vector_type({TypeCode::integer, 8, 16})->fields[10].name == "sa");
    CHECK(argument_count({StructForm::contiguous, particle()}) == 2);
    CHECK(argument_count({}) == 1);
}
