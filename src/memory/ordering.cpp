// Memory's ordering: before and after an access of a queue, and the host's turn.
#include <memory/ordering.hpp>

#include <entrepot/device/backend.hpp>

#include <algorithm>
#include <array>
#include <memory>

namespace entrepot {
namespace {

// Those of queues that are not known to be past their position.
void take_done(std::vector<Memory::Ordering::Entry> &entries, std::vector<Memory::Ordering::Entry> &done) {
    const auto first = std::stable_partition(entries.begin(), entries.end(),
                                             [](const auto &entry) { return !is_known_done(entry.queue, entry.position); });
    done.insert(done.end(), std::make_move_iterator(first), std::make_move_iterator(entries.end()));
    entries.erase(first, entries.end());
}

Memory::Ordering *made_ordering(Memory::Record &record) {
    if (Memory::Ordering *const made = record.ordering.load(std::memory_order_acquire))
        return made;
    auto fresh = std::make_unique<Memory::Ordering>();
    Memory::Ordering *found = nullptr;
    if (record.ordering.compare_exchange_strong(found, fresh.get(), std::memory_order_acq_rel))
        return fresh.release();
    return found;  // another thread was faster
}

// The ordering of a record that has anything noted; nullptr where there is nothing to wait for.
Memory::Ordering *busy_ordering(Memory::Record &record) {
    return record.noted.load(std::memory_order_acquire) != 0 ? made_ordering(record) : nullptr;
}

// With the lock held, or nobody else who has the memory.
void publish(Memory::Record &record, const Memory::Ordering &ordering) noexcept {
    const std::uint64_t first = ordering.entries.empty() ? 0 : ordering.entries.front().queue.identity()->number;
    const bool is_of_one = std::ranges::all_of(
        ordering.entries, [&](const Memory::Ordering::Entry &entry) { return entry.queue.identity()->number == first; });
    record.noted.store(is_of_one ? first : Memory::Record::by_several, std::memory_order_release);
}

}  // namespace

ForkSafeMutex &Memory::Ordering::mutex() const noexcept {
    static std::array<ForkSafeMutex, 16> *const mutexes = new std::array<ForkSafeMutex, 16>;
    return (*mutexes)[reinterpret_cast<std::uintptr_t>(this) / sizeof *this % mutexes->size()];
}

void Memory::Ordering::begin(Record &record) {
    if (!record.home)
        return;
    const bool is_producers = record.resource == nullptr;
    if (is_producers)
        record.home.take(record.available);
    entries.push_back({std::move(record.home), record.available, Access::write, 0, is_producers});
}

void Memory::Ordering::note(Access access, const Queue &queue, Queue::Position position, std::vector<Entry> &left) {
    if (entries.size() == 1 && entries.front().queue == queue && entries.front().access == access) [[likely]] {
        entries.front() = {queue, std::max(position, entries.front().position), access};
        return;
    }
    const auto is_behind = [&](const Entry &entry) {
        if (access == Access::write)  // comes after all that the queue did or has waited for
            return entry.queue == queue || entry.waited_by == queue.identity()->number;
        return entry.queue == queue && entry.access == Access::read;
    };
    // Another thread may have noted a later position of the queue already: it is still running when this one is done.
    for (const Entry &entry : entries)
        if (entry.queue == queue && is_behind(entry))
            position = std::max(position, entry.position);
    const auto first =
        std::stable_partition(entries.begin(), entries.end(), [&](const Entry &entry) { return !is_behind(entry); });
    left.insert(left.end(), std::make_move_iterator(first), std::make_move_iterator(entries.end()));
    entries.erase(first, entries.end());
    if (entries.size() > 4)
        take_done(entries, left);
    entries.push_back({queue, position, access});
}

void Memory::Ordering::drop_done(std::vector<Entry> &left) { take_done(entries, left); }

std::vector<Use> Memory::Ordering::blocking(Access access, const Queue &queue) const {
    std::vector<Use> uses;
    for (const Entry &entry : entries)
        if ((access == Access::write || entry.access == Access::write) &&
            (!queue || (entry.queue != queue && entry.waited_by != queue.identity()->number)))
            keep_latest(uses, {entry.queue, entry.position});
    return uses;
}

void Memory::Ordering::mark_waited(const std::vector<Use> &uses, const Queue &queue) {
    for (Entry &entry : entries)
        for (const Use &use : uses)
            if (entry.queue == use.queue && entry.position <= use.position)
                entry.waited_by = queue.identity()->number;
}

std::vector<Use> Memory::Ordering::take_all() {
    std::vector<Use> uses;
    for (Entry &entry : entries)
        if (!entry.is_producers && !is_known_done(entry.queue, entry.position))
            keep_latest(uses, {std::move(entry.queue), entry.position});
    entries.clear();
    return uses;
}

void Memory::before(Access access, const Queue &queue, Wait wait) const {
    const std::uint64_t noted = record_->noted.load(std::memory_order_acquire);
    if (noted == 0)
        return;
    fork_guard::require_usable(queue.backend());
    if (noted == queue.identity()->number)
        return;  // it comes after its own work
    Ordering *const ordering = made_ordering(*record_);
    std::vector<Use> uses;
    {
        const std::lock_guard lock(ordering->mutex());
        ordering->begin(*record_);
        uses = ordering->blocking(access, queue);
    }
    if (uses.empty())
        return;
    const std::uint64_t capture = queue.capture();
    for (const Use &use : uses) {
        const std::uint64_t theirs = use.queue.capture_of_work();
        if (theirs != 0 && theirs != capture)
            continue;  // what is captured into another graph does not run now
        const Event event = use.queue.event_at(use.position);
        if (&use.queue.backend() == &queue.backend() && theirs == capture) [[likely]]
            queue.wait_for(event);
        else
            wait(event);
    }
    const std::lock_guard lock(ordering->mutex());
    ordering->mark_waited(uses, queue);
}

void Memory::after(Access access, const Queue &queue, Queue::Position position) const {
    Ordering *const ordering = made_ordering(*record_);
    std::vector<Ordering::Entry> left;
    const std::lock_guard lock(ordering->mutex());
    ordering->begin(*record_);
    ordering->note(access, queue, position, left);
    publish(*record_, *ordering);
}

void Memory::after_producer(const Queue &queue) const {
    if (is_borrowed() && is_quiet()) [[likely]] {
        record_->home = queue;
        record_->available = queue.next_position();
        record_->noted.store(queue.identity()->number, std::memory_order_release);
        return;
    }
    Ordering *const ordering = made_ordering(*record_);  // without the lock, for the reason above
    ordering->entries.push_back({queue, queue.submitted(), Access::write, 0, true});
    publish(*record_, *ordering);
}

void Memory::wait_for_host(Access access) const {
    Ordering *const ordering = busy_ordering(*record_);
    if (!ordering)
        return;
    std::vector<Use> uses;
    {
        const std::lock_guard lock(ordering->mutex());
        ordering->begin(*record_);
        uses = ordering->blocking(access, {});
    }
    for (const Use &use : uses)
        use.queue.wait_at(use.position);
    std::vector<Ordering::Entry> left;
    const std::lock_guard lock(ordering->mutex());
    ordering->drop_done(left);
    publish(*record_, *ordering);
}

bool Memory::has_done_for_host(Access access) const {
    Ordering *const ordering = busy_ordering(*record_);
    if (!ordering)
        return true;
    std::vector<Use> uses;
    {
        const std::lock_guard lock(ordering->mutex());
        ordering->begin(*record_);
        uses = ordering->blocking(access, {});
    }
    for (const Use &use : uses)
        if (!use.is_done())
            return false;
    std::vector<Ordering::Entry> left;
    const std::lock_guard lock(ordering->mutex());
    ordering->drop_done(left);
    publish(*record_, *ordering);
    return true;
}

Event Memory::last_use(Access access) const {
    Ordering *const ordering = busy_ordering(*record_);
    if (!ordering)
        return {};
    std::vector<Use> uses;
    {
        const std::lock_guard lock(ordering->mutex());
        ordering->begin(*record_);
        uses = ordering->blocking(access, {});
    }
    std::erase_if(uses, [](const Use &use) { return use.is_done(); });
    if (uses.empty())
        return {};
    if (uses.size() == 1)
        return uses.front().queue.event_at(uses.front().position);
    // One event for them all: a queue that takes work waits for the others, and marks that.
    const auto found = std::ranges::find_if(uses, [](const Use &use) { return !use.queue.is_past(); });
    const Queue queue = found != uses.end() ? found->queue : Queue::in(record_->context, record_->device);
    for (const Use &use : uses)
        if (use.queue != queue)
            queue.wait_for(use.queue.event_at(use.position));
    return queue.record();
}

}  // namespace entrepot
