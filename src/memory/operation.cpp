// Operations: what they wait for, and how they are logged and ordered with peers.
#include <entrepot/memory/operation.hpp>

#include <entrepot/core/assert.hpp>
#include <entrepot/device/stream_library.hpp>
#include <memory/ordering.hpp>
#include <memory/peers.hpp>
#include <memory/recorded_uses.hpp>

#include <algorithm>
#include <exception>

namespace entrepot {

using PeerBits = Memory::PeerBits;

void order_export(Access access, const Memory &memory, const Queue &consumer) {
    ENTREPOT_ASSERT(HeldMutexes::is_empty());
    RecordedUses::require_unused(access, memory, "an export");
    PeerStreams owners;
    if (memory.has_owner_stream()) {
        owners.add(memory, PeerStreams::Which::owner);
        if (!owners.empty()) {
            consumer.wait_for(owners[0].queue);
            owners[0].is_waited_for = true;
        }
    }
    memory.wait_for_conflicts(access, consumer, &owners);
}

void Operation::add_peers(const Memory &memory) {
    if (const std::uint32_t released = memory.released_consumers())
        exported_.push_back({memory.record(), released});
    streams_.add(memory);
}

// Capturing streams come first: they take the queue into their graph, and what is not in it is
// waited for on the host then.
[[gnu::hot]] void Operation::wait_for_peers() {
    ENTREPOT_ASSERT(HeldMutexes::is_empty());
    const auto wait_for = [&](PeerStreams::Stream &stream) {
        queue_.wait_for(stream.queue);
        stream.is_waited_for = true;
    };
    if (streams_.size() > 1)
        for (std::size_t i = 0; i < streams_.size(); ++i)
            if (!is_queue_itself(streams_[i].queue) && !is_in_capture(streams_[i].queue, 0))
                wait_for(streams_[i]);
    for (std::size_t i = 0; i < streams_.size(); ++i) {
        PeerStreams::Stream &stream = streams_[i];
        if (is_queue_itself(stream.queue)) {
            stream.is_waited_for = true;
        } else if (!stream.is_waited_for) {
            const std::uint64_t capture = queue_.capture();
            if (capture == 0 || stream.is_owners || is_in_capture(stream.queue, capture))
                wait_for(stream);
        }
    }
}

bool Operation::is_ordered_until_release(const Memory &memory) const noexcept {
    ENTREPOT_ASSERT(streams_.find(queue_));
    const std::uint32_t peers = memory.record()->peers.load(std::memory_order_relaxed);
    const unsigned owner = PeerBits::owner_of(peers);
    return owner != 0 && peers & PeerBits::for_one_operation &&
           stream_library(owner - 1).frees_in_stream_order && streams_.has_stream_of(owner - 1);
}

// The operation is not in every log, or not every peer waits for it. So the host waits in place of
// later work. Work of a graph is not waited for, only joined.
void Operation::wait_on_host(std::uint64_t capture) const noexcept {
    try {
        if (capture == 0)
            queue_.wait();
        else
            order_peers(capture);
    } catch (...) {  // the driver has failed, and takes no later work either
    }
}

// The write waits for what the consumers had submitted.
void Operation::drop_released_consumers(const Memory &memory) const noexcept {
    const auto found = std::ranges::find(exported_, memory.record(), &Exported::record);
    if (found == exported_.end())
        return;
    for (std::size_t i = 0; i < streams_.size(); ++i)
        if (!streams_[i].is_waited_for)
            return;
    memory.drop_consumers(found->released);
}

// A stream that refuses does not keep the others from waiting.
void Operation::order_peers(std::uint64_t capture) const {
    ENTREPOT_ASSERT(HeldMutexes::is_empty());
    std::exception_ptr refusal;
    for (std::size_t i = 0; i < streams_.size(); ++i) {
        const Queue &stream = streams_[i].queue;
        try {
            if (!is_queue_itself(stream) && (capture == 0 || is_in_capture(stream, capture)))
                stream.wait_for(queue_);
        } catch (...) {
            refusal = std::current_exception();
        }
    }
    if (refusal)
        std::rethrow_exception(refusal);
}

}  // namespace entrepot
