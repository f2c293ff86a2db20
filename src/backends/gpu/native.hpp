// The objects behind the handles of the CUDA or HIP backend: devices, contexts, queues, events,
// programs and kernels.
//
// Nothing here changes the caller's current context: functions that need a context restore the
// caller's afterwards (see Current in driver.hpp). They work on every thread, also if other code
// there uses the runtime.
#pragma once
#include "backends/gpu/rtc.hpp"
#include "backends/hash.hpp"
#include "backends/life_file.hpp"
#include "backends/loop_nest.hpp"
#include <entrepot/core/checked_mutex.hpp>
#include <entrepot/core/counted.hpp>

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace entrepot::backends::gpu {

ENTREPOT_HANDLE(Device, ep_device)
ENTREPOT_HANDLE(Context, ep_context)
ENTREPOT_HANDLE(Queue, ep_queue)
ENTREPOT_HANDLE(Event, ep_event)
ENTREPOT_HANDLE(Program, ep_program)
ENTREPOT_HANDLE(Kernel, ep_kernel)
ENTREPOT_HANDLE(Graph, ep_graph)

// Allows calls that cannot be captured, on this thread and during its lifetime. While a stream is
// being captured, the driver otherwise refuses such calls in every thread (waits, queries,
// allocations) and invalidates the capture. Calls in this scope must not use a capturing stream.
class RelaxedCaptureMode {
public:
    RelaxedCaptureMode() { driver().cuThreadExchangeStreamCaptureMode(&mode_); }
    RelaxedCaptureMode(const RelaxedCaptureMode &) = delete;
    RelaxedCaptureMode &operator=(const RelaxedCaptureMode &) = delete;
    ~RelaxedCaptureMode() { driver().cuThreadExchangeStreamCaptureMode(&mode_); }

private:
    CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

// ----------------------------------------------------------------- devices

// Immortal. A CUdevice is its ordinal, which CUDA_VISIBLE_DEVICES or HIP_VISIBLE_DEVICES affects.
class Device {
public:
    explicit Device(CUdevice ordinal);

    const CUdevice native;
    std::string name, driver_version;
    ep_device_info info{};
    int compute_capability;  // 90 for 9.0
    Target target;           // of the run-time compiler
    bool is_cooperative, has_clusters, has_pools;

    int attribute(CUdevice_attribute which) const;
    std::string selector() const {
        return std::string(selector_word) + ":" + std::to_string(native);
    }

    // The driver's stream-ordered pool, created at first use. It caches no memory, because the
    // resources above it do.
    CUmemoryPool pool();
    // Gives the device `reader` access to present and future memory of the pool. Idempotent.
    void share_pool_with(const Device &reader);

private:
    CheckedMutex mutex_;
    // written with the mutex, and read without: an allocation may hold the GIL
    std::atomic<CUmemoryPool> pool_{nullptr};
    std::vector<CUdevice> readers_ ENTREPOT_GUARDED_BY(mutex_);
};

std::vector<Device *> &devices();
Device &device_of(CUdevice ordinal);

// ---------------------------------------------------------------- contexts

// Pinned chunks for copies between the device and ordinary host memory; see staging.cpp. A chunk
// serves one copy at a time; its parts follow each other in the stream.
class Chunks {
public:
    static constexpr std::size_t bytes = std::size_t{4} << 20;

    void *take();  // with the context current
    void recycle(void *chunk) noexcept;
    void free_all() noexcept;  // with the context current

private:
    void *take_free() noexcept;  // nullptr if none is free

    LeafMutex mutex_;
    std::vector<void *> free_ ENTREPOT_GUARDED_BY(mutex_);
    std::size_t made_ ENTREPOT_GUARDED_BY(mutex_) = 0;
};

class SharedEvents;

// Interned: while a handle lives, its CUcontext has no other handle, so equal handles mean equal
// contexts.
class Context : public Counted<Context> {
public:
    // Ownership: takes the reference to a primary context; another context stays its creator's.
    Context(Device &of, CUcontext context, bool primary);
    ~Context();
    static void end(Context *self) noexcept;

    Device &device;
    const CUcontext native;
    const bool is_primary;
    // the driver frees pinned memory with its context
    const std::shared_ptr<Chunks> chunks = std::make_shared<Chunks>();
    std::unique_ptr<SharedEvents> shared_events;  // constant until the context ends

    // Returns: an event to be recorded, with or without timing, from a pool if possible. Creating
    //          one costs more than recording it, and destroying one can block while other threads
    //          wait for the device.
    IntrusivePtr<Event> take_event(bool timed = false);
    // Returns the event to the pool. Never calls the driver and never blocks.
    void keep_event(Event &event) noexcept;

    // A kernel of the embedded module; see strided.cpp.
    CUfunction strided_kernel(const std::string &name);

    // Unloads the module once the context's current work, which may use it, is done.
    // Blocks: while another thread loads the context's strided kernels. Never for work.
    void unload_later(CUmodule module) noexcept;
    void unload_finished();

    // Enables access to the other device's memory, in pools and outside. Refuses if the hardware
    // has no peer access.
    void enable_peer(Device &peer);

private:
    struct Leaving {
        CUmodule module;
        CUevent last_use;  // NULL: not recorded yet
    };
    void mark_leaving();

    LeafMutex events_mutex_;
    std::vector<Event *> events_ ENTREPOT_GUARDED_BY(events_mutex_);  // pooled, without references
    std::vector<Event *> timed_ones_ ENTREPOT_GUARDED_BY(events_mutex_);  // likewise
    CheckedMutex mutex_;
    CUmodule strided_module_ ENTREPOT_GUARDED_BY(mutex_) = nullptr;
    std::map<std::string, CUfunction> strided_kernels_ ENTREPOT_GUARDED_BY(mutex_);
    std::vector<Leaving> leaving_ ENTREPOT_GUARDED_BY(mutex_);
    std::vector<Device *> peers_ ENTREPOT_GUARDED_BY(mutex_);
};

// One reference to the device's primary context.
IntrusivePtr<Context> primary_context(Device &device);
// One reference to the handle of the driver's context.
IntrusivePtr<Context> intern(CUcontext native);

// True if a stream of the context is known to be capturing. These streams are known: those with a
// handle, those that the legacy default stream waits for, and another library's current stream on
// this thread.
bool has_captures(const Context &context);

// ------------------------------------------------------------------ events

class Event : public Counted<Event> {
public:
    // Ownership: takes the event; without a context it stays its creator's.
    Event(CUevent event, Context *of, bool timed);
    // An event that crosses processes. `recorder` is the other process that records it, or empty.
    // Ownership: takes the event. It belongs to no pool.
    Event(CUevent event, std::shared_ptr<const ProcessLife> recorder);
    ~Event();
    static void end(Event *self) noexcept;

    const CUevent native;
    const bool is_timed;

    // Both refuse if the event is not done and the other process that records it has ended.
    bool is_done() const;
    void wait() const;
    bool is_of_other_process() const noexcept { return recorder_ != nullptr; }

private:
    friend class Context;
    void enter(Context &of) noexcept;
    bool query() const;

    const bool is_owned_;
    Context *context_ = nullptr;  // one reference while the event is not pooled
    const std::shared_ptr<const ProcessLife> recorder_;
};

// Events that cross processes, of one context: see ipc_events.cpp.
class SharedEvents {
public:
    // Records an event of this process in the queue, and describes it in `recorded`.
    //
    // Requires: the queue is of the context, and may be used by this thread.
    void record(Queue &queue, ep_ipc_event &recorded);
    // The event of another process, or of this one.
    IntrusivePtr<Event> open(const Context &context, const ep_ipc_event &shared);

private:
    struct Own {
        IntrusivePtr<Event> event;
        CUipcEventHandle name;
    };
    struct Opened {
        std::shared_ptr<const ProcessLife> process;
        CUipcEventHandle name;
        IntrusivePtr<Event> event;
    };
    Own &next_own(const Queue &queue) ENTREPOT_REQUIRES(mutex_);
    Own create_own() ENTREPOT_REQUIRES(mutex_);

    CheckedMutex mutex_;  // held while the driver records or opens an event
    std::deque<Own> own_ ENTREPOT_GUARDED_BY(mutex_);         // the one recorded longest ago first
    std::vector<Opened> opened_ ENTREPOT_GUARDED_BY(mutex_);  // the one opened last first
    // why the driver makes none; empty while it does
    std::string refusal_ ENTREPOT_GUARDED_BY(mutex_);
};

// ------------------------------------------------------------------ queues

// Interned, as contexts are. The per-thread default stream is a different one in each thread, so it
// has one handle for each. The driver shows a thread only its own; other threads use the last event
// recorded in it.
class Queue : public Counted<Queue> {
public:
    Queue(Context &in, CUstream stream, std::uint32_t granted, bool owned);
    ~Queue();
    static void end(Queue *self) noexcept;

    const IntrusivePtr<Context> context;
    const CUstream native;
    const std::uint32_t flags;
    const bool is_owned;
    const std::uint64_t thread;  // owner of a per-thread stream, else 0

    Device &device() const noexcept { return context->device; }
    bool is_of_this_thread() const noexcept;
    bool is_profiling() const noexcept { return (flags & EP_QUEUE_PROFILING) != 0; }
    // True if all threads mean the same stream by its handle and it does not wait for others
    // implicitly.
    bool is_ordinary() const noexcept { return thread == 0 && native != CU_STREAM_LEGACY; }

    IntrusivePtr<Event> record();
    // Later work of `to` waits for the present work of this queue.
    void order_before(Queue &to);
    void wait();
    bool is_idle();

    // The number of the capture that submitted work belongs to; 0 if not capturing. The legacy
    // default stream is refused while a stream that it waits for is capturing, as by the driver.
    std::uint64_t capture() const;
    // The graph that is being captured takes ownership of `user`.
    void keep(void *user, void (*release_user)(void *user));
    // Called when the stream may be captured later: its handle was given out, or it waits for a
    // stream that may be capturing.
    void set_may_be_captured() noexcept { may_be_captured_.store(true, std::memory_order_relaxed); }

    // Calls submit(stream) with the queue's context current.
    template <class Submit> void submit(Submit &&submit) {
        require_own_thread();
        if (native == CU_STREAM_LEGACY)
            capture();
        const Current current(context->native);
        submit(native);
        if (thread != 0)
            mark();
    }
    // Records the event that other threads use for a per-thread stream. A no-op while it is
    // capturing.
    void mark();
    void require_running(const char *what) const;  // refuses `what` while capturing

private:
    void require_own_thread() const;
    Event *last_mark();  // one reference; NULL if nothing was submitted
    void remember(Event &mark) noexcept;

    std::atomic<bool> may_be_captured_;
    // Event that order_before() reuses: a submitted wait keeps the event's state at that time. The
    // function takes it out of this slot, so no other thread records it before the wait is
    // submitted. A concurrent call uses another event.
    std::atomic<Event *> wait_event_{nullptr};
    LeafMutex mutex_;
    Event *last_ ENTREPOT_GUARDED_BY(mutex_) = nullptr;
};

// ------------------------------------------------------------------ memory

// The driver's information about a pointer, in any context; all zero for ordinary host memory.
struct PointerAttributes {
    CUmemorytype type = static_cast<CUmemorytype>(0);
    int is_managed = 0;
    int ordinal = -1;
    CUdeviceptr base = 0;
    std::size_t size = 0;

    bool is_pageable() const noexcept { return static_cast<int>(type) == 0; }
    bool is_of_host() const noexcept {
        return is_pageable() || (type == CU_MEMORYTYPE_HOST && !is_managed);
    }
    bool is_of_device() const noexcept { return type == CU_MEMORYTYPE_DEVICE && !is_managed; }
};
PointerAttributes attributes_of(const void *pointer);

inline CUdeviceptr address(const void *pointer) noexcept {
    return reinterpret_cast<CUdeviceptr>(pointer);
}

// The pool that device memory is of; nullptr for other memory.
inline CUmemoryPool pool_of(CUdeviceptr pointer) {
    CUmemoryPool pool = nullptr;
    const CUresult code =
        driver().cuPointerGetAttribute(&pool, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, pointer);
    return code == CUDA_SUCCESS ? pool : nullptr;
}

// The allocation behind an address that its library has mapped (cuMemMap); empty for other memory.
class RetainedBlock {
public:
    explicit RetainedBlock(CUdeviceptr pointer) {
        is_held_ = driver().cuMemRetainAllocationHandle != nullptr &&
                   driver().cuMemRetainAllocationHandle(
                       &block_, reinterpret_cast<void *>(pointer)) == CUDA_SUCCESS;
    }
    RetainedBlock(const RetainedBlock &) = delete;
    RetainedBlock &operator=(const RetainedBlock &) = delete;
    ~RetainedBlock() {
        if (is_held_)
            driver().cuMemRelease(block_);
    }
    explicit operator bool() const noexcept { return is_held_; }
    CUmemGenericAllocationHandle get() const noexcept { return block_; }

private:
    CUmemGenericAllocationHandle block_ = 0;
    bool is_held_ = false;
};

// ------------------------------------------------------------------ graphs

// Replaces the launch of a node for later launches of the graph. Refuses with EP_UNSUPPORTED if the
// driver cannot.
//
// Requires: the graph's context is current, and `node` is a launch of independent groups.
void replace_launch(CUgraphExec graph, CUgraphNode known, const ep_node &node);

// -------------------------------------------------------------------- files

// An ep_backend_entry: loads the driver and returns the table.
ep_status open_backend(const ep_loader *given, const ep_backend **backend);

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

}  // namespace entrepot::backends::gpu
