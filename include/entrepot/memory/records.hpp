// Records of Memory: recycling, and the inline fast paths of import and release.
//
// Fast paths
//   A caller that holds its own RecordList imports and releases memory without a function call and
//   without a thread-local list.
//
// Lock order
//   Nothing here locks a mutex, and the caller holds none: an owner that is released may run any
//   code.
//
// Lifetime
//   A record is recycled before its owner is released, because the release may reenter. Host
//   objects are never destroyed, because memory is released until the process exits.
#pragma once
#include <entrepot/core/assert.hpp>
#include <entrepot/core/no_destructor.hpp>
#include <entrepot/device/registry.hpp>
#include <entrepot/memory/release.hpp>

#include <cstdint>
#include <new>
#include <utility>

namespace entrepot {

// Free list of Memory::Record, each with its access log.
//
// Thread safety: not thread-safe.
// Lifetime: trivially destructible. Its owner drains it, or lives until the process exits.
template <std::uint32_t capacity> class RecordList {
public:
    // Returns: a record with one reference and no logged access; nullptr if the list is empty.
    Memory::Record *take() noexcept {
        Memory::Record *const record = first_;
        if (record) [[likely]] {
            ENTREPOT_ASSERT(count_ != 0);
            ENTREPOT_ASSERT(record->pending_queue.load(std::memory_order_relaxed) == 0);
            ENTREPOT_ASSERT(!record->prior_queue && !record->owner_queue && !record->context);
            ENTREPOT_ASSERT(!record->owner.release_function());
            first_ = record->next;
            --count_;
            record->revive();
            record->escaped.store(false, std::memory_order_relaxed);
            record->peers.store(0, std::memory_order_relaxed);
        }
        return record;
    }
    // Returns: true if the list has taken the record; false if it is full.
    // Requires: the record is empty (no owner, context, queue or logged access) and nothing refers
    //           to it.
    bool give(Memory::Record *record) noexcept {
        ENTREPOT_ASSERT(record != first_);
        if (count_ >= capacity) [[unlikely]]
            return false;
        record->next = first_;
        first_ = record;
        ++count_;
        return true;
    }

private:
    Memory::Record *first_ = nullptr;
    std::uint32_t count_ = 0;
};

// Takes a record from this thread's list, or allocates one; recycle() puts it back.
Memory::Record *recycled_record();
void recycle(Memory::Record *record) noexcept;

// Device and context of ordinary host memory.
struct HostPlace {
    Device device = registry::host();
    Context context = device.default_context();
};
inline const HostPlace &host_place() {
    static NoDestructor<HostPlace> host;
    return *host;
}

// Makes the record one of borrowed memory.
// Requires: the record is new or recycled, so its context and owner are empty and are overwritten
//           without being destroyed.
inline void set_borrowed(Memory::Record &record, void *data, std::size_t bytes, UsmKind kind,
                         const Device &device, const Context &context, Owner &&owner) noexcept {
    ENTREPOT_ASSERT(!record.context && !record.owner.release_function());
    ENTREPOT_ASSERT(!record.prior_queue && !record.owner_queue);
    ENTREPOT_ASSERT(record.count() == 1);
    record.kind.store(kind, std::memory_order_relaxed);
    record.data = data;
    record.bytes = bytes;
    record.device = device;
    new (&record.context) Context(context);
    record.resource = nullptr;
    new (&record.owner) Owner(std::move(owner));
}

// True if the record must be released by the slow path: it logs accesses since the memory was
// allocated or borrowed, or has had consumers.
// Requires: nothing else refers to the record.
inline bool has_uses(const Memory::Record &record) noexcept {
    ENTREPOT_ASSERT(record.count() <= 1);
    constexpr std::uint32_t consumers =
        Memory::PeerBits::consumer_libraries | Memory::PeerBits::consumer_queues;
    return (record.pending_queue.load(std::memory_order_acquire) != 0 && !record.prior_queue) ||
           (record.peers.load(std::memory_order_relaxed) & consumers) != 0;
}

// Empties and recycles a record. `recycle(record)` is called before anything is released, because
// releasing may reenter.
//
// Requires: nothing else refers to the record; it is borrowed and has no uses (has_uses).
// Ownership: the caller releases the returned owner. It is empty, and leaks, if the backend may not
//            be called any more.
template <class Recycle> Owner empty_borrowed(Memory::Record *record, Recycle &&recycle) noexcept {
    ENTREPOT_ASSERT(!record->resource);
    ENTREPOT_ASSERT(!has_uses(*record));
    ENTREPOT_ASSERT(HeldMutexes::is_empty());
    record->pending_queue.store(0, std::memory_order_relaxed);
    // the producer's, unused: the release does not wait for the producer
    const Queue prior_queue = std::move(record->prior_queue);
    const Queue owner_queue = std::move(record->owner_queue);
    const Context context = std::move(record->context);
    Owner owner = std::move(record->owner);
    recycle(record);
    if (!may_call(context.backend())) [[unlikely]]
        owner.detach();
    return owner;
}

// Memory::borrow with a record of the list, if it has one.
// Ownership: takes `owner`; if this throws, the caller still holds it.
template <std::uint32_t capacity>
[[gnu::always_inline]] inline Memory borrow(RecordList<capacity> &records, void *data,
                                            std::size_t bytes, UsmKind kind, const Device &device,
                                            const Context &context, Owner &&owner) {
    Memory::Record *record = records.take();
    if (!record) [[unlikely]]
        record = recycled_record();
    release_finished_owners();
    set_borrowed(*record, data, bytes, kind, device, context, std::move(owner));
    return Memory::attach(record);
}

// Memory::borrow_host with a record of the list, if it has one.
template <std::uint32_t capacity>
[[gnu::always_inline]] inline Memory borrow_host(RecordList<capacity> &records, void *data,
                                                 std::size_t bytes, Owner &&owner) {
    const HostPlace &host = host_place();
    return borrow(records, data, bytes, UsmKind::host, host.device, host.context, std::move(owner));
}

// Releases the memory as ~Memory does, and recycles its record to the list.
// Ownership: the caller releases the returned owner. It is empty if the release is deferred or has
//            happened.
template <std::uint32_t capacity>
Owner release_to(RecordList<capacity> &records, Memory &&memory) noexcept {
    Memory::Record *const record = memory.record();
    if (capacity == 0 || !record || memory.is_shared() || !memory.is_borrowed() ||
        has_uses(*record)) [[unlikely]] {
        const Memory last = std::move(memory);
        return {};
    }
    (void)memory.detach();
    release_finished_owners();
    return empty_borrowed(record, [&](Memory::Record *emptied) {
        if (!records.give(emptied)) [[unlikely]]
            recycle(emptied);
    });
}

}  // namespace entrepot
