// TrackResource: remembers where every live allocation was made, and reports those that nobody let go of.
#pragma once
#include <entrepot/memory/resource.hpp>

#include <functional>
#include <memory>

namespace entrepot {

class TrackResource final : public Resource {
public:
    // Says where the calling thread is: its stack, a line for each frame. What it throws is ignored.
    using Capture = std::function<std::string()>;

    struct Allocation {
        Block block;
        Device device;
        UsmKind kind;
        std::string stack;
        std::uint64_t number;  // counted from 1 in the order of allocation
    };

    explicit TrackResource(Resource *upstream, Capture capture = {});
    ~TrackResource() override;

    Block allocate(const Place &place, std::size_t bytes, std::size_t alignment, const Queue &queue) override;
    void deallocate(const Place &place, Block block, Pending pending) noexcept override;
    std::string name() const override { return "track"; }
    const Resource &origin() const noexcept override { return upstream()->origin(); }

    // What has been allocated and not let go, in the order of allocation.
    std::vector<Allocation> live() const;
    // The same for a person to read, with the stacks; empty where nothing is left.
    std::string leak_report() const;

private:
    struct State;
    const std::unique_ptr<State> state_;
    const Capture capture_;
};

// All that are alive, for a report at the end of the process.
std::vector<ResourceRef> live_trackers();

}  // namespace entrepot
