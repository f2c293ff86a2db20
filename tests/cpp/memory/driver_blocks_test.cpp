// Blocks whose free fails for now: the free is retried, and the block is not leaked.
#include <memory/driver_blocks.hpp>

#include "memory/device_memory.hpp"

using namespace entrepot;

namespace {

bool may_free = false;
int tries = 0, freed = 0;

bool free_if_allowed(const Place &, void *) noexcept {
    ++tries;
    freed += may_free;
    return may_free;
}

}  // namespace

TEST_CASE("block refused by the driver is freed by a later call") {
    DriverBlocks blocks(free_if_allowed);
    const Device device = fake::device();
    const HeldQueue queue;
    int first = 0, second = 0;
    blocks.free_after({device.default_context(), device, UsmKind::device}, &first, {});
    blocks.free_after({device.default_context(), device, UsmKind::device}, &second,
                      {{queue.submit()}, false});
    queue.finish();
    blocks.free_finished();
    blocks.wait_for_all();
    CHECK(tries > 2);
    CHECK(freed == 0);
    may_free = true;
    blocks.free_finished();
    blocks.free_finished();
    CHECK(freed == 2);
}
