// TrackResource: a table of what is out.
#include <entrepot/memory/track.hpp>

#include <device/fork_safe_mutex.hpp>
#include <entrepot/core/publish.hpp>
#include <entrepot/core/text.hpp>
#include <memory/live_resources.hpp>

#include <algorithm>
#include <unordered_map>

namespace entrepot {

struct TrackResource::State {
    mutable ForkSafeMutex mutex;
    std::unordered_map<void *, Allocation> live ENTREPOT_GUARDED_BY(mutex);
    std::uint64_t made ENTREPOT_GUARDED_BY(mutex) = 0;
};

namespace {

LiveResources<TrackResource> &trackers() {
    static constinit FirstUse<LiveResources<TrackResource>> made;
    return made.get();
}

}  // namespace

TrackResource::TrackResource(Resource *upstream, Capture capture)
    : Resource(upstream), state_(std::make_unique<State>()), capture_(std::move(capture)) {
    trackers().add(this);
}

TrackResource::~TrackResource() { trackers().remove(this); }

std::vector<ResourceRef> live_trackers() {
    return trackers().references_to([](const TrackResource &) { return true; });
}

Block TrackResource::allocate(const Place &place, std::size_t bytes, std::size_t alignment,
                              const Queue &queue) {
    std::string stack;
    try {
        if (capture_)
            stack = capture_();
    } catch (...) {  // an allocation without its stack is better than none
    }
    Block block = upstream()->allocate(place, bytes, alignment, queue);
    try {
        const MutexLock lock(state_->mutex);
        state_->live.insert_or_assign(block.data, Allocation{{block.data, bytes, alignment},
                                                             place.device,
                                                             place.kind,
                                                             std::move(stack),
                                                             ++state_->made});
    } catch (...) {
        upstream()->deallocate(place, block, {});
        throw;
    }
    return block;
}

// The row is removed first: after the upstream's deallocate, another thread may get the address.
void TrackResource::deallocate(const Place &place, Block block, Pending pending) noexcept {
    decltype(state_->live)::node_type forgotten;
    {
        const MutexLock lock(state_->mutex);
        forgotten = state_->live.extract(block.data);
    }
    upstream()->deallocate(place, std::move(block), std::move(pending));
}

std::vector<TrackResource::Allocation> TrackResource::live() const {
    std::vector<Allocation> all;
    {
        const MutexLock lock(state_->mutex);
        for (const auto &[data, allocation] : state_->live)
            all.push_back(allocation);
    }
    std::sort(all.begin(), all.end(),
              [](const Allocation &a, const Allocation &b) { return a.number < b.number; });
    return all;
}

std::string TrackResource::leak_report() const {
    const std::vector<Allocation> all = live();
    if (all.empty())
        return {};
    std::size_t bytes = 0;
    for (const Allocation &each : all)
        bytes += each.block.bytes;
    std::string report =
        all.size() == 1
            ? sentence_of("1 allocation, of ", bytes, " bytes, is still live")
            : sentence_of(all.size(), " allocations, of ", bytes, " bytes in all, are still live");
    for (const Allocation &each : all) {
        report += sentence_of("\n#", each.number, ": ", each.block.bytes, " bytes of ", each.kind,
                              " memory of ", each.device, " at ", Hex(each.block.data),
                              each.stack.empty() ? "" : ", allocated at\n");
        report += each.stack;
        while (!report.empty() && report.back() == '\n')
            report.pop_back();
    }
    return report;
}

}  // namespace entrepot
