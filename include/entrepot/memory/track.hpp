// TrackResource: remembers where every live allocation was made, and reports leaks.
#pragma once
#include <entrepot/memory/resource.hpp>

#include <functional>
#include <memory>

#pragma GCC visibility push(default)
namespace entrepot {

class TrackResource final : public Resource {
public:
    // Returns the stack of the calling thread, a line for each frame. Its exceptions are ignored.
    using Capture = std::function<std::string()>;

    struct Allocation {
        Block block;
        Device device;
        UsmKind kind;
        std::string stack;
        std::uint64_t number;  // counted from 1 in the order of allocation
    };

    explicit TrackResource(Resource *upstream, Capture capture = {});

    Block allocate(const Place &place, std::size_t bytes, std::size_t alignment,
                   const Queue &queue) override;
    void deallocate(const Place &place, Block block, Pending pending) noexcept override;
    std::string name() const override { return "track"; }
    const Resource &origin() const noexcept override { return upstream()->origin(); }

    // Live allocations, in the order of allocation.
    std::vector<Allocation> live() const;
    // Live allocations as text, with their stacks; empty if there are none.
    std::string leak_report() const;

private:
    ~TrackResource() override;

    struct State;
    const std::unique_ptr<State> state_;
    const Capture capture_;
};

// All that are alive, for a report at the end of the process.
std::vector<ResourceRef> live_trackers();

}  // namespace entrepot
#pragma GCC visibility pop
