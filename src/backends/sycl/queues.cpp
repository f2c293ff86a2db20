// Queues: those created here are in order unless asked otherwise, and keep errors of asynchronous
// work until a wait reports them.
#include "backends/handle_table.hpp"
#include "backends/sycl/native.hpp"
#include "core/no_destructor.hpp"

#include <algorithm>
#include <chrono>

namespace entrepot::backends::sycl {
namespace {

namespace property = ::sycl::property::queue;

std::uint32_t flags_of(const ::sycl::queue &queue) {
    return (queue.is_in_order() ? 0u : static_cast<std::uint32_t>(EP_QUEUE_OUT_OF_ORDER)) |
           (queue.has_property<property::enable_profiling>()
                ? static_cast<std::uint32_t>(EP_QUEUE_PROFILING)
                : 0u);
}

// Queues with a handle, by the runtime's own object.
HandleTable<const void *, Queue> &known_queues() {
    static NoDestructor<HandleTable<const void *, Queue>> all;
    return *all;
}

// Not a copy of the queue, which would count as another owner.
const void *key_of(const ::sycl::queue &queue) {
    return ::sycl::detail::getSyclObjImpl(queue).get();
}

IntrusivePtr<Queue> intern_queue(const ::sycl::queue &native) {
    return known_queues().intern(key_of(native), [&] {
        return std::make_unique<Queue>(intern(native.get_context()), device_of(native.get_device()),
                                       native, flags_of(native), nullptr);
    });
}

// Queues without references whose destruction must be delayed, for one of two reasons:
// - The queue still works. Errors of a destroyed queue reach the runtime's default handler, which
//   terminates the process.
// - It is out of order. Intel's CPU driver (2026.2) hangs a worker thread if the queue's last copy
//   is destroyed while that thread releases the queue's last command. The thread may still do so
//   for a moment after a wait. If other code has copies, ours is kept until theirs are gone, since
//   the last of those may be destroyed right after ours.
class DeferredQueueDestruction {
public:
    static DeferredQueueDestruction &only() {
        static NoDestructor<DeferredQueueDestruction> all;
        return *all;
    }

    static bool needs_deferral(Queue &queue) {
        return !queue.is_in_order() || (queue.error && !is_idle_for_sure(queue));
    }

    // One copy of a queue suffices; two would wait for each other.
    void keep(Queue &queue) { keep(queue, Clock::now()); }

    // Destroys the queues that no longer need to be kept.
    void sweep() {
        if (is_empty_.load(std::memory_order_relaxed))
            return;
        std::vector<Kept> asked;
        {
            const MutexLock lock(mutex_);
            asked.swap(queues_);
            is_empty_.store(true, std::memory_order_relaxed);
        }
        // without the mutex: the runtime is asked
        for (Kept &kept : asked)
            if (is_safe_to_destroy(kept))
                destroy(*kept.queue);
            else
                keep(*kept.queue, kept.since);
    }

    static void destroy(Queue &queue) {
        if (queue.error)
            log_error(queue);
        delete &queue;
    }

private:
    using Clock = std::chrono::steady_clock;
    struct Kept {
        Queue *queue;
        Clock::time_point since;
    };

    void keep(Queue &queue, Clock::time_point since) {
        {
            const MutexLock lock(mutex_);
            const auto same = std::find_if(queues_.begin(), queues_.end(), [&](const Kept &kept) {
                return kept.queue->native == queue.native;
            });
            if (same == queues_.end()) {
                queues_.push_back({&queue, since});
                is_empty_.store(false, std::memory_order_relaxed);
                return;
            }
            same->since = Clock::now();
        }
        destroy(queue);
    }

    static bool is_safe_to_destroy(Kept &kept) {
        constexpr auto moment = std::chrono::milliseconds(500);
        if (kept.queue->is_in_order())
            return is_idle_for_sure(*kept.queue);
        if (others_have(kept.queue->native))
            kept.since = Clock::now();
        return Clock::now() - kept.since > moment && is_idle_for_sure(*kept.queue);
    }

    // A queue of a lost device cannot be asked: it stays, and the error is ignored.
    static bool is_idle_for_sure(Queue &queue) noexcept {
        try {
            return queue.is_idle();
        } catch (...) {
            return false;
        }
    }

    static bool others_have(const ::sycl::queue &queue) {
        return ::sycl::detail::getSyclObjImpl(queue).use_count() > 1;
    }

    static void log_error(Queue &queue) {
        try {
            queue.native.throw_asynchronous();
            queue.error->report();
        } catch (const std::exception &error) {
            loader->log(
                (std::string("a queue was destroyed with an unreported error: ") + error.what())
                    .c_str());
        }
    }

    LeafMutex mutex_;
    std::vector<Kept> queues_ ENTREPOT_GUARDED_BY(mutex_);
    std::atomic<bool> is_empty_{true};
};

void require_usable(const Context &context, const Device &device, std::uint32_t flags) {
    if ((flags & EP_QUEUE_PROFILING) && !(device.info.aspects & EP_PROFILING))
        refuse(EP_UNSUPPORTED, device.selector(),
               " cannot measure time: create the queue without profiling");
    if (std::find(context.devices.begin(), context.devices.end(), &device) == context.devices.end())
        refuse(EP_INVALID, device.selector(), " is not a device of the context",
               device.parent ? " (the default context has root devices only)" : "",
               ": create a context of this device for the queue");
}

::sycl::queue create_queue(const Context &context, const Device &device, std::uint32_t flags,
                           const ::sycl::async_handler &handler) {
    switch (flags) {
    case 0:
        return {context.native, device.native, handler, {property::in_order{}}};
    case EP_QUEUE_PROFILING:
        return {context.native,
                device.native,
                handler,
                {property::in_order{}, property::enable_profiling{}}};
    case EP_QUEUE_OUT_OF_ORDER:
        return {context.native, device.native, handler};
    default:
        return {context.native, device.native, handler, {property::enable_profiling{}}};
    }
}

ep_status queue_create(ep_context context, ep_device device, std::uint32_t flags, ep_queue *queue) {
    return guarded([&] {
        require_known_flags(flags);
        Context &in = object(context);
        require_usable(in, object(device), flags);
        DeferredQueueDestruction::only().sweep();
        auto error = std::make_shared<AsyncError>();
        const ::sycl::queue native =
            create_queue(in, object(device), flags,
                         [error](::sycl::exception_list errors) { error->keep(errors); });
        auto made = IntrusivePtr<Queue>::adopt(
            new Queue(IntrusivePtr<Context>(&in), object(device), native, flags, std::move(error)));
        known_queues().enter(key_of(native), *made);
        *queue = handle(made.detach());
    });
}

ep_status queue_from_native(ep_context, void *native, ep_queue *queue) {
    return guarded([&] {
        *queue = handle(intern_queue(*static_cast<const ::sycl::queue *>(native)).detach());
    });
}

ep_status queue_native(ep_queue queue, void **native) {
    return guarded([&] {
        object(queue).set_may_be_shared();
        *native = &object(queue).native;
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
    return guarded([&] { *device = handle(&object(queue).device); });
}

ep_status queue_flags(ep_queue queue, std::uint32_t *flags) {
    return guarded([&] { *flags = object(queue).flags; });
}

ep_status queue_wait(ep_queue queue) {
    return guarded([&] { object(queue).wait(); });
}

ep_status queue_wait_submitted(ep_queue queue) {
    return guarded([&] { object(queue).wait_submitted(); });
}

ep_status queue_is_idle(ep_queue queue, std::int32_t *idle) {
    return guarded([&] { *idle = object(queue).is_idle(); });
}

// Capture is not supported.
ep_status queue_capture(ep_queue, std::uint64_t *capture) {
    *capture = 0;
    return EP_OK;
}

ep_status queue_keep(ep_queue, void *, void (*)(void *)) {
    return guarded([&] {
        refuse(EP_UNSUPPORTED, "the queue is not captured: there is no graph to keep anything");
    });
}

}  // namespace

void AsyncError::keep(const ::sycl::exception_list &errors) noexcept {
    for (const std::exception_ptr &error : errors) {
        try {
            std::rethrow_exception(error);
        } catch (const std::exception &known) {
            keep_first(known.what());
        } catch (...) {
            keep_first("something that is not a std::exception");
        }
    }
}

void AsyncError::keep_first(const char *message) noexcept {
    const MutexLock lock(mutex_);
    if (pending_.load(std::memory_order_relaxed))
        return;
    try {
        message_ = message;
    } catch (...) {  // no memory: the error is reported without its text
        message_.clear();
    }
    pending_.store(true, std::memory_order_release);
}

void AsyncError::report() {
    if (!pending_.load(std::memory_order_acquire))
        return;
    const MutexLock lock(mutex_);
    if (pending_.exchange(false))
        refuse(EP_DEVICE_ERROR, "work that was submitted earlier failed: ", message_);
}

void Queue::end(Queue *self) noexcept {
    guarded([&] {
        known_queues().forget(key_of(self->native), *self);
        DeferredQueueDestruction::only().sweep();
        if (DeferredQueueDestruction::needs_deferral(*self))
            DeferredQueueDestruction::only().keep(*self);
        else
            DeferredQueueDestruction::destroy(*self);
    });
}

// The handler of a wrapped queue is not called: the default one would terminate the process, and
// any other belongs to its owner.
template <class Waitable> void Queue::wait_for(Waitable &&waitable) {
    std::optional<ExclusiveWaitLock> lock;
    if (requires_exclusive_wait())
        lock.emplace(*locks);
    if (!error)
        return waitable.wait();
    waitable.wait_and_throw();
    error->report();
}

void Queue::wait() {
    if (is_shared_)
        wait_for(native);
    else
        wait_submitted();
}

void Queue::wait_submitted() {
    std::optional<::sycl::event> last;
    {
        const std::lock_guard hold(locks->mutex);
        last = last_;
    }
    if (last)
        wait_for(*last);
    else
        wait_for(native);
}

bool Queue::is_idle() {
    const std::unique_lock lock = try_submit_lock();
    return lock && native.ext_oneapi_empty();
}

// Locks the queue for a query or for recording an event. Returns no lock if another thread waits
// for the queue, rather than block until that wait ends.
std::unique_lock<std::mutex> Queue::try_submit_lock() {
    std::unique_lock lock(locks->mutex, std::defer_lock);
    while (!lock.try_lock() && locks->waiting.load() == 0)
        std::this_thread::yield();
    return lock;
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
    table.queue_wait_submitted = queue_wait_submitted;
    table.queue_is_idle = queue_is_idle;
    table.queue_capture = queue_capture;
    table.queue_keep = queue_keep;
}

}  // namespace entrepot::backends::sycl
