// Queues: Entrepot's own streams, which do not wait for the legacy default stream, and wrapped
// streams of other libraries.
#include "backends/gpu/native.hpp"
#include "backends/handle_table.hpp"
#include "core/no_destructor.hpp"
#include "core/thread_number.hpp"

#include <limits>
#include <map>
#include <tuple>

namespace entrepot::backends::gpu {
namespace {

std::uint64_t thread_of(CUstream stream) noexcept {
    return stream == CU_STREAM_PER_THREAD ? number_of_this_thread() : 0;
}

// Streams with a handle. The per-thread stream has one for each thread.
using Key = std::tuple<CUstream, CUcontext, std::uint64_t>;
using Known = HandleTable<Key, Queue, std::map<Key, Queue *>>;

Known &known_queues() {
    static NoDestructor<Known> all;
    return *all;
}

Key key_of(const Queue &queue) noexcept {
    return {queue.native, queue.context->native, queue.thread};
}

IntrusivePtr<Queue> intern_queue(Context &context, CUstream stream) {
    return known_queues().intern({stream, context.native, thread_of(stream)}, [&] {
        return std::make_unique<Queue>(context, stream, 0, false);
    });
}

// An object that a graph owns. The driver releases it on one of its own threads, also if the graph
// could not take it.
struct Kept {
    void *user;
    void (*release)(void *user);  // NULL: the caller still owns `user`

    static void end(void *given) {
        const std::unique_ptr<Kept> mine(static_cast<Kept *>(given));
        if (mine->release != nullptr)
            mine->release(mine->user);
    }
};

bool is_default_stream(CUstream stream) noexcept {
    return stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD;
}

// Default streams belong to the named context, else to the current one, else to the first device's,
// as in the runtime API.
IntrusivePtr<Context> context_of(CUstream stream, Context *named) {
    CUcontext native = nullptr;
    if (!is_default_stream(stream))
        check(driver().cuStreamGetCtx(stream, &native), "cuStreamGetCtx");
    else if (named != nullptr)
        return IntrusivePtr<Context>(named);
    else
        check(driver().cuCtxGetCurrent(&native), "cuCtxGetCurrent");
    return native != nullptr ? intern(native) : primary_context(*devices().at(0));
}

CUstream create_stream(Context &context) {
    const Current current(context.native);
    CUstream stream = nullptr;
    check(driver().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
    return stream;
}

ep_status queue_create(ep_context context, ep_device device, std::uint32_t flags, ep_queue *queue) {
    return guarded([&] {
        require_known_flags(flags);
        Context &in = object(context);
        if (&in.device != &object(device))
            refuse(EP_INVALID, object(device).selector(),
                   " is not the device of the context, which is ", in.device.selector(),
                   ": create the queue in that device's own context");
        // A stream is in order, which also satisfies a request for out of order. Memory for the
        // object is allocated before the stream is created, so a failure loses no stream.
        auto made = IntrusivePtr<Queue>::adopt(
            new Queue(in, create_stream(in), flags & EP_QUEUE_PROFILING, true));
        known_queues().enter(key_of(*made), *made);
        *queue = handle(made.detach());
    });
}

ep_status queue_from_native(ep_context context, void *native, ep_queue *queue) {
    return guarded([&] {
        const CUstream given = *static_cast<const CUstream *>(native);
        const CUstream stream = given == nullptr ? CU_STREAM_LEGACY : given;
        IntrusivePtr<Queue> made = intern_queue(
            *context_of(stream, context == nullptr ? nullptr : &object(context)), stream);
        if (made->thread != 0)
            made->mark();  // only this thread can record an event in it
        *queue = handle(made.detach());
    });
}

ep_status queue_native(ep_queue queue, void **native) {
    return guarded([&] {
        object(queue).set_may_be_captured();
        *native = const_cast<CUstream *>(&object(queue).native);
    });
}

void queue_release(ep_queue queue) { object(queue).release(); }

ep_status queue_context(ep_queue queue, ep_context *context) {
    return guarded([&] {
        object(queue).context->retain();
        *context = handle(&*object(queue).context);
    });
}

ep_status queue_device(ep_queue queue, ep_device *device) {
    return guarded([&] { *device = handle(&object(queue).device()); });
}

ep_status queue_flags(ep_queue queue, std::uint32_t *flags) {
    return guarded([&] { *flags = object(queue).flags; });
}

ep_status queue_wait(ep_queue queue) {
    return guarded([&] { object(queue).wait(); });
}

ep_status queue_is_idle(ep_queue queue, std::int32_t *idle) {
    return guarded([&] { *idle = object(queue).is_idle(); });
}

ep_status queue_capture(ep_queue queue, std::uint64_t *capture) {
    return guarded([&] { *capture = object(queue).capture(); });
}

ep_status queue_keep(ep_queue queue, void *user, void (*release)(void *user)) {
    return guarded([&] { object(queue).keep(user, release); });
}

}  // namespace

Queue::Queue(Context &in, CUstream stream, std::uint32_t granted, bool owned)
    : context(&in), native(stream), flags(granted), is_owned(owned), thread(thread_of(stream)),
      may_be_captured_(!owned) {}

// The driver completes a destroyed stream's work.
Queue::~Queue() {
    for (Event *const mark : {last_, wait_event_.load(std::memory_order_acquire)})
        if (mark != nullptr)
            mark->release();
    if (is_owned)
        driver().cuStreamDestroy(native);
}

void Queue::end(Queue *self) noexcept {
    known_queues().forget(key_of(*self), *self);
    delete self;
}

bool Queue::is_of_this_thread() const noexcept {
    return thread == 0 || thread == number_of_this_thread();
}

void Queue::require_own_thread() const {
    if (!is_of_this_thread())
        refuse(EP_INVALID, "the per-thread default stream (2) of another thread takes no work "
                           "here: in this thread 2 is another "
                           "stream; wrap that, or use a queue of your own");
}

std::uint64_t Queue::capture() const {
    // Stands for an invalidated capture; no real one has this number. Nothing waits for work in it,
    // and the driver will report the reason.
    constexpr std::uint64_t invalidated = std::numeric_limits<std::uint64_t>::max();
    if (!may_be_captured_.load(std::memory_order_relaxed) || !is_of_this_thread())
        return 0;
    const Current current(context->native);  // default streams belong to it
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    cuuint64_t number = 0;
    const CUresult code =
        driver().capture_info(native, &status, &number, nullptr, nullptr, nullptr);
    if (code == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT)
        refuse(EP_UNSUPPORTED, "the legacy default stream takes no work while a stream that it "
                               "waits for is captured: capture a "
                               "stream that was made non-blocking, or end the capture first");
    check(code, "cuStreamGetCaptureInfo");
    return status == CU_STREAM_CAPTURE_STATUS_NONE     ? 0
           : status == CU_STREAM_CAPTURE_STATUS_ACTIVE ? number
                                                       : invalidated;
}

void Queue::keep(void *user, void (*release_user)(void *user)) {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    CUgraph graph = nullptr;
    const Current current(context->native);
    check(driver().capture_info(native, &status, nullptr, &graph, nullptr, nullptr),
          "cuStreamGetCaptureInfo");
    if (status != CU_STREAM_CAPTURE_STATUS_ACTIVE)
        refuse(EP_UNSUPPORTED, "the queue is not captured, or its capture has failed: there is no "
                               "graph to keep anything");
    auto kept = std::make_unique<Kept>(Kept{user, release_user});
    CUuserObject object = nullptr;
    check(driver().cuUserObjectCreate(&object, kept.get(), Kept::end, 1,
                                      CU_USER_OBJECT_NO_DESTRUCTOR_SYNC),
          "cuUserObjectCreate");
    Kept &given = *kept.release();
    const CUresult code =
        driver().cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE);
    if (code == CUDA_SUCCESS)
        return;
    given.release = nullptr;
    driver().cuUserObjectRelease(object, 1);
    fail(code, "cuGraphRetainUserObject");
}

// Checked here because the driver would also invalidate the capture.
void Queue::require_running(const char *what) const {
    if (capture() != 0)
        refuse(EP_UNSUPPORTED, what,
               " a queue that is being captured into a graph was asked for: what it holds runs "
               "when the graph "
               "does; end the capture first");
}

namespace {

// Returns: true if the queue is capturing, false if the driver refuses to say so. has_captures()
//          itself checks the legacy stream.
bool is_capturing(const Queue &queue) noexcept {
    try {
        return queue.capture() != 0;
    } catch (...) {
        return false;
    }
}

}  // namespace

bool has_captures(const Context &context) {
    const Current current(context.native);
    const auto is_captured = [](CUstream stream) {
        CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
        return driver().capture_info(stream, &status, nullptr, nullptr, nullptr, nullptr) !=
                   CUDA_SUCCESS ||
               status != CU_STREAM_CAPTURE_STATUS_NONE;
    };
    void *const foreign =
        loader->foreign_queue(selector_word, static_cast<std::uint32_t>(context.device.native));
    return is_captured(CU_STREAM_LEGACY) ||
           (foreign != nullptr && is_captured(static_cast<CUstream>(foreign))) ||
           known_queues().any_of([&](const Queue &queue) {
               return &*queue.context == &context && queue.is_of_this_thread() &&
                      is_capturing(queue);
           });
}

Event *Queue::last_mark() {
    const MutexLock lock(mutex_);
    if (last_ != nullptr)
        last_->retain();
    return last_;
}

void Queue::mark() {
    if (capture() == 0)
        record();
}

void Queue::remember(Event &mark) noexcept {
    mark.retain();
    Event *earlier;
    {
        const MutexLock lock(mutex_);
        earlier = std::exchange(last_, &mark);
    }
    if (earlier != nullptr)
        earlier->release();
}

void Queue::wait() {
    if (is_of_this_thread()) {
        require_running("the end of the work of");
        const Current current(context->native);
        const RelaxedCaptureMode relaxed;
        check(driver().cuStreamSynchronize(native), "cuStreamSynchronize");
    } else if (Event *const last = last_mark()) {
        IntrusivePtr<Event>::adopt(last)->wait();
    }
}

bool Queue::is_idle() {
    if (!is_of_this_thread()) {
        Event *const last = last_mark();
        return last == nullptr || IntrusivePtr<Event>::adopt(last)->is_done();
    }
    require_running("whether there is work in");
    const Current current(context->native);
    const RelaxedCaptureMode relaxed;
    const CUresult code = driver().cuStreamQuery(native);
    if (code != CUDA_ERROR_NOT_READY)
        check(code, "cuStreamQuery");
    return code == CUDA_SUCCESS;
}

void fill_queue_functions(ep_backend &table) {
    table.queue_create = queue_create;
    table.queue_from_native = queue_from_native;
    table.queue_native = queue_native;
    table.queue_release = queue_release;
    table.queue_hash = hash_of<ep_queue>;
    table.queue_context = queue_context;
    table.queue_device = queue_device;
    table.queue_flags = queue_flags;
    table.queue_wait = queue_wait;
    table.queue_wait_submitted = queue_wait;
    table.queue_is_idle = queue_is_idle;
    table.queue_capture = queue_capture;
    table.queue_keep = queue_keep;
}

}  // namespace entrepot::backends::gpu
