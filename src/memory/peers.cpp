// Peers of memory: other libraries that work on it, their streams, and the order of a release.
#include <entrepot/memory/operation.hpp>

#include <entrepot/core/assert.hpp>
#include <entrepot/device/stream.hpp>
#include <memory/ordering.hpp>
#include <memory/peers.hpp>
#include <memory/release.hpp>

#include <algorithm>

namespace entrepot {

using PeerBits = Memory::PeerBits;

// ------------------------------------------------------------------ peers of memory

void Memory::set_owner_library(unsigned library) const noexcept {
    static_assert(max_stream_libraries <= PeerBits::owner_library >> PeerBits::owner_shift);
    ENTREPOT_ASSERT(library < max_stream_libraries);
    ENTREPOT_ASSERT(is_borrowed() && !is_shared());
    ENTREPOT_ASSERT((record_->peers.load(std::memory_order_relaxed) & PeerBits::owner_library) ==
                    0);
    record_->peers.fetch_or((library + 1) << PeerBits::owner_shift, std::memory_order_relaxed);
}

void Memory::set_owner_queue(const Queue &queue) const noexcept {
    ENTREPOT_ASSERT(is_borrowed() && !is_shared());
    ENTREPOT_ASSERT((record_->peers.load(std::memory_order_relaxed) & PeerBits::owner_queue) == 0);
    ENTREPOT_ASSERT(queue && !queue.is_event_queue() && !queue.may_be_destroyed());
    record_->owner_queue = queue;
    record_->peers.fetch_or(PeerBits::owner_queue, std::memory_order_release);
}

void Memory::set_owner_stream(std::uintptr_t stream) const noexcept {
    ENTREPOT_ASSERT(is_borrowed() && !is_shared());
    ENTREPOT_ASSERT((record_->peers.load(std::memory_order_relaxed) & PeerBits::owner_queue) == 0);
    ENTREPOT_ASSERT(stream >= lowest_handle && !record_->owner_queue);
    ENTREPOT_ASSERT(device().backend().has_streams());
    record_->owner_stream = stream;
    record_->peers.fetch_or(PeerBits::owner_queue, std::memory_order_release);
}

void Memory::set_for_one_operation() const noexcept {
    ENTREPOT_ASSERT(is_borrowed() && !is_shared());
    record_->peers.fetch_or(PeerBits::for_one_operation, std::memory_order_relaxed);
}

namespace {

// Returns: the queue that the owner of the memory names.
// Requires: PeerBits::owner_queue is set, and the owner's object is alive.
Queue named_queue(const Memory::Record &record) {
    return record.owner_queue ? record.owner_queue
                              : wrap_stream(record.device, record.owner_stream);
}

void add_export(Memory::Record &record, std::uint32_t bits, Memory::Consumer holder) noexcept {
    if (holder == Memory::Consumer::holds_object)
        bits |= PeerBits::lasting_consumer;
    std::uint32_t seen = record.peers.load(std::memory_order_relaxed);
    while (!record.peers.compare_exchange_weak(seen, (seen | bits) + PeerBits::one_export,
                                               std::memory_order_acq_rel)) {
    }
}

}  // namespace

void Memory::add_consumers(LibrarySet libraries, Consumer holder) const noexcept {
    if (libraries != 0)
        add_export(*record_, libraries, holder);
}

void Memory::add_consumer_queue(const Queue &queue, Consumer holder) const {
    ENTREPOT_ASSERT(holder != Consumer::none && !queue.is_event_queue() &&
                    !queue.may_be_destroyed());
    // Above this many, the oldest ones are dropped. Their consumers are ordered with the export
    // alone.
    constexpr std::size_t most = 16;
    Ordering &ordering = Ordering::of(*record_);
    Queue dropped;  // released after the lock
    {
        const MutexLock lock(ordering.mutex);
        // First, so that drop_consumers(), which also locks the mutex, sees an export
        // before its queue.
        add_export(*record_, PeerBits::consumer_queues, holder);
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
}

void Memory::drop_consumers(std::uint32_t released) const noexcept {
    // a consumer that holds an object may go on working
    ENTREPOT_ASSERT(released != 0 && (released & PeerBits::lasting_consumer) == 0);
    std::vector<Ordering::ConsumerQueue> dropped;  // released after the lock
    Ordering &ordering = Ordering::of(*record_);
    const MutexLock lock(ordering.mutex);
    if (record_->peers.compare_exchange_strong(released, released & ~PeerBits::consumers,
                                               std::memory_order_acq_rel))
        dropped.swap(ordering.consumers);
}

bool Memory::is_used_in_stream_order() const noexcept {
    const std::uint32_t peers = record_->peers.load(std::memory_order_acquire);
    const unsigned owner = PeerBits::owner_of(peers);
    return owner != 0 && stream_library(owner - 1).frees_in_stream_order;
}

Queue Memory::owner_queue() const {
    const std::uint32_t peers = record_->peers.load(std::memory_order_acquire);
    if (peers & PeerBits::owner_queue)
        return named_queue(*record_);
    if (const unsigned library = PeerBits::owner_of(peers))
        if (Queue current = current_stream_of(library - 1, device());
            current && current.device() == device())
            return current;  // else CuPy works on another device now
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
    ENTREPOT_ASSERT(stream.queue);
    for (std::size_t i = 0; i < size(); ++i) {
        Stream &known = (*this)[i];
        if (known.queue == stream.queue) {
            known.is_owners |= stream.is_owners;
            known.libraries |= stream.libraries;
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
        asked_ = asked_owners_ = 0;
    }
    const std::uint32_t bit = 1u << library;
    if ((is_owners ? asked_owners_ : asked_) & bit)
        return;
    asked_ |= bit;
    asked_owners_ |= is_owners ? bit : 0;
    if (Queue current = current_stream_of(library, device))
        insert({std::move(current), is_owners, bit});
}

void PeerStreams::insert_current_of_all(std::uint32_t libraries, const Device &device) {
    for (unsigned library = 0; libraries >> library != 0; ++library)
        if (libraries >> library & 1)
            insert_current(library, device, false);
}

namespace {

// Returns: the devices that use the host memory in place. Its consumers work on them.
std::vector<Device> pinned_devices(Memory::Record &record) {
    Memory::Ordering &ordering = Memory::Ordering::of(record);
    std::vector<Device> devices;
    const MutexLock lock(ordering.mutex);
    for (const Memory::Ordering::Pin &pin : ordering.pins)
        if (std::ranges::find(devices, pin.device) == devices.end())
            devices.push_back(pin.device);
    return devices;
}

}  // namespace

bool PeerStreams::has_stream_of(unsigned library) const noexcept {
    for (std::size_t i = 0; i < size(); ++i)
        if ((*this)[i].libraries >> library & 1)
            return true;
    return false;
}

void PeerStreams::add(const Memory &memory, Which which) {
    // a library that is asked for its stream may acquire the GIL
    ENTREPOT_ASSERT(HeldMutexes::is_empty());
    const Memory::Record &record = *memory.record();
    const std::uint32_t peers = record.peers.load(std::memory_order_acquire);
    if (which != Which::consumers) {
        if (peers & PeerBits::owner_queue)
            insert({named_queue(record), true});
        else if (const unsigned owner = PeerBits::owner_of(peers))
            insert_current(owner - 1, memory.device(), true);
    }
    if (which == Which::owner)
        return;
    const std::uint32_t libraries = peers & PeerBits::consumer_libraries;
    if (libraries != 0 && !record.pinned.load(std::memory_order_acquire)) {
        insert_current_of_all(libraries, memory.device());
    } else if (libraries != 0) {
        for (const Device &device : pinned_devices(*memory.record()))
            insert_current_of_all(libraries, device);
    }
    if (peers & PeerBits::consumer_queues) {
        Memory::Ordering &ordering = Memory::Ordering::of(*memory.record());
        std::vector<Queue> queues;
        {
            const MutexLock lock(ordering.mutex);
            for (const Memory::Ordering::ConsumerQueue &consumer : ordering.consumers)
                queues.push_back(consumer.queue);
        }
        for (Queue &queue : queues)
            insert({std::move(queue), false});
    }
}

bool is_in_capture(const Queue &stream, std::uint64_t capture) noexcept {
    try {
        return stream.capture() == capture;
    } catch (...) {
        return false;
    }
}

namespace {

// A driver that refuses a stream will refuse it again, so the release is ordered no better. Missing
// memory says nothing about the stream.
void rethrow_unless_refused(const Error &error) {
    if (error.kind() != ErrorKind::device)
        throw;
}

}  // namespace

std::vector<Use> order_release(Memory::Record *record) {
    ENTREPOT_ASSERT(record->count() <= 1);
    ENTREPOT_ASSERT(HeldMutexes::is_empty());
    const std::uint32_t peers = record->peers.load(std::memory_order_acquire);
    if ((peers & PeerBits::consumers) == 0 || !may_call_devices())
        return {};
    // a Memory without a reference of its own
    struct Unowned {
        Memory memory;
        ~Unowned() { memory.detach(); }
    };
    const Unowned released{Memory::attach(record)};
    std::vector<Use> pending;
    try {
        PeerStreams streams;
        streams.add(released.memory, released.memory.has_destroyable_owner_stream()
                                         ? PeerStreams::Which::consumers
                                         : PeerStreams::Which::all);
        // The owner's stream is the first, unless the library has no current stream.
        const bool has_owner = !streams.empty() && streams[0].is_owners;
        const std::uint64_t capture = has_owner ? streams[0].queue.capture() : 0;
        for (std::size_t i = has_owner; i < streams.size(); ++i) {
            const Queue &consumer = streams[i].queue;
            try {
                // both run, or both are in one graph
                if (has_owner && is_in_capture(consumer, capture))
                    streams[0].queue.wait_for(consumer);
                // a captured stream would make the host wait for one that runs
                else if (is_in_capture(consumer, 0))
                    pending.push_back({consumer.as_event_queue(), 1});
                // A captured consumer would take the owner's stream into its graph.
            } catch (const Error &error) {
                rethrow_unless_refused(error);  // else the other streams can still be ordered
            }
        }
    } catch (const Error &error) {
        rethrow_unless_refused(error);  // else no library answers
    }
    return pending;
}

}  // namespace entrepot
