// Text of the device dialects. tests/python/kernel shows that their compilers accept it.
#include "kernel/build_ir.hpp"

#include <doctest/doctest.h>

using namespace entrepot;
using namespace entrepot::kernel;
using namespace entrepot::kernel::ir;

namespace {

Building copying(bool restricted) {
    Building build("copy_all");
    const RootId to = build.array("to", float32, false, true, restricted),
                 from = build.array("from", float32, true, false, restricted);
    build.add(Building::store(to, id("global_id"), build.load(from, id("global_id"))));
    return build;
}

}  // namespace

TEST_CASE("dimensions are numbered as in the dialect") {
    const auto source = [](Dialect dialect) {
        Building build("where");
        const RootId out = build.array("out", int64, false, true);
        build.add(Building::store(
            out, number(0),
            operation(Op::subtract, int64, {id("global_id", 0), id("global_id", 2)})));
        return build.emitted(target_of(dialect, 2));
    };
    CHECK(has(source(Dialect::opencl_c), "out[0] = (long)get_global_id(1) - 0;"));
    CHECK(has(source(Dialect::cuda),
              "out[0] = (long long)blockIdx.y * blockDim.y + threadIdx.y - 0;"));
    CHECK(has(source(Dialect::sycl), "out[0] = (long long)this_item().get_global_id(0) - 0;"));
    CHECK(has(source(Dialect::sycl), "nd_range_kernel<2>"));
}

TEST_CASE("SYCL source includes only the required headers") {
    Building build = copying(true);
    const Compiled copies = build.emitted(target_of(Dialect::sycl));
    CHECK(copies.source.starts_with(
        "#if __has_include(<sycl/ext/oneapi/free_function_kernel_properties.hpp>) && "
        "__has_include(<sycl/ext/oneapi/free_function_queries.hpp>)\n"
        "#include <sycl/ext/oneapi/free_function_kernel_properties.hpp>\n"
        "#include <sycl/ext/oneapi/free_function_queries.hpp>\n"
        "#else\n#include <sycl/sycl.hpp>\n#endif\n\n"));
    CHECK(!has(copies, "#include <sycl/group_barrier.hpp>"));
    build.add(build.barrier());
    CHECK(has(build.emitted(target_of(Dialect::sycl)), "#include <sycl/group_barrier.hpp>"));
}

TEST_CASE("read-only arrays are const, disjoint arrays are restrict") {
    CHECK(has(copying(true).emitted(target_of(Dialect::cuda)),
              "float *__restrict__ to, const float *__restrict__ from"));
    CHECK(has(copying(false).emitted(target_of(Dialect::cuda)), "float *to, const float *from"));
    CHECK(has(copying(true).emitted(target_of(Dialect::opencl_c)),
              "global float *restrict to, global const float *restrict from"));
}

TEST_CASE("CUDA kernel without groups ignores items beyond the range") {
    const Compiled open = copying(true).emitted(target_of(Dialect::cuda));
    CHECK(open.parameters.back().what == CompiledParameter::What::global_size);
    CHECK(has(
        open,
        "if ((long long)blockIdx.x * blockDim.x + threadIdx.x >= global_size0)\n        return;"));
    Building build = copying(true);
    build.add(build.barrier());
    const Compiled grouped = build.emitted(target_of(Dialect::cuda));
    CHECK(grouped.parameters.size() == 2);
    CHECK(!has(grouped, "global_size0"));
}

TEST_CASE("32-bit addition wraps by casts or by -fwrapv") {
    const auto source = [](Dialect dialect, bool fast_math = false) {
        Building build("wrapping");
        const RootId x = build.array("x", int32, true, true);
        build.add(Building::store(
            x, number(0),
            operation(Op::add, int32, {build.load(x, number(0)), build.load(x, number(1))})));
        Target target = target_of(dialect);
        target.fast_math = fast_math;
        return build.emitted(target);
    };
    CHECK(has(source(Dialect::opencl_c), "x[0] = (int)((uint)x[0] + (uint)x[1]);"));
    CHECK(has(source(Dialect::cuda), "x[0] = (int)((unsigned)x[0] + (unsigned)x[1]);"));
    CHECK(has(source(Dialect::cpp), "x[0] += x[1];"));
    for (const Dialect dialect : {Dialect::cpp, Dialect::sycl, Dialect::hip})
        for (const bool fast_math : {false, true})
            CHECK(source(dialect, fast_math).options.find("-fwrapv") != std::string::npos);
}

TEST_CASE("16-bit powers use unsigned multiplication in every dialect") {
    for (const Dtype dtype : {int16, uint16})
        for (const Dialect dialect :
             {Dialect::opencl_c, Dialect::cuda, Dialect::hip, Dialect::sycl, Dialect::cpp}) {
            Building build("raised");
            const RootId x = build.array("x", dtype, true, true);
            build.add(Building::store(
                x, number(0),
                operation(Op::power, dtype, {build.load(x, number(0)), build.load(x, number(1))})));
            const Compiled compiled = build.emitted(target_of(dialect));
            CHECK(has(compiled, "(1u * product * "));
            CHECK_FALSE(has(compiled, "(product * "));
            CHECK_FALSE(has(compiled, "(factor * factor)"));
            CHECK_FALSE(has(compiled, "(base * base)"));
        }
}

TEST_CASE("local arrays sized at a CUDA launch are adjacent") {
    Building build("two");
    const RootId a = build.array("a", float32, true, true),
                 b = build.array("b", float64, true, true);
    for (const RootId root : {a, b})
        build.kernel().roots[root].type.space = Space::local;
    build.module.uses_groups = true;
    build.add(Building::store(a, number(0), number(1, float32)))
        .add(Building::store(b, number(0), number(1, float64)));
    const Compiled compiled = build.emitted(target_of(Dialect::cuda));
    CHECK(has(compiled, "float *a = (float *)launch_memory;"));
    CHECK(
        has(compiled,
            "double *b = (double *)(launch_memory + (sizeof(float) * a_extent0 + 15) / 16 * 16);"));
    CHECK(compiled.parameters[0].what == CompiledParameter::What::local);
}

TEST_CASE("large local arrays are sized at launch, before the others") {
    const auto of_sizes = [](std::int64_t first, std::int64_t second, Dialect dialect,
                             bool combines = false) {
        Building build("large");
        const RootId sized = build.array("sized", float32, true, true);
        build.kernel().roots[sized].type.space = Space::local;
        const RootId a = build.own_array("a", uint8, Space::local, first),
                     b = build.own_array("b", float32, Space::local, second);
        build.module.uses_groups = true;
        build.add(Building::store(sized, number(0), number(1, float32)))
            .add(Building::store(a, number(0), number(1, uint8)))
            .add(Building::store(b, number(0), number(1, float32)));
        if (combines) {
            const VariableId sum = build.variable("sum", float32);
            build.add(
                Building::assign(sum, build.group("reduce", "add", float32, {number(1, float32)})));
            build.add(Building::store(b, number(1), build.read(sum)));
        }
        return build.emitted(target_of(dialect));
    };
    for (const Dialect dialect : {Dialect::cuda, Dialect::hip}) {
        const Compiled fits = of_sizes(1024, (48 - 1) * 256, dialect);
        CHECK(has(fits, "__shared__ unsigned char a[1024];"));
        CHECK(has(fits, "__shared__ float b[12032];"));
        CHECK(has(fits, "float *sized = (float *)launch_memory;"));
        CHECK(fits.parameters.back().what == CompiledParameter::What::local);
        const Compiled beyond = of_sizes(1025, (48 - 1) * 256, dialect);
        CHECK_FALSE(has(beyond, "__shared__ float b"));
        CHECK(has(beyond, "unsigned char *a = (unsigned char *)launch_memory;"));
        CHECK(has(beyond, "float *b = (float *)(launch_memory + 1040);"));
        CHECK(has(beyond, "float *sized = (float *)(launch_memory + 1040 + 48128);"));
        CHECK(beyond.parameters.back().what == CompiledParameter::What::arrays);
        CHECK(beyond.parameters.back().dimension == 1040 + 48128);
        // Each device refuses this size; the parameter has all 64 bits of it.
        const Compiled huge = of_sizes((std::int64_t{1} << 32) + 16, 4, dialect);
        CHECK(huge.parameters.back().dimension == (std::uint64_t{1} << 32) + 32);
        const Compiled with_group_function = of_sizes(1024, (48 - 1) * 256, dialect, true);
        CHECK_MESSAGE(has(with_group_function, "float *b = (float *)(launch_memory + 1024);"),
                      "the group function needs 128 bytes");
    }
    CHECK(has(of_sizes(1025, (48 - 1) * 256, Dialect::opencl_c), "local float b[12032];"));
}

TEST_CASE("constant arrays use constant memory while they fit together") {
    const auto of_sizes = [](Dialect dialect, std::vector<std::int64_t> sizes) {
        Building build("tables");
        const RootId out = build.array("out", uint8, false, true);
        for (const std::int64_t size : sizes) {
            const RootId table =
                build.own_array("table" + std::to_string(size), uint8, Space::constant, size);
            auto values = std::make_shared<ConstantArray>();
            values->dtype = uint8;
            values->shape = {size};
            values->bytes.resize(static_cast<std::size_t>(size));
            build.kernel().roots[table].values = values;
            build.kernel().roots[table].written = false;
            build.add(Building::store(out, number(0), build.load(table, number(0))));
        }
        return build.emitted(target_of(dialect));
    };
    for (const Dialect dialect : {Dialect::cuda, Dialect::hip}) {
        CHECK(has(of_sizes(dialect, {65536}),
                  "__constant__ const unsigned char tables_table65536[65536]"));
        CHECK(has(of_sizes(dialect, {65537}),
                  "static __device__ const unsigned char tables_table65537[65537]"));
        const Compiled three = of_sizes(dialect, {40000, 30000, 20000});
        CHECK(has(three, "__constant__ const unsigned char tables_table40000"));
        CHECK(has(three, "static __device__ const unsigned char tables_table30000"));
        CHECK(has(three, "__constant__ const unsigned char tables_table20000"));
    }
    CHECK(has(of_sizes(Dialect::opencl_c, {65537}), "constant uchar tables_table65537[65537]"));
}

TEST_CASE("float atomics are native or compare bits, with fences") {
    const auto source = [](Dialect dialect, std::string which) {
        Building build("adding");
        const RootId x = build.array("x", float32, true, true);
        Statement statement = Building::block(
            Act::evaluate, {operation(Op::atomic, float32, {number(0), number(1, float32)})}, {});
        statement.expressions[0].text = std::move(which);
        statement.expressions[0].id = x;
        statement.expressions[0].order = Order::acq_rel;
        build.add(std::move(statement));
        return build.emitted(target_of(dialect));
    };
    CHECK(has(source(Dialect::cuda, "add"),
              "__threadfence();\n    atomicAdd(&x[0], 1.0f);\n    __threadfence();"));
    CHECK(has(source(Dialect::cuda, "max"), "atomic_max_float32(&x[0], 1.0f);"));
    CHECK_MESSAGE(has(source(Dialect::cuda, "max"), "#define __builtin_bit_cast(To, from)"),
                  "NVRTC 12 has no __builtin_bit_cast");
    CHECK_FALSE(has(source(Dialect::cuda, "add"), "bit_cast"));
    CHECK(has(source(Dialect::opencl_c, "add"), "atomic_add_float32_global(&x[0], 1.0f);"));
    CHECK(has(source(Dialect::sycl, "add"), ".fetch_add(1.0f, sycl::memory_order::acq_rel);"));
}

TEST_CASE("atomic subtraction negates without undefined overflow") {
    const auto source = [](Dtype dtype) {
        Building build("subtracting");
        const RootId x = build.array("x", dtype, true, true);
        Statement statement = Building::block(
            Act::evaluate, {operation(Op::atomic, dtype, {number(0), build.load(x, number(1))})},
            {});
        statement.expressions[0].text = "sub";
        statement.expressions[0].id = x;
        build.add(std::move(statement));
        return build.emitted(target_of(Dialect::cuda));
    };
    CHECK(has(source(int32), "atomicAdd(&x[0], 0 - (unsigned)(x[1]))"));
    CHECK(has(source(int64),
              "atomicAdd((unsigned long long *)&x[0], 0 - (unsigned long long)(x[1]))"));
}

TEST_CASE("atomic load of an unwritten array uses a const pointer") {
    const auto source = [](Dialect dialect, Dtype dtype, bool read_only) {
        Building build("loading");
        const RootId x = build.array("x", dtype, true, false);
        build.kernel().roots[x].type.read_only = read_only;
        Statement statement =
            Building::block(Act::evaluate, {operation(Op::atomic, dtype, {number(0)})}, {});
        statement.expressions[0].text = "load";
        statement.expressions[0].id = x;
        build.add(std::move(statement));
        return build.emitted(target_of(dialect));
    };
    CHECK(has(source(Dialect::cuda, int64, false), "*(const volatile long long *)&x[0];"));
    CHECK(has(source(Dialect::hip, float32, false), "*(const volatile float *)&x[0];"));
    CHECK(has(source(Dialect::opencl_c, int64, false), "atom_add((global long *)&x[0], 0);"));
    CHECK(has(source(Dialect::opencl_c, int64, true), "*(const volatile global long *)&x[0];"));
    CHECK(has(source(Dialect::opencl_c, float32, false),
              "atomic_load_float32_global((global float *)&x[0]);"));
    CHECK(has(source(Dialect::sycl, float32, false), "const_cast<float &>(x[0])"));
    CHECK(has(source(Dialect::cpp, float64, false), "atomic_load_float64(&x[0]);"));
}

TEST_CASE("unsupported atomics are refused") {
    Building build("wide");
    const RootId x = build.array("x", int64, true, true);
    Statement statement =
        Building::block(Act::evaluate, {operation(Op::atomic, int64, {number(0), number(1)})}, {});
    statement.expressions[0].text = "add";
    statement.expressions[0].id = x;
    build.add(std::move(statement));
    Target target = target_of(Dialect::opencl_c);
    target.atomic64 = false;
    CHECK_THROWS_AS(build.emitted(target), CompileError);
}
