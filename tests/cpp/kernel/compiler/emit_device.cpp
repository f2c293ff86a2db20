// Text of the device dialects. That their compilers take it is shown where kernels run, in tests/python/kernel.
#include "kernel/compiler/build_ir.hpp"

#include <doctest/doctest.h>

using namespace entrepot;
using namespace entrepot::kernel;
using namespace entrepot::kernel::ir;

namespace {

Target target_of(Dialect dialect, std::uint32_t dimensions = 1) {
    Target target;
    target.dialect = dialect;
    target.dimensions = dimensions;
    return target;
}

bool has(const Compiled &compiled, const std::string &text) { return compiled.source.find(text) != std::string::npos; }

Building copying(bool restricted) {
    Building build("copy_all");
    const RootId to = build.array("to", float32, false, true, restricted),
                 from = build.array("from", float32, true, false, restricted);
    build.add(Building::store(to, id("global_id"), build.load(from, id("global_id"))));
    return build;
}

}  // namespace

TEST_CASE("dimensions are counted from where the dialect counts them") {
    const auto source = [](Dialect dialect) {
        Building build("where");
        const RootId out = build.array("out", int64, false, true);
        build.add(Building::store(out, number(0), operation(Op::subtract, int64, {id("global_id", 0), id("global_id", 2)})));
        return build.emitted(target_of(dialect, 2));
    };
    CHECK(has(source(Dialect::opencl_c), "out[0] = (long)get_global_id(1) - 0;"));
    CHECK(has(source(Dialect::cuda), "out[0] = (long long)blockIdx.y * blockDim.y + threadIdx.y - 0;"));
    CHECK(has(source(Dialect::sycl), "out[0] = (long long)this_item().get_global_id(0) - 0;"));
    CHECK(has(source(Dialect::sycl), "nd_range_kernel<2>"));
}

TEST_CASE("what is only read is const, and only what overlaps nothing is restrict") {
    CHECK(has(copying(true).emitted(target_of(Dialect::cuda)), "float *__restrict__ to, const float *__restrict__ from"));
    CHECK(has(copying(false).emitted(target_of(Dialect::cuda)), "float *to, const float *from"));
    CHECK(
        has(copying(true).emitted(target_of(Dialect::opencl_c)), "global float *restrict to, global const float *restrict from"));
}

TEST_CASE("CUDA launches of kernels without groups may have more work-items than were asked for; others have just those") {
    const Compiled open = copying(true).emitted(target_of(Dialect::cuda));
    CHECK(open.parameters.back().what == CompiledParameter::What::global_size);
    CHECK(has(open, "if ((long long)blockIdx.x * blockDim.x + threadIdx.x >= global_size0)\n        return;"));
    Building build = copying(true);
    build.add(build.barrier());
    const Compiled grouped = build.emitted(target_of(Dialect::cuda));
    CHECK(grouped.parameters.size() == 2);
    CHECK(!has(grouped, "global_size0"));
}

TEST_CASE("integers of 32 bits wrap where no option says so") {
    const auto source = [](Dialect dialect) {
        Building build("wrapping");
        const RootId x = build.array("x", int32, true, true);
        build.add(Building::store(x, number(0), operation(Op::add, int32, {build.load(x, number(0)), build.load(x, number(1))})));
        return build.emitted(target_of(dialect));
    };
    CHECK(has(source(Dialect::opencl_c), "x[0] = (int)((uint)x[0] + (uint)x[1]);"));
    CHECK(has(source(Dialect::cuda), "x[0] = (int)((unsigned)x[0] + (unsigned)x[1]);"));
    CHECK(has(source(Dialect::cpp), "x[0] += x[1];"));
    CHECK(source(Dialect::cpp).options.find("-fwrapv") != std::string::npos);
    CHECK(source(Dialect::sycl).options.find("-fwrapv") != std::string::npos);
}

TEST_CASE("local arrays that CUDA's launch sizes follow each other") {
    Building build("two");
    const RootId a = build.array("a", float32, true, true), b = build.array("b", float64, true, true);
    for (const RootId root : {a, b})
        build.kernel().roots[root].type.space = Space::local;
    build.module.uses_groups = true;
    build.add(Building::store(a, number(0), number(1, float32))).add(Building::store(b, number(0), number(1, float64)));
    const Compiled compiled = build.emitted(target_of(Dialect::cuda));
    CHECK(has(compiled, "float *a = (float *)launch_memory;"));
    CHECK(has(compiled, "double *b = (double *)(launch_memory + (sizeof(float) * a_extent0 + 15) / 16 * 16);"));
    CHECK(compiled.parameters[0].what == CompiledParameter::What::local);
}

TEST_CASE("atomics of floats are native or swap the bits, and orders are fences where the dialect has none") {
    const auto source = [](Dialect dialect, std::string which) {
        Building build("adding");
        const RootId x = build.array("x", float32, true, true);
        Statement statement =
            Building::block(Act::evaluate, {operation(Op::atomic, float32, {number(0), number(1, float32)})}, {});
        statement.expressions[0].text = std::move(which);
        statement.expressions[0].id = x;
        statement.expressions[0].order = Order::acq_rel;
        build.add(std::move(statement));
        return build.emitted(target_of(dialect));
    };
    CHECK(has(source(Dialect::cuda, "add"), "__threadfence();\n    atomicAdd(&x[0], 1.0f);\n    __threadfence();"));
    CHECK(has(source(Dialect::cuda, "max"), "atomic_max_float32(&x[0], 1.0f);"));
    CHECK_MESSAGE(has(source(Dialect::cuda, "max"), "#define __builtin_bit_cast(To, from)"), "NVRTC 12 has none");
    CHECK_FALSE(has(source(Dialect::cuda, "add"), "bit_cast"));
    CHECK(has(source(Dialect::opencl_c, "add"), "atomic_add_float32_global(&x[0], 1.0f);"));
    CHECK(has(source(Dialect::sycl, "add"), ".fetch_add(1.0f, sycl::memory_order::acq_rel);"));
}

TEST_CASE("atomics that a device has not are refused where they stand") {
    Building build("wide");
    const RootId x = build.array("x", int64, true, true);
    Statement statement = Building::block(Act::evaluate, {operation(Op::atomic, int64, {number(0), number(1)})}, {});
    statement.expressions[0].text = "add";
    statement.expressions[0].id = x;
    build.add(std::move(statement));
    Target target = target_of(Dialect::opencl_c);
    target.atomic64 = false;
    CHECK_THROWS_AS(build.emitted(target), CompileError);
}
