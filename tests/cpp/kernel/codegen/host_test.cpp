// Host C++ from the emitter, compiled by the system's compiler, loaded and run.
#include "kernel/build_ir.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <limits>
#include <numeric>
#include <unistd.h>

using namespace entrepot;
using namespace entrepot::kernel;
using namespace entrepot::kernel::ir;

namespace {

// A folder that is removed with its scope, also after a failed REQUIRE.
class Folder {
public:
    Folder() { REQUIRE(mkdtemp(path_.data()) != nullptr); }
    Folder(const Folder &) = delete;
    Folder &operator=(const Folder &) = delete;
    ~Folder() { std::filesystem::remove_all(path_); }
    const std::string &path() const { return path_; }

private:
    std::string path_ = "/tmp/entrepot-emit-XXXXXX";
};

// A compiled kernel, called as the host's backend does.
class Loaded {
public:
    explicit Loaded(const Compiled &compiled) : name_(compiled.name) {
        const Folder folder;
        const std::string source = folder.path() + "/kernel.cpp",
                          library = folder.path() + "/kernel.so";
        std::ofstream(source) << compiled.source;
        const std::string command = "c++ -std=c++17 -O3 -march=native -fPIC -shared "
                                    "-fno-exceptions -fno-rtti -fno-math-errno "
                                    "-Wall -Wextra -Werror -Wno-unused-function " +
                                    compiled.options + " -o " + library + " " + source;
        INFO(compiled.source);
        REQUIRE(std::system(command.c_str()) == 0);
        library_ = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
        REQUIRE(library_ != nullptr);
        function_ = reinterpret_cast<Function>(dlsym(library_, name_.c_str()));
        REQUIRE((function_ != nullptr));
    }
    ~Loaded() {
        if (library_ != nullptr)
            dlclose(library_);
    }

    // All groups of a launch in one dimension; `local` 0: groups of one work-item.
    void run(long long global, long long local, std::vector<void *> arguments) const {
        const long long each = local == 0 ? 1 : local;
        std::vector<char> kept(static_cast<std::size_t>(exported("_private") * each) + 64);
        arguments.push_back(kept.data());
        const std::array<long long, 12> range{1, global,        1, 1, each, 1,
                                              1, global / each, 1, 1, 0,    global / each};
        function_(range.data(), arguments.data());
    }
    void run(std::array<long long, 3> global, std::array<long long, 3> local, long long first,
             long long last, std::vector<void *> arguments) const {
        std::vector<char> kept(
            static_cast<std::size_t>(exported("_private") * local[0] * local[1] * local[2]) + 64);
        arguments.push_back(kept.data());
        const std::array<long long, 12> range{3,
                                              global[0],
                                              global[1],
                                              global[2],
                                              local[0],
                                              local[1],
                                              local[2],
                                              global[0] / local[0],
                                              global[1] / local[1],
                                              global[2] / local[2],
                                              first,
                                              last};
        function_(range.data(), arguments.data());
    }

    long long exported(const char *suffix) const {
        const auto *found =
            static_cast<const long long *>(dlsym(library_, (name_ + suffix).c_str()));
        return found != nullptr ? *found : 0;
    }

private:
    using Function = void (*)(const long long *, void *const *);
    std::string name_;
    void *library_ = nullptr;
    Function function_ = nullptr;
};

std::vector<float> counted(std::size_t size) {
    std::vector<float> values(size);
    std::iota(values.begin(), values.end(), 0.f);
    return values;
}

}  // namespace

TEST_CASE("kernel without groups is one loop over the work-items") {
    Building build("saxpy");
    const RootId y = build.array("y", float32, true, true),
                 x = build.array("x", float32, true, false);
    const VariableId a = build.parameter("a", float32), i = build.variable("i", int64);
    build.add(Building::assign(i, id("global_id")));
    build.add(Building::block(
        Act::if_, {operation(Op::greater_equal, boolean, {build.read(i), build.extent(x)})},
        {Building::leave()}));
    build.add(Building::store(
        y, build.read(i),
        operation(
            Op::add, float32,
            {build.load(y, build.read(i)),
             operation(Op::multiply, float32, {build.read(a), build.load(x, build.read(i))})})));
    const Compiled compiled = build.emitted({});
    CHECK(compiled.parameters.size() == 4);
    CHECK(compiled.source.find("const float *__restrict x") != std::string::npos);
    CHECK(compiled.source.find("y[i] += a * x[i];") != std::string::npos);

    const Loaded kernel(compiled);
    std::vector<float> in = counted(100), out(100, 1.f);
    float by = 2;
    long long extent = 90;
    kernel.run(100, 0, {out.data(), in.data(), &extent, &by});
    CHECK(out[89] == 1 + 2 * 89);
    CHECK(out[90] == 1);
}

TEST_CASE("kernel with a barrier is two loops over the work-items") {
    Building build("reverse_array");
    const RootId A = build.array("A", float32, true, true),
                 lm = build.own_array("lm", float32, Space::local, 10);
    const VariableId i = build.variable("i", int64);
    build.add(Building::assign(i, id("local_id")));
    build.add(Building::store(lm, build.read(i), build.load(A, id("global_id"))));
    build.add(build.barrier());
    build.add(Building::store(
        A, id("global_id"),
        operation(Op::add, float32,
                  {build.load(A, id("global_id")),
                   build.load(lm, operation(Op::subtract, int64, {number(9), build.read(i)}))})));
    const Compiled compiled = build.emitted({});
    const Loaded kernel(compiled);
    CHECK(kernel.exported("_private") == 0);  // ids are calculated again
    CHECK(kernel.exported("_local") == 40);
    std::vector<float> values = counted(20);
    kernel.run(20, 10, {values.data()});
    for (std::size_t k = 0; k < 20; ++k)
        CHECK(values[k] == (k < 10 ? 9 : 29));
}

TEST_CASE("loop around barriers runs once per group, with one counter") {
    Building build("sum");
    const RootId in = build.array("values", float32, true, false),
                 out = build.array("sums", float32, false, true),
                 lm = build.own_array("lm", float32, Space::local, 64);
    const VariableId i = build.variable("i", int64), step = build.variable("step", int64),
                     mine = build.variable("mine", float32);
    build.add(Building::assign(i, id("local_id")));
    build.add(Building::assign(mine, build.load(in, id("global_id"))));
    build.add(Building::store(lm, build.read(i), build.read(mine)));
    build.add(
        Building::assign(step, operation(Op::shift_right, int64, {id("local_size"), number(1)})));
    std::vector<Statement> body;
    body.push_back(build.barrier());
    body.push_back(Building::block(
        Act::if_, {operation(Op::less, boolean, {build.read(i), build.read(step)})},
        {Building::store(
            lm, build.read(i),
            operation(
                Op::add, float32,
                {build.load(lm, build.read(i)),
                 build.load(lm, operation(Op::add, int64, {build.read(i), build.read(step)}))}))}));
    body.push_back(build.barrier());
    body.push_back(
        Building::assign(step, operation(Op::shift_right, int64, {build.read(step), number(1)})));
    build.add(Building::block(Act::while_,
                              {operation(Op::greater, boolean, {build.read(step), number(0)})},
                              std::move(body)));
    build.add(Building::block(Act::if_, {operation(Op::equal, boolean, {build.read(i), number(0)})},
                              {Building::store(out, id("group_id"), build.load(lm, number(0)))}));
    // A value read before all barriers is used after them.
    build.add(Building::store(lm, build.read(i), build.read(mine)));
    build.add(build.barrier());
    Target any, fixed;
    fixed.local_size = {64, 1, 1};
    for (const Target &target : {any, fixed}) {
        const Compiled compiled = build.emitted(target);
        INFO(compiled.source);
        CHECK((compiled.source.find("local_size0 = 64;") != std::string::npos) ==
              (target.local_size == fixed.local_size));
        const Loaded kernel(compiled);
        CHECK(kernel.exported("_private") == 4);  // `mine`
        std::vector<float> values = counted(128), sums(2);
        kernel.run(128, 64, {values.data(), sums.data()});
        CHECK(sums[0] == 63 * 64 / 2);
        CHECK(sums[1] == 63 * 64 / 2 + 64 * 64);
    }
}

TEST_CASE("group functions combine the values of all work-items") {
    Building build("groups");
    const RootId out = build.array("out", float32, false, true);
    const VariableId own = build.variable("own", float32), all = build.variable("all", float32),
                     before = build.variable("before", float32),
                     near = build.variable("near", float32);
    build.add(Building::assign(own, operation(Op::convert, float32, {id("local_id")})));
    build.add(Building::assign(all, build.group("reduce", "add", float32, {build.read(own)})));
    build.add(
        Building::assign(before, build.group("exclusive_scan", "add", float32, {build.read(own)})));
    build.add(Building::assign(near, build.group("shuffle_xor", "", float32,
                                                 {build.read(own), number(1)}, Scope::sub_group)));
    build.add(Building::store(
        out, id("global_id"),
        operation(Op::add, float32,
                  {build.read(all),
                   operation(Op::add, float32, {build.read(before), build.read(near)})})));
    const Compiled compiled = build.emitted({});
    INFO(compiled.source);
    const Loaded kernel(compiled);
    std::vector<float> values(16);
    kernel.run(16, 8, {values.data()});
    for (int i = 0; i < 16; ++i) {
        const int l = i % 8;
        CHECK(values[static_cast<std::size_t>(i)] == 28 + l * (l - 1) / 2 + (l ^ 1));
    }
}

TEST_CASE("returned work-item runs no later code") {
    Building build("early");
    const RootId out = build.array("out", float32, true, true);
    std::vector<Statement> body;
    body.push_back(build.barrier());
    body.push_back(Building::block(Act::if_,
                                   {operation(Op::greater, boolean, {id("local_id"), number(1)})},
                                   {Building::leave()}));
    build.add(Building::block(Act::if_,
                              {operation(Op::greater, boolean, {id("local_size"), number(1)})},
                              std::move(body)));
    build.add(Building::store(out, id("global_id"), number(1, float32)));
    const Compiled compiled = build.emitted({});
    INFO(compiled.source);
    const Loaded kernel(compiled);
    std::vector<float> values(8);
    kernel.run(8, 4, {values.data()});
    CHECK(values == std::vector<float>{1, 1, 0, 0, 1, 1, 0, 0});
}

TEST_CASE("launch may run part of a three-dimensional range") {
    Building build("place");
    const RootId out = build.array("out", int64, false, true);
    const auto plus = [](Expression a, Expression b) {
        return operation(Op::add, int64, {std::move(a), std::move(b)});
    };
    const auto times = [](Expression a, Expression b) {
        return operation(Op::multiply, int64, {std::move(a), std::move(b)});
    };
    Expression at =
        plus(times(plus(times(id("global_id", 0), number(3)), id("global_id", 1)), number(4)),
             id("global_id", 2));
    build.add(Building::store(out, at, plus(at, number(100))));
    Target target;
    target.dimensions = 3;
    const Loaded kernel(build.emitted(target));
    std::vector<long long> values(24, -1);
    kernel.run({2, 3, 4}, {1, 1, 1}, 5, 23, {values.data()});
    for (long long i = 0; i < 24; ++i)
        CHECK(values[static_cast<std::size_t>(i)] == (i >= 5 && i < 23 ? 100 + i : -1));
}

TEST_CASE("16-bit floats are rounded after each operation") {
    for (const Dtype dtype : {bfloat16, float16}) {
        Building build("halves");
        const RootId x = build.array("x", dtype, true, true);
        build.add(Building::store(
            x, id("global_id"),
            operation(Op::add, dtype, {build.load(x, id("global_id")), number(1, dtype)})));
        const Loaded kernel(build.emitted({}));
        std::vector<std::uint16_t> values{
            0, static_cast<std::uint16_t>(dtype == bfloat16 ? 0x3f80 : 0x3c00)};
        kernel.run(2, 0, {values.data()});
        CHECK(values[0] == (dtype == bfloat16 ? 0x3f80 : 0x3c00));
        CHECK(values[1] == (dtype == bfloat16 ? 0x4000 : 0x4000));
    }
}

TEST_CASE("region in a loop and condition has its work-items' ids") {
    Building build("counting");
    const RootId out = build.array("out", int64, false, true);
    const VariableId c = build.variable("c", int64), n = build.variable("n", int64);
    const auto plus = [&](VariableId to, Expression by) {
        return Building::assign(to, operation(Op::add, int64, {build.read(to), std::move(by)}));
    };
    build.add(Building::assign(c, id("local_id"))).add(Building::assign(n, number(0)));
    std::vector<Statement> skip;
    skip.push_back(plus(c, number(100)));
    skip.push_back(Building::block(Act::continue_, {}, {}));
    std::vector<Statement> body;
    body.push_back(plus(n, number(1)));
    body.push_back(Building::block(
        Act::if_, {operation(Op::equal, boolean, {build.read(n), number(3)})}, std::move(skip)));
    body.push_back(build.barrier());
    body.push_back(plus(c, build.read(n)));
    build.add(Building::block(
        Act::while_, {operation(Op::less, boolean, {build.read(n), number(5)})}, std::move(body)));
    build.add(Building::store(out, id("global_id"), build.read(c)));
    const Compiled compiled = build.emitted({});
    INFO(compiled.source);
    const Loaded kernel(compiled);
    std::vector<long long> values(8);
    kernel.run(8, 4, {values.data()});
    for (long long i = 0; i < 8; ++i)
        CHECK(values[static_cast<std::size_t>(i)] == 112 + i % 4);
}

TEST_CASE("private arrays across a barrier exist once per work-item") {
    Building build("keeping");
    const RootId out = build.array("out", int64, false, true),
                 mine = build.own_array("mine", int64, Space::private_, 3);
    build.add(Building::store(mine, number(2), id("local_id")));
    build.add(build.barrier());
    build.add(Building::store(out, id("global_id"), build.load(mine, number(2))));
    const Loaded kernel(build.emitted({}));
    CHECK(kernel.exported("_private") == 24);
    std::vector<long long> values(6);
    kernel.run(6, 3, {values.data()});
    CHECK(values == std::vector<long long>{0, 1, 2, 0, 1, 2});
}

TEST_CASE("kernel's names do not clash with generated names") {
    Building build("names");
    const RootId out = build.array("range", int64, false, true);
    const VariableId left = build.parameter("left", int64),
                     own = build.variable("global_id0", int64),
                     item = build.variable("item", int64);
    build.add(
        Building::assign(own, operation(Op::add, int64, {id("global_id"), build.read(left)})));
    build.add(Building::assign(item, build.read(own)));
    build.add(Building::store(out, id("global_id"), build.read(item)));
    const Loaded kernel(build.emitted({}));
    std::vector<long long> values(3);
    long long by = 7;
    kernel.run(3, 0, {values.data(), &by});
    CHECK(values == std::vector<long long>{7, 8, 9});
}

TEST_CASE("loop-invariant index arithmetic is hoisted") {
    Building build("rows");
    const RootId a = build.array("a", float32, true, false),
                 sums = build.array("sums", float32, false, true);
    const VariableId width = build.parameter("width", int64), i = build.variable("i", int64),
                     k = build.variable("k", int64), total = build.variable("total", float32);
    const auto times = [](Expression x, Expression y) {
        return operation(Op::multiply, int64, {std::move(x), std::move(y)});
    };
    const auto plus = [](Expression x, Expression y) {
        return operation(Op::add, int64, {std::move(x), std::move(y)});
    };
    build.add(Building::assign(i, id("global_id")))
        .add(Building::assign(total, number(0, float32)));
    build.add(Building::loop(
        k, number(0), build.read(width), number(1),
        {Building::assign(total,
                          operation(Op::add, float32,
                                    {build.read(total),
                                     build.load(a, plus(times(build.read(i), build.read(width)),
                                                        build.read(k)))}))}));
    build.add(Building::store(sums, build.read(i), build.read(total)));
    const Compiled compiled = build.emitted({});
    INFO(compiled.source);
    CHECK(compiled.source.find("const long long offset = i * width;") != std::string::npos);
    CHECK(compiled.source.find("total += a[offset + k];") != std::string::npos);
    const Loaded kernel(compiled);
    std::vector<float> values = counted(12), out(3);
    long long columns = 4;
    kernel.run(3, 0, {values.data(), out.data(), &columns});
    CHECK(out == std::vector<float>{6, 22, 38});
}

TEST_CASE("floor division of floats matches Python") {
    Building build("floors");
    const RootId x = build.array("x", float64, true, true),
                 y = build.array("y", float64, true, false);
    build.add(Building::store(
        x, id("global_id"),
        operation(Op::floor_divide, float64,
                  {build.load(x, id("global_id")), build.load(y, id("global_id"))})));
    const Loaded kernel(build.emitted({}));
    const double infinity = std::numeric_limits<double>::infinity();
    std::vector<double> values{7, -7, -1, 1, 5.5, 0.3}, by{2, 2, infinity, -infinity, -2, 0.1};
    kernel.run(6, 0, {values.data(), by.data()});
    CHECK(values == std::vector<double>{3, -4, -1, -1, -3, 2});
}

TEST_CASE("print uses the fewest digits needed to read floats back") {
    Building build("printing");
    const RootId x = build.array("x", float64, true, false),
                 y = build.array("y", float32, true, false);
    Statement statement = Building::block(
        Act::print, {build.load(x, id("global_id")), build.load(y, id("global_id"))}, {});
    statement.text = "{} {}\n";
    build.module.prints = true;
    build.add(std::move(statement));
    const Loaded kernel(build.emitted({}));
    std::vector<double> wide{0, 0.1, -2.5, 1e16, 123456, 1e-5};
    std::vector<float> narrow{0.1f, 3, 16777216, 1e20f, -0.f, 1.f / 3};
    std::fflush(stdout);
    char path[] = "/tmp/entrepot-print-XXXXXX";
    const int file = mkstemp(path), before = dup(1);
    dup2(file, 1);
    kernel.run(6, 0, {wide.data(), narrow.data()});
    std::fflush(stdout);
    dup2(before, 1);
    close(before);
    close(file);
    std::ifstream stream(path);
    const std::string shown((std::istreambuf_iterator<char>(stream)), {});
    unlink(path);
    CHECK(shown ==
          "0.0 0.1\n0.1 3.0\n-2.5 16777216.0\n1e+16 1e+20\n123456.0 -0.0\n1e-05 0.33333334\n");
}

TEST_CASE("oversized private arrays are refused with both sizes") {
    Building build("large");
    const RootId mine = build.own_array("mine", float64, Space::private_, 40'000);
    build.add(Building::store(mine, number(0), number(1, float64)));
    CHECK_THROWS_WITH_AS(
        build.emitted({}),
        doctest::Contains("private arrays take 320000 bytes up to here, and the host has 262144"),
        CompileError);
    Target cuda;
    cuda.dialect = Dialect::cuda;
    CHECK_NOTHROW(build.emitted(cuda));
    const RootId more = build.own_array("more", float64, Space::private_, 30'000);
    build.add(Building::store(more, number(0), number(1, float64)));
    CHECK_THROWS_WITH_AS(
        build.emitted(cuda),
        doctest::Contains(
            "private arrays take 560000 bytes up to here, and a CUDA device has 524288"),
        CompileError);
}

TEST_CASE("loop with an overflowing step terminates") {
    Building build("stepping");
    const RootId out = build.array("out", int64, true, true);
    const VariableId start = build.parameter("start", int64), stop = build.parameter("stop", int64),
                     step = build.parameter("step", int64), k = build.variable("k", int64);
    build.add(Building::loop(
        k, build.read(start), build.read(stop), build.read(step),
        {Building::store(out, number(0),
                         operation(Op::add, int64, {build.load(out, number(0)), number(1)}))}));
    const Loaded kernel(build.emitted({}));
    const auto iterations = [&](long long from, long long to, long long by) {
        long long count = 0;
        kernel.run(1, 0, {&count, &from, &to, &by});
        return count;
    };
    CHECK(iterations(0, INT64_MAX, INT64_C(1) << 62) == 2);
    CHECK(iterations(0, 10, 3) == 4);
    CHECK(iterations(10, 0, -3) == 4);
    CHECK(iterations(0, 10, -1) == 0);
    CHECK(iterations(5, INT64_MIN, INT64_MIN) == 2);
}

namespace {

// out[i] = i + the sum of x[k] for k from starts[i] to stops[i] by `step`. The kernel adds i after
// the loop.
Building sums(std::int64_t step, Dtype dtype = float32) {
    Building build("sums");
    const RootId out = build.array("out", dtype, false, true),
                 x = build.array("x", dtype, true, false),
                 starts = build.array("starts", int64, true, false),
                 stops = build.array("stops", int64, true, false);
    const VariableId i = build.variable("i", int64), total = build.variable("total", dtype),
                     k = build.variable("k", int64);
    build.add(Building::assign(i, id("global_id")));
    build.add(Building::assign(total, number(0, dtype)));
    build.add(Building::loop(
        k, build.load(starts, build.read(i)), build.load(stops, build.read(i)), number(step),
        {Building::assign(
            total, operation(Op::add, dtype, {build.read(total), build.load(x, build.read(k))}))}));
    build.add(Building::store(
        out, build.read(i),
        operation(Op::add, dtype,
                  {build.read(total), operation(Op::convert, dtype, {build.read(i)})})));
    return build;
}

bool is_interleaved(Building build, const Target &target = {}) {
    return build.emitted(target).source.find("_lanes[") != std::string::npos;
}

// out[i] = the sum of x[k * by + i * across] * weights[k] for k below n.
Building weighted_sums(std::int64_t across) {
    Building build("weighted");
    const RootId out = build.array("out", float32, false, true),
                 x = build.array("x", float32, true, false),
                 weights = build.array("weights", float32, true, false);
    const VariableId n = build.parameter("n", int64), by = build.parameter("by", int64),
                     i = build.variable("i", int64), total = build.variable("total", float32),
                     k = build.variable("k", int64);
    const auto times = [](Expression a, Expression b) {
        return operation(Op::multiply, int64, {std::move(a), std::move(b)});
    };
    const Expression column = across == 1 ? build.read(i) : times(build.read(i), number(across));
    const Expression product = operation(
        Op::multiply, float32,
        {build.load(x, operation(Op::add, int64, {times(build.read(k), build.read(by)), column})),
         build.load(weights, build.read(k))});
    build.add(Building::assign(i, id("global_id")));
    build.add(Building::assign(total, number(0, float32)));
    build.add(Building::loop(
        k, number(0), build.read(n), number(1),
        {Building::assign(total, operation(Op::add, float32, {build.read(total), product}))}));
    build.add(Building::store(out, build.read(i), build.read(total)));
    return build;
}

bool has_vectors(Building build, const Target &target = {}) {
    const Compiled compiled = build.emitted(target);
    const bool found = compiled.source.find("#pragma omp simd") != std::string::npos;
    CHECK((compiled.options.find("-fopenmp-simd") != std::string::npos) == found);
    return found;
}

}  // namespace

TEST_CASE("interleaved float sums keep their order of additions") {
    using Bounds = std::vector<std::pair<long long, long long>>;
    const auto alike = [](long long rounds, long long more) {
        Bounds bounds;
        for (long long i = 0; i < 11; ++i)
            bounds.emplace_back(i * 3, i * 3 + rounds + i * more);
        return bounds;
    };
    Bounds backwards, one_other = alike(40, 0);
    for (const auto &[start, stop] : alike(40, 1))
        backwards.emplace_back(stop, start - 1);
    one_other[6].second = one_other[6].first;  // in the second block: no round at all
    std::vector<float> x(500);
    for (std::size_t k = 0; k < x.size(); ++k)
        x[k] = k % 7 == 0 ? 1e8f : 1.f / static_cast<float>(k);  // the sum depends on the order
    for (const long long step : {1LL, 3LL, -1LL, -2LL}) {
        const Loaded kernel(sums(step).emitted({}));
        for (const Bounds &bounds : {alike(0, 0), alike(5, 0), alike(60, 0), alike(60, 1),
                                     alike(1, 40), one_other, backwards}) {
            std::vector<long long> starts, stops;
            std::vector<float> expected, out(bounds.size());
            for (const auto &[start, stop] : bounds) {
                starts.push_back(start);
                stops.push_back(stop);
                float total = 0;
                for (long long k = start; step > 0 ? k < stop : k > stop; k += step)
                    total += x[static_cast<std::size_t>(k)];
                expected.push_back(total + static_cast<float>(expected.size()));
            }
            kernel.run(static_cast<long long>(bounds.size()), 0,
                       {out.data(), x.data(), starts.data(), stops.data()});
            CHECK(out == expected);
        }
    }
}

TEST_CASE("last of several dimensions is interleaved") {
    Building build("sums");
    const RootId out = build.array("out", float32, false, true);
    const VariableId n = build.parameter("n", int64), total = build.variable("total", float32),
                     k = build.variable("k", int64);
    const auto place = operation(
        Op::add, int64,
        {operation(Op::multiply, int64,
                   {operation(Op::add, int64,
                              {operation(Op::multiply, int64, {id("global_id"), number(2)}),
                               id("global_id", 1)}),
                    number(9)}),
         id("global_id", 2)});
    build.add(Building::assign(total, number(0, float32)));
    build.add(Building::loop(
        k, number(0), build.read(n), number(1),
        {Building::assign(
            total, operation(Op::add, float32,
                             {build.read(total), operation(Op::convert, float32, {place})}))}));
    build.add(Building::store(out, place, build.read(total)));
    Target target;
    target.dimensions = 3;
    const Compiled compiled = build.emitted(target);
    CHECK(compiled.source.find("_lanes[") != std::string::npos);
    const Loaded kernel(compiled);
    std::vector<float> found(3 * 2 * 9, -1.f);
    long long rounds = 20;
    kernel.run({3, 2, 9}, {1, 1, 1}, 1, 50, {found.data(), &rounds});
    for (std::size_t at = 0; at < found.size(); ++at)
        CHECK(found[at] == (at >= 1 && at < 50 ? 20.f * static_cast<float>(at) : -1.f));
}

TEST_CASE("lanes are vectors if they access consecutive elements") {
    CHECK(has_vectors(weighted_sums(1)));
    CHECK_FALSE(has_vectors(weighted_sums(2)));
    CHECK(is_interleaved(weighted_sums(2)));
    CHECK_FALSE(has_vectors(sums(1)));  // each work-item has another range
    Target fast;
    fast.fast_math = true;
    CHECK(has_vectors(weighted_sums(1), fast));
    CHECK_FALSE(is_interleaved(weighted_sums(2), fast));

    Building loads_in_a_branch = weighted_sums(1);
    Statement sum = loads_in_a_branch.kernel().body[2].body[0];
    loads_in_a_branch.kernel().body[2].body = {Building::block(
        Act::if_, {operation(Op::less, boolean, {loads_in_a_branch.read(2), number(9)})}, {sum})};
    CHECK_FALSE(has_vectors(loads_in_a_branch));
    Building computes_in_int64 = weighted_sums(1);
    Expression &value = computes_in_int64.kernel().body[2].body[0].expressions[0].operands[1];
    value = operation(Op::convert, float32, {computes_in_int64.read(2)});
    CHECK_FALSE(has_vectors(computes_in_int64));
}

TEST_CASE("blocks of vectors and their rest give each sum in order") {
    const Loaded kernel(weighted_sums(1).emitted({}));
    std::vector<float> weights(30), x(30 * 200);
    for (std::size_t k = 0; k < weights.size(); ++k)
        weights[k] = k % 7 == 0 ? 1e8f : 1.f / static_cast<float>(k);
    for (std::size_t at = 0; at < x.size(); ++at)
        x[at] = static_cast<float>(at % 11);
    for (const long long items : {1LL, 8LL, 63LL, 64LL, 200LL})
        for (long long rounds : {0LL, 1LL, 30LL}) {
            std::vector<float> out(static_cast<std::size_t>(items), -1.f), expected;
            long long by = 200;
            for (long long i = 0; i < items; ++i) {
                float total = 0;
                for (long long k = 0; k < rounds; ++k) {
                    const volatile float product = x[static_cast<std::size_t>(k * by + i)] *
                                                   weights[static_cast<std::size_t>(k)];
                    total += product;
                }
                expected.push_back(total);
            }
            kernel.run(items, 0, {out.data(), x.data(), weights.data(), &rounds, &by});
            CHECK(out == expected);
        }
}

TEST_CASE("kernels without a gain are not interleaved") {
    CHECK(is_interleaved(sums(1)));
    CHECK(is_interleaved(sums(1, float64)));
    CHECK_FALSE(is_interleaved(sums(1, int64)));  // compilers add integers in any order
    Target fast;
    fast.fast_math = true;
    CHECK_FALSE(is_interleaved(sums(1), fast));
    // A device function computes the sum, without or with a side effect.
    for (const bool writes : {false, true}) {
        Building calls = sums(1);
        Function added;
        added.name = "added";
        added.returns = scalar(float32);
        added.parameter_count = 2;
        for (std::uint32_t place = 0; place < 2; ++place)
            added.variables.push_back({place == 0 ? "a" : "b", scalar(float32), {}, place});
        Statement result = Building::leave();
        result.expressions = {
            operation(Op::add, float32, calls.kernel().body[2].body[0].expressions[0].operands)};
        for (std::uint32_t place = 0; place < 2; ++place) {
            result.expressions[0].operands[place] = operation(Op::variable, float32, {});
            result.expressions[0].operands[place].id = place;
        }
        if (writes)
            added.body.push_back(Building::block(Act::fence, {}, {}));
        added.body.push_back(result);
        Expression &value = calls.kernel().body[2].body[0].expressions[0];
        value.op = Op::call;
        value.id = 0;
        calls.module.functions.insert(calls.module.functions.begin(), added);
        CHECK(is_interleaved(calls) == !writes);
    }
    // A return that only some work-items reach, unless it is a bound of their ids.
    for (const bool by_id : {false, true}) {
        Building leaves = sums(1);
        const Expression value = by_id ? leaves.read(0) : leaves.load(2, leaves.read(0));
        leaves.kernel().body.insert(
            leaves.kernel().body.begin() + 1,
            Building::block(Act::if_, {operation(Op::less, boolean, {value, number(2)})},
                            {Building::leave()}));
        CHECK(is_interleaved(leaves) == by_id);
    }
    Building is_short = sums(1);
    is_short.kernel().body[2].expressions[0] = number(2);
    is_short.kernel().body[2].expressions[1] = number(9);
    CHECK_FALSE(is_interleaved(is_short));
    Building writes = sums(1);
    writes.kernel().body[2].body.push_back(Building::store(0, writes.read(0), number(1, float32)));
    CHECK_FALSE(is_interleaved(writes));
}
