// Stream libraries: their numbers, and the queues of their current streams.
#include <entrepot/device/stream_library.hpp>

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <set>
#include <thread>
#include <vector>

#include "fake_streams.hpp"
#include "support/forked_child.hpp"

using namespace entrepot;

namespace {

// Libraries that accept exports, then others. Each kind has one library more than there are
// numbers, because library 0 has a number, too.
constexpr std::size_t consumer_count = max_consumer_libraries;
constexpr std::size_t count = consumer_count + max_stream_libraries - max_consumer_libraries + 1;

thread_local bool has_stream = true;
thread_local std::uintptr_t current_number = 0;

bool current_of_thread(const StreamLibrary &, const Device &, std::uintptr_t &stream) noexcept {
    stream = current_number;
    return has_stream;
}

// The libraries stay registered until the process ends.
std::array<StreamLibrary, count> &made_libraries() {
    static std::array<StreamLibrary, count> all;
    return all;
}

using Numbers = std::array<unsigned, count>;

// The numbers that each thread got. All threads registered all libraries at once, in different
// orders.
std::vector<Numbers> register_in_threads() {
    std::array<StreamLibrary, count> &all = made_libraries();
    for (std::size_t i = 0; i < count; ++i)
        all[i] = {.name = "a library",
                  .current_stream = current_of_thread,
                  .takes_exports = i < consumer_count};
    std::vector<Numbers> numbers(4);
    std::atomic<std::size_t> ready{0};
    std::vector<std::thread> threads;
    for (std::size_t thread = 0; thread < numbers.size(); ++thread)
        threads.emplace_back([&, thread] {
            ++ready;
            while (ready < numbers.size())
                std::this_thread::yield();
            for (std::size_t i = 0; i < count; ++i) {
                const std::size_t which = (i + 4 * thread) % count;
                numbers[thread][which] = register_stream_library(all[which]);
                static_cast<void>(stream_library(numbers[thread][which]).name);
                static_cast<void>(consumer_libraries());
            }
        });
    for (std::thread &each : threads)
        each.join();
    return numbers;
}

const std::vector<Numbers> &numbers_of_threads() {
    static const std::vector<Numbers> once = register_in_threads();
    return once;
}

// A library that has a number of its own.
unsigned some_library() {
    const Numbers &numbers = numbers_of_threads().front();
    return *std::ranges::find_if(numbers, [](unsigned number) { return number != legacy_library; });
}

using fake::streaming;

// Sets the current stream that the libraries report in this thread until the end of the scope.
struct Working {
    explicit Working(std::uintptr_t number) { current_number = number; }
    Working(const Working &) = delete;
    Working &operator=(const Working &) = delete;
    ~Working() { current_number = 0; }
};

}  // namespace

TEST_CASE("stream library: number is the same in all threads") {
    for (const Numbers &each : numbers_of_threads())
        CHECK(each == numbers_of_threads().front());
}

TEST_CASE("stream library: number is kept if registered twice") {
    const unsigned number = some_library();
    const StreamLibrary &library = stream_library(number);
    const LibrarySet all = consumer_libraries();
    CHECK(register_stream_library(library) == number);
    CHECK(consumer_libraries() == all);
}

TEST_CASE("stream library: legacy number is given beyond the maximum") {
    const Numbers &numbers = numbers_of_threads().front();
    std::set<unsigned> seen;
    for (std::size_t i = 0; i < count; ++i)
        if (numbers[i] != legacy_library) {
            CHECK(&stream_library(numbers[i]) == &made_libraries()[i]);
            CHECK((numbers[i] < max_consumer_libraries) == (i < consumer_count));
            CHECK(seen.insert(numbers[i]).second);
        }
    CHECK(seen.size() == max_stream_libraries - 1);
    CHECK(consumer_libraries() == 0xff);
    for (const bool takes_exports : {true, false}) {
        static StreamLibrary late[2];
        StreamLibrary &library = late[takes_exports ? 1 : 0];
        library = {.name = "a late library",
                   .current_stream = current_of_thread,
                   .takes_exports = takes_exports};
        CHECK(register_stream_library(library) == legacy_library);
        CHECK(consumer_libraries() == 0xff);
    }
}

TEST_CASE("stream library: number 0 works on the legacy stream") {
    const Queue current = current_stream_of(legacy_library, streaming());
    REQUIRE(current);
    CHECK(current == legacy_stream_of(streaming()));
    CHECK_FALSE(current.may_be_destroyed());
    CHECK((consumer_libraries() & legacy_library_set) != 0);
    CHECK_FALSE(current_stream_of(legacy_library, registry::host()));
}

TEST_CASE("stream library: default streams outlive the call") {
    for (const std::uintptr_t number : {std::uintptr_t{0}, legacy_stream}) {
        const Working scope(number);
        const Queue current = current_stream_of(some_library(), streaming());
        REQUIRE(current);
        CHECK(current == legacy_stream_of(streaming()));
        CHECK_FALSE(current.may_be_destroyed());
    }
    const Working scope(thread_stream);
    const Queue current = current_stream_of(some_library(), streaming());
    REQUIRE(current);
    CHECK(current != legacy_stream_of(streaming()));
    CHECK_FALSE(current.may_be_destroyed());
}

TEST_CASE("stream library: handle may be destroyed after the call") {
    const fake::Stream stream(streaming(1));
    const Working scope(stream.number());
    const Queue current = current_stream_of(some_library(), streaming(1));
    REQUIRE(current);
    CHECK(current == stream.queue());
    CHECK(current.device() == streaming(1));
    CHECK(current.may_be_destroyed());
    SUBCASE("owner is kept") { current.keep_alive(std::make_shared<int>()); }
    SUBCASE("caller guarantees the handle") { current.declare_never_destroyed(); }
    CHECK_FALSE(wrap_stream(streaming(1), stream.number()).may_be_destroyed());
}

TEST_CASE("stream library: stream of another device is accepted") {
    const fake::Stream stream(streaming(1));
    const Working scope(stream.number());
    const Queue current = current_stream_of(some_library(), streaming(0));
    REQUIRE(current);
    CHECK(current.device() == streaming(1));
}

TEST_CASE("stream library: absent current stream has no queue") {
    has_stream = false;
    CHECK_FALSE(current_stream_of(some_library(), streaming()));
    has_stream = true;
}

TEST_CASE("stream library: destroyed stream has no queue") {
    const fake::Stream stream(streaming());
    const Working scope(stream.number());
    stream.destroy();
    CHECK_FALSE(current_stream_of(some_library(), streaming()));
}

TEST_CASE("stream library: lack of memory is reported as an error") {
    const fake::Stream stream(streaming());
    const Working scope(stream.number());
    fake::streams().wrapping_lacks_memory = true;
    CHECK_THROWS_WITH_AS(current_stream_of(some_library(), streaming()),
                         doctest::Contains("no memory"), Error);
    fake::streams().wrapping_lacks_memory = false;
    CHECK(current_stream_of(some_library(), streaming()));
}

TEST_CASE("stream library: threads have separate current streams") {
    const fake::Stream mine(streaming()), its(streaming());
    const Working scope(mine.number());
    Queue in_thread;
    std::thread([&] {
        const Working other_scope(its.number());
        in_thread = current_stream_of(some_library(), streaming());
    }).join();
    REQUIRE(in_thread);
    CHECK(in_thread == its.queue());
    CHECK(current_stream_of(some_library(), streaming()) == mine.queue());
}

// Last, because it registers a library.
TEST_CASE("child can register a library that a thread registers at the fork") {
    static const StreamLibrary library{.name = "a library", .current_stream = current_of_thread};
    const unsigned number = register_stream_library(library);
    CHECK(holds_in_children_beside([] { register_stream_library(library); },
                                   [&] { return register_stream_library(library) == number; }));
}
