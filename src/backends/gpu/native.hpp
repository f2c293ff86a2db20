// What stands behind the handles of a GPU's backend, CUDA's or HIP's: devices, contexts, queues, events, programs and kernels.
//
// Nothing here changes the caller's current context: whatever needs one makes its own current and puts the caller's back
// (see Current in driver.hpp), so it works from every thread, whoever else uses the runtime there.
#pragma once
#include "backends/counted.hpp"
#include "backends/gpu/rtc.hpp"
#include "backends/walk.hpp"

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace entrepot::backends::ENTREPOT_GPU {

class Device;
class Context;
class Queue;
class Event;
class Program;
class Kernel;

// What a handle of the contract stands for. The types have names of their own, because another backend in the same library
// gives the handles' types another meaning.
inline Device &object(ep_device handle) noexcept { return *reinterpret_cast<Device *>(handle); }
inline Context &object(ep_context handle) noexcept { return *reinterpret_cast<Context *>(handle); }
inline Queue &object(ep_queue handle) noexcept { return *reinterpret_cast<Queue *>(handle); }
inline Event &object(ep_event handle) noexcept { return *reinterpret_cast<Event *>(handle); }
inline Program &object(ep_program handle) noexcept { return *reinterpret_cast<Program *>(handle); }
inline Kernel &object(ep_kernel handle) noexcept { return *reinterpret_cast<Kernel *>(handle); }
inline ep_device handle(Device *object) noexcept { return reinterpret_cast<ep_device>(object); }
inline ep_context handle(Context *object) noexcept { return reinterpret_cast<ep_context>(object); }
inline ep_queue handle(Queue *object) noexcept { return reinterpret_cast<ep_queue>(object); }
inline ep_event handle(Event *object) noexcept { return reinterpret_cast<ep_event>(object); }
inline ep_program handle(Program *object) noexcept { return reinterpret_cast<ep_program>(object); }
inline ep_kernel handle(Kernel *object) noexcept { return reinterpret_cast<ep_kernel>(object); }

// While anybody captures a graph, the driver refuses every thread what cannot be captured, waits, queries and allocations of
// other streams too, and invalidates the capture. This thread is let, as long as the object lives: our calls mean no captured
// stream.
class BesideCaptures {
public:
    BesideCaptures() { driver().cuThreadExchangeStreamCaptureMode(&mode_); }
    BesideCaptures(const BesideCaptures &) = delete;
    BesideCaptures &operator=(const BesideCaptures &) = delete;
    ~BesideCaptures() { driver().cuThreadExchangeStreamCaptureMode(&mode_); }

private:
    CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

// ----------------------------------------------------------------- devices

// Immortal. A CUdevice is its ordinal, which is how the driver numbers it, CUDA_VISIBLE_DEVICES or HIP_VISIBLE_DEVICES applied.
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
    std::string selector() const { return std::string(selector_word) + ":" + std::to_string(native); }

    // Where device memory comes from: the driver's stream-ordered pool, made at first use. It keeps nothing for itself, for the
    // resources above do that.
    CUmemoryPool pool();
    // Lets the device `reader` use what the pool gives, now and later; at most once for each.
    void share_pool_with(const Device &reader);

private:
    std::mutex mutex_;  // guards what follows
    CUmemoryPool pool_ = nullptr;
    std::vector<CUdevice> readers_;
};

std::vector<Device *> &devices();
Device &device_of(CUdevice ordinal);

// ---------------------------------------------------------------- contexts

// Pinned chunks for copies from and to ordinary host memory; see staging.cpp. A chunk serves one copy at a time, all parts of it:
// they follow each other in the stream.
class Chunks {
public:
    static constexpr std::size_t bytes = std::size_t{4} << 20;

    void *take();  // with the context current
    void give_back(void *chunk) noexcept;
    void free_all() noexcept;  // with the context current

private:
    void *take_free() noexcept;  // nullptr: none is

    std::mutex mutex_;
    std::vector<void *> free_;
    std::size_t made_ = 0;
};

// Interned: while a handle lives, the same CUcontext has the same handle, so comparing handles is comparing contexts.
class Context : public Counted<Context> {
public:
    // Takes over the reference to a primary context; one that is not primary belongs to whoever made it.
    Context(Device &of, CUcontext context, bool primary) : device(of), native(context), is_primary(primary) {}
    ~Context();
    static void end(Context *self) noexcept;

    Device &device;
    const CUcontext native;
    const bool is_primary;
    const std::shared_ptr<Chunks> chunks = std::make_shared<Chunks>();  // the driver frees pinned memory with its context

    // An event to be recorded, with times or without: one that came back where there is any, for making one costs more than
    // recording it, and who destroys one may be kept for as long as others wait for the device.
    Reference<Event> take_event(bool timed = false);
    // Takes it back. Asks nothing of the driver, and waits for nobody.
    void keep_event(Event &event) noexcept;

    // A kernel of the embedded module; see strided.cpp.
    CUfunction strided_kernel(const std::string &name);

    // Unloads the module once nothing that the context holds now can use it. Never blocks.
    void unload_later(CUmodule module) noexcept;
    void unload_finished();

    // Enables access to the other device's memory, of pools and not; refuses where the hardware has no way.
    void enable_peer(Device &peer);

private:
    struct Leaving {
        CUmodule module;
        CUevent last_use;  // NULL: not marked yet
    };
    void mark_leaving();

    std::mutex events_mutex_;          // never held while the driver is called
    std::vector<Event *> events_;      // without references, to us or to them; as many as were ever held at once
    std::vector<Event *> timed_ones_;  // the same
    std::mutex mutex_;                 // guards what follows
    CUmodule strided_module_ = nullptr;
    std::map<std::string, CUfunction> strided_kernels_;
    std::vector<Leaving> leaving_;
    std::vector<Device *> peers_;
};

// One reference to the device's primary context.
Reference<Context> primary_context(Device &device);
// One reference to the handle of the driver's context.
Reference<Context> intern(CUcontext native);

// Whether a stream of the context is known to be captured: one that has a handle, one that the legacy default stream waits for,
// or the one that another library works with here.
bool has_captures(const Context &context);

// ------------------------------------------------------------------ events

class Event : public Counted<Event> {
public:
    // Takes over the event; one without a context belongs to whoever made it.
    Event(CUevent event, Context *of, bool timed);
    ~Event();
    static void end(Event *self) noexcept;

    const CUevent native;
    const bool is_timed;

    bool is_done() const;
    void wait() const;

private:
    friend class Context;
    void enter(Context &of) noexcept;

    const bool is_owned_;
    Context *context_ = nullptr;  // one reference, while somebody has the event
};

// ------------------------------------------------------------------ queues

// Interned, as contexts are. The per-thread default stream is another one in every thread, so it has a handle in each; the
// driver shows a thread only its own, and what other threads ask about a handle is answered by the event of its last work.
class Queue : public Counted<Queue> {
public:
    Queue(Context &in, CUstream stream, std::uint32_t granted, bool owned);
    ~Queue();
    static void end(Queue *self) noexcept;

    const Reference<Context> context;
    const CUstream native;
    const std::uint32_t flags;
    const bool is_owned;
    const std::uint64_t thread;  // whose stream it is; 0: of no thread in particular

    Device &device() const noexcept { return context->device; }
    bool is_of_this_thread() const noexcept;
    bool is_profiling() const noexcept { return (flags & EP_QUEUE_PROFILING) != 0; }
    // Whether its stream is the same one for every thread, and waits for no other by itself.
    bool is_ordinary() const noexcept { return thread == 0 && native != CU_STREAM_LEGACY; }

    Reference<Event> record();
    // Later work of `to` waits for what this holds now.
    void hand_over(Queue &to);
    void wait();
    bool is_idle();

    // The number of the capture that takes what is submitted; 0: it runs. Refuses of the legacy default stream where the driver
    // would: while a stream that it waits for is captured.
    std::uint64_t capture() const;
    void keep(void *user, void (*let_go)(void *user));  // for the graph that is being captured
    // From now on somebody may capture it: its stream was given out, or waits for one that may be captured.
    void may_be_captured() noexcept { may_be_captured_.store(true, std::memory_order_relaxed); }

    // submit(stream) with the queue's context current.
    template <class Submit> void submit(Submit &&submit) {
        require_own_thread();
        if (native == CU_STREAM_LEGACY)
            capture();
        const Current current(context->native);
        submit(native);
        if (thread != 0)
            mark();
    }
    // Records the event by which other threads know a per-thread stream, unless it is captured: then nothing of it runs.
    void mark();
    void require_running(const char *what) const;  // refuses `what` of a queue that is being captured

private:
    void require_own_thread() const;
    Event *last_mark();  // one reference; NULL: nothing was submitted
    void remember(Event &mark) noexcept;

    std::atomic<bool> may_be_captured_;
    // A wait that was submitted keeps what the event meant then, so one is enough. Nobody may mark anew between the two: it is
    // not here while a hand-over has it, and one that comes meanwhile takes another.
    std::atomic<Event *> hand_over_mark_{nullptr};
    std::mutex mutex_;  // guards what follows
    Event *last_ = nullptr;
};

// ------------------------------------------------------------------ memory

// What the driver knows of a pointer, whichever context is current; of ordinary host memory, nothing.
struct PointerAttributes {
    CUmemorytype type = static_cast<CUmemorytype>(0);
    int is_managed = 0;
    int ordinal = -1;
    CUdeviceptr base = 0;
    std::size_t size = 0;

    bool is_pageable() const noexcept { return static_cast<int>(type) == 0; }
    bool is_of_host() const noexcept { return is_pageable() || (type == CU_MEMORYTYPE_HOST && !is_managed); }
    bool is_of_device() const noexcept { return type == CU_MEMORYTYPE_DEVICE && !is_managed; }
};
PointerAttributes attributes_of(const void *pointer);

inline CUdeviceptr address(const void *pointer) noexcept { return reinterpret_cast<CUdeviceptr>(pointer); }

// -------------------------------------------------------------------- files

// An ep_backend_entry: opens the driver and gives the table.
ep_status open_backend(const ep_loader *lent, const ep_backend **backend);

// Each file of the backend enters its functions into the table.
void enter_devices(ep_backend &table);
void enter_contexts(ep_backend &table);
void enter_queues(ep_backend &table);
void enter_events(ep_backend &table);
void enter_memory(ep_backend &table);
void enter_programs(ep_backend &table);
void enter_peer(ep_backend &table);
void enter_ipc(ep_backend &table);

}  // namespace entrepot::backends::ENTREPOT_GPU
