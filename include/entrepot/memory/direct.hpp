// DirectResource: every block is an allocation of the driver, and goes back to the driver once its uses are done.
#pragma once
#include <entrepot/memory/resource.hpp>

namespace entrepot {

// A runtime's own free blocks for the length of a kernel that names the memory, or frees under one that reaches it
// indirectly; here it waits for its uses, without blocking anybody.
class DirectResource final : public Resource {
public:
    DirectResource() noexcept : Resource(nullptr) {}

    Block allocate(const Place &place, std::size_t bytes, std::size_t alignment, const Queue &queue) override;
    void deallocate(const Place &place, Block block, Pending pending) noexcept override;
    // Nothing is kept here; what drivers keep of freed memory goes back to the system. Blocks.
    std::size_t trim() override;
    std::string name() const override { return "direct"; }

    // Frees what waited for work that is done by now; the second blocks until nothing waits.
    void take_finished() noexcept;
    void wait_for_all() noexcept;
};

// The one that there is.
DirectResource *direct_resource();

}  // namespace entrepot
