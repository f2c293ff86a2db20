// PoolResource: keeps the blocks that come back and gives them out again, most of them without a lock or a call of the driver.
//
// Blocks up to 1 MiB come in size classes and are carved from larger ones of the upstream; longer ones are cut from the shortest
// free piece that is long enough, and joined with their neighbours when they come back. Each thread has a small store of its own
// in front. A block of device memory whose last uses are all on one queue is given again for that queue at once; anything else
// only when its uses are done.
#pragma once
#include <entrepot/memory/resource.hpp>

#include <limits>
#include <memory>

namespace entrepot {

class PoolResource final : public Resource {
public:
    static constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();

    // Keeps at most `max_cached` bytes that are not in use, as far as the blocks in use allow.
    explicit PoolResource(Resource *upstream, std::size_t max_cached = unlimited);
    ~PoolResource() override;

    Block allocate(const Place &place, std::size_t bytes, std::size_t alignment, const Queue &queue) override;
    void deallocate(const Place &place, Block block, Pending pending) noexcept override;
    // Reaches what the calling thread stores, and what no thread does.
    std::size_t trim() override;
    std::string name() const override { return "pool"; }
    std::string report() const override;

    struct Statistics {
        std::size_t reserved = 0;  // bytes taken from the upstream
        std::size_t used = 0;      // in blocks that are given out, rounded as they are
        std::size_t cached = 0;    // free, to be given again
        std::size_t waiting = 0;   // given back, but perhaps still in use by a device
    };
    Statistics statistics() const;

    // Takes back what waited for work that is done by now; the second blocks until nothing waits.
    void take_finished() noexcept;
    void wait_for_all() noexcept;
    bool has_waiting() const noexcept;  // whether there is anything for them

    struct State;

private:
    const std::unique_ptr<State> state_;
};

// All pools that are alive.
std::vector<ResourceRef> live_pools();
// Those where blocks wait for work: seldom any, and then it costs no list.
std::vector<ResourceRef> waiting_pools();

}  // namespace entrepot
