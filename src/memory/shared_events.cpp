#include <memory/shared_events.hpp>

#include <core/open_file.hpp>
#include <core/renewed_mutex.hpp>
#include <device/fork_safe_mutex.hpp>
#include <entrepot/core/publish.hpp>
#include <entrepot/core/text.hpp>
#include <entrepot/device/backend.hpp>
#include <entrepot/memory/operation.hpp>
#include <memory/deferred.hpp>
#include <memory/fd_server.hpp>
#include <memory/recorded_uses.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

namespace entrepot::shared_events {
namespace {

// The last event of some queues. It covers every position up to `covered`. The backend may have
// recorded it again for another queue since. Then it still covers them, see ipc_event_record.
class LastRecords {
public:
    std::optional<SharedEvent> find(const Queue &queue, Queue::Position position) const {
        const MutexLock lock(mutex_);
        const Row &row = row_of(queue);
        if (row.queue != queue.identity()->number || row.covered < position ||
            row.generation != fork_generation())
            return std::nullopt;
        return row.event;
    }
    void keep(const Queue &queue, Queue::Position covered, const SharedEvent &event) {
        const MutexLock lock(mutex_);
        row_of(queue) = {queue.identity()->number, covered, fork_generation(), event};
    }

private:
    struct Row {
        std::uint64_t queue = 0;
        Queue::Position covered = 0;
        unsigned generation = 0;  // the child of a fork has events of its own
        SharedEvent event{};
    };
    const Row &row_of(const Queue &queue) const ENTREPOT_REQUIRES(mutex_) {
        return rows_[queue.identity()->number % rows_.size()];
    }
    Row &row_of(const Queue &queue) ENTREPOT_REQUIRES(mutex_) {
        return rows_[queue.identity()->number % rows_.size()];
    }

    mutable ForkSafeMutex mutex_;
    std::array<Row, 32> rows_ ENTREPOT_GUARDED_BY(mutex_);
};

LastRecords &last_records() {
    static constinit FirstUse<LastRecords> made;
    return made.get();
}

// Work that events were recorded for and that may be pending.
class SharedWork {
public:
    void add(const Queue &queue, Queue::Position position) {
        {
            const MutexLock lock(mutex_);
            keep_latest(uses_, {queue, position});
            if (uses_.size() <= most_queues)
                return;
        }
        drop_done();
    }
    // Asks the drivers. Queues do not live on because they are listed here.
    // Returns: true if no work is left.
    bool drop_done() {
        std::vector<Use> asked;  // and dropped after the mutex
        {
            const MutexLock lock(mutex_);
            asked = uses_;
        }
        std::erase_if(asked, [](const Use &use) { return !is_over(use); });
        const MutexLock lock(mutex_);
        std::erase_if(uses_, [&](const Use &use) {
            return std::ranges::any_of(asked, [&](const Use &over) {
                return over.queue == use.queue && over.position == use.position;
            });
        });
        return uses_.empty();
    }

private:
    static constexpr std::size_t most_queues = 8;

    // Work of a driver that is not called any more, or that fails, is over as well: waiters for its
    // event see this process end.
    static bool is_over(const Use &use) noexcept {
        try {
            return !may_call(use.queue.backend()) || use.queue.is_done(use.position);
        } catch (...) {
            return true;
        }
    }

    ForkSafeMutex mutex_;
    std::vector<Use> uses_ ENTREPOT_GUARDED_BY(mutex_);  // one for each queue
};

SharedWork &shared_work() {
    static constinit FirstUse<SharedWork> made;
    return made.get();
}

// The files of the processes whose events were opened last.
class RecorderFiles {
public:
    std::shared_ptr<const OpenFile> file_of(const Sender &sender) {
        if (std::shared_ptr<const OpenFile> known = find(sender))
            return known;
        auto file = std::make_shared<const OpenFile>(senders::receive_file_of(sender));
        std::vector<Row> left;  // closed after the mutex
        const MutexLock lock(mutex_);
        rows_.insert(rows_.begin(), {sender, file});
        if (rows_.size() > most_files) {
            left.push_back(std::move(rows_.back()));
            rows_.pop_back();
        }
        return file;
    }

private:
    static constexpr std::size_t most_files = 16;

    struct Row {
        Sender sender;
        std::shared_ptr<const OpenFile> file;
    };
    std::shared_ptr<const OpenFile> find(const Sender &sender) {
        const MutexLock lock(mutex_);
        const auto row = std::ranges::find_if(rows_, [&](const Row &each) {
            return each.sender.token == sender.token && each.sender.address == sender.address;
        });
        if (row == rows_.end())
            return nullptr;
        std::rotate(rows_.begin(), row, row + 1);
        return rows_.front().file;
    }

    ForkSafeMutex mutex_;
    std::vector<Row> rows_ ENTREPOT_GUARDED_BY(mutex_);  // the one used last first
};

RecorderFiles &recorder_files() {
    static constinit FirstUse<RecorderFiles> made;
    return made.get();
}

// True if an event may be recorded in the queue itself: on any thread, and beside any capture.
bool is_recordable(const Queue &queue, const Memory &memory) {
    return queue.context() == memory.context() && queue.device() == memory.device() &&
           (!queue.is_foreign() || queue.is_default_stream() || queue.backend().is_host());
}

// Returns: an event of the queue that covers the position; none with the reason in `refusal` if the
//          backend has none.
std::optional<SharedEvent> record_in(const Queue &queue, Queue::Position position,
                                     std::string &refusal) {
    ENTREPOT_ASSERT(position <= queue.position());
    if (std::optional<SharedEvent> known = last_records().find(queue, position))
        return known;
    const Backend &backend = queue.backend();
    // read first: the event may not cover what is submitted from here on
    const Queue::Position covered = queue.position();
    SharedEvent event;
    const ep_status status =
        backend.status_of(&ep_backend::ipc_event_record, queue.handle(), &event.ipc);
    if (status == EP_UNSUPPORTED) {
        refusal = Backend::last_error();
        return std::nullopt;
    }
    backend.check(status);
    event.sender = senders::publish_file(&backend, event.ipc.file);
    last_records().keep(queue, covered, event);
    // The exit waits for the event as well.
    shared_work().add(queue, queue.take_position());
    return event;
}

// True if the queue has completed the position. The driver is asked if that is cheap. With a
// default stream it is not, because an event would be recorded for the question.
bool is_done_cheaply(const Queue &queue, Queue::Position position) {
    return is_known_done(queue, position) || (!queue.is_foreign() && queue.is_idle());
}

std::optional<SharedEvent> record_pending(const Memory &memory, Access access,
                                          const Memory::PendingWork &pending,
                                          std::string &refusal) {
    if (pending.queue && is_recordable(pending.queue, memory)) {
        if (is_done_cheaply(pending.queue, pending.position))
            return std::nullopt;
        return record_in(pending.queue, pending.position, refusal);
    }
    if (memory.is_ready_for_host(access))
        return std::nullopt;
    const Queue queue = Queue::internal_for_context(memory.context(), memory.device());
    Operation(queue).wait_for_conflicts(access, memory);
    return record_in(queue, queue.position(), refusal);
}

}  // namespace

std::optional<SharedEvent> record(const Memory &memory, Access access, bool may_leave_machine,
                                  std::string &host_wait) {
    RecordedUses::require_unused(access, memory, "share()");
    if (memory.has_no_pending_access() && !memory.has_peers())
        return std::nullopt;
    std::string obstacle;
    if (may_leave_machine) {
        obstacle = "the handle is for other machines, too, and events stay on one";
    } else if (const Memory::PendingWork pending = memory.pending_work(access); pending.obstacle) {
        obstacle = pending.obstacle;
    } else {
        std::optional<SharedEvent> event = record_pending(memory, access, pending, obstacle);
        if (event || obstacle.empty())
            return event;
    }
    if (!memory.is_ready_for_host(access)) {
        memory.wait_for_host(access);
        host_wait = sentence_of("no event can stand for the pending work: ", obstacle);
    }
    return std::nullopt;
}

void add_to(const Memory &memory, const SharedEvent &event) {
    const std::shared_ptr<const OpenFile> file = recorder_files().file_of(event.sender);
    ep_ipc_event shared = event.ipc;
    shared.file = file->number();
    const Context &context = memory.context();
    const Backend &backend = context.backend();
    ep_event handle = nullptr;
    const ep_status status =
        backend.status_of(&ep_backend::ipc_event_open, context.handle(), &shared, &handle);
    // The driver does not tell an event that is gone from other bytes.
    if (status == EP_INVALID || status == EP_UNSUPPORTED)
        throw Error(ErrorKind::exchange, "shared memory: ", Backend::last_error());
    backend.check(status);
    const Event opened = Event::adopt(backend, handle, context);
    if (!opened.is_done())
        memory.record_other_process(Queue::of_event(context, memory.device(), opened));
}

}  // namespace entrepot::shared_events

bool entrepot::wait_for_shared_work(std::chrono::milliseconds most) noexcept {
    using std::chrono::steady_clock;
    constexpr std::chrono::microseconds shortest_pause{20}, longest_pause{1000};
    const steady_clock::time_point end = steady_clock::now() + most;
    try {
        for (auto pause = shortest_pause; !shared_events::shared_work().drop_done();
             pause = std::min(2 * pause, longest_pause)) {
            if (steady_clock::now() >= end)
                return false;
            std::this_thread::sleep_for(pause);
        }
    } catch (...) {  // no memory for the list
        return false;
    }
    return true;
}
