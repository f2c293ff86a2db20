// IPC: device memory by the extension sycl_ext_oneapi_ipc_memory, if the device has its aspect.
// OpenCL's CPU device has not.
//
// The runtime names memory for other processes. The memory must live as long as one of them has it
// open. Handles are not released (ipc::memory::put): freeing the memory does that, and another
// process may still have to open one.
#include "backends/sycl/extensions.hpp"
#include "backends/sycl/native.hpp"
#include "core/no_destructor.hpp"

#include <sycl/ext/intel/info/device.hpp>

#include <algorithm>
#include <cstring>
#include <unordered_map>

namespace entrepot::backends::sycl {
namespace {

constexpr const char *ipc_advice = "share memory of the host, and copy";

void require_ipc(const Device &device) {
    if (!shares_memory(device.native))
        refuse(EP_UNSUPPORTED, device.selector(),
               " lacks the aspect ext_oneapi_ipc_memory, by which the SYCL runtime shares "
               "memory with other processes: ",
               ipc_advice);
}

Device &device_to_share(const Context &context) {
    for (Device *const device : context.devices)
        if (shares_memory(device->native))
            return *device;
    require_ipc(*context.devices.front());
    return *context.devices.front();
}

// Shared memory of this process, by start address: opened, or else allocated here.
class SharedPointers {
public:
    static SharedPointers &only() {
        static NoDestructor<SharedPointers> all;
        return *all;
    }
    void enter(void *pointer, bool is_opened) {
        const MutexLock lock(mutex_);
        rows_[pointer] = is_opened;
    }
    // Returns: true for an opened pointer.
    bool take(void *pointer) {
        const MutexLock lock(mutex_);
        const auto row = rows_.find(pointer);
        if (row == rows_.end())
            refuse(EP_INVALID, "no shared memory is open at this address");
        const bool is_opened = row->second;
        rows_.erase(row);
        return is_opened;
    }

private:
    LeafMutex mutex_;
    std::unordered_map<void *, bool> rows_ ENTREPOT_GUARDED_BY(mutex_);
};

bool has_number(const Device &device) {
    return device.native.has(::sycl::aspect::ext_intel_device_info_uuid);
}

void name_device(const Device &device, ep_ipc_handle &handle) {
    if (!has_number(device))
        refuse(EP_UNSUPPORTED, device.selector(),
               " has no UUID, by which another process finds it: ", ipc_advice);
    const auto number = device.native.get_info<::sycl::ext::intel::info::device::uuid>();
    static_assert(sizeof number == sizeof handle.device);
    std::memcpy(handle.device, number.data(), sizeof handle.device);
}

ep_status ipc_allocate(ep_context context, ep_device device, ep_usm_kind kind, std::size_t bytes,
                       void **pointer) {
    return guarded([&] {
        const Device &on = object(device);
        require_ipc(on);
        if (kind != EP_USM_DEVICE)
            refuse(EP_UNSUPPORTED, "of ", on.selector(),
                   " only device memory can be shared with other processes: ", ipc_advice);
        const ::sycl::context &in = object(context).native;
        void *const made = ::sycl::malloc_device(std::max<std::size_t>(bytes, 1), on.native, in);
        if (made == nullptr)
            refuse(EP_OUT_OF_MEMORY, bytes, " bytes of device memory to share were asked for, and ",
                   on.selector(), " has no such block left");
        try {
            SharedPointers::only().enter(made, false);
        } catch (...) {
            ::sycl::free(made, in);
            throw;
        }
        *pointer = made;
    });
}

// The name is that of the pointer, which need not be the start of the allocation.
ep_status ipc_export(ep_context context, const void *pointer, std::size_t bytes, ep_ipc_form form,
                     ep_ipc_handle *handle) {
    return guarded([&] {
        const Context &in = object(context);
        const Device &device = device_to_share(in);
        if (form != EP_IPC_ANY && form != EP_IPC_DRIVER)
            refuse(EP_UNSUPPORTED, "the SYCL runtime names memory for processes of this machine, "
                                   "and gives them neither files nor names of a fabric");
        if (::sycl::get_pointer_type(pointer, in.native) != ::sycl::usm::alloc::device)
            refuse(EP_UNSUPPORTED, "of ", device.selector(),
                   " only device memory can be shared with other processes: ", ipc_advice);
        ep_ipc_handle made{};
        made.form = EP_IPC_DRIVER;
        made.file = -1;
        made.size = bytes;
        name_device(device_of(::sycl::get_pointer_device(pointer, in.native)), made);
        const std::vector<std::byte> name = shared_name(const_cast<void *>(pointer), in.native);
        if (name.size() > sizeof made.name)
            refuse(EP_UNSUPPORTED, "the SYCL runtime names shared memory by ", name.size(),
                   " bytes, and handles have ", sizeof made.name, ": ", ipc_advice);
        std::memcpy(made.name, name.data(), name.size());
        made.name_size = static_cast<std::uint32_t>(name.size());
        *handle = made;
    });
}

ep_status ipc_device(const ep_ipc_handle *handle, ep_device *device) {
    return guarded([&] {
        for (const ::sycl::device &native : ::sycl::device::get_devices()) {
            Device &each = device_of(native);
            if (!shares_memory(native) || !has_number(each))
                continue;
            ep_ipc_handle own{};
            name_device(each, own);
            if (std::equal(std::begin(own.device), std::end(own.device),
                           std::begin(handle->device))) {
                *device = entrepot::backends::sycl::handle(&each);
                return;
            }
        }
        refuse(EP_INVALID,
               "the memory is on a device that this process does not see, or that has not the "
               "aspect ext_oneapi_ipc_memory: ONEAPI_DEVICE_SELECTOR hides it, or the handle is "
               "of another machine");
    });
}

ep_status ipc_open(ep_context context, const ep_ipc_handle *handles, std::size_t count,
                   std::int32_t, void **pointer) {
    return guarded([&] {
        const Context &in = object(context);
        const Device &device = device_to_share(in);
        const ep_ipc_handle &handle = handles[0];
        if (count != 1 || handle.form != EP_IPC_DRIVER || handle.name_size > sizeof handle.name)
            refuse(EP_INVALID,
                   "device memory of SYCL is opened by one name of the runtime, and the "
                   "handle has another form");
        const auto *const name = reinterpret_cast<const std::byte *>(handle.name);
        void *const start = open_shared({name, name + handle.name_size}, in.native, device.native);
        try {
            SharedPointers::only().enter(start, true);
        } catch (...) {
            close_shared(start, in.native);
            throw;
        }
        *pointer = start;
    });
}

ep_status ipc_close(ep_context context, void *pointer) {
    return guarded([&] {
        const ::sycl::context &in = object(context).native;
        if (SharedPointers::only().take(pointer))
            close_shared(pointer, in);
        else
            ::sycl::free(pointer, in);
    });
}

}  // namespace

void fill_ipc_functions(ep_backend &table) {
    table.ipc_allocate = ipc_allocate;
    table.ipc_export = ipc_export;
    table.ipc_device = ipc_device;
    table.ipc_open = ipc_open;
    table.ipc_close = ipc_close;
}

}  // namespace entrepot::backends::sycl
