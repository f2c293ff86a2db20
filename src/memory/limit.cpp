// LimitResource: counts before it asks, so that threads at the same time cannot exceed the limit
// together.
#include <entrepot/memory/limit.hpp>

#include <memory/text.hpp>

namespace entrepot {

void LimitResource::reserve(std::size_t bytes) {
    std::size_t used = used_.load(std::memory_order_relaxed);
    do {
        if (bytes > limit_ - used)
            throw Error(ErrorKind::allocation, bytes, " bytes would exceed the limit of ", limit_,
                        " bytes, of which ", used, " are in use");
    } while (!used_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
}

Block LimitResource::allocate(const Place &place, std::size_t bytes, std::size_t alignment,
                              const Queue &queue) {
    reserve(bytes);
    try {
        return upstream()->allocate(place, bytes, alignment, queue);
    } catch (...) {
        used_.fetch_sub(bytes, std::memory_order_relaxed);
        throw;
    }
}

void LimitResource::deallocate(const Place &place, Block block, Pending pending) noexcept {
    used_.fetch_sub(block.bytes, std::memory_order_relaxed);
    upstream()->deallocate(place, std::move(block), std::move(pending));
}

std::string LimitResource::report() const {
    return sentence_of("the limit is ", limit_, " bytes, of which ", used(), " are in use") +
           text::continued(Resource::report());
}

}  // namespace entrepot
