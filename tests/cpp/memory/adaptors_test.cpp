// Resources that wrap another one, and the current resource.
#include <entrepot/device/registry.hpp>
#include <entrepot/memory/current.hpp>
#include <entrepot/memory/direct.hpp>
#include <entrepot/memory/limit.hpp>
#include <entrepot/memory/log.hpp>
#include <entrepot/memory/statistics.hpp>
#include <entrepot/memory/track.hpp>

#include <thread>

#include "core/refusal.hpp"
#include "memory/device_memory.hpp"

using namespace entrepot;

namespace {

const Queue &host_queue() { return registry::host().default_queue(); }
Memory host_memory(std::size_t bytes, const ResourceRef &resource) {
    return Memory::allocate(bytes, UsmKind::host, host_queue(), 0, resource.get());
}

}  // namespace

TEST_CASE("limit: allocated bytes never exceed the limit") {
    const ResourceRef resource = make_resource<LimitResource>(direct_resource(), 1000);
    const auto &limit = static_cast<LimitResource &>(*resource);
    Memory first = host_memory(600, resource);
    CHECK(limit.used() == 600);
    CHECK_REFUSED(ErrorKind::allocation,
                  "401 bytes would exceed the limit of 1000 bytes, of which 600 are in use",
                  host_memory(401, resource));
    const Memory second = host_memory(400, resource);
    CHECK(limit.used() == 1000);
    first = {};
    CHECK(limit.used() == 400);
}

TEST_CASE("limit: allocations refused upstream are not counted") {
    const ResourceRef inner = make_resource<LimitResource>(direct_resource(), 100);
    const ResourceRef outer = make_resource<LimitResource>(inner.get(), 1000);
    CHECK_REFUSED(ErrorKind::allocation, "limit of 100 bytes", host_memory(500, outer));
    CHECK(static_cast<LimitResource &>(*outer).used() == 0);
}

TEST_CASE("log: one line per event, exceptions of the sink are ignored") {
    std::vector<std::string> lines;
    const ResourceRef limited = make_resource<LimitResource>(direct_resource(), 1000);
    const ResourceRef resource =
        make_resource<LogResource>(limited.get(), [&](std::string_view line) {
            lines.emplace_back(line);
            throw 1;
        });
    {
        const Memory memory = host_memory(500, resource);
    }
    REQUIRE(lines.size() == 2);
    CHECK(lines[0].starts_with("allocate host host 500 bytes at 0x"));
    CHECK(lines[1] == "de" + lines[0]);
    CHECK_REFUSED(ErrorKind::allocation, "", host_memory(2000, resource));
    CHECK(lines[2] == "allocate host host 2000 bytes failed: 2000 bytes would exceed the limit of "
                      "1000 bytes, of which 0 are in use");
}

TEST_CASE("track: live allocations are listed with their origin") {
    int calls = 0;
    const ResourceRef resource = make_resource<TrackResource>(
        direct_resource(), [&] { return "line " + std::to_string(++calls) + "\n"; });
    const auto &track = static_cast<TrackResource &>(*resource);
    CHECK(track.leak_report().empty());
    Memory first = host_memory(100, resource);
    const Memory second = host_memory(200, resource);
    first = {};
    const Memory third = host_memory(300, resource);
    const auto live = track.live();
    REQUIRE(live.size() == 2);
    CHECK(live[0].block.data == second.data());
    CHECK(live[0].stack == "line 2\n");
    CHECK(live[1].block.bytes == 300);
    const std::string report = track.leak_report();
    CHECK_MESSAGE(report.starts_with("2 allocations, of 500 bytes in all, are still live\n#2: 200 "
                                     "bytes of host memory of host at 0x"),
                  report);
    CHECK_MESSAGE(report.ends_with(", allocated at\nline 3"), report);
}

TEST_CASE("track: allocation succeeds without a stack trace") {
    const ResourceRef resource =
        make_resource<TrackResource>(direct_resource(), []() -> std::string { throw 1; });
    const Memory memory = host_memory(100, resource);
    CHECK(static_cast<TrackResource &>(*resource).live().size() == 1);
}

TEST_CASE("statistics: current, peak, total and failed allocations") {
    const ResourceRef limited = make_resource<LimitResource>(direct_resource(), 1000);
    const ResourceRef resource = make_resource<StatisticsResource>(limited.get());
    auto &statistics = static_cast<StatisticsResource &>(*resource);
    Memory first = host_memory(300, resource);
    {
        const Memory second = host_memory(500, resource);
    }
    CHECK_REFUSED(ErrorKind::allocation, "", host_memory(5000, resource));
    const StatisticsResource::Numbers now = statistics.numbers();
    CHECK(now.current_bytes == 300);
    CHECK(now.peak_bytes == 800);
    CHECK(now.total_bytes == 800);
    CHECK(now.current_count == 1);
    CHECK(now.peak_count == 2);
    CHECK(now.total_count == 2);
    CHECK(now.failed_count == 1);  // the retry after reclaiming cached memory does not count
    statistics.reset_peaks();
    CHECK(statistics.numbers().peak_bytes == 300);
}

TEST_CASE("current resource: scope comes before device and default") {
    const ResourceRef of_device = make_resource<StatisticsResource>(direct_resource());
    const ResourceRef of_scope = make_resource<StatisticsResource>(direct_resource());
    const Device host = registry::host();
    CHECK(current_resource(host).get() == default_resource());
    set_resource(host, of_device.get());
    CHECK(current_resource(host).get() == of_device.get());
    CHECK(current_resource(fake::device()).get() == default_resource());
    {
        const UseResource outer(of_scope.get());
        CHECK(current_resource(host).get() == of_scope.get());
        CHECK(current_resource(fake::device()).get() == of_scope.get());
        {
            const UseResource inner(direct_resource());
            CHECK(current_resource(host).get() == direct_resource());
        }
        CHECK(current_resource(host).get() == of_scope.get());
        std::thread([&] { CHECK(current_resource(host).get() == of_device.get()); }).join();
    }
    CHECK(current_resource(host).get() == of_device.get());
    CHECK(Memory::allocate(10, UsmKind::host, host_queue()).resource() == of_device.get());
    set_resource(host, nullptr);
    CHECK(current_resource(host).get() == default_resource());
}

TEST_CASE("only the innermost scope of a thread can be ended") {
    const ResourceRef outer = make_resource<StatisticsResource>(direct_resource()),
                      inner = make_resource<StatisticsResource>(direct_resource());
    CHECK_REFUSED(ErrorKind::value, "the innermost first", pop_resource(outer.get()));
    const UseResource scope(outer.get());
    {
        const UseResource within(inner.get());
        CHECK_REFUSED(ErrorKind::value, "the innermost first", pop_resource(outer.get()));
    }
    CHECK(current_resource(registry::host()).get() == outer.get());
    std::thread([&] {
        CHECK_REFUSED(ErrorKind::value, "thread that entered", pop_resource(outer.get()));
    }).join();
}

TEST_CASE("memory keeps its resource alive") {
    Memory memory;
    {
        const ResourceRef resource = make_resource<TrackResource>(
            make_resource<StatisticsResource>(direct_resource()).get());
        memory = host_memory(100, resource);
    }
    CHECK(
        static_cast<StatisticsResource &>(*memory.resource()->upstream()).numbers().current_bytes ==
        100);
}
