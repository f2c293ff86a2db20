// Operations, and the peers of memory whose streams they are ordered with.
#include <entrepot/memory/operation.hpp>

#include <entrepot/core/assert.hpp>
#include <memory/ordering.hpp>

#include <algorithm>
#include <mutex>

namespace entrepot {

using PeerBits = Memory::PeerBits;

// ------------------------------------------------------------------ peers of memory

void Memory::set_owner_library(unsigned library) const noexcept {
    static_assert(max_stream_libraries <= PeerBits::owner_library >> PeerBits::owner_shift);
    ENTREPOT_ASSERT(is_borrowed() && !is_shared());
    ENTREPOT_ASSERT((record_->peers.load(std::memory_order_relaxed) & PeerBits::owner_library) == 0);
    record_->peers.fetch_or((library + 1) << PeerBits::owner_shift, std::memory_order_relaxed);
}

void Memory::set_owner_queue(const Queue &queue) const noexcept {
    ENTREPOT_ASSERT(is_borrowed() && !is_shared());
    ENTREPOT_ASSERT((record_->peers.load(std::memory_order_relaxed) & PeerBits::owner_queue) == 0);
    record_->owner_queue = queue;
    record_->peers.fetch_or(PeerBits::owner_queue, std::memory_order_release);
}

void Memory::set_for_one_operation() const noexcept {
    ENTREPOT_ASSERT(is_borrowed() && !is_shared());
    record_->peers.fetch_or(PeerBits::for_one_operation, std::memory_order_relaxed);
}

namespace {

void add_export(Memory::Record &record, std::uint32_t bits, Memory::Consumer holder) noexcept {
    if (holder == Memory::Consumer::holds_object)
        bits |= PeerBits::lasting_consumer;
    std::uint32_t seen = record.peers.load(std::memory_order_relaxed);
    while (!record.peers.compare_exchange_weak(seen, (seen | bits) + PeerBits::one_export, std::memory_order_acq_rel)) {
    }
}

}  // namespace

void Memory::add_consumers(LibrarySet libraries, Consumer holder) const noexcept {
    if (libraries != 0)
        add_export(*record_, libraries, holder);
}

void Memory::add_consumer_queue(const Queue &queue, Consumer holder) const {
    // From here on the oldest ones are dropped: consumers of so many queues are ordered by their exports alone.
    constexpr std::size_t most = 16;
    Ordering &ordering = Ordering::of(*record_);
    Queue dropped;  // released after the lock
    {
        const std::lock_guard lock(ordering.mutex);
        std::vector<Ordering::ConsumerQueue> &consumers = ordering.consumers;
        const auto known = std::ranges::find(consumers, queue, &Ordering::ConsumerQueue::queue);
        if (known != consumers.end()) {
            known->holder = std::max(known->holder, holder);
        } else {
            if (consumers.size() == most) {
                dropped = std::move(consumers.front().queue);
                consumers.erase(consumers.begin());
            }
            consumers.push_back({queue, holder});
        }
    }
    add_export(*record_, PeerBits::consumer_queues, holder);
}

bool Memory::is_used_in_stream_order() const noexcept {
    const std::uint32_t peers = record_->peers.load(std::memory_order_acquire);
    const std::uint32_t owner = (peers & PeerBits::owner_library) >> PeerBits::owner_shift;
    return owner != 0 && stream_library(owner - 1).frees_in_stream_order;
}

Queue Memory::owner_queue() const {
    const std::uint32_t peers = record_->peers.load(std::memory_order_acquire);
    if (peers & PeerBits::owner_queue)
        return record_->owner_queue;
    if (const std::uint32_t library = (peers & PeerBits::owner_library) >> PeerBits::owner_shift)
        if (std::optional<CurrentStream> current = current_stream_of(library - 1, device()))
            return std::move(current->queue);
    return {};
}

// ------------------------------------------------------------------------- streams

const PeerStreams::Stream *PeerStreams::find(const Queue &queue) const noexcept {
    for (std::size_t i = 0; i < size(); ++i)
        if ((*this)[i].queue == queue)
            return &(*this)[i];
    return nullptr;
}

void PeerStreams::insert(Stream stream) {
    for (std::size_t i = 0; i < size(); ++i) {
        Stream &known = i == 0 ? *first_ : others_[i - 1];
        if (known.queue == stream.queue) {
            known.is_owners |= stream.is_owners;
            return;
        }
    }
    if (!first_)
        first_ = std::move(stream);
    else
        others_.push_back(std::move(stream));
}

void PeerStreams::insert_current(unsigned library, const Device &device, bool is_owners) {
    if (asked_device_ != device) {
        asked_device_ = device;
        asked_ = 0;
    }
    const std::uint32_t bit = 1u << library;
    if (asked_ & bit)
        return;
    asked_ |= bit;
    if (std::optional<CurrentStream> current = current_stream_of(library, device))
        insert({std::move(current->queue), current->outlives_call, is_owners});
}

std::size_t PeerStreams::add(const Memory &memory, Which which) {
    const std::size_t before = size();
    const Memory::Record &record = *memory.record();
    const std::uint32_t peers = record.peers.load(std::memory_order_acquire);
    if (peers & PeerBits::owner_queue)
        insert({record.owner_queue, true, true});
    else if (const std::uint32_t owner = (peers & PeerBits::owner_library) >> PeerBits::owner_shift)
        insert_current(owner - 1, memory.device(), true);
    if (which == Which::owner)
        return size() - before;
    const std::uint32_t libraries = peers & PeerBits::consumer_libraries;
    for (unsigned library = 0; libraries >> library != 0; ++library)
        if (libraries >> library & 1)
            insert_current(library, memory.device(), false);
    if (peers & PeerBits::consumer_queues) {
        Memory::Ordering &ordering = Memory::Ordering::of(*memory.record());
        std::vector<Queue> queues;
        {
            const std::lock_guard lock(ordering.mutex);
            for (const Memory::Ordering::ConsumerQueue &consumer : ordering.consumers)
                queues.push_back(consumer.queue);
        }
        for (Queue &queue : queues)
            insert({std::move(queue), true, false});
    }
    return size() - before;
}

namespace {

// True if the stream is captured into that graph (0: into none). False if the driver refuses to say,
// as it does of a destroyed stream.
bool is_in_capture(const Queue &stream, std::uint64_t capture) noexcept {
    try {
        return stream.capture() == capture;
    } catch (...) {
        return false;
    }
}

}  // namespace

void order_release(Memory::Record *record) noexcept {
    ENTREPOT_ASSERT(record->references.load(std::memory_order_relaxed) <= 1);
    const std::uint32_t peers = record->peers.load(std::memory_order_acquire);
    const bool has_owner = (peers & (PeerBits::owner_library | PeerBits::owner_queue)) != 0;
    if (!has_owner || (peers & (PeerBits::consumer_libraries | PeerBits::consumer_queues)) == 0)
        return;
    Memory memory = Memory::attach(record);
    try {
        PeerStreams streams;
        streams.add(memory);
        if (!streams.empty() && streams[0].is_owners) {  // the first, unless the owner's library has no stream
            const Queue &owner = streams[0].queue;
            const std::uint64_t capture = owner.capture();
            for (std::size_t i = 1; i < streams.size(); ++i)
                if (is_in_capture(streams[i].queue, 0) || is_in_capture(streams[i].queue, capture))
                    owner.wait_for(streams[i].queue);  // else the stream's capture would take the owner's
        }
    } catch (...) {  // the driver fails: the release can be ordered no better
    }
    memory.detach();
}

// ----------------------------------------------------------------------- operations

void order_export(Access access, const Memory &memory, const Queue &consumer) {
    PeerStreams owners;
    if (memory.has_owner_stream()) {
        owners.add(memory, PeerStreams::Which::owner);
        if (!owners.empty())
            consumer.wait_for(owners[0].queue);
    }
    memory.before(access, consumer, &owners);
}

namespace {

// Drops the consumers that hold a reference to the memory, if only we do: they have released it, and what they had submitted has
// been waited for. An export that comes meanwhile changes the word, and nothing is dropped.
void drop_released_consumers(const Memory &memory, std::uint32_t seen) noexcept {
    constexpr std::uint32_t consumers = PeerBits::consumer_libraries | PeerBits::consumer_queues;
    if ((seen & consumers) == 0 || (seen & PeerBits::lasting_consumer) != 0 || memory.is_shared())
        return;
    Memory::Record &record = *memory.record();
    std::vector<Memory::Ordering::ConsumerQueue> dropped;  // released after the lock
    if (seen & PeerBits::consumer_queues) {
        Memory::Ordering &ordering = Memory::Ordering::of(record);
        const std::lock_guard lock(ordering.mutex);
        if (record.peers.compare_exchange_strong(seen, seen & ~consumers, std::memory_order_acq_rel))
            dropped.swap(ordering.consumers);
    } else {
        record.peers.compare_exchange_strong(seen, seen & ~consumers, std::memory_order_acq_rel);
    }
}

}  // namespace

[[gnu::hot]] void Operation::wait_for_others(Access access, const Memory &memory) {
    if (memory.has_peers()) {
        const std::uint32_t peers = memory.record()->peers.load(std::memory_order_acquire);
        const std::size_t added = streams_.add(memory);
        for (std::size_t i = streams_.size() - added; i < streams_.size(); ++i)
            wait_for(streams_[i]);
        drop_released_consumers(memory, peers);
    }
    if (!memory.is_free_for(queue_))
        memory.before(access, queue_, &streams_);
}

void Operation::wait_for(const PeerStreams::Stream &stream) const {
    if (is_queue_itself(stream.queue)) [[likely]]
        return;
    const std::uint64_t capture = queue_.capture();
    if (capture == 0 || stream.is_owners || is_in_capture(stream.queue, capture))
        queue_.wait_for(stream.queue);
}

Operation::Record Operation::how_to_record(const Memory &memory, const PeerStreams::Stream &own) noexcept {
    const std::uint32_t peers = memory.record()->peers.load(std::memory_order_relaxed);
    const std::uint32_t owner = (peers & PeerBits::owner_library) >> PeerBits::owner_shift;
    if (owner != 0 && peers & PeerBits::for_one_operation && stream_library(owner - 1).frees_in_stream_order)
        return Record::nowhere;
    return own.outlives_call ? Record::in_log : Record::by_event;
}

void Operation::order_peers(std::uint64_t capture) const {
    for (std::size_t i = 0; i < streams_.size(); ++i) {
        const Queue &stream = streams_[i].queue;
        if (!is_queue_itself(stream) && (capture == 0 || is_in_capture(stream, capture)))
            stream.wait_for(queue_);
    }
}

}  // namespace entrepot
