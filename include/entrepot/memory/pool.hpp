// PoolResource: caches freed blocks and allocates from them, usually without a lock or a driver
// call.
//
// Overview
//   Blocks up to 1 MiB come in size classes and are cut from chunks of the upstream
//   (CentralFreeList). Larger ones are cut from the shortest free piece that is long enough, and
//   joined with their free neighbors when they return (Segments). Each thread has a small cache of
//   its own in front (Magazine).
//
// States
//   A returned block is in one of three states:
//   - free: its accesses are known to be done, so any queue and the host may use it.
//   - bound to a queue: device memory that foreign code has not seen, with pending accesses on one
//     queue only. New chunks of the upstream may be bound as well. Work of that queue may reuse it
//     at once, because it is ordered after them. If another queue meets the block first, it becomes
//     waiting, also for its own queue. Returned memory of the host and shared memory is not bound:
//     the host may use its next block at once.
//   - waiting: all other blocks. They are free once their accesses are done, and after a quarantine
//     if foreign code has seen them (Deferred).
//
// Lock order
//   State::mutex guards the central free lists, the list of magazines and the waiting blocks. The
//   global magazine_mutex guards the fields that a magazine's thread and pool use when either ends.
//   Both are leaves: neither is held while the upstream or a device is called.
//
// Fast paths
//   The bins of a magazine belong to one thread and need no lock while the pool lives.
//
// Lifetime
//   The pool ends with its last reference, when no block is in use. It returns waiting blocks to
//   the upstream together with the accesses that they wait for. Magazines outlive the pool until
//   their thread looks at them.
#pragma once
#include <entrepot/memory/resource.hpp>

#include <limits>
#include <memory>

#pragma GCC visibility push(default)
namespace entrepot {

class PoolResource final : public Resource {
public:
    static constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();

    // Trims the central free lists when they hold more than `max_cached` bytes. More may be cached:
    // chunks that are partly in use stay, magazines are not counted, and the next trim comes after
    // another eighth of `max_cached`.
    explicit PoolResource(Resource *upstream, std::size_t max_cached = unlimited);

    Block allocate(const Place &place, std::size_t bytes, std::size_t alignment,
                   const Queue &queue) override;
    void deallocate(const Place &place, Block block, Pending pending) noexcept override;
    // Frees blocks of the free lists and of the calling thread's magazines. Magazines of other
    // threads stay.
    std::size_t trim() override;
    std::string name() const override { return "pool"; }
    std::string report() const override;

    struct Statistics {
        std::size_t reserved = 0;  // bytes allocated from the upstream
        std::size_t used = 0;      // bytes of blocks in use, rounded up to their size class
        std::size_t cached = 0;    // bytes of blocks that are free or bound
        std::size_t waiting = 0;   // bytes of returned blocks that a device may still use
    };
    Statistics statistics() const;

    // Frees waiting blocks whose work is done by now. wait_for_all() blocks until all of it is.
    void take_finished() noexcept;
    void wait_for_all() noexcept;
    bool has_waiting() const noexcept;  // True if a block waits. Needs no lock.

    struct State;

private:
    ~PoolResource() override;

    const std::unique_ptr<State> state_;
};

// All live pools, each with a reference.
std::vector<ResourceRef> live_pools();
// The live pools with waiting blocks. There is rarely one, and then nothing is allocated.
std::vector<ResourceRef> waiting_pools();

}  // namespace entrepot
#pragma GCC visibility pop
