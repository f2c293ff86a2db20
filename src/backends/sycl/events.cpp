// Events: recorded in a queue; other queues or the host wait for them.
#include "backends/sycl/extensions.hpp"
#include "backends/sycl/native.hpp"

namespace entrepot::backends::sycl {
namespace {

// True if the driver has the command. The runtime holds back commands that wait for another context
// or a host task. Such an event has no native handle: requesting it would crash, and a barrier on
// it would block.
bool is_enqueued(const ::sycl::event &event) {
    return event.get_info<::sycl::info::event::reference_count>() != 0;
}

using NativeEvent = std::unique_ptr<std::remove_pointer_t<cl_event>, cl_int (*)(cl_event)>;

// An event of `context` that completes when `source`, an event of another OpenCL context, does.
NativeEvent relay(cl_event source, cl_context context) {
    cl_int code = CL_SUCCESS;
    NativeEvent relayed(opencl().create_user_event(context, &code), opencl().release_event);
    check(code, "clCreateUserEvent");
    const auto complete = [](cl_event, cl_int status, void *user) {
        const auto event = static_cast<cl_event>(user);
        opencl().set_user_event_status(event, status < 0 ? status : CL_COMPLETE);
        opencl().release_event(event);
    };
    check(opencl().retain_event(relayed.get()), "clRetainEvent");  // reference of the callback
    code = opencl().set_event_callback(source, CL_COMPLETE, complete, relayed.get());
    if (code != CL_SUCCESS)
        opencl().release_event(relayed.get());
    check(code, "clSetEventCallback");
    return relayed;
}

void submit_relayed_barrier(Queue &queue, const ::sycl::event &event) {
    std::vector<::sycl::event> relayed;
    for (const cl_event native : ::sycl::get_native<::sycl::backend::opencl>(event)) {
        const NativeEvent source(native, opencl().release_event);
        const NativeEvent ours = relay(native, queue.context->cl);
        relayed.push_back(
            ::sycl::make_event<::sycl::backend::opencl>({ours.get()}, queue.context->native));
    }
    const SubmitLock lock(queue);
    queue.native.ext_oneapi_submit_barrier(relayed);
}

void submit_barrier(Queue &queue, const ::sycl::event &event) {
    const SubmitLock lock(queue);
    queue.native.ext_oneapi_submit_barrier({event});
}

void submit_dependent_barrier(Queue &queue, const ::sycl::event &event) {
    const SubmitLock lock(queue);
    syclex::submit(queue.native, [&](::sycl::handler &handler) {
        handler.depends_on(event);
        handler.ext_oneapi_barrier();
    });
}

// Within a context the driver orders by itself. Across contexts the runtime holds back a barrier
// that depends on the event and, in an in-order queue, all later work. In an out-of-order queue
// later work would overtake that barrier, so the driver gets an event of its own context instead.
// Otherwise the host blocks.
void wait_in_queue(Queue &queue, Event &event) {
    if (event.is_done())
        return;
    if (event.is_of_other_process()) {
        const SubmitLock lock(queue);
        return wait_for_event(queue.native, event.native);
    }
    const bool enqueued = is_enqueued(event.native);
    if (enqueued && event.context == queue.context)
        submit_barrier(queue, event.native);
    else if (queue.is_in_order())
        submit_dependent_barrier(queue, event.native);
    else if (enqueued && queue.context->cl != nullptr &&
             event.native.get_backend() == ::sycl::backend::opencl)
        submit_relayed_barrier(queue, event.native);
    else
        event.wait_without_report();
}

ep_status event_record(ep_queue queue, std::uint32_t flags, ep_event *event) {
    return guarded([&] { *event = handle(object(queue).record(flags).detach()); });
}

ep_status event_record_context(ep_context, ep_event *) {
    return guarded([] {
        refuse(EP_UNSUPPORTED, "SYCL has no mark for all work of a context: mark each queue");
    });
}

ep_status event_wait_in_queue(ep_queue queue, ep_event event) {
    return guarded([&] { wait_in_queue(object(queue), object(event)); });
}

ep_status event_wait(ep_event event) {
    return guarded([&] { object(event).wait(); });
}

ep_status event_is_done(ep_event event, std::int32_t *done) {
    return guarded([&] { *done = object(event).is_done(); });
}

ep_status event_seconds(ep_event from, ep_event to, double *seconds) {
    return guarded([&] {
        const Event &first = object(from), &second = object(to);
        if (!first.is_done() || !second.is_done())
            refuse(EP_INVALID, "the time between two events was asked for, and ",
                   first.is_done() ? "the later" : "the earlier",
                   " is not done: wait for it first");
        const auto ended = [](const Event &event) {
            try {
                return static_cast<std::int64_t>(
                    event.native.get_profiling_info<::sycl::info::event_profiling::command_end>());
            } catch (const ::sycl::exception &error) {
                refuse(EP_INVALID,
                       "the event has no time: it must be recorded in a queue that was created for "
                       "profiling (",
                       error.what(), ")");
            }
        };
        *seconds = static_cast<double>(ended(second) - ended(first)) * 1e-9;
    });
}

ep_status event_native(ep_event event, void **native) {
    return guarded([&] { *native = &object(event).native; });
}

ep_status event_from_native(void *native, ep_event *event) {
    return guarded(
        [&] { *event = handle(new Event(*static_cast<const ::sycl::event *>(native))); });
}

void event_release(ep_event event) { object(event).release(); }

}  // namespace

Event::Event(const Queue &of, ::sycl::event event)
    : context(of.context), native(std::move(event)), error_(of.error),
      locks_(of.requires_exclusive_wait() ? of.locks : nullptr) {}

bool Event::is_complete() const {
    return native.get_info<::sycl::info::event::command_execution_status>() ==
           ::sycl::info::event_command_status::complete;
}

bool Event::is_done() const {
    const auto query = [this] { return is_complete(); };
    return is_of_other_process() ? recorder_->is_done(query) : query();
}

// Calls wait(native), serialized with other waits if the event's queue requires that (see
// QueueLocks).
template <class Wait> void Event::wait_exclusively(Wait &&wait) {
    std::optional<ExclusiveWaitLock> lock;
    if (locks_)
        lock.emplace(*locks_, [this] { return is_done(); });
    wait(native);
}

void Event::wait() {
    if (!error_)  // see Queue::wait_for
        return wait_without_report();
    wait_exclusively([](::sycl::event &event) { event.wait_and_throw(); });
    error_->report();
}

void Event::wait_without_report() {
    if (is_of_other_process())
        return recorder_->wait([this] { return is_complete(); });
    wait_exclusively([](::sycl::event &event) { event.wait(); });
}

// The last event of an in-order queue costs less than a barrier. It is not exact: with Intel's CPU
// driver (2026.2) a wait for it also waits for later work. With profiling, its time would be the
// end of the last work, not the time of recording. So those cases use a barrier.
IntrusivePtr<Event> Queue::record(std::uint32_t event_flags) {
    const std::unique_lock lock =
        (event_flags & EP_EVENT_PROMPT) != 0 ? try_submit_lock() : std::unique_lock(locks->mutex);
    if (!lock)
        return {};
    const auto made = [this](::sycl::event event) {
        return IntrusivePtr<Event>::adopt(new Event(*this, std::move(event)));
    };
    if (!is_in_order() || is_profiling() || (event_flags & EP_EVENT_EXACT) != 0)
        return made(native.ext_oneapi_submit_barrier());
    const std::optional<::sycl::event> last = native.ext_oneapi_get_last_event();
    return made(last ? *last : ::sycl::event{});  // a queue without work is done
}

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

}  // namespace entrepot::backends::sycl
