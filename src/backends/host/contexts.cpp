// Contexts: the process has one address space, so there is one context. It is immortal, and its
// references are not counted.
#include "backends/host/native.hpp"

namespace entrepot::backends::host {

ep_context the_context() noexcept {
    static char mark;
    return reinterpret_cast<ep_context>(&mark);
}

void check_context(ep_context context) {
    if (context != the_context())
        refuse(EP_INVALID, "the host backend was given a context of another backend: the host "
                           "device has one context, its default");
}

namespace {

ep_status context_create(const ep_device *devices, std::size_t count, ep_context *context) {
    return guarded([&] {
        if (count == 0)
            refuse(EP_INVALID, "a context needs at least one device, and was given none");
        for (std::size_t i = 0; i < count; ++i)
            check_device(devices[i]);
        *context = the_context();
    });
}

ep_status context_from_native(void *native, ep_context *context) {
    return guarded([&] {
        check_context(static_cast<ep_context>(native));
        *context = the_context();
    });
}

ep_status context_native(ep_context context, void **native) {
    return guarded([&] {
        check_context(context);
        *native = context;
    });
}

void context_release(ep_context) {}

ep_status context_is_default(ep_context context, std::int32_t *is_default) {
    return guarded([&] {
        check_context(context);
        *is_default = 1;
    });
}

ep_status context_devices(ep_context context, ep_device *devices, std::size_t *count) {
    return guarded([&] {
        check_context(context);
        if (devices != nullptr && *count >= 1)
            devices[0] = the_device();
        *count = 1;
    });
}

}  // namespace

void fill_context_functions(ep_backend &table) {
    table.context_create = context_create;
    table.context_from_native = context_from_native;
    table.context_native = context_native;
    table.context_release = context_release;
    table.context_hash = hash_of<ep_context>;
    table.context_is_default = context_is_default;
    table.context_devices = context_devices;
}

}  // namespace entrepot::backends::host
