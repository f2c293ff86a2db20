// Contexts: one handle for each sycl::context in use, with cached properties for the fast paths.
#include "native.hpp"
#include <entrepot/core/no_destructor.hpp>

#include <algorithm>
#include <unordered_map>

namespace entrepot::backends::sycl {

namespace {

// Contexts with a handle. A handle without references stays here until the thread that released it
// has the lock.
struct Interned {
    std::mutex mutex;
    std::unordered_map<::sycl::context, ep_context> handles;
};

Interned &interned() {
    static NoDestructor<Interned> only;
    return *only;
}

bool is_default_of_platform(const ::sycl::context &context) {
    try {
        return context == context.get_platform().ext_oneapi_get_default_context();
    } catch (const ::sycl::exception &) {
        return false;  // the user has turned default contexts off
    }
}

QueryAllocation find_query(const ::sycl::context &context) {
    const cl_platform_id platform =
        ::sycl::get_native<::sycl::backend::opencl>(context.get_platform());
    return reinterpret_cast<QueryAllocation>(
        opencl().extension_function(platform, "clGetMemAllocInfoINTEL"));
}

ep_status context_create(const ep_device *devices, size_t count, ep_context *context) {
    return guarded([&] {
        if (count == 0)
            refuse(EP_INVALID, "a context of no devices was asked for");
        std::vector<::sycl::device> natives;
        for (size_t i = 0; i < count; ++i) {
            if (devices[i]->native.get_platform() != devices[0]->native.get_platform())
                refuse(EP_INVALID, selector(devices[0]), " and ", selector(devices[i]),
                       " are of different platforms, and a SYCL context has one: make a context "
                       "for each");
            natives.push_back(devices[i]->native);
        }
        *context = intern(::sycl::context(natives));
    });
}

ep_status context_from_native(void *native, ep_context *context) {
    return guarded([&] { *context = intern(*static_cast<const ::sycl::context *>(native)); });
}

ep_status context_native(ep_context context, void **native) {
    return guarded([&] { *native = &context->native; });
}

void context_release(ep_context context) { release(context); }

ep_status context_is_default(ep_context context, std::int32_t *is_default) {
    return guarded([&] { *is_default = context->is_default; });
}

ep_status context_devices(ep_context context, ep_device *devices, size_t *count) {
    return guarded([&] {
        if (devices)
            std::copy_n(context->devices.begin(), std::min(context->devices.size(), *count),
                        devices);
        *count = context->devices.size();
    });
}

}  // namespace

ep_context intern(const ::sycl::context &native) {
    Interned &all = interned();
    std::lock_guard lock(all.mutex);
    const auto found = all.handles.find(native);
    if (found != all.handles.end() && found->second->retain_if_alive())
        return found->second;
    auto context = std::make_unique<ep_context_s>(native);
    all.handles.insert_or_assign(native, context.get());
    return context.release();
}

void release(ep_context context) noexcept {
    if (!context || !context->drop())
        return;
    {
        Interned &all = interned();
        std::lock_guard lock(all.mutex);
        const auto found = all.handles.find(context->native);
        // Another thread may have replaced it.
        if (found != all.handles.end() && found->second == context)
            all.handles.erase(found);
    }
    delete context;
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

}  // namespace entrepot::backends::sycl

ep_context_s::ep_context_s(const ::sycl::context &context) : native(context) {
    using namespace entrepot::backends::sycl;
    for (const ::sycl::device &device : native.get_devices())
        devices.push_back(device_of(device));
    is_default = is_default_of_platform(native);
    if (native.get_backend() == ::sycl::backend::opencl) {
        query = find_query(native);
        cl = ::sycl::get_native<::sycl::backend::opencl>(native);
    }
}

ep_context_s::~ep_context_s() {
    if (cl)
        entrepot::backends::sycl::opencl().release_context(cl);
}
