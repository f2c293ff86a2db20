// The host backend: the contract of every backend, and the host's own behavior: fork, compiler,
// threads.
#include "backends/contract.hpp"
#include "backends/host/executor.hpp"
#include "backends/host/table.hpp"

#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <set>

#include "support/forked_child.hpp"

namespace {

using namespace entrepot::contract;

const Subject &subject() {
    static const Subject host = [] {
        const ep_backend *table = nullptr;
        CONTRACT_OK(entrepot_host_backend(&loader, &table));
        Subject made{table, EP_CPP, {}, {}, {}, false};
        made.indices = R"(
            extern "C" const int indices_arguments = 2;
            extern "C" void indices(const long long *range, void *const *arguments) {
                long long *out = (long long *)arguments[0];
                const long long offset = *(const long long *)arguments[1];
                const int absent = 3 - (int)range[0];
                const long long *global = range + 1, *local = range + 4, *groups = range + 7;
                for (long long group = range[10]; group < range[11]; ++group) {
                    const long long of[3] = {group / (groups[1] * groups[2]),
                                             group / groups[2] % groups[1], group % groups[2]};
                    for (long long i = 0; i < local[0]; ++i)
                        for (long long j = 0; j < local[1]; ++j)
                            for (long long k = 0; k < local[2]; ++k) {
                                const long long at[3] = {of[0] * local[0] + i, of[1] * local[1] + j,
                                                         of[2] * local[2] + k};
                                const long long row = at[0] * global[1] + at[1];
                                long long *place = out + 3 * (row * global[2] + at[2]);
                                for (int d = 0; d < 3; ++d)
                                    place[d] = d < absent ? 0 : at[d - absent];
                                place[2] += offset;
                            }
                }
            })";
        made.spin = R"(
            extern "C" const int spin_arguments = 3;
            extern "C" void spin(const long long *, void *const *arguments) {
                long long *out = (long long *)arguments[0];
                const long long steps = *(const long long *)arguments[1];
                const long long value = *(const long long *)arguments[2];
                unsigned long long x = 1;
                for (long long i = 0; i < steps; ++i)
                    x = x * 6364136223846793005ull + 1442695040888963407ull;
                out[1] = (long long)x;
                out[0] = value;
            })";
        // The barrier lies between the two loops over the work-items.
        made.reverse = R"(
            extern "C" void reverse(const long long *range, void *const *arguments) {
                const int *in = (const int *)arguments[0];
                int *out = (int *)arguments[1], *scratch = (int *)arguments[2];
                const long long items = range[4];
                for (long long group = range[10]; group < range[11]; ++group) {
                    for (long long i = 0; i < items; ++i)
                        scratch[i] = in[group * items + i];
                    for (long long i = 0; i < items; ++i)
                        out[group * items + i] = scratch[items - 1 - i];
                }
            })";
        return made;
    }();
    return host;
}

}  // namespace

ENTREPOT_BACKEND_CONTRACT("host", subject())

namespace {

const Bench &bench() {
    static const Bench host(subject(), devices_of(subject()).front());
    return host;
}

// An environment variable set (or, without a value, unset) for one scope.
class Environment {
public:
    Environment(const char *name, const char *value) : name_(name) {
        if (const char *before = std::getenv(name))
            before_ = before;
        set(value);
    }
    Environment(const Environment &) = delete;
    Environment &operator=(const Environment &) = delete;
    ~Environment() { set(before_ ? before_->c_str() : nullptr); }

private:
    void set(const char *value) { value ? setenv(name_, value, 1) : unsetenv(name_); }

    const char *name_;
    std::optional<std::string> before_;
};

struct Build {
    ep_status status;
    Program program;
    std::string log;
};

Build build(const std::string &source, const char *options = "") {
    Build made{EP_OK, Program(nullptr, bench().table.program_release), {}};
    const ep_sink sink{&made.log, [](void *user, const char *text, std::size_t length) {
                           static_cast<std::string *>(user)->append(text, length);
                       }};
    ep_program program = nullptr;
    last_error().clear();
    made.status =
        bench().table.program_build(bench().context.get(), bench().device, EP_CPP, source.data(),
                                    source.size(), options, &sink, &program);
    made.program.reset(program);
    return made;
}

bool says(const char *words) { return last_error().find(words) != std::string::npos; }

// Launches the kernel over one work-item. It writes to `out`.
void launch(const Queue &queue, const Kernel &kernel, const void *out) {
    const ep_argument argument = pointer_argument(out);
    const ep_range range{1, {1}, {}};
    CONTRACT_OK(
        bench().table.kernel_launch(queue.get(), kernel.get(), &range, nullptr, &argument, 1));
}

}  // namespace

// ---------------------------------------------------------------- the executor

TEST_CASE("executor: loop runs all indices once and ends once") {
    class Counting final : public entrepot::backends::host::Loop {
    public:
        Counting(std::uint64_t count, std::uint64_t chunk) : Loop(count, chunk), runs(count) {}
        std::vector<std::atomic<int>> runs;
        std::atomic<int> ends = 0;

    private:
        void run(std::uint64_t first, std::uint64_t last) noexcept override {
            for (std::uint64_t i = first; i < last; ++i)
                ++runs[i];
        }
        void finished() noexcept override { ++ends; }
    };
    for (const std::uint64_t count : {1u, 2u, 7u, 1000u, 65'537u})
        for (const std::uint64_t chunk : {1u, 7u, 4096u}) {
            const auto loop = std::make_shared<Counting>(count, chunk);
            entrepot::backends::host::start(loop);
            loop->take_part();
            while (loop->ends == 0)
                std::this_thread::yield();
            CHECK(std::all_of(loop->runs.begin(), loop->runs.end(),
                              [](const auto &times) { return times == 1; }));
            CHECK(loop->ends == 1);
        }
}

TEST_CASE("executor: processor begins with the same part of each loop") {
    class Begins final : public entrepot::backends::host::Loop {
    public:
        Begins() : Loop(1000, 10) {}
        std::vector<std::uint64_t> order;

    private:
        void run(std::uint64_t first, std::uint64_t) noexcept override { order.push_back(first); }
        void finished() noexcept override {}
    };
    cpu_set_t usable;
    REQUIRE(sched_getaffinity(0, sizeof usable, &usable) == 0);
    std::vector<std::uint64_t> begins;
    std::thread([&] {  // this thread's processors stay as they are
        for (std::size_t i = 0; i < CPU_SETSIZE; ++i) {
            if (!CPU_ISSET(i, &usable))
                continue;
            cpu_set_t one;
            CPU_ZERO(&one);
            CPU_SET(i, &one);
            CHECK(sched_setaffinity(0, sizeof one, &one) == 0);
            Begins loop, again;
            loop.take_part();
            again.take_part();
            CHECK(loop.order.size() == 100);
            CHECK(loop.order == again.order);
            begins.push_back(loop.order.front());
        }
    })
        .join();
    CHECK(std::ranges::is_sorted(begins));
    const auto parts = std::min<std::size_t>(begins.size(), 100);
    CHECK(std::set<std::uint64_t>(begins.begin(), begins.end()).size() == parts);
}

TEST_CASE("executor: loop uses at most one thread per processor") {
    class Crowd final : public entrepot::backends::host::Loop {
    public:
        Crowd() : Loop(200, 1) {}
        std::atomic<unsigned> present = 0, most = 0;
        std::atomic<int> ends = 0;

    private:
        void run(std::uint64_t, std::uint64_t) noexcept override {
            const unsigned now = ++present;
            for (unsigned seen = most; seen < now && !most.compare_exchange_weak(seen, now);)
                ;
            std::this_thread::sleep_for(std::chrono::microseconds(100));
            --present;
        }
        void finished() noexcept override { ++ends; }
    };
    const auto loop = std::make_shared<Crowd>();
    entrepot::backends::host::start(loop);
    std::vector<std::thread> waiting;
    for (unsigned i = 0; i < 2 * entrepot::backends::host::processors(); ++i)
        waiting.emplace_back([&] { loop->take_part(); });
    for (std::thread &each : waiting)
        each.join();
    while (loop->ends == 0)
        std::this_thread::yield();
    CHECK(loop->ends == 1);
    CHECK(loop->most <= entrepot::backends::host::processors());
    CHECK_FALSE(loop->wants_threads());
}

TEST_CASE("executor: quick kernel runs on the caller's thread") {
    const Kernel kernel =
        bench().kernel("extern \"C\" unsigned long pthread_self();"
                       "extern \"C\" void caller(const long long *, void *const *arguments) {"
                       "    *(unsigned long *)arguments[0] = pthread_self();"
                       "}",
                       "caller");
    const Queue queue = bench().queue();
    std::atomic<unsigned long> runner = 0;
    bool here = false;
    // The first launch is not known to be quick, and neither is a launch after an interrupted one.
    for (int i = 0; i < 1000 && !here; ++i) {
        runner = 0;
        launch(queue, kernel, &runner);
        here = runner == pthread_self();  // before the wait, which may run it here too
        bench().wait(queue);
        CHECK((i > 0 || !here));
    }
    CHECK(here);

    const Slow slow(bench());
    slow.submit(queue, 1);
    runner = 0;
    launch(queue, kernel, &runner);
    CHECK_MESSAGE(runner == 0, "a quick kernel waits for an earlier slow one");
    bench().wait(queue);
    CHECK(runner != 0);
    CHECK_MESSAGE(runner != pthread_self(),
                  "a caller's thread never runs a kernel that had to wait");
}

TEST_CASE("executor: more queues than threads can wait in a chain") {
    const Slow slow(bench());
    const Queue first = bench().queue();
    slow.submit(first, 5);
    Event before = bench().record(first);
    std::vector<Queue> queues;
    std::vector<std::int64_t> values(1000, 0);
    for (std::size_t i = 0; i < values.size(); ++i) {
        queues.push_back(bench().queue());
        CONTRACT_OK(bench().table.event_wait_in_queue(queues.back().get(), before.get()));
        const void *from = i == 0 ? static_cast<const void *>(slow.result()) : &values[i - 1];
        CONTRACT_OK(
            bench().table.memory_copy(queues.back().get(), &values[i], from, sizeof values[i]));
        before = bench().record(queues.back());
    }
    std::int32_t done = 1;
    CONTRACT_OK(bench().table.event_is_done(before.get(), &done));
    CHECK(done == 0);
    CONTRACT_OK(bench().table.event_wait(before.get()));
    CHECK(values.back() == 5);
}

// ---------------------------------------------------------------- memory

TEST_CASE("memory: allocation larger than the machine is refused") {
    void *pointer = nullptr;
    CONTRACT_REFUSED_AS(EP_OUT_OF_MEMORY,
                        bench().table.memory_allocate(bench().context.get(), bench().device,
                                                      EP_USM_HOST, bench().info.global_memory + 1,
                                                      0, nullptr, &pointer));
    CHECK_MESSAGE(says("this machine has"), last_error());
}

// ---------------------------------------------------------------- programs

TEST_CASE("programs: missing compiler is refused with the tried names") {
    const Environment no_path("PATH", "/nowhere"), none_chosen("CXX", "");
    const Build refused = build(subject().indices);
    CHECK(refused.status == EP_UNAVAILABLE);
    for (const char *word : {"c++", "g++", "clang++", "CXX"})
        CHECK_MESSAGE(says(word), last_error());
    std::uint32_t mask = 99;
    CONTRACT_OK(bench().table.program_dialects(bench().device, &mask));
    CHECK(mask == 0);
}

TEST_CASE("programs: missing compiler of CXX is refused, although there are others") {
    const Environment chosen("CXX", "my-compiler -O9");
    CHECK(build(subject().indices).status == EP_UNAVAILABLE);
    CHECK_MESSAGE(says("'my-compiler -O9' was not found in the PATH"), last_error());
}

TEST_CASE("programs: CXX chooses the compiler and may carry options") {
    const Environment chosen("CXX", "g++ -DCHOSEN=1");
    CHECK(build("#ifndef CHOSEN\n#error no\n#endif\nextern \"C\" void f(const long long *, void "
                "*const *) {}")
              .status == EP_OK);
}

TEST_CASE("programs: build leaves no files, also if SIGCHLD is ignored") {
    const std::filesystem::path place =
        std::filesystem::temp_directory_path() / ("entrepot-test-" + std::to_string(getpid()));
    std::filesystem::create_directory(place);
    {
        const Environment directory("TMPDIR", place.c_str());
        auto *before = std::signal(SIGCHLD, SIG_IGN);
        CHECK(build(subject().indices).status == EP_OK);
        CHECK(build("nonsense").status == EP_BUILD_FAILED);
        std::signal(SIGCHLD, before);
    }
    CHECK(std::filesystem::is_empty(place));
    std::filesystem::remove(place);
}

TEST_CASE("programs: options are split as in a shell, warnings logged") {
    const Build built =
        build("extern \"C\" const char text[] = TEXT;\n"
              "extern \"C\" void f(const long long *, void *const *) { int unused; }",
              "-Wall  '-DTEXT=\"two words\"'");
    REQUIRE_MESSAGE(built.status == EP_OK, built.log);
    CHECK_MESSAGE(built.log.find("kernel.cpp:2") != std::string::npos, built.log);
    CHECK_MESSAGE(built.log.find("unused") != std::string::npos, built.log);
    CHECK(build(subject().indices, "-DA='open").status == EP_INVALID);
}

TEST_CASE("programs: undefined functions are refused by the build") {
    CHECK(build("extern \"C\" void nobody();\nextern \"C\" void f(const long long *, void *const "
                "*) { nobody(); }")
              .status == EP_BUILD_FAILED);
    CHECK_MESSAGE(says("nobody"), last_error());
}

TEST_CASE("programs: symbols of linked libraries are not kernels") {
    const Build built = build(R"(
        extern "C" int puts(const char *);
        extern "C" int environ = 17;  // the process has one too
        extern "C" void f(const long long *range, void *const *arguments) {
            *(int *)arguments[0] = environ;
            if (range[0] == 0)
                puts("so that the C library is one of those that are used");
        })",
                              "-w");
    REQUIRE_MESSAGE(built.status == EP_OK, built.log);
    ep_kernel handle = nullptr;
    CONTRACT_REFUSED_AS(EP_INVALID,
                        bench().table.program_kernel(built.program.get(), "printf", &handle));
    CONTRACT_OK(bench().table.program_kernel(built.program.get(), "f", &handle));
    const Kernel kernel(handle, bench().table.kernel_release);
    int out = 0;
    const Queue queue = bench().queue();
    launch(queue, kernel, &out);
    bench().wait(queue);
    CHECK(out == 17);
}

TEST_CASE("programs: exported properties of kernels are used") {
    // The barrier is between the loops. Each work-item keeps its number across it, in the private
    // block past the last argument.
    const Kernel kernel = bench().kernel(R"(
        extern "C" const int shift_arguments = 2;
        extern "C" const long long shift_local = 640, shift_private = 8, shift_max_group = 64;
        extern "C" void shift(const long long *range, void *const *arguments) {
            long long *out = (long long *)arguments[0], *local = (long long *)arguments[1];
            long long *kept = (long long *)arguments[2];
            const long long items = range[4];
            for (long long group = range[10]; group < range[11]; ++group) {
                for (long long i = 0; i < items; ++i) {
                    kept[i] = group * items + i;
                    local[i] = 1000 * kept[i];
                }
                for (long long i = 0; i < items; ++i)
                    out[kept[i]] = local[(i + 1) % items] + kept[i];
            }
            if ((unsigned long long)local % 64 != 0 || (unsigned long long)kept % 64 != 0)
                out[0] = -1;
        })",
                                         "shift");
    ep_kernel_info info{};
    CONTRACT_OK(bench().table.kernel_info(kernel.get(), bench().device, &info));
    CHECK(info.argument_count == 2);
    CHECK(info.local_memory == 640);
    CHECK(info.private_memory == 8);
    CHECK(info.max_work_group == 64);

    std::vector<std::int64_t> out(64'000, 0), expected(out.size());
    for (std::size_t i = 0; i < expected.size(); ++i)
        expected[i] = static_cast<std::int64_t>(1000 * (i / 64 * 64 + (i + 1) % 64) + i);
    const ep_argument arguments[] = {pointer_argument(out.data()), local_argument(64 * 8)};
    const Queue queue = bench().queue();
    const ep_range range{1, {out.size()}, {64}};
    CONTRACT_OK(
        bench().table.kernel_launch(queue.get(), kernel.get(), &range, nullptr, arguments, 2));
    bench().wait(queue);
    CHECK(out == expected);
    const ep_range too_wide{1, {out.size()}, {128}};
    CONTRACT_REFUSED_AS(EP_INVALID, bench().table.kernel_launch(queue.get(), kernel.get(),
                                                                &too_wide, nullptr, arguments, 2));
}

TEST_CASE("programs: a limit of one thread holds for the chunks of a launch") {
    struct Limited {
        Limited() { set(1); }
        ~Limited() { set(entrepot::backends::host::processors()); }
        static void set(std::uint32_t count) {
            std::uint32_t limit = 0;
            CONTRACT_OK(bench().table.device_limit_threads(bench().device, count, &limit));
            CHECK(limit == count);
        }
    } const limited;
    const Kernel kernel = bench().kernel(R"(
        extern "C" unsigned usleep(unsigned);
        extern "C" void alone(const long long *range, void *const *arguments) {
            int *running = (int *)arguments[0], *most = (int *)arguments[1];
            const int now = __atomic_add_fetch(running, 1, __ATOMIC_SEQ_CST);
            if (now > __atomic_load_n(most, __ATOMIC_SEQ_CST))
                __atomic_store_n(most, now, __ATOMIC_SEQ_CST);
            usleep(2000);
            __atomic_sub_fetch(running, 1, __ATOMIC_SEQ_CST);
        })",
                                         "alone");
    int running = 0, most = 0;
    const ep_argument arguments[] = {pointer_argument(&running), pointer_argument(&most)};
    const Queue queue = bench().queue();
    const ep_range range{1, {1 << 10}, {}};
    CONTRACT_OK(
        bench().table.kernel_launch(queue.get(), kernel.get(), &range, nullptr, arguments, 2));
    bench().wait(queue);
    CHECK(most == 1);
    std::uint32_t limit = 0;
    const unsigned too_many = entrepot::backends::host::processors() + 1;
    CONTRACT_REFUSED_AS(EP_INVALID,
                        bench().table.device_limit_threads(bench().device, too_many, &limit));
}

TEST_CASE("programs: a kernel that wants large chunks gets one for each thread") {
    const Kernel kernel = bench().kernel(R"(
        extern "C" const long long chunks_chunk = 1 << 30;
        extern "C" void chunks(const long long *range, void *const *arguments) {
            __atomic_fetch_add((int *)arguments[0], 1, __ATOMIC_RELAXED);
        })",
                                         "chunks");
    int calls = 0;
    const ep_argument arguments[] = {pointer_argument(&calls)};
    const Queue queue = bench().queue();
    const ep_range range{1, {1 << 20}, {}};
    CONTRACT_OK(
        bench().table.kernel_launch(queue.get(), kernel.get(), &range, nullptr, arguments, 1));
    bench().wait(queue);
    CHECK(calls >= 1);
    CHECK(calls <= static_cast<int>(2 * entrepot::backends::host::processors()));
}

TEST_CASE("programs: groups of a cooperative launch may wait for each other") {
    const Kernel kernel = bench().kernel(R"(
        extern "C" void meet(const long long *range, void *const *arguments) {
            int *arrived = (int *)arguments[0];
            __atomic_fetch_add(arrived, range[11] - range[10], __ATOMIC_ACQ_REL);
            while (__atomic_load_n(arrived, __ATOMIC_ACQUIRE) < range[7])
                ;
        })",
                                         "meet");
    const Queue queue = bench().queue();
    std::uint64_t most = 0;
    CONTRACT_OK(bench().table.kernel_resident_groups(kernel.get(), bench().device, 2, 0, &most));
    const ep_cooperation together{1, {}}, in_clusters{0, {2, 0, 0}};
    for (const std::uint64_t groups : {std::uint64_t{1}, std::uint64_t{7}, most}) {
        int arrived = 0;
        const ep_argument arguments[] = {pointer_argument(&arrived)};
        const ep_range range{1, {2 * groups}, {2}};
        CONTRACT_OK(bench().table.kernel_launch(queue.get(), kernel.get(), &range, &together,
                                                arguments, 1));
        bench().wait(queue);
        CHECK(arrived == static_cast<int>(groups));
    }
    int arrived = 0;
    const ep_argument arguments[] = {pointer_argument(&arrived)};
    const ep_range too_many{1, {most + 1}, {1}}, two{1, {2}, {1}};
    CONTRACT_REFUSED_AS(
        EP_INVALID,
        bench().table.kernel_launch(queue.get(), kernel.get(), &too_many, &together, arguments, 1));
    CONTRACT_REFUSED_AS(EP_UNSUPPORTED, bench().table.kernel_launch(queue.get(), kernel.get(), &two,
                                                                    &in_clusters, arguments, 1));
    CHECK(arrived == 0);
}

// ---------------------------------------------------------------- fork

#if defined(__SANITIZE_THREAD__)
#define CANNOT_FORK true  // ThreadSanitizer supports no new threads after a fork
#elif defined(__has_feature)
#define CANNOT_FORK __has_feature(thread_sanitizer)
#else
#define CANNOT_FORK false
#endif

TEST_CASE("fork: child has its own threads and refuses pending work" * doctest::skip(CANNOT_FORK)) {
    const Slow slow(bench());
    const Kernel kernel = bench().kernel(subject().indices, "indices");
    const Queue busy = bench().queue(), idle = bench().queue();
    slow.submit(busy, 3);
    const Event pending = bench().record(busy);

    const pid_t child = fork();
    if (child == 0) {
        alarm(20);
        const ep_backend &table = bench().table;
        int failures = 0;
        const auto expect = [&](bool truth) { failures = failures * 2 + !truth; };
        expect(table.queue_wait(busy.get()) == EP_DEVICE_ERROR && says("fork"));
        expect(table.event_wait(pending.get()) == EP_DEVICE_ERROR && says("fork"));
        expect(table.event_wait_in_queue(idle.get(), pending.get()) == EP_DEVICE_ERROR &&
               says("fork"));
        std::vector<std::int64_t> out(3 * 100'000, -1);
        const std::int64_t offset = 0;
        const ep_argument arguments[] = {pointer_argument(out.data()), bytes_argument(offset)};
        const ep_range range{1, {100'000}, {}};
        expect(table.kernel_launch(idle.get(), kernel.get(), &range, nullptr, arguments, 2) ==
               EP_OK);
        ep_event done = nullptr;
        expect(table.event_record(idle.get(), 0, &done) == EP_OK);
        std::int32_t finished = 0;
        // Polling leaves the work to the child's own threads.
        while (finished == 0 && table.event_is_done(done, &finished) == EP_OK)
            usleep(1000);
        expect(out[3 * 99'999 + 2] == 99'999);
        _exit(failures);
    }
    int status = -1;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK_MESSAGE(status == 0, "bits of the exit status name the checks that failed: ", status);
    bench().wait(busy);
}

TEST_CASE("fork: queues and events in use are not left locked" * doctest::skip(CANNOT_FORK)) {
    const ep_backend &table = bench().table;
    const Slow slow(bench());
    const Queue busy = bench().queue(), idle = bench().queue();
    for (int i = 0; i < 4; ++i)
        slow.submit(busy, i);
    const Event pending = bench().record(busy);
    std::atomic<bool> stop = false;
    std::thread at_the_queue([&] {
        std::int32_t is = 0;
        while (!stop)
            table.queue_is_idle(idle.get(), &is);
    });
    std::thread at_the_event([&] {
        while (!stop)
            table.event_wait_in_queue(bench().queue().get(), pending.get());
    });
    int hanging = 0;
    for (int i = 0; i < 40; ++i) {
        const auto use = [&] {
            std::int32_t is = 0;
            table.event_wait(pending.get());
            table.queue_is_idle(idle.get(), &is);
            table.queue_wait(idle.get());
            return true;
        };
        hanging += !entrepot::holds_in_child(use, 2);
    }
    stop = true;
    at_the_queue.join();
    at_the_event.join();
    CHECK(hanging == 0);
    bench().wait(busy);
}
