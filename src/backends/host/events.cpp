// Events: recorded in a queue; other queues or threads wait for them.
#include "backends/host/native.hpp"

#include <chrono>

namespace entrepot::backends::host {

Event::Event(Queue &queue)
    : timed((queue.flags & EP_QUEUE_PROFILING) != 0), queue_(&queue),
      generation_(fork_generation()) {}

Event::Event(std::shared_ptr<SharedWords> words, std::uint32_t word, std::uint32_t number)
    : timed(false), queue_(nullptr), words_(std::move(words)), word_(word), number_(number),
      generation_(fork_generation()) {}

void Event::complete() noexcept {
    std::vector<Queue *> waiting;
    {
        const std::lock_guard hold(lock_);
        if (timed)
            seconds_ =
                std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
                    .count();
        waiting.swap(waiting_);
        done_.store(true, std::memory_order_release);
    }
    completed_.notify_all();
    for (Queue *queue : waiting)
        queue->end_work();
}

void Event::fail() noexcept {
    std::vector<Queue *> waiting;
    {
        const std::lock_guard hold(lock_);
        has_failed_ = true;
        waiting.swap(waiting_);
    }
    for (Queue *queue : waiting) {
        std::exception_ptr error;
        try {
            refuse_if_ended();
        } catch (...) {
            error = std::current_exception();
        }
        queue->end_work(std::move(error));
    }
}

void Event::refuse_if_ended() const {
    if (words_ == nullptr || is_done() || !words_->process.has_ended())
        return;
    if (!is_done())  // the process may have ended after its work was done
        words_->process.refuse_ended();
}

void Event::wait() {
    if (is_done())
        return;
    if (words_ != nullptr)
        return words_->wait_for(word_, number_);
    refuse_if_orphaned();
    std::unique_lock hold(lock_);
    while (!is_done()) {
        const IntrusivePtr<Queue> queue(queue_);
        hold.unlock();
        queue->help();
        hold.lock();
        if (!is_done())
            completed_.wait(hold);
    }
}

void Event::refuse_if_orphaned() const {
    if (generation_ != fork_generation())
        refuse(EP_DEVICE_ERROR, "this event was not done when the process forked, and its work "
                                "went on in the parent only: "
                                "wait for it before the fork");
}

bool Event::defer_completion_of(Queue &queue) {
    if (words_ != nullptr && !is_done())
        words_->watch(*this);  // first: it may throw
    const std::lock_guard hold(lock_);
    if (is_done())
        return false;
    if (has_failed_)
        words_->process.refuse_ended();
    waiting_.push_back(&queue);
    return true;
}

namespace {

class Record final : public Work {
public:
    explicit Record(Event &event) : event_(&event) {}
    bool run(Queue &) override {
        event_->complete();
        return true;
    }

private:
    IntrusivePtr<Event> event_;
};

class Wait final : public Work {
public:
    explicit Wait(Event &event) : event_(&event) {}
    bool run(Queue &queue) override { return !event_->defer_completion_of(queue); }

private:
    IntrusivePtr<Event> event_;
};

ep_status event_record(ep_queue queue, std::uint32_t, ep_event *event) {
    return guarded([&] {
        auto made = std::make_unique<Event>(object(queue));
        object(queue).submit(Record(*made));
        *event = handle(made.release());
    });
}

ep_status event_record_context(ep_context, ep_event *) {
    return guarded(
        [] { refuse(EP_UNSUPPORTED, "the host knows of no work but that of its queues"); });
}

ep_status event_wait_in_queue(ep_queue queue, ep_event event) {
    return guarded([&] {
        if (object(event).is_done())
            return;
        object(event).refuse_if_orphaned();
        object(queue).submit(Wait(object(event)));
    });
}

ep_status event_wait(ep_event event) {
    return guarded([&] { object(event).wait(); });
}

ep_status event_is_done(ep_event event, std::int32_t *done) {
    return guarded([&] {
        const bool is_done = object(event).is_done();
        if (!is_done)
            object(event).refuse_if_ended();
        *done = is_done;
    });
}

ep_status event_seconds(ep_event from, ep_event to, double *seconds) {
    return guarded([&] {
        const Event &first = object(from), &second = object(to);
        if (!first.timed || !second.timed)
            refuse(EP_INVALID, "an event of a queue without profiling has no time: create the "
                               "queue with EP_QUEUE_PROFILING");
        if (!first.is_done() || !second.is_done())
            refuse(EP_INVALID, "an event that is not done has no time yet: wait for it first");
        *seconds = second.seconds() - first.seconds();
    });
}

ep_status event_native(ep_event event, void **native) {
    *native = event;
    return EP_OK;
}

ep_status event_from_native(void *native, ep_event *event) {
    *event = static_cast<ep_event>(native);
    object(*event).retain();
    return EP_OK;
}

void event_release(ep_event event) { object(event).release(); }

}  // namespace

void fill_event_functions(ep_backend &table) {
    table.event_record = event_record;
    table.event_record_context = event_record_context;
    table.event_wait_in_queue = event_wait_in_queue;
    table.queue_wait_queue = wait_by_event<event_record, event_wait_in_queue, event_release>;
    table.event_wait = event_wait;
    table.event_is_done = event_is_done;
    table.event_seconds = event_seconds;
    table.event_native = event_native;
    table.event_from_native = event_from_native;
    table.event_release = event_release;
}

}  // namespace entrepot::backends::host
