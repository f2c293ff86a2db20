// ShareableResource: memory that other processes can open, each block an allocation of its own.
//
// On the host a block is an unnamed file, on CUDA virtual memory with a file of the driver. It
// lives while a process has it mapped, and leaves nothing behind when the last one unmaps it or
// dies.
#pragma once
#include <entrepot/memory/resource.hpp>

#pragma GCC visibility push(default)
namespace entrepot {

class ShareableResource final : public Resource {
public:
    ShareableResource() noexcept : Resource(nullptr) {}

    // In whole pages of the device.
    // Throws: Error(device) where its runtime has no memory to share.
    Block allocate(const Place &place, std::size_t bytes, std::size_t alignment,
                   const Queue &queue) override;
    void deallocate(const Place &place, Block block, Pending pending) noexcept override;
    std::size_t trim() override;  // nothing is kept; blocks whose uses are done by now are freed
    std::string name() const override { return "shareable"; }

    // Frees blocks whose work is done by now. wait_for_all() blocks until all of it is.
    void take_finished() noexcept;
    void wait_for_all() noexcept;

private:
    ~ShareableResource() override = default;
};

// The only instance.
ShareableResource *shareable_resource();

}  // namespace entrepot
#pragma GCC visibility pop
