// Resource: counting.
#include <entrepot/memory/resource.hpp>

namespace entrepot {

bool Resource::try_retain() noexcept {
    if (immortal_)
        return true;
    std::uint32_t references = references_.load(std::memory_order_relaxed);
    while (references != 0)
        if (references_.compare_exchange_weak(references, references + 1,
                                              std::memory_order_relaxed))
            return true;
    return false;
}

}  // namespace entrepot
