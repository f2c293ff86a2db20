// Fake backend without a runtime. Tests control its queues and captures; it counts the calls.
//
//     const Backend &backend = fake::backend();   // two OpenCL devices
//     fake::hold(queue);     // work stays pending
//     fake::release(queue);  // work runs
//     CHECK(fake::world().calls.event_record == 1);
//
// Work runs on the thread that submits it or releases its queue; the fake starts no threads. All
// kinds of memory are host memory. A process has one fake. Set its properties, such as its name,
// in world() before the first call.
#pragma once
#include <entrepot/device/queue.hpp>
#include <entrepot/device/registry.hpp>

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <thread>
#include <vector>

struct ep_device_s {
    ep_device_info info{};
    ep_device parent = nullptr;
    std::vector<std::unique_ptr<ep_device_s>> subs;
    // By the kind of division and the compute units of the parts.
    std::map<std::pair<ep_partition, std::vector<std::uint32_t>>, std::vector<ep_device>> divisions;
};

struct ep_context_s {
    int references = 1;
    bool is_default = false;
    std::vector<ep_device> devices;
};

struct ep_event_s {
    int references = 1;
    bool done = false;
    std::string error;  // of the work before the event
    double seconds = 0;
    void *native = nullptr;
    std::uint64_t capture = 0;  // the capture in which it was recorded
};

struct ep_queue_s {
    struct Task {
        std::function<void()> run;
        ep_event after = nullptr;  // one reference
    };
    int references = 1;
    ep_context context = nullptr;  // one reference
    ep_device device = nullptr;
    std::uint32_t flags = 0;
    bool held = false;
    std::string error;  // reported by the next wait
    std::deque<Task> pending;
    std::uint64_t capture = 0;
    std::thread::id thread;        // of a per-thread queue: its thread, which alone records events
    ep_event last_mark = nullptr;  // the last event, for the other threads; one reference
};

struct ep_program_s {
    int references = 1;
    std::string source;
};

struct ep_kernel_s {
    int references = 1;
    ep_program program = nullptr;  // one reference
    std::string name;
};

// A graph of the table: launches and fills, in order.
struct ep_graph_s {
    std::vector<std::function<void()>> work;
};

namespace entrepot::fake {

struct Allocation {
    std::size_t bytes;
    ep_usm_kind kind;
    ep_device device;
    ep_context context;
};

// Host memory that is registered with the fake.
struct Pinned {
    std::size_t bytes = 0;
    bool read_only = false;
};

// Memory that the fake can share: by EP_IPC_FILE or EP_IPC_DRIVER.
struct Shareable {
    std::size_t bytes = 0;
    ep_ipc_form form = EP_IPC_FILE;
};

// Number of calls of each function.
struct Calls {
    int queue_create = 0, queue_wait = 0, queue_is_idle = 0, queue_capture = 0;
    int queue_wait_submitted = 0;  // also counted in queue_wait
    int event_record = 0, event_wait = 0, event_is_done = 0, event_wait_in_queue = 0;
    int memory_query = 0, memory_trim = 0, memory_pin = 0, device_info = 0,
        device_default_context = 0;
    int ipc_export = 0, ipc_event_record = 0, ipc_event_open = 0;
    int graph_create = 0, graph_launch = 0, graph_update = 0;
};

// Captured work, which a test runs, and references, which are held until drop().
struct Graph {
    std::vector<std::function<void()>> work;
    std::vector<std::pair<void *, void (*)(void *)>> kept;
    bool is_valid = true;  // false after a call that invalidates the capture
};

// Number of handles that were created and not released.
struct Alive {
    int contexts = 0, queues = 0, events = 0, programs = 0, kernels = 0;
};

struct World {
    // Properties; set before the first call.
    std::string name = "fake";
    std::vector<std::pair<const char *, ep_device_type>> roots = {{"opencl", EP_CPU},
                                                                  {"opencl", EP_GPU}};
    std::uint32_t compute_units = 4, units_of_numa_node = 2;
    std::vector<int> scores = {5, 10};
    std::uint32_t aspects = EP_FP64 | EP_USM_HOST_ALLOCATIONS | EP_USM_DEVICE_ALLOCATIONS |
                            EP_USM_SHARED_ALLOCATIONS | EP_PARTITION_EQUALLY |
                            EP_PARTITION_BY_COUNTS | EP_PARTITION_BY_AFFINITY | EP_PROFILING |
                            EP_GRAPH_CAPTURE;
    std::uint32_t dialects = 1u << EP_OPENCL_C;

    // Behavior; may change at any time.
    bool default_context_serves_sub_devices = true;
    bool pins = true;                 // false: memory_pin is not supported
    bool reads_host_memory = false;   // true: memory_pin registers nothing
    bool pins_pages = false;          // true: memory_pin refuses anything but whole pages
    std::uint32_t more_aspects = 0;   // of sub-devices created from now on
    bool has_graphs = true;           // false: graph_create is not supported
    bool updates_graphs = true;       // false: graph_update is not supported
    bool marks_contexts = false;      // true: event_record_context is supported
    bool shares_events = true;        // false: ipc_event_record is not supported
    std::int32_t argument_count = 2;  // of kernels created from now on; -1: unknown
    // Called by every launch.
    std::function<void(const ep_range &, const ep_argument *, std::size_t)> kernel;
    // Called first by every function that may block in a real runtime.
    std::function<void()> may_keep;
    // Simulates another thread; called once, before the next queue is created.
    std::function<void()> queue_begins;
    std::function<void()> queue_ends;  // called when a queue's last reference is released
    // Simulate another thread; called once, before and after the next event is recorded.
    std::function<void()> meanwhile, after_record;

    Calls calls;
    Alive alive;
    int prepared_graphs = 0;  // of graph_create, and not released

    // Internal state.
    std::recursive_mutex mutex;
    std::condition_variable_any changed;
    std::vector<std::unique_ptr<ep_device_s>> devices;
    std::vector<ep_context> default_contexts;  // by root device; one reference each
    std::vector<ep_queue> queues;
    std::map<std::uint64_t, Graph> graphs;             // by the number of the capture
    std::map<std::uintptr_t, Allocation> allocations;  // by the address of the last byte
    std::map<std::uintptr_t, Pinned> pinned;           // by the address of the first byte
    std::map<std::uintptr_t, Shareable> shareable;     // by the address of the first byte
    std::vector<ep_event> shared_events;               // of ipc_event_record; one reference each
    std::string refusal;
    ep_status refusal_status = EP_OK;
    double clock = 0;
    const ep_loader *loader = registry::loader();
};

// Never destroyed: records of the library may outlive all static objects.
inline World &world() {
    static auto *only = new World;
    return *only;
}

// ------------------------------------------------------------ the machine

struct Refused {
    ep_status status;
    std::string sentence;
};

[[noreturn]] inline void refuse(ep_status status, std::string sentence) {
    throw Refused{status, std::move(sentence)};
}

// Runs the body of a function of the table under the lock and translates exceptions. Returns the
// status of refuse_next() instead, if a test has called it.
template <class Body> ep_status guarded(Body &&body) noexcept {
    World &w = world();
    const std::unique_lock locked(w.mutex);
    if (const ep_status status = std::exchange(w.refusal_status, EP_OK)) {
        w.loader->set_error(w.refusal.c_str());
        return status;
    }
    try {
        body(w);
        return EP_OK;
    } catch (const Refused &refused) {
        w.loader->set_error(refused.sentence.c_str());
        return refused.status;
    } catch (const std::bad_alloc &) {
        w.loader->set_error("the host has no memory");
        return EP_OUT_OF_MEMORY;
    }
}

inline void may_keep(World &w) {
    if (w.may_keep)
        w.may_keep();
}

// Runs the body of a function that cannot be refused, such as a release.
template <class Body> void quietly(Body &&body) noexcept {
    const std::unique_lock locked(world().mutex);
    body(world());
}

inline void make_devices(World &w) {
    if (!w.devices.empty() || w.roots.empty())
        return;
    for (std::size_t i = 0; i < w.roots.size(); ++i) {
        auto device = std::make_unique<ep_device_s>();
        ep_device_info &info = device->info;
        info.backend = w.roots[i].first;
        info.type = w.roots[i].second;
        info.number = static_cast<std::uint32_t>(std::count(
            w.roots.begin(), w.roots.begin() + static_cast<std::ptrdiff_t>(i), w.roots[i]));
        info.name = "Fake device";
        info.vendor = "Nobody";
        info.driver = "1.0";
        info.global_memory = info.max_allocation = std::uint64_t{1} << 30;
        info.local_memory = 32768;
        info.max_work_group = 256;
        std::fill(std::begin(info.max_work_items), std::end(info.max_work_items), 256);
        info.compute_units = info.max_sub_devices = w.compute_units;
        info.aspects = w.aspects;
        if (i != 0)  // only the first device supports graphs
            info.aspects &= ~std::uint32_t{EP_GRAPH_CAPTURE};
        info.score = i < w.scores.size() ? w.scores[i] : 0;
        w.devices.push_back(std::move(device));
        auto *context = new ep_context_s;
        context->is_default = true;
        context->devices = {w.devices.back().get()};
        w.default_contexts.push_back(context);
        ++w.alive.contexts;
    }
}

inline ep_device root_of(ep_device device) {
    while (device->parent)
        device = device->parent;
    return device;
}

// Repeating a division returns the same handles.
inline const std::vector<ep_device> &divide(ep_device parent, ep_partition how,
                                            const std::vector<std::uint32_t> &units) {
    std::vector<ep_device> &parts = parent->divisions[std::pair(how, units)];
    if (parts.empty())
        for (const std::uint32_t count : units) {
            auto sub = std::make_unique<ep_device_s>();
            sub->info = parent->info;
            sub->info.aspects |= world().more_aspects;
            sub->info.number = static_cast<std::uint32_t>(parent->subs.size());
            sub->info.compute_units = sub->info.max_sub_devices = count;
            sub->parent = parent;
            parts.push_back(sub.get());
            parent->subs.push_back(std::move(sub));
        }
    return parts;
}

inline void release_context(World &w, ep_context context) {
    if (--context->references == 0) {
        may_keep(w);
        delete context;
        --w.alive.contexts;
    }
}

inline void release_program(World &w, ep_program program) {
    if (--program->references == 0) {
        w.loader->foreign_queue(w.name.c_str(), 0);  // the backend asks for a captured stream
        may_keep(w);
        delete program;
        --w.alive.programs;
    }
}

inline void release_event(World &w, ep_event event) {
    if (event && --event->references == 0) {
        delete event;
        --w.alive.events;
    }
}

// Runs pending work until the rest is held or waits for events.
inline void pump(World &w) {
    for (bool moved = true; moved;) {
        moved = false;
        for (ep_queue queue : w.queues)
            while (!queue->held && !queue->pending.empty() &&
                   (!queue->pending.front().after || queue->pending.front().after->done)) {
                ep_queue_s::Task task = std::move(queue->pending.front());
                queue->pending.pop_front();
                if (task.run)
                    task.run();
                release_event(w, task.after);
                moved = true;
            }
    }
    w.changed.notify_all();
}

// Invalidates the capture and refuses the call, as a driver does for calls that a capture forbids.
[[noreturn]] inline void invalidate(World &w, std::uint64_t capture) {
    w.graphs[capture].is_valid = false;
    refuse(EP_DEVICE_ERROR, "the capture is invalidated");
}

inline void enqueue(World &w, ep_queue queue, std::function<void()> run, ep_event after = nullptr) {
    if (queue->capture == 0 && after && after->capture != 0)
        queue->capture = after->capture;  // the queue joins the capture
    if (queue->capture != 0) {
        if (after && after->capture != queue->capture)
            invalidate(w, queue->capture);
        release_event(w, after);
        if (run)
            w.graphs[queue->capture].work.push_back(std::move(run));
        return;
    }
    queue->pending.push_back({std::move(run), after});
    pump(w);
}

inline bool is_of_this_thread(ep_queue queue) {
    return queue->thread == std::thread::id() || queue->thread == std::this_thread::get_id();
}

inline bool covers(const ep_context_s &context, ep_device device, bool sub_devices) {
    if (std::ranges::find(context.devices, device) != context.devices.end())
        return true;
    return device->parent && sub_devices &&
           std::ranges::find(context.devices, root_of(device)) != context.devices.end();
}

inline std::int64_t item_offset(const ep_box &box, const std::int64_t *strides, std::size_t item) {
    std::int64_t offset = 0;
    for (std::size_t axis = box.ndim; axis-- > 0; item /= static_cast<std::size_t>(box.shape[axis]))
        offset += strides[axis] *
                  static_cast<std::int64_t>(item % static_cast<std::size_t>(box.shape[axis]));
    return offset;
}

inline std::size_t items_of(const ep_box &box) {
    std::size_t items = 1;
    for (std::size_t axis = 0; axis < box.ndim; ++axis)
        items *= static_cast<std::size_t>(box.shape[axis]);
    return items;
}

// A box that owns its shape and strides, for work that runs later.
struct KeptBox {
    std::vector<std::int64_t> shape, to_strides, from_strides;
    ep_box box;

    KeptBox(const ep_box &of, const std::int64_t *to, const std::int64_t *from)
        : shape(of.shape, of.shape + of.ndim), to_strides(to, to + of.ndim),
          from_strides(from, from + (from ? of.ndim : 0)), box(of) {}
    ep_box view() const { return {box.ndim, box.itemsize, shape.data()}; }
};

// -------------------------------------------------------------- the table

inline void enter_devices(ep_backend &table) {
    table.device_count = [](std::uint32_t *count) {
        return guarded([&](World &w) {
            make_devices(w);
            *count = static_cast<std::uint32_t>(w.devices.size());
        });
    };
    table.device_at = [](std::uint32_t index, ep_device *device) {
        return guarded([&](World &w) {
            make_devices(w);
            if (index >= w.devices.size())
                refuse(EP_INVALID, "there is no device of that index");
            *device = w.devices[index].get();
        });
    };
    table.device_info = [](ep_device device, ep_device_info *info) {
        return guarded([&](World &w) {
            ++w.calls.device_info;
            *info = device->info;
        });
    };
    table.device_parent = [](ep_device device, ep_device *parent) {
        return guarded([&](World &) { *parent = device->parent; });
    };
    table.device_partition = [](ep_device device, ep_partition how, const std::uint32_t *counts,
                                std::size_t count, ep_device *sub, std::size_t *sub_count) {
        return guarded([&](World &w) {
            std::vector<std::uint32_t> units;
            if (how == EP_EQUALLY)
                units.assign(device->info.compute_units / counts[0], counts[0]);
            else if (how == EP_BY_COUNTS)
                units.assign(counts, counts + count);
            else if (counts[0] == EP_AFFINITY_NUMA)  // no division by caches
                units.assign(device->info.compute_units / w.units_of_numa_node,
                             w.units_of_numa_node);
            if (units.empty())
                refuse(EP_UNSUPPORTED, "the fake device cannot be divided that way");
            if (sub)
                std::copy_n(divide(device, how, units).begin(), std::min(units.size(), *sub_count),
                            sub);
            *sub_count = units.size();
        });
    };
    table.device_from_native = [](void *native, ep_device *device) {
        return guarded([&](World &) { *device = static_cast<ep_device>(native); });
    };
    table.device_native = [](ep_device device, void **native) {
        return guarded([&](World &) { *native = device; });
    };
    table.device_hash = [](ep_device device) -> std::uint64_t {
        return std::hash<ep_device>{}(device);
    };
    table.device_limit_threads = [](ep_device, std::uint32_t, std::uint32_t *) {
        return EP_UNSUPPORTED;
    };
    table.device_default_context = [](ep_device device, ep_context *context) {
        return guarded([&](World &w) {
            ++w.calls.device_default_context;
            const auto root = std::ranges::find(w.devices, root_of(device),
                                                [](const auto &owned) { return owned.get(); });
            *context = w.default_contexts[static_cast<std::size_t>(root - w.devices.begin())];
            ++(*context)->references;
        });
    };
}

inline void enter_contexts(ep_backend &table) {
    table.context_create = [](const ep_device *devices, std::size_t count, ep_context *context) {
        return guarded([&](World &w) {
            may_keep(w);
            *context = new ep_context_s;
            (*context)->devices.assign(devices, devices + count);
            ++w.alive.contexts;
        });
    };
    table.context_from_native = [](void *native, ep_context *context) {
        return guarded([&](World &w) {
            may_keep(w);
            ++(*context = static_cast<ep_context>(native))->references;
        });
    };
    table.context_native = [](ep_context context, void **native) {
        return guarded([&](World &) { *native = context; });
    };
    table.context_release = [](ep_context context) {
        quietly([&](World &w) { release_context(w, context); });
    };
    table.context_hash = [](ep_context context) -> std::uint64_t {
        return std::hash<ep_context>{}(context);
    };
    table.context_is_default = [](ep_context context, std::int32_t *is) {
        return guarded([&](World &) { *is = context->is_default; });
    };
    table.context_devices = [](ep_context context, ep_device *devices, std::size_t *count) {
        return guarded([&](World &) {
            if (devices)
                std::copy_n(context->devices.begin(), std::min(*count, context->devices.size()),
                            devices);
            *count = context->devices.size();
        });
    };
}

inline void enter_queues(ep_backend &table) {
    table.queue_create = [](ep_context context, ep_device device, std::uint32_t flags,
                            ep_queue *queue) {
        std::function<void()> meanwhile;
        quietly([&](World &w) { meanwhile = std::exchange(w.queue_begins, {}); });
        if (meanwhile)  // outside the lock, because it takes locks of the library
            meanwhile();
        return guarded([&](World &w) {
            may_keep(w);
            ++w.calls.queue_create;
            if (!covers(*context, device,
                        !context->is_default || w.default_context_serves_sub_devices))
                refuse(EP_INVALID, "the device is not in the context");
            auto *made = new ep_queue_s;
            made->context = context;
            ++context->references;
            made->device = device;
            made->flags = flags;
            w.queues.push_back(made);
            ++w.alive.queues;
            *queue = made;
        });
    };
    table.queue_from_native = [](ep_context, void *native, ep_queue *queue) {
        return guarded([&](World &w) {
            may_keep(w);
            ++(*queue = static_cast<ep_queue>(native))->references;
        });
    };
    table.queue_native = [](ep_queue queue, void **native) {
        return guarded([&](World &) { *native = queue; });
    };
    table.queue_hash = [](ep_queue queue) -> std::uint64_t { return std::hash<ep_queue>{}(queue); };
    table.queue_release = [](ep_queue queue) {
        quietly([&](World &w) {
            if (--queue->references != 0)
                return;
            may_keep(w);
            if (w.queue_ends)
                w.queue_ends();
            std::erase(w.queues, queue);
            for (ep_queue_s::Task &task : queue->pending)
                release_event(w, task.after);
            release_event(w, queue->last_mark);
            release_context(w, queue->context);
            delete queue;
            --w.alive.queues;
        });
    };
    table.queue_context = [](ep_queue queue, ep_context *context) {
        return guarded([&](World &) { ++(*context = queue->context)->references; });
    };
    table.queue_device = [](ep_queue queue, ep_device *device) {
        return guarded([&](World &) { *device = queue->device; });
    };
    table.queue_flags = [](ep_queue queue, std::uint32_t *flags) {
        return guarded([&](World &) { *flags = queue->flags; });
    };
    static constexpr auto wait = [](World &w, ep_queue queue) {
        may_keep(w);
        ++w.calls.queue_wait;
        if (queue->capture != 0)
            invalidate(w, queue->capture);
        w.changed.wait(w.mutex, [&] { return queue->pending.empty(); });
        if (const std::string error = std::exchange(queue->error, {}); !error.empty())
            refuse(EP_DEVICE_ERROR, error);
    };
    table.queue_wait = [](ep_queue queue) { return guarded([&](World &w) { wait(w, queue); }); };
    table.queue_wait_submitted = [](ep_queue queue) {
        return guarded([&](World &w) {
            ++w.calls.queue_wait_submitted;
            wait(w, queue);
        });
    };
    table.queue_is_idle = [](ep_queue queue, std::int32_t *idle) {
        return guarded([&](World &w) {
            may_keep(w);
            ++w.calls.queue_is_idle;
            if (queue->capture != 0)
                invalidate(w, queue->capture);
            *idle = queue->pending.empty();
        });
    };
    table.queue_capture = [](ep_queue queue, std::uint64_t *capture) {
        return guarded([&](World &w) {
            ++w.calls.queue_capture;
            *capture = is_of_this_thread(queue) ? queue->capture : 0;
        });
    };
    table.queue_keep = [](ep_queue queue, void *user, void (*release)(void *)) {
        return guarded(
            [&](World &w) { w.graphs.at(queue->capture).kept.emplace_back(user, release); });
    };
}

inline const ep_backend &table();

inline void enter_events(ep_backend &entered) {
    entered.event_record = [](ep_queue queue, std::uint32_t, ep_event *event) {
        return guarded([&](World &w) {
            may_keep(w);
            ++w.calls.event_record;
            if (!is_of_this_thread(queue)) {
                if (!queue->last_mark)
                    refuse(EP_INVALID, "another thread's own queue was never marked");
                ++(*event = queue->last_mark)->references;
                return;
            }
            if (const auto meanwhile = std::exchange(w.meanwhile, {}))
                meanwhile();
            ++w.alive.events;
            auto *made = new ep_event_s;
            *event = made;
            made->capture = queue->capture;
            if (const auto then = std::exchange(w.after_record, {}))
                then();
            if (made->capture != 0)
                return;
            if (queue->thread != std::thread::id()) {
                ++made->references;
                release_event(w, std::exchange(queue->last_mark, made));
            }
            ++made->references;  // the queue's reference
            enqueue(w, queue, [queue, made] {
                World &in = world();
                made->error = queue->error;
                made->seconds = in.clock += 1e-3;
                made->done = true;
                release_event(in, made);
            });
        });
    };
    // The event is complete: callers use it only if all queues are idle.
    entered.event_record_context = [](ep_context context, ep_event *event) {
        return guarded([&](World &w) {
            if (!w.marks_contexts)
                refuse(EP_UNSUPPORTED, "the fake marks queues only");
            // The backend asks for a captured stream.
            w.loader->foreign_queue(w.name.c_str(), context->devices.front()->info.number);
            may_keep(w);
            ++w.alive.events;
            *event = new ep_event_s;
            (*event)->done = true;
        });
    };
    entered.event_wait_in_queue = [](ep_queue queue, ep_event event) {
        return guarded([&](World &w) {
            may_keep(w);
            ++w.calls.event_wait_in_queue;
            ++event->references;
            enqueue(w, queue, {}, event);
        });
    };
    entered.queue_wait_queue = [](ep_queue from, ep_queue to) {
        ep_event event = nullptr;
        if (const ep_status status = table().event_record(from, EP_EVENT_EXACT, &event);
            status != EP_OK)
            return status;
        const ep_status status =
            event->capture != 0 ? EP_UNSUPPORTED : table().event_wait_in_queue(to, event);
        if (status == EP_UNSUPPORTED)
            world().loader->set_error("the queue is captured");
        table().event_release(event);
        return status;
    };
    entered.event_wait = [](ep_event event) {
        return guarded([&](World &w) {
            may_keep(w);
            ++w.calls.event_wait;
            if (event->capture != 0)
                invalidate(w, event->capture);
            w.changed.wait(w.mutex, [&] { return event->done; });
            if (!event->error.empty())
                refuse(EP_DEVICE_ERROR, event->error);
        });
    };
    entered.event_is_done = [](ep_event event, std::int32_t *done) {
        return guarded([&](World &w) {
            ++w.calls.event_is_done;
            if (event->capture != 0)
                invalidate(w, event->capture);
            *done = event->done;
        });
    };
    entered.event_seconds = [](ep_event from, ep_event to, double *seconds) {
        return guarded([&](World &w) {
            may_keep(w);
            *seconds = to->seconds - from->seconds;
        });
    };
    entered.event_native = [](ep_event event, void **native) {
        return guarded([&](World &) { *native = event; });
    };
    entered.event_from_native = [](void *native, ep_event *event) {
        return guarded([&](World &) { ++(*event = static_cast<ep_event>(native))->references; });
    };
    entered.event_release = [](ep_event event) {
        quietly([&](World &w) { release_event(w, event); });
    };
}

inline void enter_memory(ep_backend &table) {
    table.memory_allocate = [](ep_context context, ep_device device, ep_usm_kind kind,
                               std::size_t bytes, std::size_t alignment, ep_queue, void **pointer) {
        return guarded([&](World &w) {
            may_keep(w);
            const std::size_t step = std::max<std::size_t>(alignment, 64);
            const std::size_t rounded = (std::max<std::size_t>(bytes, 1) + step - 1) / step * step;
            void *block = rounded <= device->info.max_allocation ? std::aligned_alloc(step, rounded)
                                                                 : nullptr;
            if (!block)
                refuse(EP_OUT_OF_MEMORY, "the fake device has no block of that size");
            const auto last =
                reinterpret_cast<std::uintptr_t>(block) + std::max<std::size_t>(bytes, 1) - 1;
            w.allocations[last] = {bytes, kind, device, context};
            *pointer = block;
        });
    };
    table.memory_free = [](ep_context, void *pointer, ep_queue) {
        return guarded([&](World &w) {
            may_keep(w);
            const auto found = w.allocations.lower_bound(reinterpret_cast<std::uintptr_t>(pointer));
            if (found == w.allocations.end())
                refuse(EP_INVALID, "the pointer is not the fake's");
            w.allocations.erase(found);
            std::free(pointer);
        });
    };
    table.memory_query = [](ep_context context, const void *pointer, std::size_t bytes,
                            std::uint32_t flags, ep_allocation *found) {
        return guarded([&](World &w) {
            ++w.calls.memory_query;
            *found = {};
            const auto first = reinterpret_cast<std::uintptr_t>(pointer);
            const auto row = w.allocations.lower_bound(first);
            if (row == w.allocations.end() || row->second.context != context)
                return;
            const Allocation &allocation = row->second;
            const std::uintptr_t base = row->first + 1 - std::max<std::size_t>(allocation.bytes, 1);
            if (first < base)
                return;
            found->kind = flags & EP_QUERY_KIND_LATER ? EP_USM_UNASKED : allocation.kind;
            found->base = reinterpret_cast<void *>(base);
            if ((flags & EP_QUERY_DEVICE) && allocation.kind != EP_USM_HOST)
                found->device = allocation.device;
            if (flags & EP_QUERY_SIZE)
                found->size = allocation.bytes;
            found->contained = first + bytes <= row->first + 1;
        });
    };
    table.memory_copy = [](ep_queue queue, void *to, const void *from, std::size_t bytes) {
        return guarded(
            [&](World &w) { enqueue(w, queue, [=] { std::memmove(to, from, bytes); }); });
    };
    table.memory_copy_strided = [](ep_queue queue, const ep_box *box, void *to,
                                   const std::int64_t *to_strides, const void *from,
                                   const std::int64_t *from_strides) {
        return guarded([&](World &w) {
            enqueue(w, queue, [kept = KeptBox(*box, to_strides, from_strides), to, from] {
                const ep_box view = kept.view();
                for (std::size_t item = 0; item < items_of(view); ++item)
                    std::memcpy(static_cast<char *>(to) +
                                    item_offset(view, kept.to_strides.data(), item),
                                static_cast<const char *>(from) +
                                    item_offset(view, kept.from_strides.data(), item),
                                view.itemsize);
            });
        });
    };
    table.memory_fill = [](ep_queue queue, void *to, const void *item, std::size_t itemsize,
                           std::size_t count) {
        return guarded([&](World &w) {
            enqueue(w, queue,
                    [to, value = std::string(static_cast<const char *>(item), itemsize), count] {
                        for (std::size_t i = 0; i < count; ++i)
                            std::memcpy(static_cast<char *>(to) + i * value.size(), value.data(),
                                        value.size());
                    });
        });
    };
    table.memory_fill_strided = [](ep_queue queue, const ep_box *box, void *to,
                                   const std::int64_t *to_strides, const void *item) {
        return guarded([&](World &w) {
            enqueue(w, queue,
                    [kept = KeptBox(*box, to_strides, nullptr), to,
                     value = std::string(static_cast<const char *>(item), box->itemsize)] {
                        const ep_box view = kept.view();
                        for (std::size_t i = 0; i < items_of(view); ++i)
                            std::memcpy(static_cast<char *>(to) +
                                            item_offset(view, kept.to_strides.data(), i),
                                        value.data(), value.size());
                    });
        });
    };
    table.memory_pin = [](ep_context, void *pointer, std::size_t bytes, std::int32_t read_only,
                          std::int32_t *pinned) {
        return guarded([&](World &w) {
            may_keep(w);
            ++w.calls.memory_pin;
            if (!w.pins)
                refuse(EP_UNSUPPORTED, "the fake pins no memory");
            *pinned = !w.reads_host_memory;
            const auto begin = reinterpret_cast<std::uintptr_t>(pointer);
            const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
            if (w.pins_pages && (begin % page != 0 || bytes % page != 0))
                refuse(EP_INVALID, "the range is not whole pages");
            for (const auto &[start, other] : w.pinned)
                if (begin < start + other.bytes && start < begin + bytes)
                    refuse(EP_INVALID, "a part of the memory is registered already");
            if (*pinned)
                w.pinned[begin] = {bytes, read_only != 0};
        });
    };
    table.memory_unpin = [](ep_context, void *pointer, std::size_t bytes) {
        return guarded([&](World &w) {
            may_keep(w);
            const auto found = w.pinned.find(reinterpret_cast<std::uintptr_t>(pointer));
            if (found == w.pinned.end() || found->second.bytes != bytes)
                refuse(EP_INVALID, "the memory is not registered");
            w.pinned.erase(found);
        });
    };
    table.memory_trim = [](ep_device) { return guarded([](World &w) { ++w.calls.memory_trim; }); };
}

// Work of a launch. Values that are passed by bytes are copied, as by every backend.
inline std::function<void()> launch_of(const ep_range &range, const ep_argument *arguments,
                                       std::size_t count) {
    struct Launch {
        ep_range range;
        std::vector<ep_argument> arguments;
        std::deque<std::string> bytes;  // at stable addresses
    };
    const auto launch = std::make_shared<Launch>(Launch{range, {arguments, arguments + count}, {}});
    for (ep_argument &each : launch->arguments)
        if (each.kind == EP_ARG_BYTES)
            each.value =
                launch->bytes.emplace_back(static_cast<const char *>(each.value), each.size).data();
    return [launch] {
        if (world().kernel)
            world().kernel(launch->range, launch->arguments.data(), launch->arguments.size());
    };
}

inline void enter_programs(ep_backend &table) {
    table.program_dialects = [](ep_device, std::uint32_t *mask) {
        return guarded([&](World &w) { *mask = w.dialects; });
    };
    // Refuses source that contains `error`. In other source, every word names a kernel.
    table.program_build = [](ep_context, ep_device, ep_dialect, const char *source,
                             std::size_t length, const char *, const ep_sink *log,
                             ep_program *program) {
        return guarded([&](World &w) {
            // The backend asks for a captured stream before it unloads modules.
            w.loader->foreign_queue(w.name.c_str(), 0);
            may_keep(w);
            const std::string text(source, length);
            if (log)
                log->write(log->user, "built by hand", 13);
            if (text.find("error") != text.npos)
                refuse(EP_BUILD_FAILED, "the fake compiler found an error");
            *program = new ep_program_s{1, text};
            ++w.alive.programs;
        });
    };
    table.program_release = [](ep_program program) {
        quietly([&](World &w) { release_program(w, program); });
    };
    table.program_kernel = [](ep_program program, const char *name, ep_kernel *kernel) {
        return guarded([&](World &w) {
            may_keep(w);
            if (program->source.find(name) == std::string::npos)
                refuse(EP_INVALID, std::string("the program has no kernel '") + name + "'");
            ++program->references;
            *kernel = new ep_kernel_s{1, program, name};
            ++w.alive.kernels;
        });
    };
    table.kernel_info = [](ep_kernel, ep_device device, ep_kernel_info *info) {
        return guarded([&](World &w) {
            *info = {device->info.max_work_group, 8, 1024, 0, 16, w.argument_count};
        });
    };
    table.kernel_resident_groups = [](ep_kernel, ep_device, std::uint64_t, std::uint64_t,
                                      std::uint64_t *groups) {
        return guarded([&](World &) { *groups = 1; });
    };
    table.kernel_release = [](ep_kernel kernel) {
        quietly([&](World &w) {
            if (--kernel->references == 0) {
                release_program(w, kernel->program);
                delete kernel;
                --w.alive.kernels;
            }
        });
    };
    table.kernel_launch = [](ep_queue queue, ep_kernel, const ep_range *range,
                             const ep_cooperation *, const ep_argument *arguments,
                             std::size_t count) {
        return guarded([&](World &w) { enqueue(w, queue, launch_of(*range, arguments, count)); });
    };
}

inline void enter_peer(ep_backend &table) {
    table.peer_can_access = [](ep_device, ep_device, std::int32_t *can) {
        return guarded([&](World &w) {
            may_keep(w);
            *can = 1;
        });
    };
    table.peer_enable_access = [](ep_context, ep_device) { return guarded([](World &) {}); };
}

// The shareable block that contains the address.
inline std::pair<std::uintptr_t, Shareable> block_at(World &w, std::uintptr_t address) {
    const auto next = w.shareable.upper_bound(address);
    if (next == w.shareable.begin())
        refuse(EP_UNSUPPORTED, "the fake shares no memory");
    const auto &[start, block] = *std::prev(next);
    if (address - start >= block.bytes)
        refuse(EP_UNSUPPORTED, "the fake shares no memory");
    return {start, block};
}

// A file of the fake has the address of its block.
inline int make_file_of(std::uintptr_t start) {
    const int file = memfd_create("fake", MFD_CLOEXEC);
    if (pwrite(file, &start, sizeof start, 0) != static_cast<ssize_t>(sizeof start))
        refuse(EP_OUT_OF_MEMORY, "the fake has no file");
    return file;
}

inline std::uintptr_t start_in(const ep_ipc_handle &handle) {
    std::uintptr_t start = 0;
    if (handle.form == EP_IPC_DRIVER)
        std::memcpy(&start, handle.name, sizeof start);
    else if (pread(handle.file, &start, sizeof start, 0) != static_cast<ssize_t>(sizeof start))
        refuse(EP_INVALID, "the file is not the fake's");
    return start;
}

// Shares the blocks that a test enters in world().shareable. Opened memory is a copy of them.
inline void enter_ipc(ep_backend &table) {
    table.ipc_allocate = [](ep_context, ep_device, ep_usm_kind, std::size_t, void **) {
        return guarded([](World &) { refuse(EP_UNSUPPORTED, "the fake shares no memory"); });
    };
    table.ipc_export = [](ep_context context, const void *pointer, std::size_t, ep_ipc_form,
                          ep_ipc_handle *handle) {
        return guarded([&](World &w) {
            ++w.calls.ipc_export;
            const auto address = reinterpret_cast<std::uintptr_t>(pointer);
            const auto [start, block] = block_at(w, address);
            *handle = {};
            handle->form = block.form;
            handle->file = -1;
            handle->size = block.bytes;
            handle->offset = address - start;
            handle->device[0] =
                static_cast<std::uint8_t>(1 + context->devices.front()->info.number);
            if (block.form == EP_IPC_DRIVER) {
                std::memcpy(handle->name, &start, sizeof start);
                handle->name_size = sizeof start;
            } else {
                handle->file = make_file_of(start);
                handle->owns_file = 1;
            }
        });
    };
    table.ipc_device = [](const ep_ipc_handle *handle, ep_device *device) {
        return guarded([&](World &w) {
            for (const std::unique_ptr<ep_device_s> &each : w.devices)
                if (1 + each->info.number == handle->device[0])
                    return void(*device = each.get());
            refuse(EP_INVALID, "the fake has no such device");
        });
    };
    table.ipc_open = [](ep_context context, const ep_ipc_handle *handles, std::size_t count,
                        std::int32_t, void **pointer) {
        return guarded([&](World &w) {
            std::size_t bytes = 0;
            for (std::size_t i = 0; i < count; ++i) {
                if (handles[i].form == EP_IPC_DRIVER && !w.shareable.contains(start_in(handles[i])))
                    refuse(EP_INVALID, "the fake has no such memory");
                bytes += handles[i].size;
            }
            auto *const opened = static_cast<std::byte *>(std::aligned_alloc(64, bytes));
            std::byte *at = opened;
            for (std::size_t i = 0; i < count; at += handles[i++].size)
                std::memcpy(at, reinterpret_cast<const void *>(start_in(handles[i])),
                            handles[i].size);
            w.allocations[reinterpret_cast<std::uintptr_t>(opened) + bytes - 1] = {
                bytes, EP_USM_DEVICE, context->devices.front(), context};
            *pointer = opened;
        });
    };
    table.ipc_close = [](ep_context, void *pointer) {
        return guarded([&](World &w) {
            const auto found = w.allocations.lower_bound(reinterpret_cast<std::uintptr_t>(pointer));
            if (found == w.allocations.end())
                refuse(EP_INVALID, "the fake has not opened it");
            w.allocations.erase(found);
            std::free(pointer);
        });
    };
}

// The name of an event is its position in world().shared_events, for queues of this process.
inline void enter_ipc_events(ep_backend &entered) {
    entered.ipc_event_record = [](ep_queue queue, ep_ipc_event *event) {
        return guarded([&](World &w) {
            may_keep(w);
            ++w.calls.ipc_event_record;
            if (!w.shares_events || queue->capture != 0)
                refuse(EP_UNSUPPORTED, "the fake has no events for other processes");
            static const int file = memfd_create("fake events", MFD_CLOEXEC);
            ep_event made = nullptr;
            if (table().event_record(queue, 0, &made) != EP_OK)
                refuse(EP_DEVICE_ERROR, "the fake records no event");
            const std::size_t number = w.shared_events.size();
            w.shared_events.push_back(made);
            *event = {};
            event->file = file;
            event->process = getpid();
            event->name_size = sizeof number;
            std::memcpy(event->name, &number, sizeof number);
        });
    };
    entered.ipc_event_open = [](ep_context, const ep_ipc_event *shared, ep_event *event) {
        return guarded([&](World &w) {
            ++w.calls.ipc_event_open;
            std::size_t number = 0;
            if (shared->name_size != sizeof number)
                refuse(EP_INVALID, "the event is not the fake's");
            std::memcpy(&number, shared->name, sizeof number);
            if (number >= w.shared_events.size())
                refuse(EP_INVALID, "the fake has no such event");
            ++(*event = w.shared_events[number])->references;
        });
    };
}

// The work of a launch or a fill.
inline std::function<void()> work_of(const ep_node &node) {
    if (node.kind == EP_NODE_LAUNCH) {
        const auto &of = node.of.launch;
        return launch_of(*of.range, of.arguments, of.count);
    }
    if (node.kind != EP_NODE_FILL)
        refuse(EP_INVALID, "the fake has launches and fills in graphs, and no other nodes");
    const auto &of = node.of.fill;
    return [to = static_cast<char *>(of.to), count = of.count,
            value = std::string(static_cast<const char *>(of.item), of.itemsize)] {
        for (std::size_t i = 0; i < count; ++i)
            std::memcpy(to + i * value.size(), value.data(), value.size());
    };
}

inline void enter_graphs(ep_backend &table) {
    table.graph_create = [](ep_context, ep_device, const ep_node *nodes, std::size_t count,
                            ep_graph *graph) {
        return guarded([&](World &w) {
            may_keep(w);
            ++w.calls.graph_create;
            if (!w.has_graphs)
                refuse(EP_UNSUPPORTED, "the fake has no graphs");
            auto made = std::make_unique<ep_graph_s>();
            for (std::size_t i = 0; i < count; ++i)
                made->work.push_back(work_of(nodes[i]));
            *graph = made.release();
            ++w.prepared_graphs;
        });
    };
    table.graph_launch = [](ep_queue queue, ep_graph graph) {
        return guarded([&](World &w) {
            ++w.calls.graph_launch;
            enqueue(w, queue, [work = graph->work] {
                for (const std::function<void()> &each : work)
                    each();
            });
        });
    };
    table.graph_update = [](ep_graph graph, std::size_t index, const ep_node *node) {
        return guarded([&](World &w) {
            ++w.calls.graph_update;
            if (!w.updates_graphs)
                refuse(EP_UNSUPPORTED, "the fake changes no graphs");
            graph->work.at(index) = work_of(*node);
        });
    };
    table.graph_release = [](ep_graph graph) {
        quietly([&](World &w) {
            delete graph;
            --w.prepared_graphs;
        });
    };
}

inline const ep_backend &table() {
    static const ep_backend made = [] {
        ep_backend entries{};
        entries.size = sizeof entries;
        entries.version = EP_BACKEND_VERSION;
        entries.name = world().name.c_str();
        enter_devices(entries);
        enter_contexts(entries);
        enter_queues(entries);
        enter_events(entries);
        enter_memory(entries);
        enter_programs(entries);
        enter_peer(entries);
        enter_ipc(entries);
        enter_ipc_events(entries);
        enter_graphs(entries);
        return entries;
    }();
    return made;
}

// ------------------------------------------------------------ functions for tests

// Returns: the fake backend. The first call registers it.
inline const Backend &backend() {
    static const Backend &added = registry::add(&table());
    return added;
}

inline Device device(std::uint32_t index = 0) {
    ep_device handle = nullptr;
    backend().call(&ep_backend::device_at, index, &handle);
    return backend().device(handle);
}

// Keeps the queue's work pending until release().
inline void hold(const Queue &queue) {
    const std::unique_lock locked(world().mutex);
    queue.handle()->held = true;
}

// Runs the next `count` pieces of the queue's work.
inline void step(const Queue &queue, int count = 1) {
    const std::unique_lock locked(world().mutex);
    for (; count > 0 && !queue.handle()->pending.empty(); --count) {
        ep_queue_s::Task task = std::move(queue.handle()->pending.front());
        queue.handle()->pending.pop_front();
        if (task.run)
            task.run();
        release_event(world(), task.after);
    }
    pump(world());
}

inline void release(const Queue &queue) {
    const std::unique_lock locked(world().mutex);
    queue.handle()->held = false;
    pump(world());
}

// Submits work as Entrepot does. Returns: its position.
inline Queue::Position submit(const Queue &queue, std::function<void()> run = {}) {
    queue.submitting();
    const std::unique_lock locked(world().mutex);
    enqueue(world(), queue.handle(), std::move(run));
    return queue.take_position();
}

// Makes the queue a per-thread queue of the calling thread. Other threads may submit to it.
inline void make_own(const Queue &queue) {
    queue.native();
    const std::unique_lock locked(world().mutex);
    queue.handle()->thread = std::this_thread::get_id();
}

// Submits work of another library, which has no position in the queue.
inline void submit_foreign(const Queue &queue, std::function<void()> run = {}) {
    const std::unique_lock locked(world().mutex);
    enqueue(world(), queue.handle(), std::move(run));
}

// Captures the queue's further work into a graph, and marks the queue as foreign.
// Returns: the number of the capture.
inline std::uint64_t begin_capture(const Queue &queue) {
    static std::uint64_t captures = 0;
    queue.native();
    const std::unique_lock locked(world().mutex);
    queue.handle()->capture = ++captures;
    world().graphs[captures];
    return captures;
}

// Ends the capture in all its queues. Returns: its graph.
inline Graph end_capture(std::uint64_t capture) {
    const std::unique_lock locked(world().mutex);
    for (ep_queue queue : world().queues)
        if (queue->capture == capture)
            queue->capture = 0;
    return std::move(world().graphs.extract(capture).mapped());
}

// Releases the graph's references.
inline void drop(Graph graph) {
    for (const auto &[user, release] : graph.kept)
        release(user);
}

// Makes the next call of a table function fail with the status and message.
inline void refuse_next(ep_status status, std::string sentence) {
    const std::unique_lock locked(world().mutex);
    world().refusal_status = status;
    world().refusal = std::move(sentence);
}

// Makes the queue's work fail. The next wait and later events report the error.
inline void fail(const Queue &queue, std::string sentence) {
    const std::unique_lock locked(world().mutex);
    queue.handle()->error = std::move(sentence);
}

}  // namespace entrepot::fake
