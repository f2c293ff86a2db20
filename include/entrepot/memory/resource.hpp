// Resource: allocates and deallocates blocks of memory. `direct` and `shareable` call the driver.
// Pool, limit, log, track and statistics wrap an upstream.
#pragma once
#include <entrepot/core/counted.hpp>
#include <entrepot/memory/memory.hpp>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#pragma GCC visibility push(default)
namespace entrepot {

// The context, device and kind of a block. Blocks of one place are interchangeable.
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
    // Work of `queue` may use the block at once, other work once `queue` has completed `available`.
    // Without a queue, all work may use it at once. If no access was logged, a block is deallocated
    // with the values that allocate() gave it, or without the queue if that work is done.
    Queue::Position available = 0;
    Queue queue{};
};

// One access that may still be running.
struct Use {
    Queue queue;
    Queue::Position position = 0;

    bool is_done() const { return queue.is_done(position); }
};

// The work that may still use a block when it is deallocated.
struct Pending {
    std::vector<Use> uses;
    bool escaped = false;  // foreign code may use it on unknown queues
};

class Resource;

using ResourceRef = IntrusivePtr<Resource>;

// Counted: blocks hold references to their resource, which outlives the scope that made it as long
// as one is allocated. So resources are made by make_resource(). The classes of the library have
// private destructors, which forbid them on the stack. A class of your own should do the same.
class Resource : public Counted<Resource> {
public:
    Resource(const Resource &) = delete;
    Resource &operator=(const Resource &) = delete;
    virtual ~Resource() = default;

    // Returns: a block that work of `queue` may use at once.
    // Throws: Error(allocation) if the resource is exhausted.
    // Thread safety: thread-safe, like all functions of a resource. The caller holds no mutex.
    virtual Block allocate(const Place &place, std::size_t bytes, std::size_t alignment,
                           const Queue &queue) = 0;
    // Frees the block once `pending` is done. Never waits for work of a device, but may block
    // inside the driver, and release and reacquire the GIL. If host memory for the list of pending
    // work is missing, the block leaks.
    virtual void deallocate(const Place &place, Block block, Pending pending) noexcept = 0;
    // Returns cached memory of this resource and its upstreams to the driver.
    // Returns: the number of bytes.
    virtual std::size_t trim() { return upstream_ ? upstream_->trim() : 0; }

    virtual std::string name() const = 0;
    // Returns: a sentence about the memory that it and its upstreams hold, for messages about
    //          failed allocations; may be empty.
    virtual std::string report() const { return upstream_ ? upstream_->report() : std::string(); }
    Resource *upstream() const noexcept { return upstream_.get(); }
    // The resource that makes the blocks: this one, or an upstream whose blocks it passes on
    // unchanged.
    virtual const Resource &origin() const noexcept { return *this; }

protected:
    explicit Resource(Resource *upstream) noexcept : upstream_(upstream) {}

private:
    ResourceRef upstream_;
};

// A new resource, counted: make_resource<PoolResource>(direct_resource()).
template <class T, class... Arguments> ResourceRef make_resource(Arguments &&...arguments) {
    return ResourceRef::adopt(new T(std::forward<Arguments>(arguments)...));
}

}  // namespace entrepot
#pragma GCC visibility pop
