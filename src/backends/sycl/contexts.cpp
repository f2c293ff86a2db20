// Contexts: one handle for each sycl::context in use, with cached properties for the fast paths.
#include "backends/handle_table.hpp"
#include "backends/sycl/native.hpp"
#include "core/no_destructor.hpp"

namespace entrepot::backends::sycl {
namespace {

HandleTable<::sycl::context, Context> &known_contexts() {
    static NoDestructor<HandleTable<::sycl::context, Context>> all;
    return *all;
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

ep_status context_create(const ep_device *devices, std::size_t count, ep_context *context) {
    return guarded([&] {
        if (count == 0)
            refuse(EP_INVALID, "a context needs at least one device, and was given none");
        const Device &first = object(devices[0]);
        std::vector<::sycl::device> natives;
        for (std::size_t i = 0; i < count; ++i) {
            const Device &device = object(devices[i]);
            if (device.native.get_platform() != first.native.get_platform())
                refuse(EP_INVALID, first.selector(), " and ", device.selector(),
                       " are of different platforms, and a SYCL context has one: make a context "
                       "for each");
            natives.push_back(device.native);
        }
        *context = handle(intern(::sycl::context(natives)).detach());
    });
}

ep_status context_from_native(void *native, ep_context *context) {
    return guarded(
        [&] { *context = handle(intern(*static_cast<const ::sycl::context *>(native)).detach()); });
}

ep_status context_native(ep_context context, void **native) {
    return guarded([&] { *native = &object(context).native; });
}

void context_release(ep_context context) { object(context).release(); }

ep_status context_is_default(ep_context context, std::int32_t *is_default) {
    return guarded([&] { *is_default = object(context).is_default; });
}

ep_status context_devices(ep_context context, ep_device *devices, std::size_t *count) {
    return guarded([&] { write_handles(object(context).devices, devices, count); });
}

}  // namespace

Context::Context(const ::sycl::context &context)
    : native(context), is_default(is_default_of_platform(context)),
      shared_events(std::make_unique<SharedEvents>()) {
    for (const ::sycl::device &device : native.get_devices())
        devices.push_back(&device_of(device));
    if (native.get_backend() == ::sycl::backend::opencl) {
        query = find_query(native);
        cl = ::sycl::get_native<::sycl::backend::opencl>(native);
    }
}

Context::~Context() {
    if (cl != nullptr)
        opencl().release_context(cl);
}

void Context::end(Context *self) noexcept {
    known_contexts().forget(self->native, *self);
    delete self;
}

IntrusivePtr<Context> intern(const ::sycl::context &native) {
    return known_contexts().intern(native, [&] { return std::make_unique<Context>(native); });
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
