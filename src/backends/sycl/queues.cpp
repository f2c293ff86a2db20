// Queues: those created here are in order, and keep errors of asynchronous work until a wait
// reports them.
#include "native.hpp"
#include <entrepot/core/no_destructor.hpp>

#include <algorithm>
#include <chrono>
#include <unordered_map>

namespace entrepot::backends::sycl {

void AsyncError::keep(const ::sycl::exception_list &errors) noexcept {
    for (const std::exception_ptr &error : errors) {
        try {
            std::rethrow_exception(error);
        } catch (const std::exception &known) {
            std::lock_guard lock(mutex_);
            if (!pending_.load(std::memory_order_relaxed))
                message_ = known.what();
        } catch (...) {
            std::lock_guard lock(mutex_);
            if (!pending_.load(std::memory_order_relaxed))
                message_ = "something that is not a std::exception";
        }
        pending_.store(true, std::memory_order_release);
    }
}

void AsyncError::report() {
    if (!pending_.load(std::memory_order_acquire))
        return;
    std::lock_guard lock(mutex_);
    if (pending_.exchange(false))
        refuse(EP_DEVICE_ERROR, "work that was submitted earlier failed: ", message_);
}

namespace {

namespace property = ::sycl::property::queue;

constexpr std::uint32_t every_flag = EP_QUEUE_PROFILING | EP_QUEUE_OUT_OF_ORDER;

::sycl::queue create(ep_context context, ep_device device, std::uint32_t flags,
                     const ::sycl::async_handler &handler) {
    switch (flags) {
    case 0:
        return {context->native, device->native, handler, {property::in_order{}}};
    case EP_QUEUE_PROFILING:
        return {context->native,
                device->native,
                handler,
                {property::in_order{}, property::enable_profiling{}}};
    case EP_QUEUE_OUT_OF_ORDER:
        return {context->native, device->native, handler};
    default:
        return {context->native, device->native, handler, {property::enable_profiling{}}};
    }
}

void require_usable(ep_context context, ep_device device, std::uint32_t flags) {
    if (flags & ~every_flag)
        refuse(EP_INVALID, "queue flags ", flags, " hold one that ep_queue_flag has not");
    if ((flags & EP_QUEUE_PROFILING) && !(device->info.aspects & EP_PROFILING))
        refuse(EP_UNSUPPORTED, selector(device),
               " cannot measure time: create the queue without profiling");
    if (std::find(context->devices.begin(), context->devices.end(), device) ==
        context->devices.end())
        refuse(EP_INVALID, selector(device), " is not a device of the context",
               device->parent ? " (the default context has root devices only)" : "",
               ": create a context of this device for the queue");
}

std::uint32_t flags_of(const ::sycl::queue &queue) {
    return (queue.is_in_order() ? 0u : static_cast<std::uint32_t>(EP_QUEUE_OUT_OF_ORDER)) |
           (queue.has_property<property::enable_profiling>()
                ? static_cast<std::uint32_t>(EP_QUEUE_PROFILING)
                : 0u);
}

// Queues with a handle, by the runtime's own object: wrapping a native queue again, or one of
// Entrepot's, finds the same handle. A handle without references stays here until the thread that
// released it has the lock.
class Known {
public:
    static Known &only() {
        static NoDestructor<Known> all;
        return *all;
    }

    // Returns: one reference; nullptr if the queue has no handle.
    ep_queue find(const ::sycl::queue &native) {
        std::lock_guard lock(mutex_);
        const auto found = handles_.find(identity(native));
        return found != handles_.end() && found->second->retain_if_alive() ? found->second
                                                                           : nullptr;
    }

    // Returns: the handle that another thread has entered meanwhile, with a reference; else `queue`
    //          itself, which is entered.
    ep_queue enter(ep_queue queue) {
        std::lock_guard lock(mutex_);
        ep_queue &entered = handles_[identity(queue->native)];
        if (entered && entered->retain_if_alive())
            return entered;
        return entered = queue;
    }

    void forget(ep_queue queue) {
        std::lock_guard lock(mutex_);
        const auto found = handles_.find(identity(queue->native));
        if (found != handles_.end() && found->second == queue)  // else replaced by another thread
            handles_.erase(found);
    }

private:
    // Not a copy of the queue, which would count as another owner.
    static const void *identity(const ::sycl::queue &queue) {
        return ::sycl::detail::getSyclObjImpl(queue).get();
    }

    std::mutex mutex_;
    std::unordered_map<const void *, ep_queue> handles_;
};

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

    static bool needs_deferral(ep_queue queue) {
        return !queue->is_in_order() || (queue->error && !is_idle_for_sure(queue));
    }

    // One copy of a queue suffices; two would wait for each other.
    void keep(ep_queue queue) {
        {
            std::lock_guard lock(mutex_);
            const auto same = std::find_if(queues_.begin(), queues_.end(), [&](const Kept &kept) {
                return kept.queue->native == queue->native;
            });
            if (same == queues_.end()) {
                queues_.push_back({queue, Clock::now()});
                is_empty_.store(false, std::memory_order_relaxed);
                return;
            }
            same->since = Clock::now();
        }
        destroy(queue);
    }

    // Destroys the queues that no longer need to be kept.
    void sweep() {
        if (is_empty_.load(std::memory_order_relaxed))
            return;
        std::vector<Kept> gone;
        {
            std::lock_guard lock(mutex_);
            const auto first = std::partition(queues_.begin(), queues_.end(),
                                              [](Kept &kept) { return !is_safe_to_destroy(kept); });
            gone.assign(first, queues_.end());
            queues_.erase(first, queues_.end());
            is_empty_.store(queues_.empty(), std::memory_order_relaxed);
        }
        for (const Kept &kept : gone)
            destroy(kept.queue);
    }

    static void destroy(ep_queue queue) {
        if (queue->error)
            log_error(queue);
        const ep_context context = queue->context;
        delete queue;
        release(context);
    }

private:
    using Clock = std::chrono::steady_clock;
    struct Kept {
        ep_queue queue;
        Clock::time_point since;
    };

    static bool is_safe_to_destroy(Kept &kept) {
        constexpr auto moment = std::chrono::milliseconds(500);
        if (kept.queue->is_in_order())
            return is_idle_for_sure(kept.queue);
        if (others_have(kept.queue->native))
            kept.since = Clock::now();
        return Clock::now() - kept.since > moment && is_idle_for_sure(kept.queue);
    }

    // A queue of a lost device cannot be asked: it stays, and the error is ignored.
    static bool is_idle_for_sure(ep_queue queue) noexcept {
        try {
            return is_idle(queue);
        } catch (...) {
            return false;
        }
    }

    static bool others_have(const ::sycl::queue &queue) {
        return ::sycl::detail::getSyclObjImpl(queue).use_count() > 1;
    }

    static void log_error(ep_queue queue) {
        try {
            queue->native.throw_asynchronous();
            queue->error->report();
        } catch (const std::exception &error) {
            loader->log(
                (std::string("a queue was destroyed with an unreported error: ") + error.what())
                    .c_str());
        }
    }

    std::mutex mutex_;
    std::vector<Kept> queues_;
    std::atomic<bool> is_empty_{true};
};

ep_status queue_create(ep_context context, ep_device device, std::uint32_t flags, ep_queue *queue) {
    return guarded([&] {
        require_usable(context, device, flags);
        DeferredQueueDestruction::only().sweep();
        auto error = std::make_shared<AsyncError>();
        const ::sycl::queue native =
            create(context, device, flags,
                   [error](::sycl::exception_list errors) { error->keep(errors); });
        *queue = new ep_queue_s{{}, native, retained(context), device, flags, std::move(error)};
        Known::only().enter(*queue);
    });
}

ep_status queue_from_native(ep_context, void *native, ep_queue *queue) {
    return guarded([&] {
        const auto &theirs = *static_cast<const ::sycl::queue *>(native);
        if ((*queue = Known::only().find(theirs)))
            return;
        const ep_device device = device_of(theirs.get_device());
        const std::uint32_t flags = flags_of(theirs);
        const ep_queue made =
            new ep_queue_s{{}, theirs, intern(theirs.get_context()), device, flags, nullptr};
        made->shared = true;
        *queue = Known::only().enter(made);
        if (*queue != made)
            DeferredQueueDestruction::destroy(made);
    });
}

ep_status queue_native(ep_queue queue, void **native) {
    return guarded([&] {
        queue->shared = true;
        *native = &queue->native;
    });
}

void queue_release(ep_queue queue) {
    if (!queue || !queue->drop())
        return;
    guarded([&] {
        Known::only().forget(queue);
        DeferredQueueDestruction::only().sweep();
        if (DeferredQueueDestruction::needs_deferral(queue))
            DeferredQueueDestruction::only().keep(queue);
        else
            DeferredQueueDestruction::destroy(queue);
    });
}

ep_status queue_context(ep_queue queue, ep_context *context) {
    return guarded([&] { *context = retained(queue->context); });
}

ep_status queue_device(ep_queue queue, ep_device *device) {
    return guarded([&] { *device = queue->device; });
}

ep_status queue_flags(ep_queue queue, std::uint32_t *flags) {
    return guarded([&] { *flags = queue->flags; });
}

std::optional<::sycl::event> last_of(ep_queue queue) {
    const std::lock_guard lock(queue->locks->mutex);
    return queue->last;
}

// The handler of a wrapped queue is not called: the default one would terminate the process, and
// any other belongs to its owner.
template <class Waitable> void wait(ep_queue queue, Waitable &&waitable) {
    std::optional<ExclusiveWaitLock> turn;
    if (queue->requires_exclusive_wait())
        turn.emplace(*queue->locks);
    if (!queue->error)
        return waitable.wait();
    waitable.wait_and_throw();
    queue->error->report();
}

ep_status queue_wait_submitted(ep_queue queue) {
    return guarded([&] {
        if (std::optional<::sycl::event> last = last_of(queue))
            wait(queue, *last);
        else
            wait(queue, queue->native);
    });
}

ep_status queue_wait(ep_queue queue) {
    if (!queue->shared)
        return queue_wait_submitted(queue);
    return guarded([&] { wait(queue, queue->native); });
}

ep_status queue_is_idle(ep_queue queue, std::int32_t *idle) {
    return guarded([&] { *idle = is_idle(queue); });
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
