// DirectResource: every block is an allocation of the driver, and goes back to the driver once its
// uses are done.
#pragma once
#include <entrepot/memory/resource.hpp>

#pragma GCC visibility push(default)
namespace entrepot {

// A runtime's own free function blocks while a kernel that names the memory runs. It does not see a
// kernel that reaches the memory indirectly. Here a block waits for its pending accesses first, and
// no thread blocks.
class DirectResource final : public Resource {
public:
    DirectResource() noexcept : Resource(nullptr) {}

    Block allocate(const Place &place, std::size_t bytes, std::size_t alignment,
                   const Queue &queue) override;
    void deallocate(const Place &place, Block block, Pending pending) noexcept override;
    // Caches nothing itself. Returns the memory that drivers cache to the system. Blocks.
    std::size_t trim() override;
    std::string name() const override { return "direct"; }

    // Frees blocks whose work is done by now. wait_for_all() blocks until all of it is.
    void take_finished() noexcept;
    void wait_for_all() noexcept;

private:
    ~DirectResource() override = default;
};

// The only instance.
DirectResource *direct_resource();

}  // namespace entrepot
#pragma GCC visibility pop
