// Borrowing and letting go with everything in sight: for those who keep the records themselves, because a call and the thread's
// own list take as long as the work.
#pragma once
#include <entrepot/core/assert.hpp>
#include <entrepot/device/registry.hpp>
#include <entrepot/memory/release.hpp>

#include <cstdint>
#include <new>
#include <utility>

namespace entrepot {

// Records for the next memory, with their orderings; who has the list has it alone. Without a destructor: it is a static
// object's, or somebody else ends it.
template <std::uint32_t capacity> class RecordList {
public:
    // One reference, nothing noted; nullptr where there is none.
    Memory::Record *take() noexcept {
        Memory::Record *const record = first_;
        if (record) [[likely]] {
            first_ = record->next;
            --count_;
            record->references.store(1, std::memory_order_relaxed);
            record->escaped.store(false, std::memory_order_relaxed);
            record->peers.store(0, std::memory_order_relaxed);
        }
        return record;
    }
    // Whether the list kept it.
    bool give(Memory::Record *record) noexcept {
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

// Of the list of this thread, from which Memory itself takes records; new where there is none. And back to it.
Memory::Record *recycled_record();
void recycle(Memory::Record *record) noexcept;

// Where ordinary host memory is.
struct HostPlace {
    Device device = registry::host();
    Context context = device.default_context();
};
inline const HostPlace &host_place() {
    static const HostPlace *const host = new HostPlace;  // never destroyed: memory is let go until the very end
    return *host;
}

// Of a record that is new or has been emptied: what is made over has nothing to let go of.
inline void set_borrowed(Memory::Record &record, void *data, std::size_t bytes, UsmKind kind, const Device &device,
                         const Context &context, Owner &&owner) noexcept {
    record.kind.store(kind, std::memory_order_relaxed);
    record.data = data;
    record.bytes = bytes;
    record.device = device;
    new (&record.context) Context(context);
    record.resource = nullptr;
    new (&record.owner) Owner(std::move(owner));
}

// True if the record must be released by the slow path: it logs accesses since the memory was allocated or borrowed, or has had
// consumers.
// Requires: nothing else refers to the record.
inline bool has_uses(const Memory::Record &record) noexcept {
    ENTREPOT_ASSERT(record.references.load(std::memory_order_relaxed) <= 1);
    constexpr std::uint32_t consumers = Memory::PeerBits::consumer_libraries | Memory::PeerBits::consumer_queues;
    return (record.noted.load(std::memory_order_acquire) != 0 && !record.home) ||
           (record.peers.load(std::memory_order_relaxed) & consumers) != 0;
}

// Of a borrowed record without uses, which nobody else has: `recycle(record)` has it again before anything is let go, for that
// may run anybody's code, which may let go of more memory. The memory of a device that may not be called any more leaks, and with
// it whoever holds it. The owner is the caller's to release.
template <class Recycle> Owner empty_borrowed(Memory::Record *record, Recycle &&recycle) noexcept {
    ENTREPOT_ASSERT(record->references.load(std::memory_order_relaxed) <= 1);
    record->noted.store(0, std::memory_order_relaxed);
    const Queue home = std::move(record->home);  // the producer's, which nobody has asked about
    const Queue owner_queue = std::move(record->owner_queue);
    const Context context = std::move(record->context);
    Owner owner = std::move(record->owner);
    recycle(record);
    if (!may_call(context.backend())) [[unlikely]]
        owner.detach();
    return owner;
}

// Memory::borrow with a record of the list's, as far as it has any.
template <std::uint32_t capacity>
[[gnu::always_inline]] inline Memory borrow(RecordList<capacity> &records, void *data, std::size_t bytes, UsmKind kind,
                                            const Device &device, const Context &context, Owner &&owner) {
    Memory::Record *record = records.take();
    if (!record) [[unlikely]]
        record = recycled_record();
    release_finished_owners();
    set_borrowed(*record, data, bytes, kind, device, context, std::move(owner));
    return Memory::attach(record);
}

// Memory::borrow_host likewise.
template <std::uint32_t capacity>
[[gnu::always_inline]] inline Memory borrow_host(RecordList<capacity> &records, void *data, std::size_t bytes, Owner &&owner) {
    const HostPlace &host = host_place();
    return borrow(records, data, bytes, UsmKind::host, host.device, host.context, std::move(owner));
}

// What ~Memory does, with the list for the record. Where that leaves an owner to be released at once, it is the caller's to
// release.
template <std::uint32_t capacity> Owner let_go(RecordList<capacity> &records, Memory &&memory) noexcept {
    Memory::Record *const record = memory.record();
    if (capacity == 0 || !record || memory.is_shared() || !memory.is_borrowed() || has_uses(*record)) [[unlikely]] {
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
