#include "allocate.hpp"

#include "../support/gil.hpp"
#include "../support/release.hpp"

#include <entrepot/memory/statistics.hpp>
#include <memory/release.hpp>

namespace entrepot::python {
namespace {

// Larger allocations probably go to the driver, which is slow.
constexpr std::size_t quick_bytes = std::size_t{1} << 20;

}  // namespace

Memory allocate(std::size_t bytes, UsmKind kind, const Queue &queue, std::size_t alignment) {
    // inside a capture it may have to wait
    if (bytes <= quick_bytes && queue.capture() == 0) [[likely]] {
        if (Memory memory = Memory::try_allocate(bytes, kind, queue, alignment)) [[likely]]
            return memory;
        without_gil(wait_and_release);
        drain_released();  // releases Python owners, which needs the GIL
        return without_gil([&] {
            const StatisticsResource::SecondTry again;
            return Memory::allocate(bytes, kind, queue, alignment);
        });
    }
    return without_gil([&] { return Memory::allocate(bytes, kind, queue, alignment); });
}

}  // namespace entrepot::python
