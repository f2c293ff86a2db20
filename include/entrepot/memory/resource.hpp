// Resource: where blocks of memory come from and go back to. `direct` talks to the driver; pool, limit, log, track and
// statistics wrap an upstream.
#pragma once
#include <entrepot/memory/memory.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
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
    // Work of `queue` may use it at once, all others once that queue has reached `available`; without one, everybody may. So it
    // is when a block is allocated; given back, it comes with what it was allocated with, if nobody has used it.
    Queue::Position available = 0;
    Queue queue{};
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

class Resource;

// A counted reference to a resource.
class ResourceRef {
public:
    ResourceRef() noexcept = default;
    inline explicit ResourceRef(Resource *resource) noexcept;
    // Takes over a reference that the caller holds.
    static ResourceRef adopt(Resource *resource) noexcept {
        ResourceRef reference;
        reference.resource_ = resource;
        return reference;
    }
    ResourceRef(const ResourceRef &other) noexcept : ResourceRef(other.resource_) {}
    ResourceRef(ResourceRef &&other) noexcept : resource_(std::exchange(other.resource_, nullptr)) {}
    ResourceRef &operator=(ResourceRef other) noexcept {
        std::swap(resource_, other.resource_);
        return *this;
    }
    inline ~ResourceRef();

    Resource *get() const noexcept { return resource_; }
    Resource &operator*() const noexcept { return *resource_; }
    Resource *operator->() const noexcept { return resource_; }
    explicit operator bool() const noexcept { return resource_ != nullptr; }
    // Gives the reference to the caller.
    Resource *detach() noexcept { return std::exchange(resource_, nullptr); }

private:
    Resource *resource_ = nullptr;
};

class Resource {
public:
    Resource(const Resource &) = delete;
    Resource &operator=(const Resource &) = delete;
    virtual ~Resource() = default;

    // A block ready for work of `queue`. Throws Error(allocation) when there is none left.
    virtual Block allocate(const Place &place, std::size_t bytes, std::size_t alignment, const Queue &queue) = 0;
    // Never blocks, never throws; the resource keeps the block back until `pending` is done.
    virtual void deallocate(const Place &place, Block block, Pending pending) noexcept = 0;
    // Gives memory that is free, here and upstream, back to the driver; returns the bytes given back.
    virtual std::size_t trim() { return upstream_ ? upstream_->trim() : 0; }

    virtual std::string name() const = 0;
    // What it and its upstreams hold, as messages about a failed allocation show it; empty where there is nothing to say.
    virtual std::string report() const { return upstream_ ? upstream_->report() : std::string(); }
    Resource *upstream() const noexcept { return upstream_.get(); }
    // Whose blocks come out of here: its own, or those of an upstream that it hands through as they are.
    virtual const Resource &origin() const noexcept { return *this; }

    void retain() noexcept {
        if (!immortal_)
            references_.fetch_add(1, std::memory_order_relaxed);
    }
    // Whether there was anything left to retain: for lists that hold resources without keeping them.
    bool try_retain() noexcept;
    void release() noexcept {
        if (!immortal_ && references_.fetch_sub(1, std::memory_order_acq_rel) == 1)
            delete this;
    }
    // Lives as long as the process from now on, and is not counted: what every allocation takes by default.
    void make_immortal() noexcept { immortal_ = true; }

protected:
    explicit Resource(Resource *upstream) noexcept : upstream_(upstream) {}

private:
    ResourceRef upstream_;
    std::atomic<std::uint32_t> references_{1};
    bool immortal_ = false;
};

inline ResourceRef::ResourceRef(Resource *resource) noexcept : resource_(resource) {
    if (resource_)
        resource_->retain();
}

inline ResourceRef::~ResourceRef() {
    if (resource_)
        resource_->release();
}

// A new resource, counted: make_resource<PoolResource>(direct_resource()).
template <class T, class... Arguments> ResourceRef make_resource(Arguments &&...arguments) {
    return ResourceRef::adopt(new T(std::forward<Arguments>(arguments)...));
}

}  // namespace entrepot
