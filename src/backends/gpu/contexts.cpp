// Contexts: a device's primary context, retained while it has a handle, or one that a program
// created itself.
#include "backends/gpu/native.hpp"
#include "backends/handle_table.hpp"
#include "core/no_destructor.hpp"

#include <algorithm>

namespace entrepot::backends::gpu {
namespace {

HandleTable<CUcontext, Context> &known_contexts() {
    static NoDestructor<HandleTable<CUcontext, Context>> all;
    return *all;
}

CUcontext retain_primary(const Device &device) {
    CUcontext native = nullptr;
    check(driver().cuDevicePrimaryCtxRetain(&native, device.native), "cuDevicePrimaryCtxRetain");
    return native;
}

void release_primary(const Device &device) noexcept {
    driver().cuDevicePrimaryCtxRelease(device.native);  // at process exit the driver may be gone
}

Device &device_under(CUcontext native) {
    const Current current(native);
    CUdevice device = 0;
    check(driver().cuCtxGetDevice(&device), "cuCtxGetDevice");
    return device_of(device);
}

bool is_active(const Device &device) {
    unsigned flags = 0;
    int active = 0;
    check(driver().cuDevicePrimaryCtxGetState(device.native, &flags, &active),
          "cuDevicePrimaryCtxGetState");
    return active != 0;
}

// Retains the device's primary context if that is what `native` is.
bool retain_if_primary(const Device &device, CUcontext native) {
    if (!is_active(device))
        return false;
    if (retain_primary(device) == native)
        return true;
    release_primary(device);
    return false;
}

// Requires: the context is current.
CUevent create_event(unsigned flags = CU_EVENT_DISABLE_TIMING) {
    CUevent event = nullptr;
    check(driver().cuEventCreate(&event, flags), "cuEventCreate");
    return event;
}

ep_status context_create(const ep_device *devices, std::size_t count, ep_context *context) {
    return guarded([&] {
        if (count == 0)
            refuse(EP_INVALID, "a context needs at least one device, and was given none");
        for (std::size_t i = 1; i < count; ++i)
            if (devices[i] != devices[0])
                refuse(EP_INVALID, object(devices[0]).selector(), " and ",
                       object(devices[i]).selector(), " cannot share a context: in ", maker_api,
                       " each device has its own, and copies go between them");
        // All libraries use the primary context; another one could not share memory with them.
        *context = handle(primary_context(object(devices[0])).detach());
    });
}

ep_status context_from_native(void *native, ep_context *context) {
    return guarded([&] { *context = handle(intern(static_cast<CUcontext>(native)).detach()); });
}

ep_status context_native(ep_context context, void **native) {
    return guarded([&] { *native = object(context).native; });
}

void context_release(ep_context context) { object(context).release(); }

ep_status context_is_default(ep_context context, std::int32_t *is_default) {
    return guarded([&] { *is_default = object(context).is_primary; });
}

ep_status context_devices(ep_context context, ep_device *devices, std::size_t *count) {
    return guarded([&] {
        if (devices != nullptr && *count >= 1)
            devices[0] = handle(&object(context).device);
        *count = 1;
    });
}

}  // namespace

Context::Context(Device &of, CUcontext context, bool primary)
    : device(of), native(context), is_primary(primary),
      shared_events(std::make_unique<SharedEvents>()) {}

// Errors are ignored: at process exit the driver may already be gone. Nothing else refers to the
// context, so no lock is needed.
Context::~Context() {
    guarded([&]() ENTREPOT_NO_THREAD_SAFETY_ANALYSIS {
        const Current current(native);
        const RelaxedCaptureMode relaxed;
        chunks->free_all();
        shared_events.reset();
        for (const std::vector<Event *> &events : {events_, timed_ones_})
            for (const Event *event : events)
                delete event;
        for (const Leaving &leaving : leaving_) {
            driver().cuModuleUnload(leaving.module);
            if (leaving.last_use != nullptr)
                driver().cuEventDestroy(leaving.last_use);
        }
        if (strided_module_ != nullptr)
            driver().cuModuleUnload(strided_module_);
    });
    if (is_primary)
        release_primary(device);
}

void Context::end(Context *self) noexcept {
    known_contexts().forget(self->native, *self);
    delete self;
}

IntrusivePtr<Event> Context::take_event(bool timed) {
    {
        const MutexLock lock(events_mutex_);
        std::vector<Event *> &events = timed ? timed_ones_ : events_;
        if (!events.empty()) {
            Event &event = *events.back();
            events.pop_back();
            event.revive();
            event.enter(*this);
            return IntrusivePtr<Event>::adopt(&event);
        }
    }
    const Current current(native);
    const CUevent made = create_event(timed ? CU_EVENT_DEFAULT : CU_EVENT_DISABLE_TIMING);
    return IntrusivePtr<Event>::adopt(new Event(made, this, timed));
}

void Context::keep_event(Event &event) noexcept {
    try {
        const MutexLock lock(events_mutex_);
        (event.is_timed ? timed_ones_ : events_).push_back(&event);
    } catch (...) {  // out of memory: leaks the event
    }
}

void Context::unload_later(CUmodule module) noexcept {
    guarded([&] {
        {
            const MutexLock lock(mutex_);
            leaving_.push_back({module, nullptr});
        }
        unload_finished();
    });
}

// Records the last possible use of modules to be unloaded. During a capture, a later call does so.
// Without cuCtxRecordEvent, the modules stay until the context is destroyed.
void Context::mark_leaving() {
    if (driver().cuCtxRecordEvent == nullptr || has_captures(*this))
        return;
    const Current current(native);
    const MutexLock lock(mutex_);
    for (Leaving &leaving : leaving_) {
        if (leaving.last_use != nullptr)
            continue;
        const CUevent last_use = create_event();
        if (driver().cuCtxRecordEvent(native, last_use) == CUDA_SUCCESS)
            leaving.last_use = last_use;
        else
            driver().cuEventDestroy(last_use);
    }
}

void Context::unload_finished() {
    {
        const MutexLock lock(mutex_);
        if (leaving_.empty())
            return;
    }
    const RelaxedCaptureMode relaxed;
    mark_leaving();
    std::vector<Leaving> gone;
    {
        const MutexLock lock(mutex_);
        std::erase_if(leaving_, [&](const Leaving &leaving) {
            if (leaving.last_use == nullptr ||
                driver().cuEventQuery(leaving.last_use) != CUDA_SUCCESS)
                return false;
            gone.push_back(leaving);
            return true;
        });
    }
    if (gone.empty())
        return;
    const Current current(native);
    for (const Leaving &leaving : gone) {
        driver().cuModuleUnload(leaving.module);
        driver().cuEventDestroy(leaving.last_use);
    }
}

IntrusivePtr<Context> primary_context(Device &device) {
    const CUcontext native = retain_primary(device);
    bool is_new = false;
    IntrusivePtr<Context> context = known_contexts().intern(native, [&] {
        auto made = std::make_unique<Context>(device, native, true);
        is_new = true;
        return made;
    });
    if (!is_new)
        release_primary(device);  // the handle holds its own reference
    return context;
}

IntrusivePtr<Context> intern(CUcontext native) {
    return known_contexts().intern(native, [&] {
        Device &device = device_under(native);
        return std::make_unique<Context>(device, native, retain_if_primary(device, native));
    });
}

void fill_context_functions(ep_backend &table) {
    table.context_create = context_create;
    table.context_from_native = context_from_native;
    table.context_native = context_native;
    table.context_release = context_release;
    table.context_hash = hash_of<ep_context>;
    table.context_is_default = context_is_default;
    table.context_devices = context_devices;
}

}  // namespace entrepot::backends::gpu
