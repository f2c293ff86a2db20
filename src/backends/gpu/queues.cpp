// Queues: streams of our own, which do not wait for the legacy default stream, and other people's as they are.
#include "backends/gpu/native.hpp"

#include "core/thread_number.hpp"

#include <map>
#include <tuple>

namespace entrepot::backends::ENTREPOT_GPU {
namespace {

std::uint64_t thread_of(CUstream stream) noexcept { return stream == CU_STREAM_PER_THREAD ? number_of_this_thread() : 0; }

// The streams that have a handle. One without references stays here until its releaser has the lock.
class Known {
public:
    static Known &only() {
        static Known &all = *new Known;
        return all;
    }

    // The handle of the stream in that context and, where it matters, this thread; made if there is none.
    Reference<Queue> intern(Context &context, CUstream stream) {
        const std::lock_guard hold(mutex_);
        Queue *&entered = handles_[{stream, context.native, thread_of(stream)}];
        if (entered == nullptr || !entered->retain_if_alive())
            entered = new Queue(context, stream, 0, false);
        return Reference<Queue>::adopt(*entered);
    }

    void enter(Queue &queue) {
        const std::lock_guard hold(mutex_);
        handles_[key_of(queue)] = &queue;
    }

    void forget(Queue &queue) noexcept {
        const std::lock_guard hold(mutex_);
        const auto found = handles_.find(key_of(queue));
        if (found != handles_.end() && found->second == &queue)  // else somebody wrapped the stream anew meanwhile
            handles_.erase(found);
    }

private:
    using Key = std::tuple<CUstream, CUcontext, std::uint64_t>;
    static Key key_of(const Queue &queue) noexcept { return {queue.native, queue.context->native, queue.thread}; }

    std::mutex mutex_;
    std::map<Key, Queue *> handles_;
};

bool is_default_stream(CUstream stream) noexcept { return stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD; }

// The default streams are those of the context that is named, or of the caller's current one; where there is none, of the first
// device, as for the runtime.
Reference<Context> context_of(CUstream stream, Context *named) {
    CUcontext native = nullptr;
    if (!is_default_stream(stream))
        check(driver().cuStreamGetCtx(stream, &native), "cuStreamGetCtx");
    else if (named != nullptr)
        return Reference<Context>(*named);
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
        if ((flags & ~std::uint32_t{EP_QUEUE_PROFILING | EP_QUEUE_OUT_OF_ORDER}) != 0)
            refuse(EP_INVALID, "queue flags ", flags, " hold one that ep_queue_flag has not");
        Context &in = object(context);
        if (&in.device != &object(device))
            refuse(EP_INVALID, object(device).selector(), " is not the device of the context, which is ", in.device.selector(),
                   ": create the queue in that device's own context");
        // A stream is in order; who asks for less gets more.
        auto *const made = new Queue(in, create_stream(in), flags & EP_QUEUE_PROFILING, true);
        Known::only().enter(*made);
        *queue = handle(made);
    });
}

ep_status queue_from_native(ep_context context, void *native, ep_queue *queue) {
    return guarded([&] {
        const CUstream given = *static_cast<const CUstream *>(native);
        const CUstream stream = given == nullptr ? CU_STREAM_LEGACY : given;
        Reference<Queue> known =
            Known::only().intern(*context_of(stream, context == nullptr ? nullptr : &object(context)), stream);
        if (known->thread != 0)
            known->mark();  // what the stream holds now is its thread's to say
        *queue = handle(known.detach());
    });
}

ep_status queue_native(ep_queue queue, void **native) {
    return guarded([&] { *native = const_cast<CUstream *>(&object(queue).native); });
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

}  // namespace

Queue::Queue(Context &in, CUstream stream, std::uint32_t granted, bool owned)
    : context(in), native(stream), flags(granted), is_owned(owned), thread(thread_of(stream)) {}

// The driver lets a stream finish what it holds.
Queue::~Queue() {
    if (last_ != nullptr)
        last_->release();
    if (is_owned)
        driver().cuStreamDestroy(native);
}

void Queue::end(Queue *self) noexcept {
    Known::only().forget(*self);
    delete self;
}

bool Queue::is_of_this_thread() const noexcept { return thread == 0 || thread == number_of_this_thread(); }

void Queue::require_own_thread() const {
    if (!is_of_this_thread())
        refuse(EP_INVALID, "the per-thread default stream (2) of another thread takes no work here: in this thread 2 is another "
                           "stream; wrap that, or use a queue of your own");
}

Event *Queue::last_mark() {
    const std::lock_guard hold(mutex_);
    if (last_ != nullptr)
        last_->retain();
    return last_;
}

void Queue::mark() {
    Reference<Event> marked = record();
    Event *earlier;
    {
        const std::lock_guard hold(mutex_);
        earlier = std::exchange(last_, marked.detach());
    }
    if (earlier != nullptr)
        earlier->release();
}

void Queue::wait() {
    if (is_of_this_thread()) {
        const Current current(context->native);
        check(driver().cuStreamSynchronize(native), "cuStreamSynchronize");
    } else if (Event *const last = last_mark()) {
        Reference<Event>::adopt(*last)->wait();
    }
}

bool Queue::is_idle() {
    if (!is_of_this_thread()) {
        Event *const last = last_mark();
        return last == nullptr || Reference<Event>::adopt(*last)->is_done();
    }
    const Current current(context->native);
    const CUresult code = driver().cuStreamQuery(native);
    if (code != CUDA_ERROR_NOT_READY)
        check(code, "cuStreamQuery");
    return code == CUDA_SUCCESS;
}

void enter_queues(ep_backend &table) {
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
}

}  // namespace entrepot::backends::ENTREPOT_GPU
