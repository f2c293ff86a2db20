// Events: marks in a queue that other queues, or a thread, wait for.
#include "backends/host/native.hpp"

#include <chrono>

namespace host = entrepot::backends::host;

ep_event_s::ep_event_s(ep_queue_s &queue)
    : timed((queue.flags & EP_QUEUE_PROFILING) != 0), queue_(&queue), generation_(host::generation()) {}

void ep_event_s::complete() noexcept {
    std::vector<ep_queue_s *> waiting;
    {
        const std::lock_guard hold(lock_);
        if (timed)
            seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
        waiting.swap(waiting_);
        done_.store(true, std::memory_order_release);
    }
    completed_.notify_all();
    for (ep_queue_s *queue : waiting)
        queue->end_turn();
}

void ep_event_s::wait() {
    if (is_done())
        return;
    std::unique_lock hold(lock_);
    while (!is_done()) {
        if (generation_ != host::generation())
            host::refuse(EP_DEVICE_ERROR,
                         "this event was not done when the process forked, and its work went on in the parent only: "
                         "wait for it before the fork");
        const host::Reference<ep_queue_s> queue(*queue_);
        hold.unlock();
        queue->help();
        hold.lock();
        if (!is_done())
            completed_.wait(hold);
    }
}

bool ep_event_s::end_turn_when_done(ep_queue_s &queue) {
    const std::lock_guard hold(lock_);
    if (is_done())
        return false;
    waiting_.push_back(&queue);
    return true;
}

namespace entrepot::backends::host {
namespace {

class Record final : public Work {
public:
    explicit Record(ep_event_s &event) : event_(event) {}
    bool run(ep_queue_s &) override {
        event_->complete();
        return true;
    }

private:
    Reference<ep_event_s> event_;
};

class Wait final : public Work {
public:
    explicit Wait(ep_event_s &event) : event_(event) {}
    bool run(ep_queue_s &queue) override { return !event_->end_turn_when_done(queue); }

private:
    Reference<ep_event_s> event_;
};

ep_status event_record(ep_queue queue, ep_event *event) {
    return guarded([&] {
        auto made = std::make_unique<ep_event_s>(*queue);
        queue->submit(Record(*made));
        *event = made.release();
    });
}

ep_status event_wait_in_queue(ep_queue queue, ep_event event) {
    return guarded([&] {
        if (!event->is_done())
            queue->submit(Wait(*event));
    });
}

ep_status event_wait(ep_event event) {
    return guarded([&] { event->wait(); });
}

ep_status event_is_done(ep_event event, std::int32_t *done) {
    *done = event->is_done();
    return EP_OK;
}

ep_status event_seconds(ep_event from, ep_event to, double *seconds) {
    return guarded([&] {
        if (!from->timed || !to->timed)
            refuse(EP_INVALID, "an event of a queue without profiling has no time: create the queue with EP_QUEUE_PROFILING");
        if (!from->is_done() || !to->is_done())
            refuse(EP_INVALID, "an event that is not done has no time yet: wait for it first");
        *seconds = to->seconds() - from->seconds();
    });
}

ep_status event_native(ep_event event, void **native) {
    *native = event;
    return EP_OK;
}

ep_status event_from_native(void *native, ep_event *event) {
    *event = static_cast<ep_event>(native);
    (*event)->retain();
    return EP_OK;
}

void event_retain(ep_event event) { event->retain(); }

void event_release(ep_event event) { event->release(); }

}  // namespace

void enter_events(ep_backend &table) {
    table.event_record = event_record;
    table.event_wait_in_queue = event_wait_in_queue;
    table.event_wait = event_wait;
    table.event_is_done = event_is_done;
    table.event_seconds = event_seconds;
    table.event_native = event_native;
    table.event_from_native = event_from_native;
    table.event_retain = event_retain;
    table.event_release = event_release;
}

}  // namespace entrepot::backends::host
