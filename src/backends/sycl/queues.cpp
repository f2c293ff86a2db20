// Queues: those that we create are in order and keep the errors of asynchronous work until a wait reports them.
#include "native.hpp"

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

::sycl::queue create(ep_context context, ep_device device, std::uint32_t flags, const ::sycl::async_handler &handler) {
    switch (flags) {
    case 0:
        return {context->native, device->native, handler, {property::in_order{}}};
    case EP_QUEUE_PROFILING:
        return {context->native, device->native, handler, {property::in_order{}, property::enable_profiling{}}};
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
        refuse(EP_UNSUPPORTED, selector(device), " cannot measure time: create the queue without profiling");
    if (std::find(context->devices.begin(), context->devices.end(), device) == context->devices.end())
        refuse(EP_INVALID, selector(device), " is not a device of the context",
               device->parent ? " (the default context has root devices only)" : "",
               ": create a context of this device for the queue");
}

std::uint32_t flags_of(const ::sycl::queue &queue) {
    return (queue.is_in_order() ? 0u : static_cast<std::uint32_t>(EP_QUEUE_OUT_OF_ORDER)) |
           (queue.has_property<property::enable_profiling>() ? static_cast<std::uint32_t>(EP_QUEUE_PROFILING) : 0u);
}

// The queues that have a handle, by the runtime's own object: a native queue that comes again, ours included, has the same
// handle. One without references stays here until its releaser has the lock.
class Known {
public:
    static Known &only() {
        static Known *const all = new Known;
        return *all;
    }

    // One reference; nullptr where it has no handle.
    ep_queue find(const ::sycl::queue &native) {
        std::lock_guard lock(mutex_);
        const auto found = handles_.find(identity(native));
        return found != handles_.end() && retained_if_alive(found->second) ? found->second : nullptr;
    }

    // The handle that another thread has entered meanwhile, with a reference; else `queue` itself, which is entered.
    ep_queue enter(ep_queue queue) {
        std::lock_guard lock(mutex_);
        ep_queue &entered = handles_[identity(queue->native)];
        if (entered && retained_if_alive(entered))
            return entered;
        return entered = queue;
    }

    void forget(ep_queue queue) {
        std::lock_guard lock(mutex_);
        const auto found = handles_.find(identity(queue->native));
        if (found != handles_.end() && found->second == queue)  // else somebody wrapped it anew meanwhile
            handles_.erase(found);
    }

private:
    // Not a copy of the queue, which would count as one more user of it.
    static const void *identity(const ::sycl::queue &queue) { return ::sycl::detail::getSyclObjImpl(queue).get(); }

    std::mutex mutex_;
    std::unordered_map<const void *, ep_queue> handles_;
};

// Queues whose last reference has gone, and that the runtime must not see go yet. Two reasons:
//  - The queue still works: errors of a queue that is gone reach the runtime's default handler, which ends the process.
//  - It is out of order: Intel's CPU driver (2026.2) locks a worker thread up for ever if the last copy of the queue goes while
//    that thread is letting go of the queue's last command, which it may still do after a wait. A moment later it is safe. Where
//    others have copies, ours stays until theirs have gone, for the last of those may go right after ours.
class Lingering {
public:
    static Lingering &only() {
        static Lingering *const all = new Lingering;
        return *all;
    }

    static bool must_linger(ep_queue queue) { return !queue->is_in_order() || (queue->error && !is_idle_for_sure(queue)); }

    // One copy of a queue is enough; two would wait for each other.
    void keep(ep_queue queue) {
        {
            std::lock_guard lock(mutex_);
            const auto same = std::find_if(queues_.begin(), queues_.end(),
                                           [&](const Kept &kept) { return kept.queue->native == queue->native; });
            if (same == queues_.end()) {
                queues_.push_back({queue, Clock::now()});
                is_empty_.store(false, std::memory_order_relaxed);
                return;
            }
            same->since = Clock::now();
        }
        let_go(queue);
    }

    // Lets go of those that may go.
    void sweep() {
        if (is_empty_.load(std::memory_order_relaxed))
            return;
        std::vector<Kept> gone;
        {
            std::lock_guard lock(mutex_);
            const auto first = std::partition(queues_.begin(), queues_.end(), [](Kept &kept) { return !may_go(kept); });
            gone.assign(first, queues_.end());
            queues_.erase(first, queues_.end());
            is_empty_.store(queues_.empty(), std::memory_order_relaxed);
        }
        for (const Kept &kept : gone)
            let_go(kept.queue);
    }

    static void let_go(ep_queue queue) {
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

    static bool may_go(Kept &kept) {
        constexpr auto moment = std::chrono::milliseconds(500);
        if (kept.queue->is_in_order())
            return is_idle_for_sure(kept.queue);
        if (others_have(kept.queue->native))
            kept.since = Clock::now();
        return Clock::now() - kept.since > moment && is_idle_for_sure(kept.queue);
    }

    // The queue of a device that is lost cannot be asked. It stays, and nobody else has to hear of it.
    static bool is_idle_for_sure(ep_queue queue) noexcept {
        try {
            return is_idle(queue);
        } catch (...) {
            return false;
        }
    }

    static bool others_have(const ::sycl::queue &queue) { return ::sycl::detail::getSyclObjImpl(queue).use_count() > 1; }

    static void log_error(ep_queue queue) {
        try {
            queue->native.throw_asynchronous();
            queue->error->report();
        } catch (const std::exception &error) {
            loader->log((std::string("nobody waited for a queue before letting go of it: ") + error.what()).c_str());
        }
    }

    std::mutex mutex_;
    std::vector<Kept> queues_;
    std::atomic<bool> is_empty_{true};
};

ep_status queue_create(ep_context context, ep_device device, std::uint32_t flags, ep_queue *queue) {
    return guarded([&] {
        require_usable(context, device, flags);
        Lingering::only().sweep();
        auto error = std::make_shared<AsyncError>();
        const ::sycl::queue native =
            create(context, device, flags, [error](::sycl::exception_list errors) { error->keep(errors); });
        *queue = new ep_queue_s{{1}, native, retained(context), device, flags, std::move(error)};
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
        const ep_queue made = new ep_queue_s{{1}, theirs, intern(theirs.get_context()), device, flags, nullptr};
        made->shared = true;
        *queue = Known::only().enter(made);
        if (*queue != made)
            Lingering::let_go(made);
    });
}

ep_status queue_native(ep_queue queue, void **native) {
    return guarded([&] {
        queue->shared = true;
        *native = &queue->native;
    });
}

void queue_release(ep_queue queue) {
    if (!queue || !dropped(queue))
        return;
    guarded([&] {
        Known::only().forget(queue);
        Lingering::only().sweep();
        if (Lingering::must_linger(queue))
            Lingering::only().keep(queue);
        else
            Lingering::let_go(queue);
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
    const std::lock_guard lock(queue->turns->mutex);
    return queue->last;
}

// A wrapped queue's handler is not called: the runtime's default one would end the process, and any other is not ours.
template <class Waitable> void wait(ep_queue queue, Waitable &&waitable) {
    std::optional<Waiting> turn;
    if (queue->one_waits())
        turn.emplace(*queue->turns);
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

// Nothing is captured here.
ep_status queue_capture(ep_queue, std::uint64_t *capture) {
    *capture = 0;
    return EP_OK;
}

ep_status queue_keep(ep_queue, void *, void (*)(void *)) {
    return guarded([&] { refuse(EP_UNSUPPORTED, "the queue is not captured: there is no graph to keep anything"); });
}

}  // namespace

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
    table.queue_wait_submitted = queue_wait_submitted;
    table.queue_is_idle = queue_is_idle;
    table.queue_capture = queue_capture;
    table.queue_keep = queue_keep;
}

}  // namespace entrepot::backends::sycl
