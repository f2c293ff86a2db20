#include <entrepot/device/queue.hpp>

#include "device/event_record.hpp"
#include <entrepot/device/fork_guard.hpp>

namespace entrepot {

// If Record::lazy_event still points here, the slot is cleared, and no other thread can reach this
// event. It may die without a lock: the common case.
//
// Otherwise a thread has taken it out of the slot to record it (record_lazy_event,
// replace_lazy_event), and may have failed. Lock Record::mutex to wait for that thread. In the
// child of a fork the thread may not exist, and nothing is locked.
[[gnu::hot]] Event::Lazy::~Lazy() {
    if (is_recorded_.load(std::memory_order_acquire) || unregister() ||
        !fork_guard::is_usable(*backend))
        return;
    const Queue::Lock locked(*queue_.record_);
    ENTREPOT_ASSERT(queue_.record_->lazy_event.load(std::memory_order_relaxed) != this);
}

Event Event::adopt(const Backend &backend, ep_event handle, const Context &context) {
    try {
        return Event(std::make_shared<Native>(backend, handle, context));
    } catch (...) {
        backend.drop(&ep_backend::event_release, handle);
        throw;
    }
}

Event Event::from_native(const Backend &backend, void *native) {
    ep_event handle;
    backend.call(&ep_backend::event_from_native, native, &handle);
    return adopt(backend, handle, Context());
}

Event Event::recorded(const Backend &backend) { return Event(std::make_shared<Recorded>(backend)); }

bool Event::is_recorded() const noexcept { return record_ && record_->is_recorded(); }

// In the child of a fork even an event that is known to be done is refused. So the result does not
// depend on earlier calls.
bool Event::is_done() const {
    if (!record_)
        return true;
    fork_guard::require_usable(*record_->backend);
    if (record_->done.load(std::memory_order_acquire))
        return true;
    const bool done = record_->ask_done();
    if (done)
        record_->done.store(true, std::memory_order_release);
    return done;
}

void Event::wait() const {
    if (!record_)
        return;
    fork_guard::require_usable(*record_->backend);
    if (record_->done.load(std::memory_order_acquire))
        return;
    const InterpreterLock::Released released;
    record_->wait();
    record_->done.store(true, std::memory_order_release);
}

double Event::seconds_until(const Event &later) const {
    if (!handle() || !later.handle())
        throw Error(
            ErrorKind::device,
            "an event that marks nothing has no time: record it in a queue created with profiling");
    if (record_->backend != later.record_->backend)
        throw Error(ErrorKind::device, "events of two backends (", record_->backend->name(), ", ",
                    later.record_->backend->name(), ") have no common clock");
    if (!is_done() || !later.is_done())
        throw Error(ErrorKind::device, "the time between two events is known when both are done: "
                                       "wait for the later one first");
    const InterpreterLock::Released released;
    double seconds = 0;
    record_->backend->call(&ep_backend::event_seconds, handle(), later.handle(), &seconds);
    return seconds;
}

void *Event::native() const {
    const ep_event recorded = handle();
    if (!recorded)
        return nullptr;
    void *native;
    record_->backend->call(&ep_backend::event_native, recorded, &native);
    return native;
}

std::uint64_t Event::capture() const noexcept { return record_ ? record_->capture() : 0; }
const Backend *Event::backend() const noexcept { return record_ ? record_->backend : nullptr; }
ep_event Event::handle() const { return record_ ? record_->handle() : nullptr; }

}  // namespace entrepot
