// LimitResource: lets no more than a number of bytes out of its upstream at a time.
#pragma once
#include <entrepot/memory/resource.hpp>

#include <atomic>

#pragma GCC visibility push(default)
namespace entrepot {

class LimitResource final : public Resource {
public:
    LimitResource(Resource *upstream, std::size_t limit) noexcept
        : Resource(upstream), limit_(limit) {}

    // Throws: Error(allocation) where the bytes asked for and those that are out would exceed the
    //         limit.
    Block allocate(const Place &place, std::size_t bytes, std::size_t alignment,
                   const Queue &queue) override;
    void deallocate(const Place &place, Block block, Pending pending) noexcept override;
    std::string name() const override { return "limit"; }
    const Resource &origin() const noexcept override { return upstream()->origin(); }
    std::string report() const override;

    std::size_t limit() const noexcept { return limit_; }
    std::size_t used() const noexcept { return used_.load(std::memory_order_relaxed); }

private:
    ~LimitResource() override = default;

    void reserve(std::size_t bytes);

    const std::size_t limit_;
    std::atomic<std::size_t> used_{0};
};

}  // namespace entrepot
#pragma GCC visibility pop
