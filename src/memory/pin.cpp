// Pinning: counts the ranges that are registered with each driver, and what uses them.
//
// Overview
//   A driver registers a range once. Ranges that lie inside a registered one share it (uses). The
//   drivers of CUDA and HIP register it for all their contexts, SYCL for one context: the domain.
//   The pages of the operating system are the driver's concern.
//
// Lock order
//   One mutex guards the table and is held across the driver's calls: a range is in the table
//   exactly while it is registered. The GIL is released first (core/interpreter_lock.hpp).
//
// Lifetime
//   The owner of pinned memory ends its use of the range, and then drops the source. In a marked
//   child of fork() and at process exit the owner leaks, as for all memory of devices
//   (release.hpp). A child never locks the mutex, which a thread of the parent may have held.
#include <entrepot/memory/pin.hpp>

#include "core/interpreter_lock.hpp"
#include "core/no_destructor.hpp"
#include <entrepot/core/checked_mutex.hpp>
#include <entrepot/device/backend.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <utility>

namespace entrepot {
namespace {

// Addresses are numbers, because pointers into different objects have no order.
struct PinnedRange {
    std::uintptr_t begin = 0, end = 0;

    bool contains(const PinnedRange &other) const noexcept {
        return begin <= other.begin && other.end <= end;
    }
    bool overlaps(const PinnedRange &other) const noexcept {
        return begin < other.end && other.begin < end;
    }
};

std::ostream &operator<<(std::ostream &out, const PinnedRange &range) {
    return out << "the " << range.end - range.begin << " bytes from "
               << Hex(reinterpret_cast<const void *>(range.begin));
}

// One table of registered ranges: a backend's, or a context's of SYCL.
const void *domain_of(const Context &context) noexcept {
    const Backend &backend = context.backend();
    return backend.has_streams() ? static_cast<const void *>(&backend) : context.record();
}

class PinnedRanges {
public:
    static PinnedRanges &only() {
        static NoDestructor<PinnedRanges> all;
        return *all;
    }

    // Returns: the start of the registered range that contains `range` from now on; 0 if the
    //          device needs none.
    std::uintptr_t add(const Device &device, const PinnedRange &range, bool read_only) {
        ENTREPOT_ASSERT(range.begin < range.end);
        const Backend &backend = device.backend();
        fork_guard::require_usable(backend);
        const Context &context = device.default_context();
        const InterpreterLock::Released released;
        const MutexLock lock(mutex_);
        const void *const domain = domain_of(context);
        if (Row *const known = find(domain, range)) {
            require_usable(*known, range, read_only);
            ++known->uses;
            return known->range.begin;
        }
        // First, so that nothing throws between the registration and its row.
        const auto row = rows_.emplace(Key(domain, range.begin), Row{range, read_only, context});
        std::int32_t pinned = 0;
        const ep_status status = backend.status_of(&ep_backend::memory_pin, context.handle(),
                                                   reinterpret_cast<void *>(range.begin),
                                                   range.end - range.begin, read_only, &pinned);
        if (status != EP_OK || pinned == 0)
            rows_.erase(row.first);
        if (status == EP_UNSUPPORTED || status == EP_INVALID)
            throw Error(ErrorKind::exchange, "pin: ", Backend::last_error());
        backend.check(status);
        return pinned != 0 ? range.begin : 0;
    }

    void release(const Context &context, std::uintptr_t begin) noexcept {
        const InterpreterLock::Released released;
        const MutexLock lock(mutex_);
        const auto found = rows_.find(Key(domain_of(context), begin));
        ENTREPOT_ASSERT(found != rows_.end() && found->second.uses > 0);
        if (--found->second.uses != 0)
            return;
        const Row &row = found->second;
        // A failure is an error of earlier work, which the next call reports as well.
        context.backend().status_of(&ep_backend::memory_unpin, row.context.handle(),
                                    reinterpret_cast<void *>(begin),
                                    row.range.end - row.range.begin);
        rows_.erase(found);
    }

private:
    using Key = std::pair<const void *, std::uintptr_t>;  // domain, begin
    struct Row {
        PinnedRange range;
        bool read_only = false;
        Context context{};
        unsigned uses = 1;
    };

    // The registered range that shares bytes with `range`; nullptr if no range does. Registered
    // ranges do not overlap, so only the last one that begins before the end can.
    Row *find(const void *domain, const PinnedRange &range) ENTREPOT_REQUIRES(mutex_) {
        ENTREPOT_ASSERT(mutex_.held());
        auto row = rows_.lower_bound(Key(domain, range.end));
        if (row == rows_.begin())
            return nullptr;
        --row;
        return row->first.first == domain && row->second.range.overlaps(range) ? &row->second
                                                                               : nullptr;
    }

    static void require_usable(const Row &known, const PinnedRange &range, bool read_only) {
        if (!known.range.contains(range))
            throw Error(ErrorKind::exchange, "pin: ", range, " overlap ", known.range,
                        ", which ep.pin has registered: pin the whole memory once, and take views "
                        "of it");
        if (known.read_only && !read_only)
            throw Error(ErrorKind::exchange, "pin: ", range, " were pinned read-only, in ",
                        known.range, ": pin the writable object first, or drop the read-only one");
    }

    CheckedMutex mutex_;
    std::map<Key, Row> rows_ ENTREPOT_GUARDED_BY(mutex_);
};

// Handle of the owner of pinned memory.
struct PinnedSource {
    Memory memory;
    Context context;                // of the registration
    std::uintptr_t registered = 0;  // start of the range; 0 for memory without bytes
};

void unpin(void *handle) {
    const std::unique_ptr<PinnedSource> source(static_cast<PinnedSource *>(handle));
    if (source->registered != 0)
        PinnedRanges::only().release(source->context, source->registered);
}

}  // namespace

Memory pin(const Memory &memory, void *first, std::size_t bytes, bool read_only,
           const Device &device) {
    ENTREPOT_ASSERT(HeldMutexes::is_empty());  // the driver is called
    ENTREPOT_ASSERT(memory.device().backend().is_host());
    const auto begin = reinterpret_cast<std::uintptr_t>(first);
    auto source = std::unique_ptr<PinnedSource>(
        new PinnedSource{.memory = memory, .context = device.default_context()});
    if (bytes != 0) {
        source->registered = PinnedRanges::only().add(device, {begin, begin + bytes}, read_only);
        if (source->registered == 0)
            return {};
    }
    return Memory::borrow(first, bytes, UsmKind::host, device, device.default_context(),
                          Owner(source.release(), unpin));
}

const Memory *pinned_source(const Owner &owner) noexcept {
    return owner.release_function() == unpin
               ? &static_cast<const PinnedSource *>(owner.handle())->memory
               : nullptr;
}

}  // namespace entrepot
