// StatisticsResource: atomic counters, and no lock.
#include <entrepot/memory/statistics.hpp>

#include <memory/text.hpp>

namespace entrepot {
namespace {

constinit thread_local int second_tries = 0;

}  // namespace

StatisticsResource::SecondTry::SecondTry() noexcept { ++second_tries; }
StatisticsResource::SecondTry::~SecondTry() { --second_tries; }

void StatisticsResource::Counter::add(std::size_t amount) noexcept {
    const std::size_t now = current.fetch_add(amount, std::memory_order_relaxed) + amount;
    total.fetch_add(amount, std::memory_order_relaxed);
    std::size_t highest = peak.load(std::memory_order_relaxed);
    while (highest < now && !peak.compare_exchange_weak(highest, now, std::memory_order_relaxed)) {
    }
}

Block StatisticsResource::allocate(const Place &place, std::size_t bytes, std::size_t alignment,
                                   const Queue &queue) {
    try {
        Block block = upstream()->allocate(place, bytes, alignment, queue);
        bytes_.add(bytes);
        count_.add(1);
        return block;
    } catch (...) {
        if (second_tries == 0)
            failed_.fetch_add(1, std::memory_order_relaxed);
        throw;
    }
}

void StatisticsResource::deallocate(const Place &place, Block block, Pending pending) noexcept {
    bytes_.subtract(block.bytes);
    count_.subtract(1);
    upstream()->deallocate(place, std::move(block), std::move(pending));
}

StatisticsResource::Numbers StatisticsResource::numbers() const noexcept {
    const auto value = [](const std::atomic<std::size_t> &counter) {
        return counter.load(std::memory_order_relaxed);
    };
    return {value(bytes_.current), value(bytes_.peak),  value(bytes_.total), value(count_.current),
            value(count_.peak),    value(count_.total), value(failed_)};
}

void StatisticsResource::reset_peaks() noexcept {
    for (Counter *counter : {&bytes_, &count_})
        counter->peak.store(counter->current.load(std::memory_order_relaxed),
                            std::memory_order_relaxed);
}

std::string StatisticsResource::report() const {
    const Numbers now = numbers();
    return sentence_of(now.current_bytes, " bytes in ", now.current_count,
                       " blocks are in use, at most ", now.peak_bytes, " were") +
           text::continued(Resource::report());
}

}  // namespace entrepot
