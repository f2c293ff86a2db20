// A second fake backend: a driver with streams like CUDA's. A query in any context finds all
// memory. A stream is a handle; the two default streams are also numbers.
//
//     const Device device = fake::streaming();
//     fake::Stream theirs(device);  // a stream of a library, which may destroy it
#pragma once
#include "fake_backend.hpp"

#include <entrepot/device/stream.hpp>

#include <cstdint>
#include <map>
#include <set>
#include <utility>

namespace entrepot::fake {

struct Streams {
    const char *word = nullptr;  // backend part of the devices' selectors
    // Default streams 1 and 2 of each context; one reference each.
    std::map<std::pair<std::uintptr_t, ep_context>, ep_queue> by_number;
    std::map<ep_queue, std::uintptr_t> handles;  // queue_native returns pointers to them
    int wrapped = 0;                             // number of calls of queue_from_native
    std::set<ep_queue> destroyed;                // streams that their library has destroyed
    int uses_of_destroyed = 0;
    bool wrapping_lacks_memory = false;
    // True while a blocking stream captures. The backend then refuses queries of the legacy default
    // stream and work in it.
    bool legacy_is_refused = false;
};

inline Streams &streams() {
    static auto *only = new Streams;
    return *only;
}

inline ep_queue make_stream(World &w, ep_context context) {
    auto *const made = new ep_queue_s;
    made->context = context;
    ++context->references;
    made->device = context->devices.front();
    w.queues.push_back(made);
    ++w.alive.queues;
    return made;
}

inline ep_queue stream_at(std::uintptr_t number, ep_context context) {
    if (number > 2)
        return reinterpret_cast<ep_queue>(number);
    ep_queue &known = streams().by_number[{number == 0 ? 1 : number, context}];
    if (!known)
        known = make_stream(world(), context);
    return known;
}

inline bool is_legacy(ep_queue queue) {
    const auto found = streams().by_number.find({legacy_stream, queue->context});
    return found != streams().by_number.end() && found->second == queue;
}

// Calls the fake's function unless a driver would refuse the call for this stream.
template <class Call> ep_status touching(ep_queue queue, Call &&call) {
    const ep_status refused = guarded([&](World &) {
        if (streams().destroyed.contains(queue)) {
            ++streams().uses_of_destroyed;
            refuse(EP_DEVICE_ERROR, "the stream is destroyed");
        }
        if (streams().legacy_is_refused && is_legacy(queue))
            refuse(EP_UNSUPPORTED, "the legacy default stream takes no work during the capture");
    });
    return refused == EP_OK ? call() : refused;
}

inline ep_backend stream_table(const char *name, const char *word) {
    backend();
    streams().word = word;
    ep_backend entries = table();
    entries.name = name;
    entries.device_info = [](ep_device device, ep_device_info *info) {
        const ep_status status = table().device_info(device, info);
        if (streams().word)
            info->backend = streams().word;
        return status;
    };
    entries.queue_from_native = [](ep_context context, void *native, ep_queue *queue) {
        return guarded([&](World &w) {
            ++streams().wrapped;
            if (streams().wrapping_lacks_memory)
                refuse(EP_OUT_OF_MEMORY, "no memory for a queue");
            *queue = stream_at(*static_cast<const std::uintptr_t *>(native),
                               context ? context : w.default_contexts.front());
            if (streams().destroyed.contains(*queue))
                refuse(EP_DEVICE_ERROR, "the stream is destroyed");
            ++(*queue)->references;
        });
    };
    entries.queue_native = [](ep_queue queue, void **native) {
        return guarded([&](World &) {
            std::uintptr_t &handle = streams().handles[queue] =
                reinterpret_cast<std::uintptr_t>(queue);
            for (const auto &[key, known] : streams().by_number)
                if (known == queue)
                    handle = key.first;
            *native = &handle;
        });
    };
    entries.queue_wait = [](ep_queue queue) {
        return touching(queue, [&] { return table().queue_wait(queue); });
    };
    entries.queue_wait_submitted = [](ep_queue queue) {
        return touching(queue, [&] { return table().queue_wait_submitted(queue); });
    };
    entries.queue_is_idle = [](ep_queue queue, std::int32_t *idle) {
        return touching(queue, [&] { return table().queue_is_idle(queue, idle); });
    };
    entries.queue_capture = [](ep_queue queue, std::uint64_t *capture) {
        return touching(queue, [&] { return table().queue_capture(queue, capture); });
    };
    entries.event_record = [](ep_queue queue, std::uint32_t flags, ep_event *event) {
        return touching(queue, [&] { return table().event_record(queue, flags, event); });
    };
    entries.event_wait_in_queue = [](ep_queue queue, ep_event event) {
        return touching(queue, [&] { return table().event_wait_in_queue(queue, event); });
    };
    entries.queue_wait_queue = [](ep_queue from, ep_queue to) {
        return touching(
            from, [&] { return touching(to, [&] { return table().queue_wait_queue(from, to); }); });
    };
    entries.memory_query = [](ep_context, const void *pointer, std::size_t bytes,
                              std::uint32_t flags, ep_allocation *found) {
        const auto row = world().allocations.lower_bound(reinterpret_cast<std::uintptr_t>(pointer));
        const ep_context where = row == world().allocations.end() ? world().default_contexts.front()
                                                                  : row->second.context;
        return table().memory_query(where, pointer, bytes, flags, found);
    };
    return entries;
}

// Returns: the backend. The first call registers it with its name and that of its devices.
inline const Backend &add_streams(const char *name, const char *word = nullptr) {
    static const ep_backend made = stream_table(name, word);
    static const Backend &added = registry::add(&made);
    return added;
}

inline Device device_of(const Backend &backend, std::uint32_t index = 0) {
    ep_device handle = nullptr;
    backend.call(&ep_backend::device_at, index, &handle);
    return backend.device(handle);
}

// Returns: a device of the backend, which has its default name.
inline Device streaming(std::uint32_t index = 0) {
    return device_of(add_streams("streams", "streams"), index);
}

// A stream of another library. It is held: its work stays pending until finish().
class Stream {
public:
    explicit Stream(const Device &device) : device_(device) {
        // Outside the fake's lock, because it takes locks of the library.
        const Context &context = device.default_context();
        const std::unique_lock locked(world().mutex);
        handle_ = make_stream(world(), context.handle());
        handle_->held = true;
    }
    Stream(const Stream &) = delete;
    Stream &operator=(const Stream &) = delete;
    ~Stream() {
        finish();
        {
            const std::unique_lock locked(world().mutex);
            streams().destroyed.erase(handle_);
        }
        table().queue_release(handle_);
    }

    const Device &device() const { return device_; }
    std::uintptr_t number() const { return reinterpret_cast<std::uintptr_t>(handle_); }
    Queue queue() const { return wrap_stream(device_, number()); }

    // Submits work of the library.
    void submit(std::function<void()> run = {}) const {
        const std::unique_lock locked(world().mutex);
        enqueue(world(), handle_, std::move(run));
    }
    void finish() const {
        const std::unique_lock locked(world().mutex);
        handle_->held = false;
        pump(world());
    }
    std::uint64_t begin_capture() const { return fake::begin_capture(queue()); }
    // True if the stream is being captured.
    bool is_captured() const {
        const std::unique_lock locked(world().mutex);
        return handle_->capture != 0;
    }
    // Destroys the stream as its library would. Pending work still runs.
    void destroy() const {
        const std::unique_lock locked(world().mutex);
        streams().destroyed.insert(handle_);
    }

private:
    Device device_;
    ep_queue handle_ = nullptr;  // one reference
};

}  // namespace entrepot::fake
