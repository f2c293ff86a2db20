// IPC: shares device memory by file descriptor, or by fabric handle between machines. Memory of
// cudaMalloc (hipMalloc) is shared by the driver's older handles, which do not keep it alive.
#include "backends/gpu/native.hpp"
#include "core/no_destructor.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>

namespace entrepot::backends::gpu {
namespace {

static_assert(sizeof(ep_ipc_handle::name) == sizeof(CUipcMemHandle) &&
              sizeof(ep_ipc_handle::name) == sizeof(CUmemFabricHandle));
static_assert(sizeof(ep_ipc_handle::device) == sizeof(CUuuid));

struct Mapping {
    ep_ipc_form form;
    std::size_t bytes = 0;
    CUmemGenericAllocationHandle block = 0;  // of virtual memory
    int file = -1;                           // made at the first export
    bool has_fabric = false;
    unsigned opened = 1;  // number of opens; the driver maps memory of EP_IPC_DRIVER once
};

// Shared memory that this process has mapped, by start address.
class Mappings {
public:
    static Mappings &only() {
        static NoDestructor<Mappings> all;
        return *all;
    }

    void enter(CUdeviceptr start, const Mapping &mapping) {
        const MutexLock lock(mutex_);
        const auto [row, is_new] = rows_.emplace(start, mapping);
        if (!is_new)
            ++row->second.opened;
    }

    // Calls visit(start, mapping) for the mapping that contains the pointer; false if there is
    // none.
    template <class Visit> bool find(CUdeviceptr pointer, Visit &&visit) {
        const MutexLock lock(mutex_);
        auto row = rows_.upper_bound(pointer);
        if (row == rows_.begin())
            return false;
        --row;
        if (pointer - row->first >= row->second.bytes)
            return false;
        visit(row->first, row->second);
        return true;
    }

    Mapping take(CUdeviceptr start) {
        const MutexLock lock(mutex_);
        const auto row = rows_.find(start);
        if (row == rows_.end())
            refuse(EP_INVALID, "no shared memory is open at this address");
        const Mapping taken = row->second;
        if (--row->second.opened == 0)
            rows_.erase(row);
        return taken;
    }

private:
    CheckedMutex mutex_;
    std::map<CUdeviceptr, Mapping> rows_ ENTREPOT_GUARDED_BY(mutex_);
};

CUmemAllocationProp properties_of(const Device &device, bool with_fabric) {
    CUmemAllocationProp properties{};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location = location_on(device.native);
    properties.requestedHandleTypes = static_cast<CUmemAllocationHandleType>(
        CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR | (with_fabric ? CU_MEM_HANDLE_TYPE_FABRIC : 0));
    return properties;
}

std::size_t rounded(std::size_t bytes, const CUmemAllocationProp &properties) {
    std::size_t step = 0;
    check(driver().cuMemGetAllocationGranularity(&step, &properties,
                                                 CU_MEM_ALLOC_GRANULARITY_MINIMUM),
          "cuMemGetAllocationGranularity");
    return (std::max<std::size_t>(bytes, 1) + step - 1) / step * step;
}

// With a fabric handle if device and machine support it, which only an attempt can tell.
Mapping create(const Device &device, std::size_t bytes) {
    Mapping made{EP_IPC_FILE};
    const bool may_have_fabric =
        device.attribute(CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED) != 0;
    CUresult code = CUDA_ERROR_NOT_SUPPORTED;
    for (const bool with_fabric : {true, false}) {
        if (with_fabric && !may_have_fabric)
            continue;
        const CUmemAllocationProp properties = properties_of(device, with_fabric);
        made.bytes = rounded(bytes, properties);
        made.has_fabric = with_fabric;
        code = driver().cuMemCreate(&made.block, made.bytes, &properties, 0);
        if (code == CUDA_SUCCESS || code == CUDA_ERROR_OUT_OF_MEMORY)
            break;
    }
    if (code == CUDA_ERROR_OUT_OF_MEMORY)
        refuse(EP_OUT_OF_MEMORY, bytes, " bytes of device memory to share were asked for, and ",
               device.selector(), " has no such block left: ", text_of(code));
    check(code, "cuMemCreate");
    return made;
}

// The device itself, and the devices with peer access to it.
std::vector<CUmemAccessDesc> readers_of(const Device &device) {
    std::vector<CUmemAccessDesc> readers;
    for (const Device *reader : devices()) {
        int can = reader == &device;
        if (!can)
            check(driver().cuDeviceCanAccessPeer(&can, reader->native, device.native),
                  "cuDeviceCanAccessPeer");
        if (can != 0)
            readers.push_back({location_on(reader->native), CU_MEM_ACCESS_FLAGS_PROT_READWRITE});
    }
    return readers;
}

void release(const Mapping &mapping) noexcept {
    driver().cuMemRelease(mapping.block);
    if (mapping.file >= 0)
        close(mapping.file);
}

void unmap(CUdeviceptr start, std::size_t bytes) noexcept {
    driver().cuMemUnmap(start, bytes);
    driver().cuMemAddressFree(start, bytes);
}

// Ownership: takes the block, also if it throws.
void *map(const Device &device, const Mapping &mapping) {
    CUdeviceptr start = 0;
    bool is_mapped = false;
    try {
        check(driver().cuMemAddressReserve(&start, mapping.bytes, 0, 0, 0), "cuMemAddressReserve");
        check(driver().cuMemMap(start, mapping.bytes, 0, mapping.block, 0), "cuMemMap");
        is_mapped = true;
        const std::vector<CUmemAccessDesc> readers = readers_of(device);
        check(driver().cuMemSetAccess(start, mapping.bytes, readers.data(), readers.size()),
              "cuMemSetAccess");
        Mappings::only().enter(start, mapping);
    } catch (...) {
        if (is_mapped)
            driver().cuMemUnmap(start, mapping.bytes);
        if (start != 0)
            driver().cuMemAddressFree(start, mapping.bytes);
        release(mapping);
        throw;
    }
    return reinterpret_cast<void *>(start);
}

// Sharing by file or fabric handle requires virtual memory management, which older devices and
// runtimes lack.
void require_files(const Device &device) {
    if (device.attribute(CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED) == 0 ||
        device.attribute(CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED) == 0)
        refuse(EP_UNSUPPORTED, device.selector(),
               " has no memory that another process can open by a file");
}

ep_status ipc_allocate(ep_context context, ep_device device, ep_usm_kind kind, std::size_t bytes,
                       void **pointer) {
    return guarded([&] {
        const RelaxedCaptureMode relaxed;
        const Device &on = object(device);
        if (kind != EP_USM_DEVICE)
            refuse(EP_UNSUPPORTED, "of ", on.selector(),
                   " only device memory can be shared with other processes: share memory of the "
                   "host, and copy");
        require_files(on);
        if (bytes > on.info.max_allocation)
            refuse(EP_OUT_OF_MEMORY, bytes, " bytes of device memory to share were asked for, and ",
                   on.selector(), " has ", on.info.max_allocation, " in all");
        const Current current(object(context).native);
        *pointer = map(on, create(on, bytes));
    });
}

// ------------------------------------------------------------------- export

void name_device(const Device &device, ep_ipc_handle &handle) {
    CUuuid number{};
    check(driver().cuDeviceGetUuid(&number, device.native), "cuDeviceGetUuid");
    std::memcpy(handle.device, &number, sizeof handle.device);
}

void export_file(Mapping &mapping, ep_ipc_handle &handle) {
    if (mapping.file < 0)
        check(driver().cuMemExportToShareableHandle(&mapping.file, mapping.block,
                                                    CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
              "cuMemExportToShareableHandle");
    handle.form = EP_IPC_FILE;
    handle.file = mapping.file;
}

void export_fabric(const Device &device, const Mapping &mapping, ep_ipc_handle &handle) {
    if (!mapping.has_fabric)
        refuse(EP_UNSUPPORTED, device.selector(),
               " or this machine gives out no fabric handles, which need NVLink between "
               "machines and the IMEX service");
    check(driver().cuMemExportToShareableHandle(handle.name, mapping.block,
                                                CU_MEM_HANDLE_TYPE_FABRIC, 0),
          "cuMemExportToShareableHandle");
    handle.form = EP_IPC_FABRIC;
}

// Exports the whole cudaMalloc allocation that contains the pointer.
void export_by_driver(CUdeviceptr pointer, const PointerAttributes &found, ep_ipc_handle &handle) {
    CUipcMemHandle name{};
    check(driver().cuIpcGetMemHandle(&name, found.base), "cuIpcGetMemHandle");
    handle.form = EP_IPC_DRIVER;
    handle.size = found.size;
    handle.offset = pointer - found.base;
    std::memcpy(handle.name, &name, sizeof handle.name);
}

bool is_known_to_the_driver(CUdeviceptr pointer) {
    int answer = 0;
    return driver().cuPointerGetAttribute(&answer, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE,
                                          pointer) == CUDA_SUCCESS &&
           answer != 0;
}

ep_status ipc_export(ep_context context, const void *pointer, ep_ipc_form form,
                     ep_ipc_handle *handle) {
    return guarded([&] {
        const CUdeviceptr at = address(pointer);
        const Current current(object(context).native);
        const PointerAttributes found = attributes_of(pointer);
        const Device &device =
            found.ordinal >= 0 ? device_of(found.ordinal) : object(context).device;
        ep_ipc_handle made{};
        made.file = -1;
        name_device(device, made);
        const bool is_ours = Mappings::only().find(at, [&](CUdeviceptr start, Mapping &mapping) {
            if (mapping.form == EP_IPC_DRIVER)
                refuse(EP_UNSUPPORTED, "memory that another process shared by the driver can be "
                                       "shared on by that process alone");
            made.size = mapping.bytes;
            made.offset = at - start;
            if (form == EP_IPC_FABRIC)
                export_fabric(device, mapping, made);
            else
                export_file(mapping, made);
        });
        if (!is_ours && (form == EP_IPC_ANY || form == EP_IPC_DRIVER) && found.is_of_device() &&
            is_known_to_the_driver(at))
            export_by_driver(at, found, made);
        else if (!is_ours)
            refuse(EP_UNSUPPORTED, "the driver gives other processes no way to this memory of ",
                   device.selector(), ", which is pinned, managed, or of a pool");
        *handle = made;
    });
}

// --------------------------------------------------------------------- open

ep_status ipc_device(const ep_ipc_handle *handle, ep_device *device) {
    return guarded([&] {
        for (Device *each : devices()) {
            ep_ipc_handle own{};
            name_device(*each, own);
            if (std::equal(std::begin(own.device), std::end(own.device),
                           std::begin(handle->device))) {
                *device = entrepot::backends::gpu::handle(each);
                return;
            }
        }
        refuse(EP_INVALID,
               "the memory is on a device that this process does not see: ", visible_devices,
               " hides it, or the handle is of another machine");
    });
}

// Distinguishes a kind of handle that the driver does not support from an invalid handle.
ep_status status_of_opening(CUresult code) noexcept {
    return code == CUDA_ERROR_NOT_SUPPORTED ? EP_UNSUPPORTED : EP_INVALID;
}

// Imports the memory of a file or a fabric handle. Refuses memory of another device.
Mapping import(const Device &device, const ep_ipc_handle &handle) {
    Mapping mapping{static_cast<ep_ipc_form>(handle.form), handle.size};
    CUmemFabricHandle name{};
    std::memcpy(&name, handle.name, sizeof name);
    mapping.has_fabric = handle.form == EP_IPC_FABRIC;
    if (mapping.has_fabric) {
        if (device.attribute(CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED) == 0)
            refuse(EP_UNSUPPORTED, device.selector(), " opens no fabric handles");
        const CUresult code = driver().cuMemImportFromShareableHandle(&mapping.block, &name,
                                                                      CU_MEM_HANDLE_TYPE_FABRIC);
        if (code != CUDA_SUCCESS)
            refuse(status_of_opening(code),
                   "the fabric handle stands for no device memory here: ", text_of(code));
    } else {
        mapping.file = fcntl(handle.file, F_DUPFD_CLOEXEC, 0);  // for further exports
        if (mapping.file < 0)
            refuse(EP_INVALID, "the handle's file is not open: ", std::strerror(errno));
        const CUresult code = driver().cuMemImportFromShareableHandle(
            &mapping.block, reinterpret_cast<void *>(static_cast<std::intptr_t>(mapping.file)),
            CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
        if (code != CUDA_SUCCESS) {
            close(mapping.file);
            refuse(status_of_opening(code),
                   "the handle's file is no device memory: ", text_of(code));
        }
    }
    CUmemAllocationProp found{};
    const CUresult code = driver().cuMemGetAllocationPropertiesFromHandle(&found, mapping.block);
    if (code != CUDA_SUCCESS || found.location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
        found.location.id != device.native) {
        release(mapping);
        refuse(EP_INVALID, "the handle says that its memory is on ", device.selector(),
               ", and it is not");
    }
    return mapping;
}

void *open_by_driver(const ep_ipc_handle &handle) {
    CUipcMemHandle name{};
    std::memcpy(&name, handle.name, sizeof name);
    CUdeviceptr start = 0;
    const CUresult code =
        driver().cuIpcOpenMemHandle(&start, name, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
    if (code != CUDA_SUCCESS)
        refuse(
            status_of_opening(code), "the driver does not open the handle, with ", text_of(code),
            ": the process that shared the memory has ended, has released it, or is this process");
    try {
        const PointerAttributes found = attributes_of(reinterpret_cast<void *>(start));
        if (found.size < handle.size)
            refuse(EP_INVALID, "the handle says ", handle.size, " bytes, and the driver has ",
                   found.size);
        Mappings::only().enter(start, {EP_IPC_DRIVER, found.size});
    } catch (...) {
        driver().cuIpcCloseMemHandle(start);
        throw;
    }
    return reinterpret_cast<void *>(start);
}

ep_status ipc_open(ep_context context, const ep_ipc_handle *handle, std::int32_t, void **pointer) {
    return guarded([&] {
        const RelaxedCaptureMode relaxed;
        const Device &device = object(context).device;
        if (handle->size == 0 || handle->size > device.info.max_allocation)
            refuse(EP_INVALID, "the handle says ", handle->size, " bytes, and ", device.selector(),
                   " has ", device.info.max_allocation);
        const Current current(object(context).native);
        switch (handle->form) {
        case EP_IPC_FILE:
        case EP_IPC_FABRIC:
            require_files(device);
            *pointer = map(device, import(device, *handle));
            break;
        case EP_IPC_DRIVER:
            *pointer = open_by_driver(*handle);
            break;
        default:
            refuse(EP_INVALID,
                   "device memory is opened by a file, the driver or the fabric, and the handle "
                   "says form ",
                   handle->form);
        }
    });
}

// Blocks until all work of the context is done, as cudaFree does: other code of this process may
// still use the memory.
ep_status ipc_close(ep_context context, void *pointer) {
    return guarded([&] {
        if (has_captures(object(context)))  // waiting for all work would invalidate them
            refuse(EP_UNSUPPORTED, "memory of another process is not closed while a stream is "
                                   "being captured into a graph");
        const RelaxedCaptureMode relaxed;
        const Current current(object(context).native);
        const Mapping mapping = Mappings::only().take(address(pointer));
        driver().cuCtxSynchronize();
        if (mapping.form == EP_IPC_DRIVER) {
            check(driver().cuIpcCloseMemHandle(address(pointer)), "cuIpcCloseMemHandle");
        } else {
            unmap(address(pointer), mapping.bytes);
            release(mapping);
        }
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

}  // namespace entrepot::backends::gpu
