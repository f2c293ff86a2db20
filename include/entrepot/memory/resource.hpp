// Resource: where blocks of memory come from and go back to. `direct` talks to the driver; pool, limit, log, track and
// statistics wrap an upstream.
#pragma once
#include <entrepot/memory/memory.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace entrepot {

// Where a block lives. Blocks of one place are interchangeable.
struct Place {
    Context context;
    Device device;
    UsmKind kind = UsmKind::device;

    bool operator==(const Place &) const noexcept = default;
};

struct Block {
    void *data = nullptr;
    std::size_t bytes = 0;      // as asked for
    std::size_t alignment = 0;  // as asked for
};

// One access that may still be running.
struct Use {
    Queue queue;
    Queue::Position position = 0;

    bool is_done() const { return queue.is_done(position); }
};

// What is known of a block when it comes back: the work that may still touch it.
struct Pending {
    std::vector<Use> uses;
    bool escaped = false;  // foreign code may use it on queues that we do not know
};

class Resource {
  public:
    virtual ~Resource() = default;

    // A block ready for work of `queue`. Throws Error(allocation) when there is none left.
    virtual Block allocate(const Place &place, std::size_t bytes, std::size_t alignment, const Queue &queue) = 0;
    // Never blocks, never throws; the resource keeps the block back until `pending` is done.
    virtual void deallocate(const Place &place, Block block, Pending pending) noexcept = 0;
    // Gives memory that is free here back to the driver; returns the bytes given back. 0 for resources that keep none.
    virtual std::size_t trim() { return 0; }

    virtual std::string name() const = 0;
    Resource *upstream() const noexcept { return upstream_.get(); }

    void retain() noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
    void release() noexcept {
        if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1)
            delete this;
    }

  protected:
    struct Releaser {
        void operator()(Resource *resource) const noexcept { resource->release(); }
    };
    explicit Resource(Resource *upstream) noexcept : upstream_(upstream) {
        if (upstream)
            upstream->retain();
    }
    std::unique_ptr<Resource, Releaser> upstream_;

  private:
    std::atomic<std::uint32_t> references_{1};
};

}  // namespace entrepot
