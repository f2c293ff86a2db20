// Text of cooperative operations: orders and scopes of atomics, fences, sub-group barriers, group
// functions.
#include "kernel/build_ir.hpp"

#include <doctest/doctest.h>

using namespace entrepot;
using namespace entrepot::kernel;
using namespace entrepot::kernel::ir;

namespace {

std::size_t count(const Compiled &compiled, const std::string &text) {
    std::size_t found = 0;
    for (std::size_t at = 0; (at = compiled.source.find(text, at)) != std::string::npos;
         at += text.size())
        ++found;
    return found;
}

Compiled atomic(Dialect dialect, Dtype dtype, std::string which, Order order, Scope scope) {
    Building build("changing");
    const RootId x = build.array("x", dtype, true, true);
    Statement statement = Building::block(
        Act::evaluate, {operation(Op::atomic, dtype, {number(0), number(1, dtype)})}, {});
    statement.expressions[0].text = std::move(which);
    statement.expressions[0].id = x;
    statement.expressions[0].order = order;
    statement.expressions[0].scope = scope;
    return build.add(std::move(statement)).emitted(target_of(dialect));
}

}  // namespace

TEST_CASE("memory orders are native in SYCL and C++, fences elsewhere") {
    const std::string change = "    atomicAdd(&x[0], 1);\n", wait = "    __threadfence();\n";
    const auto cuda = [](Order order) {
        return atomic(Dialect::cuda, int32, "add", order, Scope::device);
    };
    CHECK_FALSE(has(cuda(Order::relaxed), "__threadfence"));
    CHECK(has(cuda(Order::acquire), change + wait));
    CHECK_FALSE(has(cuda(Order::acquire), wait + change));
    CHECK(has(cuda(Order::release), wait + change));
    CHECK_FALSE(has(cuda(Order::release), change + wait));
    CHECK(has(cuda(Order::acq_rel), wait + change + wait));
    CHECK(has(cuda(Order::seq_cst), wait + change + wait));

    const std::string both = "    mem_fence(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);\n",
                      opencl = "    atomic_add(&x[0], 1);\n";
    CHECK(
        has(atomic(Dialect::opencl_c, int32, "add", Order::acquire, Scope::device), opencl + both));
    CHECK(
        has(atomic(Dialect::opencl_c, int32, "add", Order::release, Scope::device), both + opencl));
    CHECK_FALSE(
        has(atomic(Dialect::opencl_c, int32, "add", Order::relaxed, Scope::device), "fence"));

    constexpr std::tuple<Order, const char *, const char *> orders[] = {
        {Order::acquire, "acquire", "__ATOMIC_ACQUIRE"},
        {Order::release, "release", "__ATOMIC_RELEASE"},
        {Order::acq_rel, "acq_rel", "__ATOMIC_ACQ_REL"},
        {Order::seq_cst, "seq_cst", "__ATOMIC_SEQ_CST"}};
    for (const auto &[order, sycl, host] : orders) {
        CHECK(has(atomic(Dialect::sycl, int32, "add", order, Scope::device),
                  ".fetch_add(1, sycl::memory_order::" + std::string(sycl) + ");"));
        CHECK(has(atomic(Dialect::cpp, int32, "add", order, Scope::device),
                  "__atomic_fetch_add(&x[0], 1, " + std::string(host)));
    }
}

TEST_CASE("atomic scope selects CUDA suffixes and SYCL memory scopes") {
    const auto relaxed = [](Dialect dialect, Scope scope, Dtype dtype = int32) {
        return atomic(dialect, dtype, "add", Order::relaxed, scope);
    };
    CHECK(has(relaxed(Dialect::cuda, Scope::work_group), "    atomicAdd_block(&x[0], 1);"));
    CHECK(has(relaxed(Dialect::cuda, Scope::device), "    atomicAdd(&x[0], 1);"));
    CHECK(has(relaxed(Dialect::cuda, Scope::system), "    atomicAdd_system(&x[0], 1);"));
    CHECK_FALSE(has(relaxed(Dialect::cuda, Scope::system), "__threadfence"));
    CHECK(has(relaxed(Dialect::cuda, Scope::system, float64), "    atomicAdd_system(&x[0], 1.0);"));
    CHECK_MESSAGE(has(relaxed(Dialect::hip, Scope::work_group), "    atomicAdd(&x[0], 1);"),
                  "HIP has no block-scope atomics");
    CHECK(has(relaxed(Dialect::hip, Scope::system), "    atomicAdd_system(&x[0], 1);"));
    CHECK(has(relaxed(Dialect::sycl, Scope::device), ".fetch_add(1);"));
    CHECK(has(relaxed(Dialect::cpp, Scope::device), "__ATOMIC_RELAXED"));

    const std::string fence = "    __threadfence_block();\n",
                      add = "    atomicAdd_block(&x[0], 1);\n";
    CHECK(has(atomic(Dialect::cuda, int32, "add", Order::acq_rel, Scope::work_group),
              fence + add + fence));

    constexpr std::pair<Scope, const char *> words[] = {
        {Scope::work_group, "work_group"}, {Scope::device, "device"}, {Scope::system, "system"}};
    for (const auto &[scope, word] : words)
        CHECK(has(atomic(Dialect::sycl, int32, "add", Order::seq_cst, scope),
                  "sycl::memory_scope::" + std::string(word) +
                      ", sycl::access::address_space::global_space>(x[0]).fetch_add(1, "
                      "sycl::memory_order::seq_cst);"));
}

TEST_CASE("grid barrier counts the arrivals of groups; SYCL has a group barrier") {
    const auto source = [](Dialect dialect) {
        Building build("waits");
        const RootId x = build.array("x", float32, true, true);
        build.kernel().roots[x].restrict_ = true;
        Statement barrier = build.barrier();
        barrier.scope = Scope::device;
        build.module.has_grid_barriers = true;
        build.add(Building::store(x, id("global_id"), number(1, float32))).add(std::move(barrier));
        build.add(Building::store(x, id("global_id"), number(2, float32)));
        return build.emitted(target_of(dialect));
    };
    for (const Dialect dialect : {Dialect::cuda, Dialect::hip}) {
        const Compiled made = source(dialect);
        CHECK(made.is_cooperative);
        CHECK(made.parameters.back().what == CompiledParameter::What::arrivals);
        CHECK(has(made, "float *x, unsigned long long *arrivals)"));
        CHECK(has(made, "    grid_barrier(arrivals);\n"));
        CHECK(has(made, "        __threadfence();\n        const unsigned long long end ="));
        CHECK(has(made, "        __threadfence();\n    }\n    __syncthreads();\n}"));
    }
    const Compiled host = source(Dialect::cpp);
    CHECK(host.parameters.back().what == CompiledParameter::What::arrivals);
    CHECK(has(host, "grid_barrier(arrivals, range[7] * range[8] * range[9]);"));
    CHECK_FALSE_MESSAGE(has(host, "__restrict x"), "other groups write to x");
    CHECK(has(source(Dialect::opencl_c), "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);"));
    CHECK(has(source(Dialect::sycl), "sycl::group_barrier(this_item().get_group());"));
    CHECK(source(Dialect::sycl).parameters.size() == 1);
}

TEST_CASE("fence has the order and scope supported by the dialect") {
    const auto source = [](Dialect dialect, Scope scope, Order order, int fences) {
        Building build("waits");
        const RootId x = build.array("x", float32, true, true);
        Statement fence = Building::block(Act::fence, {}, {});
        fence.scope = scope;
        fence.order = order;
        fence.fences = static_cast<std::uint8_t>(fences);
        build.add(Building::store(x, number(0), number(1, float32))).add(std::move(fence));
        build.add(Building::store(x, number(1), number(2, float32)));
        return build.emitted(target_of(dialect));
    };
    const auto between = [](const std::string &fence) {
        return "x[0] = 1.0f;\n    " + fence + "\n    x[1] = 2.0f;";
    };
    const int both = local_fence | global_fence;
    for (const Dialect dialect : {Dialect::cuda, Dialect::hip}) {
        CHECK(has(source(dialect, Scope::sub_group, Order::acq_rel, both),
                  between("__threadfence_block();")));
        CHECK(has(source(dialect, Scope::work_group, Order::seq_cst, local_fence),
                  between("__threadfence_block();")));
        CHECK(has(source(dialect, Scope::device, Order::seq_cst, global_fence),
                  between("__threadfence();")));
        CHECK(has(source(dialect, Scope::system, Order::release, both),
                  between("__threadfence_system();")));
    }
    const auto opencl = [&](int fences) {
        return source(Dialect::opencl_c, Scope::device, Order::seq_cst, fences);
    };
    CHECK(has(opencl(local_fence), between("mem_fence(CLK_LOCAL_MEM_FENCE);")));
    CHECK(has(opencl(global_fence), between("mem_fence(CLK_GLOBAL_MEM_FENCE);")));
    CHECK(has(opencl(both), between("mem_fence(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);")));
    const auto sycl = [&](Scope scope, Order order) {
        return source(Dialect::sycl, scope, order, both);
    };
    CHECK(has(
        sycl(Scope::work_group, Order::acquire),
        between(
            "sycl::atomic_fence(sycl::memory_order::acquire, sycl::memory_scope::work_group);")));
    CHECK(has(
        sycl(Scope::device, Order::seq_cst),
        between("sycl::atomic_fence(sycl::memory_order::seq_cst, sycl::memory_scope::device);")));
    CHECK(has(
        sycl(Scope::system, Order::release),
        between("sycl::atomic_fence(sycl::memory_order::release, sycl::memory_scope::system);")));
    const auto host = [&](Order order) { return source(Dialect::cpp, Scope::device, order, both); };
    CHECK(has(host(Order::seq_cst), "__atomic_thread_fence(__ATOMIC_SEQ_CST);"));
    CHECK(has(host(Order::release), "__atomic_thread_fence(__ATOMIC_RELEASE);"));
}

TEST_CASE("diverged warp reconverges before a warp-level operation") {
    Building waiting("waiting");
    Statement barrier = waiting.barrier();
    barrier.scope = Scope::sub_group;
    CHECK(has(waiting.add(std::move(barrier)).emitted(target_of(Dialect::cuda)),
              "    __syncwarp();"));
    struct Row {
        std::string name;
        Scope scope;
        bool is_of_warps;  // through instructions of a warp
    };
    const std::vector<Row> rows{
        {"reduce", Scope::work_group, true},         {"reduce", Scope::sub_group, true},
        {"inclusive_scan", Scope::work_group, true}, {"inclusive_scan", Scope::sub_group, true},
        {"exclusive_scan", Scope::work_group, true}, {"exclusive_scan", Scope::sub_group, true},
        {"broadcast", Scope::work_group, false},     {"broadcast", Scope::sub_group, true},
        {"any", Scope::work_group, false},           {"any", Scope::sub_group, true},
        {"all", Scope::work_group, false},           {"all", Scope::sub_group, true},
        {"ballot", Scope::sub_group, true},          {"shuffle", Scope::sub_group, true},
        {"shuffle_xor", Scope::sub_group, true},     {"shuffle_up", Scope::sub_group, true},
        {"shuffle_down", Scope::sub_group, true}};
    for (const Row &row : rows) {
        const std::string &name = row.name;
        CAPTURE(name);
        CAPTURE(row.scope == Scope::sub_group);
        Building build("together");
        const RootId x = build.array("x", int32, true, true);
        const bool votes = name == "any" || name == "all" || name == "ballot",
                   moves = name == "broadcast" || name.starts_with("shuffle");
        const Dtype dtype = name == "ballot" ? uint64 : votes ? boolean : int32;
        std::vector<Expression> operands{
            votes ? operation(Op::less, boolean, {build.load(x, number(0)), number(1, int32)})
                  : build.load(x, id("global_id"))};
        if (moves)
            operands.push_back(number(1));
        const VariableId result = build.variable("result", dtype);
        build.add(Building::assign(
            result, build.group(name, moves || votes ? "" : "add", dtype, operands, row.scope)));
        const Compiled compiled = build.emitted(target_of(Dialect::cuda));
        CHECK_FALSE(has(compiled, "__activemask"));
        const std::size_t instructions = count(compiled, "__shfl") + count(compiled, "__any") +
                                         count(compiled, "__all") + count(compiled, "__ballot") +
                                         count(compiled, "__reduce_add");
        CHECK((instructions > 0) == row.is_of_warps);
        CHECK(instructions == count(compiled, "_sync(0xffffffffu, "));
    }
}

TEST_CASE("warp of a GPU combines integers of 32 bits by one instruction") {
    const auto text = [](const char *operation, Dtype dtype, Dialect dialect) {
        Building build("together");
        const RootId x = build.array("x", dtype, true, true);
        const VariableId result = build.variable("result", dtype);
        build.add(Building::assign(result, build.group("reduce", operation, dtype,
                                                       {build.load(x, id("global_id"))},
                                                       Scope::sub_group)));
        return build.emitted(target_of(dialect));
    };
    CHECK(has(text("min", int32, Dialect::cuda), "__reduce_min_sync(0xffffffffu, value)"));
    CHECK(has(text("or", int32, Dialect::cuda), "__reduce_or_sync(0xffffffffu, (unsigned)value)"));
    CHECK_FALSE(has(text("mul", int32, Dialect::cuda), "__reduce"));
    CHECK_FALSE(has(text("add", int64, Dialect::cuda), "__reduce"));
    CHECK_FALSE(has(text("add", int32, Dialect::hip), "__reduce"));
}

TEST_CASE("integer group operations have no undefined overflow") {
    const auto source = [](Dialect dialect, Dtype dtype, const char *which) {
        Building build("wrapping");
        const RootId x = build.array("x", dtype, true, true);
        const VariableId result = build.variable("result", dtype);
        build.add(Building::assign(
            result, build.group("reduce", which, dtype, {build.load(x, id("global_id"))})));
        return build.emitted(target_of(dialect));
    };
    CHECK(has(source(Dialect::cuda, int32, "add"), "(int)((unsigned)value + (unsigned)other)"));
    CHECK(has(source(Dialect::opencl_c, int32, "mul"),
              "(int)((uint)place[id] * (uint)place[id + step])"));
    CHECK(has(source(Dialect::cuda, int32, "xor"), "value ^ other"));
    CHECK(has(source(Dialect::cuda, int64, "add"),
              "(long long)((unsigned long long)value + (unsigned long long)other)"));
    CHECK(has(source(Dialect::cpp, int64, "add"), " + "));
    CHECK_FALSE(has(source(Dialect::cpp, int64, "add"), "unsigned long long"));
}

TEST_CASE("OpenCL C group function ends with a barrier after its read") {
    Building build("leaving");
    const RootId x = build.array("x", int32, true, true);
    const VariableId result = build.variable("result", int32);
    build.add(Building::assign(
        result, build.group("reduce", "mul", int32, {build.load(x, id("global_id"))})));
    CHECK(has(
        build.emitted(target_of(Dialect::opencl_c)),
        "    const int found = place[0];\n    barrier(CLK_LOCAL_MEM_FENCE);\n    return found;\n"));
}
