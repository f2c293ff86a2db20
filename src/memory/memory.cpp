// Memory: its records, where they come from, and how an allocation ends.
#include <entrepot/memory/memory.hpp>
#include <entrepot/memory/operation.hpp>

#include "core/free_list.hpp"
#include "memory/release.hpp"
#include <entrepot/device/backend.hpp>
#include <entrepot/device/registry.hpp>
#include <entrepot/memory/current.hpp>
#include <entrepot/memory/pool.hpp>
#include <entrepot/memory/statistics.hpp>
#include <memory/exported_files.hpp>
#include <memory/ordering.hpp>
#include <memory/owners.hpp>
#include <memory/peers.hpp>
#include <memory/pins.hpp>

#include <algorithm>
#include <bit>

namespace entrepot {
namespace {

void delete_record(Memory::Record *record) noexcept {
    ENTREPOT_ASSERT(!record->prior_queue && !record->owner.release_function());
    delete record->ordering.load(std::memory_order_relaxed);
    delete record;
}

constinit thread_local ThreadFreeList<Memory::Record, delete_record, 256> free_records;

// Returns: a record with one reference and no logged access. It may have a log already.
Memory::Record *new_record() {
    Memory::Record *const record = free_records.take();
    if (!record) [[unlikely]]
        return new Memory::Record;
    record->reuse();
    return record;
}

std::uint8_t packed_alignment(std::size_t alignment) noexcept {
    return static_cast<std::uint8_t>(std::bit_width(alignment));
}
std::size_t unpacked_alignment(std::uint8_t packed) noexcept {
    return packed == 0 ? 0 : std::size_t{1} << (packed - 1);
}

// A block has an address of its own, so it is never empty.
std::size_t block_bytes(std::size_t bytes) noexcept { return std::max<std::size_t>(bytes, 1); }

struct AspectRow {
    UsmKind kind;
    ep_aspect aspect;
};
constexpr AspectRow aspects[] = {{UsmKind::host, EP_USM_HOST_ALLOCATIONS},
                                 {UsmKind::device, EP_USM_DEVICE_ALLOCATIONS},
                                 {UsmKind::shared, EP_USM_SHARED_ALLOCATIONS}};

void require_kind(const Device &device, UsmKind kind) {
    for (const AspectRow &row : aspects)
        if (row.kind == kind) {
            if (!device.has(row.aspect)) [[unlikely]]
                throw Error(ErrorKind::device, device, " has no ", kind, " memory");
            return;
        }
    throw Error(ErrorKind::value, "memory of kind ", kind,
                " cannot be allocated: a kind is host, device or shared");
}

// Completes deferred frees and trims all pools, before an allocation is tried again.
void free_what_is_free(Resource &resource) {
    wait_and_release();
    resource.trim();
    for (const ResourceRef &pool : live_pools())
        pool->trim();
}

[[noreturn]] void refuse(const Resource &resource, const Place &place, std::size_t bytes,
                         const Error &second) {
    const std::string report = resource.report();
    throw Error(ErrorKind::allocation, second.what(), " (", bytes, " bytes of ", place.kind,
                " memory of ", place.device,
                "; the retry after all cached blocks were returned to the driver failed too; the "
                "device has ",
                place.device.info().global_memory, " bytes in all and at most ",
                place.device.info().max_allocation, " for one allocation",
                report.empty() ? "" : "; ", report, ")");
}

[[gnu::noinline]] Block allocate_again(Resource &resource, const Place &place, std::size_t bytes,
                                       std::size_t alignment, const Queue &queue) {
    free_what_is_free(resource);
    const StatisticsResource::SecondTry again;
    try {
        return resource.allocate(place, bytes, alignment, queue);
    } catch (const Error &error) {
        if (error.kind() != ErrorKind::allocation)
            throw;
        refuse(resource, place, bytes, error);
    }
}

Block allocate_once(Resource &resource, const Place &place, std::size_t bytes,
                    std::size_t alignment, const Queue &queue) {
    return resource.allocate(place, bytes, alignment, queue);
}

Block allocate_block(Resource &resource, const Place &place, std::size_t bytes,
                     std::size_t alignment, const Queue &queue) {
    try {
        return resource.allocate(place, bytes, alignment, queue);
    } catch (const Error &error) {
        if (error.kind() != ErrorKind::allocation)
            throw;
    }
    return allocate_again(resource, place, bytes, alignment, queue);
}

// Recycles a record if the rest of the allocation fails.
struct RecordGuard {
    Memory::Record *record;
    ~RecordGuard() {
        if (record)
            Memory::recycle(record);
    }
    Memory::Record *detach() noexcept { return std::exchange(record, nullptr); }
};

template <auto allocate_from>
inline Memory allocated(std::size_t bytes, UsmKind kind, const Queue &queue, std::size_t alignment,
                        Resource *resource) {
    ENTREPOT_ASSERT(!queue.may_be_destroyed());  // see allocated_for
    ENTREPOT_ASSERT(HeldMutexes::is_empty());
    const Device &device = queue.device();
    if (alignment != 0 && !std::has_single_bit(alignment)) [[unlikely]]
        throw Error(ErrorKind::value, "an alignment of ", alignment,
                    " bytes was asked for: it must be a power of two, or 0 for any");
    require_kind(device, kind);
    fork_guard::require_usable(device.backend());
    release_finished_owners();

    ResourceRef source = resource ? ResourceRef(resource) : current_resource(device);
    RecordGuard made{new_record()};
    Memory::Record &record = *made.record;
    Place place{queue.context(), device, kind};
    Block block = allocate_from(*source, place, block_bytes(bytes), alignment, queue);
    ENTREPOT_ASSERT(block.data);
    ENTREPOT_ASSERT(alignment == 0 ||
                    reinterpret_cast<std::uintptr_t>(block.data) % alignment == 0);
    ENTREPOT_ASSERT(!record.prior_queue &&
                    record.pending_queue.load(std::memory_order_relaxed) == 0);
    record.kind.store(kind, std::memory_order_relaxed);
    record.alignment = packed_alignment(alignment);
    record.data = block.data;
    record.bytes = bytes;
    record.device = device;
    record.context = std::move(place.context);
    record.resource = source.detach();
    if (block.queue) {
        // the block keeps it when the memory is released
        ENTREPOT_ASSERT(!block.queue.may_be_destroyed());
        record.prior_queue = std::move(block.queue);
        record.prior_position = block.available;
        // the memory is not shared yet
        record.pending_queue.store(record.prior_queue.identity()->number,
                                   std::memory_order_relaxed);
    }
    return Memory::attach(made.detach());
}

// Allocates for a capturing queue. A graph cannot wait for work outside it. So the block is
// allocated for a queue that is in no capture, and the host waits until it is ready.
[[gnu::noinline]] Memory allocated_for_graph(std::size_t bytes, UsmKind kind, const Queue &queue,
                                             std::size_t alignment, Resource *resource) {
    const Queue apart = Queue::internal_for_context(queue.context(), queue.device());
    Memory memory = allocated<allocate_block>(bytes, kind, apart, alignment, resource);
    memory.wait_for_host(Access::write);
    memory.keep_for_graph(queue);
    return memory;
}

void release_kept(void *memory) { Memory::attach(memory); }

}  // namespace

void Memory::recycle(Record *record) noexcept {
    ENTREPOT_ASSERT(record->is_empty());
    free_records.put(record);
}

void Memory::keep_for_graph(const Queue &queue) const {
    ENTREPOT_ASSERT(queue.capture() != 0);
    Memory kept = *this;
    queue.keep(kept.record(), release_in_later_call<release_kept>);
    kept.detach();
}

// A pool keeps the queue of a block, so a queue that may be destroyed is replaced by one of
// Entrepot's.
template <auto allocate_from>
inline Memory allocated_for(std::size_t bytes, UsmKind kind, const Queue &queue,
                            std::size_t alignment, Resource *resource) {
    if (!queue) [[unlikely]]
        throw Error(ErrorKind::value,
                    "memory is allocated for a queue, but the given one is empty: "
                    "pass device.default_queue()");
    if (queue.capture() != 0) [[unlikely]]
        return allocated_for_graph(bytes, kind, queue, alignment, resource);
    if (!queue.may_be_destroyed()) [[likely]]
        return allocated<allocate_from>(bytes, kind, queue, alignment, resource);
    Memory memory = allocated<allocate_from>(
        bytes, kind, Queue::for_context(queue.context(), queue.device()), alignment, resource);
    memory.wait_for_conflicts(Access::write, queue);
    return memory;
}

Memory Memory::allocate(std::size_t bytes, UsmKind kind, const Queue &queue, std::size_t alignment,
                        Resource *resource) {
    return allocated_for<allocate_block>(bytes, kind, queue, alignment, resource);
}

Memory Memory::allocate(std::size_t bytes, UsmKind kind, const Queue &queue,
                        std::size_t alignment) {
    return allocate(bytes, kind, queue, alignment, nullptr);
}

Memory Memory::try_allocate(std::size_t bytes, UsmKind kind, const Queue &queue,
                            std::size_t alignment) {
    try {
        return allocated_for<allocate_once>(bytes, kind, queue, alignment, nullptr);
    } catch (const Error &error) {
        if (error.kind() != ErrorKind::allocation)
            throw;
        return {};
    }
}

Memory Memory::of_block(Resource *resource, const Place &place, const Block &block) {
    ENTREPOT_ASSERT(!block.queue);  // any queue may use it at once
    Record &record = *new_record();
    record.kind = place.kind;
    record.alignment = packed_alignment(block.alignment);
    record.data = block.data;
    record.bytes = block.bytes;
    record.device = place.device;
    record.context = place.context;
    record.resource = ResourceRef(resource).detach();
    return Memory(&record);
}

namespace {

// Moves the log of the record to `uses`.
void take_uses(Memory::Record &record, std::vector<Use> &uses, bool with_consumers) {
    Memory::Ordering *const ordering =
        record.has_uses() ? record.ordering.load(std::memory_order_acquire) : nullptr;
    if (ordering)
        ordering->move_all_to(uses, with_consumers);
    record.pending_queue.store(0, std::memory_order_relaxed);
}

[[gnu::noinline]] void release_after_uses(Memory::Record *record) {
    std::vector<Use> uses = order_release(record);
    take_uses(*record, uses, false);
    if (record->pinned.load(std::memory_order_acquire)) [[unlikely]]
        unpin_before_owner(*record);
    Memory::Record::Contents contents = record->take_contents();
    Memory::recycle(record);
    release_after(contents.context, std::move(uses), std::move(contents.owner));
}

void release_borrowed(Memory::Record *record) {
    if (record->has_uses()) [[unlikely]]
        return release_after_uses(record);
    if (record->pinned.load(std::memory_order_acquire)) [[unlikely]]
        unpin_before_owner(*record);
    const Memory::Record::Contents released = record->take_contents();
    Memory::recycle(record);
}

void return_block(Memory::Record *record) {
    ENTREPOT_ASSERT(record->resource && !record->owner.release_function() && !record->owner_queue);
    const bool is_pinned = record->pinned.load(std::memory_order_acquire);
    std::vector<Use> uses;
    if (is_pinned) [[unlikely]]  // the quarantine of a block of the host sees no device's streams
        uses = order_release(record);
    take_uses(*record, uses, true);
    Place place{std::move(record->context), record->device,
                record->kind.load(std::memory_order_relaxed)};
    Block block{record->data, block_bytes(record->bytes), unpacked_alignment(record->alignment)};
    if (record->prior_queue) {
        block.available = record->prior_position;
        block.queue = std::move(record->prior_queue);
    }
    const bool escaped = record->escaped.load(std::memory_order_relaxed);
    ResourceRef resource = ResourceRef::adopt(record->resource);
    if (is_pinned) [[unlikely]]
        deallocate_after_unpinning(*record, std::move(resource), std::move(place), std::move(block),
                                   {std::move(uses), escaped});
    Memory::recycle(record);
    if (is_pinned) [[unlikely]]
        return;
    if (may_call(place.context.backend())) [[likely]]
        resource->deallocate(place, std::move(block), {std::move(uses), escaped});
}

}  // namespace

Memory Memory::borrow(void *data, std::size_t bytes, UsmKind kind, const Device &device,
                      const Context &context, Owner owner) {
    release_finished_owners();
    Record *const record = new_record();
    record->set_borrowed(data, bytes, kind, device, context, std::move(owner));
    return Memory(record);
}

Memory Memory::borrow_host(void *data, std::size_t bytes, Owner owner) {
    const registry::HostPlace &host = registry::host_place();
    return borrow(data, bytes, UsmKind::host, host.device, host.context, std::move(owner));
}

UsmKind Memory::ask_kind() const noexcept {
    try {
        const ep_allocation found = context().query(data(), 1, EP_QUERY_KIND_ALONE);
        const auto kind = static_cast<UsmKind>(found.kind);
        record_->kind.store(kind, std::memory_order_relaxed);
        return kind;
    } catch (...) {  // in the child of a fork, or memory for the call is missing
        return UsmKind::unknown;
    }
}

void Memory::Record::end(Record *record) noexcept {
    ENTREPOT_ASSERT(record->count() <= 1);
    ENTREPOT_ASSERT(HeldMutexes::is_empty());  // a release runs foreign code
    release_finished_owners();
    if (record->exported.load(std::memory_order_acquire)) [[unlikely]]
        exported_files::withdraw(*record);
    try {
        if (record->resource)
            return_block(record);
        else
            release_borrowed(record);
    } catch (...) {
        // No memory for the list of pending work. The record leaks with all that it refers to,
        // rather than the memory being reused too early.
    }
}

}  // namespace entrepot
