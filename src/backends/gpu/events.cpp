// Events: recorded in a stream; other streams or the host wait for them.
#include "backends/gpu/native.hpp"

namespace entrepot::backends::gpu {
namespace {

ep_status event_record(ep_queue queue, std::uint32_t, ep_event *event) {
    return guarded([&] { *event = handle(object(queue).record().detach()); });
}

ep_status event_record_context(ep_context context, ep_event *event) {
    return guarded([&] {
        if (driver().cuCtxRecordEvent == nullptr)
            refuse(EP_UNSUPPORTED, context_mark_advice);
        Context &of = object(context);
        if (has_captures(of))  // recording would invalidate them
            refuse(EP_INVALID, "no event can be recorded for all work of a context while a "
                               "stream of it is being captured into a graph");
        IntrusivePtr<Event> made = of.take_event();
        check(driver().cuCtxRecordEvent(of.native, made->native), "cuCtxRecordEvent");
        *event = handle(made.detach());
    });
}

ep_status event_wait_in_queue(ep_queue queue, ep_event event) {
    return guarded([&] {
        if (object(event).is_of_other_process() && object(event).is_done())
            return;
        object(queue).set_may_be_captured();  // waiting may pull it into the event's capture
        object(queue).submit([&](CUstream stream) {
            check(driver().cuStreamWaitEvent(stream, object(event).native, CU_EVENT_WAIT_DEFAULT),
                  "cuStreamWaitEvent");
        });
    });
}

[[gnu::hot]] ep_status queue_wait_queue(ep_queue from, ep_queue to) {
    return guarded([&] { object(from).order_before(object(to)); });
}

ep_status event_wait(ep_event event) {
    return guarded([&] { object(event).wait(); });
}

ep_status event_is_done(ep_event event, std::int32_t *done) {
    return guarded([&] { *done = object(event).is_done(); });
}

ep_status event_seconds(ep_event from, ep_event to, double *seconds) {
    return guarded([&] {
        if (!object(from).is_timed || !object(to).is_timed)
            refuse(EP_INVALID, "an event of a queue without profiling has no time: create the "
                               "queue with EP_QUEUE_PROFILING");
        float milliseconds = 0;
        const CUresult code =
            driver().event_elapsed_time(&milliseconds, object(from).native, object(to).native);
        if (code == CUDA_ERROR_NOT_READY)
            refuse(EP_INVALID, "an event that is not done has no time yet: wait for it first");
        check(code, "cuEventElapsedTime");
        *seconds = static_cast<double>(milliseconds) * 1e-3;
    });
}

ep_status event_native(ep_event event, void **native) {
    return guarded([&] { *native = object(event).native; });
}

// Only the driver knows whether the event is timed: event_seconds asks it.
ep_status event_from_native(void *native, ep_event *event) {
    return guarded(
        [&] { *event = handle(new Event(static_cast<CUevent>(native), nullptr, true)); });
}

void event_release(ep_event event) { object(event).release(); }

}  // namespace

Event::Event(CUevent event, Context *of, bool timed)
    : native(event), is_timed(timed), is_owned_(of != nullptr) {
    if (of != nullptr)
        enter(*of);
}

Event::Event(CUevent event, std::shared_ptr<const ProcessLife> recorder)
    : native(event), is_timed(false), is_owned_(true), recorder_(std::move(recorder)) {}

Event::~Event() {
    if (is_owned_)
        driver().cuEventDestroy(native);
}

void Event::enter(Context &of) noexcept {
    context_ = &of;
    of.retain();
}

// Submitted waits keep the event's state at that time, so it can be reused or destroyed at once.
void Event::end(Event *self) noexcept {
    Context *const of = std::exchange(self->context_, nullptr);
    if (of == nullptr)
        return delete self;
    of->keep_event(*self);
    of->release();
}

bool Event::query() const {
    const RelaxedCaptureMode relaxed;
    const CUresult code = driver().cuEventQuery(native);
    if (code != CUDA_ERROR_NOT_READY)
        check(code, "cuEventQuery");
    return code == CUDA_SUCCESS;
}

bool Event::is_done() const {
    return is_of_other_process() ? recorder_->is_done([this] { return query(); }) : query();
}

void Event::wait() const {
    if (is_of_other_process())
        return recorder_->wait([this] { return query(); });
    const RelaxedCaptureMode relaxed;
    check(driver().cuEventSynchronize(native), "cuEventSynchronize");
}

IntrusivePtr<Event> Queue::record() {
    if (!is_of_this_thread()) {
        if (Event *const last = last_mark())
            return IntrusivePtr<Event>::adopt(last);
        refuse(EP_INVALID, "no event of another thread's per-thread default stream (2) can be "
                           "recorded here: record it in that thread");
    }
    if (native == CU_STREAM_LEGACY)
        capture();
    IntrusivePtr<Event> event = context->take_event(is_profiling());
    const Current current(context->native);
    check(driver().cuEventRecord(event->native, native), "cuEventRecord");
    if (thread != 0 && capture() == 0)
        remember(*event);
    return event;
}

[[gnu::hot]] void Queue::order_before(Queue &to) {
    const auto wait_in = [](CUstream stream, const Event &mark) {
        check(driver().cuStreamWaitEvent(stream, mark.native, CU_EVENT_WAIT_DEFAULT),
              "cuStreamWaitEvent");
    };
    const auto wait_for = [&](const Event &mark) {
        to.submit([&](CUstream stream) { wait_in(stream, mark); });
    };
    if (!is_of_this_thread())
        return wait_for(*record());
    if (native == CU_STREAM_LEGACY)
        capture();
    Event *const kept = wait_event_.exchange(nullptr, std::memory_order_acquire);
    IntrusivePtr<Event> mark =
        kept != nullptr ? IntrusivePtr<Event>::adopt(kept) : context->take_event();
    const Current current(context->native);  // for cuStreamWaitEvent below, too
    check(driver().cuEventRecord(mark->native, native), "cuEventRecord");
    // A stream that waits for an event recorded during capture is pulled into the graph.
    if (native != CU_STREAM_LEGACY)
        require_running("a wait for");
    if (&*to.context == &*context && to.is_ordinary()) [[likely]]
        wait_in(to.native, *mark);
    else
        wait_for(*mark);
    Event *none = nullptr;
    if (wait_event_.compare_exchange_strong(none, &*mark, std::memory_order_release,
                                            std::memory_order_relaxed))
        mark.detach();
}

void fill_event_functions(ep_backend &table) {
    table.event_record = event_record;
    table.event_record_context = event_record_context;
    table.event_wait_in_queue = event_wait_in_queue;
    table.queue_wait_queue = queue_wait_queue;
    table.event_wait = event_wait;
    table.event_is_done = event_is_done;
    table.event_seconds = event_seconds;
    table.event_native = event_native;
    table.event_from_native = event_from_native;
    table.event_release = event_release;
}

}  // namespace entrepot::backends::gpu
