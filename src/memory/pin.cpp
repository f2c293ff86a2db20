// Pinning: counts the memories that use each range that is registered with a driver.
//
// Overview
//   A driver registers a range once. Memories with bytes inside a registered range share it
//   (PinnedRange::uses). The drivers of CUDA and HIP register exact ranges for all their contexts.
//   SYCL registers whole pages for one context. The contexts that share registrations are a domain.
//
//   The memory itself holds its pins (Ordering::pins), so work by all arrays over it is in one
//   access log. The pins also name the devices whose streams consumers of exports work in.
//
// Lock order
//   One mutex guards the table and is held across the driver's calls: a range is in the table
//   exactly while it is registered. The GIL is released first (core/interpreter_lock.hpp). The leaf
//   mutex of the access log is locked inside it for moments.
//
// Lifetime
//   When a memory ends, its pins wait for its pending work (release_after). Then its uses end. Its
//   owner or its block is released last. In a marked child of fork() and at process exit
//   the registration leaks, because the driver may not be called. A child never locks the mutex,
//   which a thread of the parent may have held.
#include <entrepot/memory/pin.hpp>

#include "core/interpreter_lock.hpp"
#include "core/no_destructor.hpp"
#include <entrepot/core/checked_mutex.hpp>
#include <entrepot/device/backend.hpp>
#include <memory/owners.hpp>
#include <memory/pins.hpp>

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>

namespace entrepot {
namespace {

// Addresses are numbers, because pointers into different objects have no order.
struct Range {
    std::uintptr_t begin = 0, end = 0;

    bool contains(const Range &other) const noexcept {
        return begin <= other.begin && other.end <= end;
    }
    bool overlaps(const Range &other) const noexcept {
        return begin < other.end && other.begin < end;
    }
    Range in_whole_pages() const {
        const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
        return {begin / page * page, (end + page - 1) / page * page};
    }
};

std::ostream &operator<<(std::ostream &out, const Range &range) {
    return out << "the " << range.end - range.begin << " bytes from "
               << Hex(reinterpret_cast<const void *>(range.begin));
}

// The table of registered ranges that the device shares: its backend's, or its context's of SYCL.
std::uintptr_t domain_of(const Device &device) {
    const Backend &backend = device.backend();
    return backend.has_streams()
               ? reinterpret_cast<std::uintptr_t>(&backend)
               : reinterpret_cast<std::uintptr_t>(device.default_context().record());
}

class PinnedRanges {
public:
    static PinnedRanges &only() {
        static NoDestructor<PinnedRanges> all;
        return *all;
    }

    // Returns: true if the memory holds a use of a registered range that contains `range`; false if
    //          the device needs none.
    bool add(const Memory &memory, const Device &device, const Range &range, bool read_only) {
        ENTREPOT_ASSERT(range.begin < range.end);
        fork_guard::require_usable(device.backend());
        const std::uintptr_t domain = domain_of(device);
        Memory::Ordering &ordering = Memory::Ordering::of(*memory.record());
        const InterpreterLock::Released released;
        const MutexLock lock(mutex_);
        {
            // First, so that nothing throws between the registration and its use. Only this
            // function adds pins, and it holds mutex_.
            const MutexLock log(ordering.mutex);
            ordering.pins.reserve(ordering.pins.size() + 1);
        }
        Row *row = find(domain, range);
        if (row)
            require_usable(*row, range, read_only);
        else
            row = try_register(device, domain, range, read_only);
        if (!row)
            return false;
        const MutexLock log(ordering.mutex);
        const Memory::Ordering::Pin pin{device, row->range.begin};
        if (std::ranges::find(ordering.pins, pin) == ordering.pins.end()) {
            ordering.pins.push_back(pin);
            ++row->uses;
        }
        ENTREPOT_ASSERT(row->uses > 0);
        memory.record()->pinned.store(true, std::memory_order_release);
        return true;
    }

    void end_use(const Memory::Ordering::Pin &pin) noexcept {
        const Key key(domain_of(pin.device), pin.registered);
        const InterpreterLock::Released released;
        const MutexLock lock(mutex_);
        const auto found = rows_.find(key);
        ENTREPOT_ASSERT(found != rows_.end() && found->second.uses > 0);
        if (--found->second.uses != 0)
            return;
        const Row &row = found->second;
        // A failure is an error of earlier work, which the next call reports as well.
        row.context.backend().status_of(&ep_backend::memory_unpin, row.context.handle(),
                                        reinterpret_cast<void *>(row.range.begin),
                                        row.range.end - row.range.begin);
        rows_.erase(found);
    }

private:
    using Key = std::pair<std::uintptr_t, std::uintptr_t>;  // domain, begin
    struct Row {
        Range range;
        bool read_only = false;
        Context context{};
        unsigned uses = 0;  // pins of memories
    };

    // The registered range that shares bytes with `range`; nullptr if no range does. Registered
    // ranges do not overlap, so only the last one that begins before the end can.
    Row *find(std::uintptr_t domain, const Range &range) ENTREPOT_REQUIRES(mutex_) {
        ENTREPOT_ASSERT(mutex_.held());
        auto row = rows_.lower_bound(Key(domain, range.end));
        if (row == rows_.begin())
            return nullptr;
        --row;
        return row->first.first == domain && row->second.range.overlaps(range) ? &row->second
                                                                               : nullptr;
    }

    // Returns: the new row, without a use; nullptr if the driver registers nothing.
    Row *try_register(const Device &device, std::uintptr_t domain, const Range &wanted,
                      bool read_only) ENTREPOT_REQUIRES(mutex_) {
        const Range range = device.has(EP_PINS_PAGES) ? wanted.in_whole_pages() : wanted;
        if (const Row *const known = find(domain, range))
            refuse_overlap(wanted, *known);
        const Context &context = device.default_context();
        const Backend &backend = context.backend();
        // First, so that nothing throws between the registration and its row.
        const auto row = rows_.emplace(Key(domain, range.begin), Row{range, read_only, context});
        std::int32_t pinned = 0;
        const ep_status status = backend.status_of(&ep_backend::memory_pin, context.handle(),
                                                   reinterpret_cast<void *>(range.begin),
                                                   range.end - range.begin, read_only, &pinned);
        if (status == EP_OK && pinned != 0)
            return &row.first->second;
        rows_.erase(row.first);
        if (status == EP_UNSUPPORTED || status == EP_INVALID)
            throw Error(ErrorKind::exchange, "pin: ", Backend::last_error());
        backend.check(status);
        return nullptr;
    }

    [[noreturn]] static void refuse_overlap(const Range &wanted, const Row &known) {
        throw Error(ErrorKind::exchange, "pin: ", wanted,
                    known.range.overlaps(wanted) ? " overlap " : " share a page with ", known.range,
                    ", which ep.pin has registered: pin the whole memory once, and take views of "
                    "it");
    }

    static void require_usable(const Row &known, const Range &range, bool read_only) {
        if (!known.range.contains(range))
            refuse_overlap(range, known);
        if (known.read_only && !read_only)
            throw Error(ErrorKind::exchange, "pin: ", range, " were pinned read-only, in ",
                        known.range, ": pin the writable object first, or drop the read-only one");
    }

    CheckedMutex mutex_;
    std::map<Key, Row> rows_ ENTREPOT_GUARDED_BY(mutex_);
};

// The members are destroyed from the last to the first.
struct PinnedOwner {
    Owner owner;
    Pins pins;
};
void release_pinned_owner(void *handle) { delete static_cast<PinnedOwner *>(handle); }

struct PinnedBlock {
    ResourceRef resource;
    Place place;
    Block block;
    bool escaped = false;
    Pins pins;
};
void release_pinned_block(void *handle) {
    const std::unique_ptr<PinnedBlock> pinned(static_cast<PinnedBlock *>(handle));
    pinned->pins = {};
    pinned->resource->deallocate(pinned->place, std::move(pinned->block), {{}, pinned->escaped});
}

}  // namespace

// The record is used by this thread alone, so Ordering::mutex is not needed.
Pins::Pins(Memory::Record &record) noexcept ENTREPOT_NO_THREAD_SAFETY_ANALYSIS {
    ENTREPOT_ASSERT(record.count() <= 1);
    Memory::Ordering *const ordering = record.ordering.load(std::memory_order_acquire);
    ENTREPOT_ASSERT(ordering && !ordering->pins.empty());
    all_.swap(ordering->pins);
    record.pinned.store(false, std::memory_order_relaxed);
}

Pins::~Pins() {
    ENTREPOT_ASSERT(all_.empty() || HeldMutexes::is_empty());  // the driver is called
    for (const Memory::Ordering::Pin &pin : all_)
        if (may_call(pin.device.backend()))
            PinnedRanges::only().end_use(pin);
}

void unpin_before_owner(Memory::Record &record) {
    auto pinned = std::make_unique<PinnedOwner>();
    pinned->owner = std::move(record.owner);
    pinned->pins = Pins(record);
    record.owner = Owner(pinned.release(), release_pinned_owner);
}

void deallocate_after_unpinning(Memory::Record &record, ResourceRef resource, Place place,
                                Block block, Pending pending) {
    const Context context = place.context;
    // Clang 14 initializes no aggregate by make_unique.
    std::unique_ptr<PinnedBlock> pinned(new PinnedBlock{
        std::move(resource), std::move(place), std::move(block), pending.escaped, {}});
    pinned->pins = Pins(record);
    release_after(context, std::move(pending.uses), Owner(pinned.release(), release_pinned_block));
}

bool pin(const Memory &memory, void *first, std::size_t bytes, bool read_only,
         const Device &device) {
    ENTREPOT_ASSERT(HeldMutexes::is_empty());  // the driver is called
    ENTREPOT_ASSERT(memory.device().backend().is_host() && bytes != 0);
    const auto begin = reinterpret_cast<std::uintptr_t>(first);
    return PinnedRanges::only().add(memory, device, {begin, begin + bytes}, read_only);
}

bool shares_pins(const Device &a, const Device &b) {
    return a == b || (&a.backend() == &b.backend() && domain_of(a) == domain_of(b));
}

}  // namespace entrepot
