// Pins of a memory that ends: its uses of ranges that are registered with a driver. They end after
// the pending work on the memory, and before its owner or its block is released.
#pragma once
#include <entrepot/memory/resource.hpp>
#include <memory/ordering.hpp>

#include <cstdint>
#include <utility>
#include <vector>

namespace entrepot {

// Ends the uses that it holds when it is destroyed.
// Blocks (destructor): inside the driver. It may release and reacquire the GIL.
class Pins {
public:
    Pins() noexcept = default;
    // Takes the pins of a memory.
    // Requires: nothing else refers to the record.
    explicit Pins(Memory::Record &record) noexcept;
    Pins(Pins &&other) noexcept = default;
    Pins &operator=(Pins &&other) noexcept {
        std::swap(all_, other.all_);
        return *this;
    }
    ~Pins();

private:
    std::vector<Memory::Ordering::Pin> all_;
};

// Makes the owner of borrowed memory the last part of an owner that unpins it first.
// Requires: the memory is pinned, and nothing else refers to the record.
// Throws: bad_alloc; the record is unchanged.
void unpin_before_owner(Memory::Record &record);

// Unpins a block once the uses of its memory are done, and then deallocates it.
// Throws: bad_alloc; nothing was unpinned, and the block leaks.
void deallocate_after_unpinning(Memory::Record &record, ResourceRef resource, Place place,
                                Block block, Pending pending);

}  // namespace entrepot
