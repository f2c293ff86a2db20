// Queues: work runs in order of submission; native.hpp says on which thread.
#include "backends/host/native.hpp"
#include "core/no_destructor.hpp"

#include <pthread.h>

#include <algorithm>
#include <unordered_set>

namespace entrepot::backends::host {
namespace {

struct Live {
    std::mutex lock;
    std::unordered_set<Queue *> queues;
};

Live &live() {
    static NoDestructor<Live> made;
    return *made;
}

// Registered before the core's handlers, which have no priority. Handlers before a fork run last
// in, first out: the core's locks, which it holds while it calls queues, are taken first.
[[gnu::constructor(1000)]] void watch_queues() {
    pthread_atfork(Queue::take_locks, Queue::release_locks, Queue::release_locks);
}

std::string reason_of(const std::exception_ptr &error) {
    try {
        std::rethrow_exception(error);
    } catch (const std::exception &thrown) {
        return thrown.what();
    } catch (...) {
        return "it threw something that is not a std::exception";
    }
}

}  // namespace

Queue::Queue(std::uint32_t granted) : flags(granted) {
    const std::lock_guard hold(live().lock);
    live().queues.insert(this);
}

Queue::~Queue() {
    const std::lock_guard hold(live().lock);
    live().queues.erase(this);
}

void Queue::take_locks() noexcept {
    live().lock.lock();
    for (Queue *queue : live().queues)
        queue->lock_.lock();
}

void Queue::release_locks() noexcept {
    for (Queue *queue : live().queues)
        queue->lock_.unlock();
    live().lock.unlock();
}

void Queue::run_first(Work &work) {
    bool done = false;
    try {
        done = work.run(*this);
    } catch (...) {
        end_work();
        throw;
    }
    if (done)
        end_work();
}

// Caller holds lock_.
void Queue::count_ended() noexcept {
    if (++ended_ < awaited_)
        return;
    awaited_ = UINT64_MAX;
    progress_.notify_all();
}

// Returns: true if there is more work, for which the queue stays busy. Else it may be gone.
bool Queue::leave_work(std::exception_ptr error) noexcept {
    // Released without the lock: the loop may hold the last reference to a kernel.
    std::shared_ptr<Loop> ended;
    bool more = false;
    {
        const std::lock_guard hold(lock_);
        ended = std::move(loop_);
        if (!error_)
            error_ = std::move(error);
        if (!std::exchange(continues_, false))
            count_ended();
        more = !waiting_.empty();
        busy_ = more;
    }
    if (!more)
        release();
    return more;
}

void Queue::end_loop(std::exception_ptr error) noexcept {
    if (!is_executor_thread())
        return end_work(std::move(error));
    if (leave_work(std::move(error)))
        Deferred::run_here(*this);
}

void Queue::end_work(std::exception_ptr error) noexcept {
    if (!leave_work(std::move(error)))
        return;
    class Continuation final : public Loop {
    public:
        explicit Continuation(Queue &queue) : Loop(1, 1), queue_(queue) {}

    private:
        void run(std::uint64_t, std::uint64_t) noexcept override { queue_.run_waiting(); }
        void finished() noexcept override {}

        Queue &queue_;  // busy, so alive, until its work has run
    };
    std::shared_ptr<Loop> next;
    try {
        next = std::make_shared<Continuation>(*this);
    } catch (const std::bad_alloc &) {
        return Deferred::run_here(*this);
    }
    start(std::move(next));
}

void Queue::run_waiting() noexcept {
    while (true) {
        std::unique_ptr<Work> work;
        {
            const std::lock_guard hold(lock_);
            if (waiting_.empty()) {
                busy_ = false;
                break;
            }
            work = std::move(waiting_.front());
            waiting_.pop_front();
        }
        std::exception_ptr error;
        try {
            if (!work->run(*this))
                return;
        } catch (...) {
            error = std::current_exception();
        }
        const std::lock_guard hold(lock_);
        if (!error_)
            error_ = std::move(error);
        count_ended();
    }
    release();
}

void Queue::share(std::shared_ptr<Loop> loop) {
    {
        const std::lock_guard hold(lock_);
        loop_ = loop;
    }
    start(std::move(loop));
}

void Queue::continue_with(std::unique_ptr<Work> rest) {
    const std::lock_guard hold(lock_);
    ENTREPOT_ASSERT(busy_ && !continues_);
    waiting_.push_front(std::move(rest));
    continues_ = true;
}

void Queue::keep_error(std::exception_ptr error) noexcept {
    const std::lock_guard hold(lock_);
    if (!error_)
        error_ = std::move(error);
}

void Queue::help() {
    std::shared_ptr<Loop> loop;
    {
        const std::lock_guard hold(lock_);
        loop = loop_;
    }
    if (loop)
        loop->take_part();
}

void Queue::wait() {
    std::unique_lock hold(lock_);
    const std::uint64_t all = submitted_;
    while (ended_ < all) {
        refuse_if_orphaned();
        if (loop_ && loop_->wants_threads()) {
            hold.unlock();
            help();
            hold.lock();
        } else {
            awaited_ = std::min(awaited_, all);
            ENTREPOT_ASSERT(ended_ < awaited_);
            progress_.wait(hold);
        }
    }
    if (const std::exception_ptr error = std::exchange(error_, nullptr))
        refuse(EP_DEVICE_ERROR, "work that was submitted earlier failed: ", reason_of(error));
}

bool Queue::is_idle() {
    const std::lock_guard hold(lock_);
    return !busy_;
}

void Queue::refuse_if_orphaned() const {
    if (busy_ && generation_ != fork_generation())
        refuse(EP_DEVICE_ERROR,
               "this queue was at work when the process forked, and its work went on in the parent "
               "only: "
               "create another queue in the child, or wait for the queue before the fork");
}

namespace {

ep_status queue_create(ep_context context, ep_device device, std::uint32_t flags, ep_queue *queue) {
    return guarded([&] {
        check_context(context);
        check_device(device);
        require_known_flags(flags);
        *queue = handle(new Queue(flags & EP_QUEUE_PROFILING));
    });
}

ep_status queue_from_native(ep_context, void *native, ep_queue *queue) {
    *queue = static_cast<ep_queue>(native);
    object(*queue).retain();
    return EP_OK;
}

ep_status queue_native(ep_queue queue, void **native) {
    *native = queue;
    return EP_OK;
}

void queue_release(ep_queue queue) { object(queue).release(); }

ep_status queue_context(ep_queue, ep_context *context) {
    *context = the_context();
    return EP_OK;
}

ep_status queue_device(ep_queue, ep_device *device) {
    *device = the_device();
    return EP_OK;
}

ep_status queue_flags(ep_queue queue, std::uint32_t *flags) {
    *flags = object(queue).flags;
    return EP_OK;
}

ep_status queue_wait(ep_queue queue) {
    return guarded([&] { object(queue).wait(); });
}

ep_status queue_is_idle(ep_queue queue, std::int32_t *idle) {
    *idle = object(queue).is_idle();
    return EP_OK;
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
    table.queue_wait_submitted = queue_wait;
    table.queue_is_idle = queue_is_idle;
    table.queue_capture = queue_capture;
    table.queue_keep = queue_keep;
}

}  // namespace entrepot::backends::host
