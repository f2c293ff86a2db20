// The objects behind the handles of the SYCL backend: devices, contexts, events and queues.
//
// Nothing here is destroyed at process exit: the runtime's own statics may be gone by then.
#pragma once
#include "backends/life_file.hpp"
#include "backends/sycl/driver.hpp"
#include <entrepot/core/checked_mutex.hpp>
#include <entrepot/core/counted.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <shared_mutex>
#include <string>
#include <thread>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace entrepot::backends::sycl {

ENTREPOT_HANDLE(Device, ep_device)
ENTREPOT_HANDLE(Context, ep_context)
ENTREPOT_HANDLE(Queue, ep_queue)
ENTREPOT_HANDLE(Event, ep_event)
ENTREPOT_HANDLE(Program, ep_program)
ENTREPOT_HANDLE(Kernel, ep_kernel)
ENTREPOT_HANDLE(Graph, ep_graph)

// The runtime's hash of the native object.
template <class Handle> std::uint64_t hash_of(Handle handle) noexcept {
    const auto &native = object(handle).native;
    return std::hash<std::remove_cvref_t<decltype(native)>>{}(native);
}

// ----------------------------------------------------------------- devices

// Immortal and interned: sub-devices of the runtime do not compare equal when they are created
// again.
class Device {
public:
    using Partition = std::pair<ep_partition, std::vector<std::uint32_t>>;

    explicit Device(const ::sycl::device &device);

    ::sycl::device native;
    const std::string name, vendor, driver_version;
    ep_device_info info{};
    cl_device_id cl = nullptr;  // of OpenCL devices
    bool builds_sycl_source, builds_spirv;
    // Set while the list of devices is locked. Sub-devices are numbered in order of creation.
    Device *parent = nullptr;
    std::uint32_t sub_device_count = 0;

    // For messages: "opencl:cpu:0", "opencl:cpu:0/1".
    std::string selector() const;

    // Sub-devices of a partition, created at most once.
    const std::vector<Device *> &sub_devices(const Partition &partition);

    // Enables access to the other device's memory. Refuses if the hardware has no peer access.
    void enable_peer(Device &peer);

private:
    CheckedMutex mutex_;
    std::map<Partition, std::vector<Device *>> partitions_ ENTREPOT_GUARDED_BY(mutex_);
    std::set<Device *> peers_ ENTREPOT_GUARDED_BY(mutex_);
};

Device &device_of(const ::sycl::device &native);

// Writes at most *count handles to `devices` (may be NULL) and sets *count to how many there are.
void write_handles(const std::vector<Device *> &all, ep_device *devices, std::size_t *count);

// ---------------------------------------------------------------- contexts

class SharedEvents;

// Interned: while a handle lives, its sycl::context has no other handle, so equal handles mean
// equal contexts.
class Context : public Counted<Context> {
public:
    explicit Context(const ::sycl::context &context);
    ~Context();
    static void end(Context *self) noexcept;

    ::sycl::context native;
    std::vector<Device *> devices;
    bool is_default;
    cl_context cl = nullptr;          // of OpenCL contexts; owns one reference
    QueryAllocation query = nullptr;  // of OpenCL contexts whose platform has it

    // One of Entrepot's kernels for the device, built at the first call and cached under `form`.
    // The first call asks `source(dialect)` for the source.
    template <class Source>
    ::sycl::kernel built_in_kernel(Device &device, std::string form, const char *name,
                                   const Source &source);

    std::atomic<bool> builds_no_blocks = false;  // see contiguous.hpp
    const std::unique_ptr<SharedEvents> shared_events;

private:
    CheckedMutex mutex_;
    std::map<std::tuple<Device *, std::string>, ::sycl::kernel>
        kernels_ ENTREPOT_GUARDED_BY(mutex_);
};

// One reference to the handle of the runtime's context.
IntrusivePtr<Context> intern(const ::sycl::context &native);

// Builds one of Entrepot's kernels for a device.
::sycl::kernel build_kernel(Context &context, Device &device, ep_dialect dialect,
                            const std::string &source, const char *name);

template <class Source>
::sycl::kernel Context::built_in_kernel(Device &device, std::string form, const char *name,
                                        const Source &source) {
    const MutexLock lock(mutex_);
    auto key = std::make_tuple(&device, std::move(form));
    const auto known = kernels_.find(key);
    if (known != kernels_.end())
        return known->second;
    const ep_dialect dialect = cl ? EP_OPENCL_C : EP_SYCL_SOURCE;
    ::sycl::kernel built = build_kernel(*this, device, dialect, source(dialect), name);
    return kernels_.emplace(std::move(key), std::move(built)).first->second;
}

// ------------------------------------------------------- parts of queues

// The first error of a queue's asynchronous work, kept until a wait reports it. The runtime's
// default handler would terminate the process.
class AsyncError {
public:
    void keep(const ::sycl::exception_list &errors) noexcept;
    void report();  // throws a pending error as a Refusal and clears it

private:
    void keep_first(const char *message) noexcept;

    std::atomic<bool> pending_{false};  // written with the mutex
    LeafMutex mutex_;
    std::string message_ ENTREPOT_GUARDED_BY(mutex_);
};

// Serializes submissions to a queue and queries of its work.
//
// In an out-of-order OpenCL queue, waits are serialized too, and exclude submissions. With Intel's
// CPU driver (2026.2), a waiting thread runs the queue's commands. If another thread submits
// meanwhile, both may see a command's last dependency done. Then both start the command, and one of
// them finds it without a queue. Eight threads of plain OpenCL, with fills and clFinish alone,
// crash within a minute. Foreign submissions to such a queue during a wait cannot be prevented.
struct QueueLocks {
    std::mutex mutex;
    std::atomic<int> waiting{0};  // threads in or before a serialized wait
};

// Excludes submissions while a command graph is prepared.
//
// To prepare a graph, the runtime (2026.2) sets arguments of the OpenCL kernels. It does not take
// the lock that its submissions take for that. Two threads then launch with each other's arguments.
// Submissions hold this mutex shared, and command_graph::finalize() is called with it exclusively.
//
// Lock order: locked after QueueLocks::mutex. Held for no wait.
std::shared_mutex &kernel_arguments_mutex();

// Scope of a serialized wait.
class ExclusiveWaitLock {
public:
    explicit ExclusiveWaitLock(QueueLocks &locks) : ExclusiveWaitLock(locks, std::defer_lock) {
        lock_.lock();
    }

    // Another thread may be waiting for much later work. This polls `is_done` meanwhile and returns
    // without the lock once it is true.
    template <class IsDone>
    ExclusiveWaitLock(QueueLocks &locks, const IsDone &is_done)
        : ExclusiveWaitLock(locks, std::defer_lock) {
        using namespace std::chrono_literals;
        for (std::chrono::microseconds pause = 1us; !lock_.try_lock() && !is_done();
             pause = std::min(2 * pause, 1000us))
            std::this_thread::sleep_for(pause);
    }

    ~ExclusiveWaitLock() { locks_.waiting.fetch_sub(1); }
    ExclusiveWaitLock(const ExclusiveWaitLock &) = delete;
    ExclusiveWaitLock &operator=(const ExclusiveWaitLock &) = delete;

private:
    ExclusiveWaitLock(QueueLocks &locks, std::defer_lock_t deferred)
        : locks_(locks), lock_(locks.mutex, deferred) {
        locks.waiting.fetch_add(1);
    }

    QueueLocks &locks_;
    std::unique_lock<std::mutex> lock_;
};

// ------------------------------------------------------------------ events

class Event : public Counted<Event> {
public:
    // An event recorded in `of`.
    Event(const Queue &of, ::sycl::event event);
    // An event of other code.
    explicit Event(const ::sycl::event &event) : native(event) {}
    // An event that `recorder`, another process, records.
    Event(const ::sycl::event &event, std::shared_ptr<const ProcessLife> recorder)
        : native(event), recorder_(std::move(recorder)) {}

    const IntrusivePtr<Context> context;  // empty for events of other code
    ::sycl::event native;

    // These refuse if the event is not done and the other process that records it has ended.
    bool is_done() const;
    void wait();
    bool is_of_other_process() const noexcept { return recorder_ != nullptr; }
    // Waits like wait(), and leaves an asynchronous error of the queue to later waits.
    void wait_without_report();

private:
    template <class Wait> void wait_exclusively(Wait &&wait);
    bool is_complete() const;

    const std::shared_ptr<AsyncError> error_;  // of its queue, if created here
    const std::shared_ptr<QueueLocks> locks_;  // of its queue, if waits are serialized
    const std::shared_ptr<const ProcessLife> recorder_;
};

// Events of this process that other processes open, of one context: see ipc_events.cpp.
class SharedEvents {
public:
    // Records an event in the queue, and describes it in `recorded`.
    void record(Queue &queue, ep_ipc_event &recorded);
    // Returns: the event of that name, if it is of this context; else nullptr.
    IntrusivePtr<Event> find(const std::vector<std::byte> &name);

private:
    struct Own {
        IntrusivePtr<Event> event;
        std::vector<std::byte> name;
    };
    Own &next_own(const Queue &queue) ENTREPOT_REQUIRES(mutex_);

    CheckedMutex mutex_;                               // held while the runtime records an event
    std::deque<Own> own_ ENTREPOT_GUARDED_BY(mutex_);  // the one recorded longest ago first
};

// ------------------------------------------------------------------ queues

// Interned, as contexts are.
class Queue : public Counted<Queue> {
public:
    // `errors`: of queues created here.
    Queue(IntrusivePtr<Context> in, Device &on, const ::sycl::queue &queue, std::uint32_t granted,
          std::shared_ptr<AsyncError> errors)
        : context(std::move(in)), device(on), native(queue), flags(granted),
          error(std::move(errors)), is_shared_(!error) {}
    static void end(Queue *self) noexcept;

    const IntrusivePtr<Context> context;
    Device &device;
    ::sycl::queue native;
    const std::uint32_t flags;
    const std::shared_ptr<AsyncError> error;
    const std::shared_ptr<QueueLocks> locks = std::make_shared<QueueLocks>();

    bool is_in_order() const noexcept { return (flags & EP_QUEUE_OUT_OF_ORDER) == 0; }
    bool is_profiling() const noexcept { return (flags & EP_QUEUE_PROFILING) != 0; }
    // See QueueLocks.
    bool requires_exclusive_wait() const noexcept { return !is_in_order() && context->cl; }

    // Returns: empty if EP_EVENT_PROMPT is set and another thread waits for the queue.
    IntrusivePtr<Event> record(std::uint32_t event_flags);
    void wait();
    void wait_submitted();
    // False while another thread waits for the queue.
    //
    // Requires: no foreign code submits to the queue meanwhile; see submit.
    bool is_idle();

    // Called when foreign code gets the native queue, and may submit to it.
    void set_may_be_shared() noexcept { is_shared_ = true; }

    // Calls submit(native) as if the queue were in order. An out-of-order queue (dpctl's default,
    // for one) gets a barrier before it, which orders the work after earlier work. A barrier after
    // it orders later submissions by other libraries.
    //
    // Fills are submitted without an event, which costs twice as much as the fill. A kernel's event
    // is dropped at once: without an event the runtime (2026.2) takes 0.7 µs longer.
    // ExclusiveWaitLock for the event takes twice as long as waiting for the queue.
    //
    // Submissions are serialized because the runtime's OpenCL adapter (2026.2) keeps a queue's last
    // event without a lock. One thread may use an event that another has just released, if both
    // submit to an out-of-order queue, or one asks whether it is empty. The result is
    // UR_RESULT_ERROR_INVALID_EVENT, or a crash.
    template <class Submit> void submit(Submit &&submit);
    // Variant for a submission that returns an event. The event of a copy costs 0.2 µs.
    // ExclusiveWaitLock for it takes 0.4 µs less than waiting for the queue.
    template <class Submit> void submit_with_event(Submit &&submit);

private:
    friend class SubmitLock;

    std::unique_lock<std::mutex> try_submit_lock();
    template <class Waitable> void wait_for(Waitable &&waitable);

    std::atomic<bool> is_shared_;
    // of the last submission here, if it has an event; guarded by locks->mutex
    std::optional<::sycl::event> last_;
};

// Scope of a submission to the queue that leaves no event.
class SubmitLock {
public:
    explicit SubmitLock(Queue &queue) : lock_(queue.locks->mutex) { queue.last_.reset(); }

private:
    std::lock_guard<std::mutex> lock_;
};

template <class Submit> void Queue::submit(Submit &&submit) {
    const SubmitLock lock(*this);
    const std::shared_lock arguments(kernel_arguments_mutex());
    if (is_in_order())
        return submit(native);
    native.ext_oneapi_submit_barrier();
    submit(native);
    native.ext_oneapi_submit_barrier();
}

template <class Submit> void Queue::submit_with_event(Submit &&submit) {
    if (!is_in_order())
        return this->submit([&](::sycl::queue &queue) { submit(queue); });
    const std::lock_guard hold(locks->mutex);
    const std::shared_lock arguments(kernel_arguments_mutex());
    last_ = submit(native);
}

// -------------------------------------------------------------------- files

// The backend's table, for functions that call others of it.
const ep_backend &table();

// Each file of the backend enters its functions into the table.
void fill_device_functions(ep_backend &table);
void fill_context_functions(ep_backend &table);
void fill_queue_functions(ep_backend &table);
void fill_event_functions(ep_backend &table);
void fill_memory_functions(ep_backend &table);
void fill_program_functions(ep_backend &table);
void fill_peer_functions(ep_backend &table);
void fill_ipc_functions(ep_backend &table);
void fill_ipc_event_functions(ep_backend &table);
void fill_graph_functions(ep_backend &table);

}  // namespace entrepot::backends::sycl
