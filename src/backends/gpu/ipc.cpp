// IPC: shares device memory by file descriptor, or by fabric handle between machines. Memory that
// another library has mapped (cuMemMap) is shared likewise, one mapping after the other.
//
// Memory of cudaMalloc (hipMalloc) is shared by the driver's older handles, and that of pools by
// handles of the pool and the pointer. Neither keeps the memory alive.
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

static_assert(sizeof(ep_ipc_handle::name) >= sizeof(CUipcMemHandle) &&
              sizeof(ep_ipc_handle::name) >= sizeof(CUmemFabricHandle) &&
              sizeof(ep_ipc_handle::name) >= sizeof(CUmemPoolPtrExportData));
static_assert(sizeof(ep_ipc_handle::device) == sizeof(CUuuid));

// An allocation of virtual memory.
struct Part {
    std::size_t bytes = 0;
    CUmemGenericAllocationHandle block = 0;
    int file = -1;  // made at the first export
    bool has_fabric = false;
};

struct Mapping {
    ep_ipc_form form;
    std::size_t bytes = 0;
    std::vector<Part> parts{};    // of virtual memory, one after the other
    CUmemoryPool pool = nullptr;  // of EP_IPC_POOL, imported
    unsigned opened = 1;          // number of opens; the driver maps memory of EP_IPC_DRIVER once
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
Part create(const Device &device, std::size_t bytes) {
    Part made;
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

// The parts of a mapping to be, released unless it is entered.
class Parts {
public:
    Parts() = default;
    explicit Parts(const Part &only) { add(only); }
    Parts(const Parts &) = delete;
    Parts &operator=(const Parts &) = delete;
    ~Parts() { release(all_); }

    // Ownership: takes the part, also if it throws.
    void add(const Part &part) {
        try {
            all_.push_back(part);
        } catch (...) {
            release(part);
            throw;
        }
    }
    const std::vector<Part> &all() const noexcept { return all_; }
    std::size_t bytes() const noexcept {
        std::size_t sum = 0;
        for (const Part &part : all_)
            sum += part.bytes;
        return sum;
    }
    void detach() noexcept { all_.clear(); }

    static void release(const std::vector<Part> &parts) noexcept {
        for (const Part &part : parts)
            release(part);
    }
    static void release(const Part &part) noexcept {
        driver().cuMemRelease(part.block);
        if (part.file >= 0)
            close(part.file);
    }

private:
    std::vector<Part> all_;
};

void unmap(CUdeviceptr start, std::size_t bytes) noexcept {
    driver().cuMemUnmap(start, bytes);
    driver().cuMemAddressFree(start, bytes);
}

// Maps the parts one after the other.
// Ownership: takes the parts if it succeeds.
void *map(const Device &device, ep_ipc_form form, Parts &parts) {
    const std::size_t bytes = parts.bytes();
    CUdeviceptr start = 0;
    check(driver().cuMemAddressReserve(&start, bytes, 0, 0, 0), "cuMemAddressReserve");
    std::size_t mapped = 0;
    try {
        for (const Part &part : parts.all()) {
            check(driver().cuMemMap(start + mapped, part.bytes, 0, part.block, 0), "cuMemMap");
            mapped += part.bytes;
        }
        const std::vector<CUmemAccessDesc> readers = readers_of(device);
        check(driver().cuMemSetAccess(start, bytes, readers.data(), readers.size()),
              "cuMemSetAccess");
        Mappings::only().enter(start, {.form = form, .bytes = bytes, .parts = parts.all()});
    } catch (...) {
        if (mapped != 0)
            driver().cuMemUnmap(start, mapped);
        driver().cuMemAddressFree(start, bytes);
        throw;
    }
    parts.detach();
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
        Parts made(create(on, bytes));
        *pointer = map(on, EP_IPC_FILE, made);
    });
}

// ------------------------------------------------------------------- export

void name_device(const Device &device, ep_ipc_handle &handle) {
    CUuuid number{};
    check(driver().cuDeviceGetUuid(&number, device.native), "cuDeviceGetUuid");
    std::memcpy(handle.device, &number, sizeof handle.device);
}

template <class Name> void put_name(const Name &name, ep_ipc_handle &handle) {
    std::memcpy(handle.name, &name, sizeof name);
    handle.name_size = sizeof name;
}

template <class Name> Name name_in(const ep_ipc_handle &handle) {
    if (handle.name_size != sizeof(Name))
        refuse(EP_INVALID, "the handle has a name of ", handle.name_size, " bytes, and one of ",
               sizeof(Name), " belongs to its form");
    Name name{};
    std::memcpy(&name, handle.name, sizeof name);
    return name;
}

int file_of(CUmemGenericAllocationHandle block) {
    int file = -1;
    check(driver().cuMemExportToShareableHandle(&file, block,
                                                CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
          "cuMemExportToShareableHandle");
    return file;
}

void export_fabric(CUmemGenericAllocationHandle block, ep_ipc_handle &handle) {
    CUmemFabricHandle name{};
    check(driver().cuMemExportToShareableHandle(&name, block, CU_MEM_HANDLE_TYPE_FABRIC, 0),
          "cuMemExportToShareableHandle");
    handle.form = EP_IPC_FABRIC;
    put_name(name, handle);
}

[[noreturn]] void refuse_fabric(const Device &device) {
    refuse(EP_UNSUPPORTED, device.selector(),
           " or this machine gives out no fabric handles, which need NVLink between "
           "machines and the IMEX service");
}

// ------------------------------------------------------ of memory of this file

// The files of several parts are copies for the caller, which keeps them under a name each.
void export_part(const Device &device, Part &part, bool is_only_one, ep_ipc_form form,
                 ep_ipc_handle &handle) {
    if (form == EP_IPC_FABRIC && !part.has_fabric)
        refuse_fabric(device);
    if (form == EP_IPC_FABRIC)
        return export_fabric(part.block, handle);
    if (part.file < 0)
        part.file = file_of(part.block);
    handle.form = EP_IPC_FILE;
    handle.file = part.file;
    if (is_only_one)
        return;
    handle.file = fcntl(part.file, F_DUPFD_CLOEXEC, 0);
    handle.owns_file = 1;
    if (handle.file < 0)
        refuse(EP_OUT_OF_MEMORY, "shared memory needs an open file, and the system gives none: ",
               std::strerror(errno));
}

void export_mapping(const Device &device, Mapping &mapping, std::size_t offset, ep_ipc_form form,
                    ep_ipc_handle &handle) {
    if (mapping.parts.empty())
        refuse(EP_UNSUPPORTED, "memory that another process shared by the driver can be shared on "
                               "by that process alone");
    for (Part &part : mapping.parts) {
        if (offset < part.bytes) {
            handle.size = part.bytes;
            handle.offset = offset;
            return export_part(device, part, mapping.parts.size() == 1, form, handle);
        }
        offset -= part.bytes;
    }
}

// ------------------------------------------------------ of memory of other libraries

bool is_known_to_the_driver(CUdeviceptr pointer) {
    int answer = 0;
    return driver().cuPointerGetAttribute(&answer, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE,
                                          pointer) == CUDA_SUCCESS &&
           answer != 0;
}

// Exports the whole cudaMalloc allocation that contains the pointer.
// Returns: false if the memory is not of cudaMalloc.
bool export_by_driver(CUdeviceptr pointer, const PointerAttributes &found, ep_ipc_handle &handle) {
    if (!is_known_to_the_driver(pointer))
        return false;
    CUipcMemHandle name{};
    check(driver().cuIpcGetMemHandle(&name, found.base), "cuIpcGetMemHandle");
    handle.form = EP_IPC_DRIVER;
    handle.size = found.size;
    handle.offset = pointer - found.base;
    put_name(name, handle);
    return true;
}

struct Range {
    CUdeviceptr base = 0;
    std::size_t size = 0;
};

// The mapping that contains the pointer. An allocation may be mapped once for each.
Range mapping_of(CUdeviceptr pointer, const PointerAttributes &found) {
    Range range;
    const bool is_told =
        driver().cuPointerGetAttribute(&range.base, CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR,
                                       pointer) == CUDA_SUCCESS &&
        driver().cuPointerGetAttribute(&range.size, CU_POINTER_ATTRIBUTE_MAPPING_SIZE, pointer) ==
            CUDA_SUCCESS;
    const Range mapping = is_told && range.size != 0 ? range : Range{found.base, found.size};
    if (mapping.size == 0)
        refuse(EP_UNSUPPORTED, "the driver does not say where this mapped memory begins and ends");
    return mapping;
}

// Exports the mapping of cuMemMap that contains the pointer, by a file if its allocation has one.
// Returns: false if the memory is not mapped so.
bool export_mapped(const Device &device, CUdeviceptr pointer, const PointerAttributes &found,
                   ep_ipc_form form, ep_ipc_handle &handle) {
    const RetainedBlock block(pointer);
    if (!block)
        return false;
    CUmemAllocationProp properties{};
    check(driver().cuMemGetAllocationPropertiesFromHandle(&properties, block.get()),
          "cuMemGetAllocationPropertiesFromHandle");
    const auto types = static_cast<unsigned>(properties.requestedHandleTypes);
    const bool has_file = (types & CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) != 0,
               has_fabric = (types & CU_MEM_HANDLE_TYPE_FABRIC) != 0;
    if (form == EP_IPC_FABRIC && !has_fabric)
        refuse_fabric(device);
    if (!has_file && !has_fabric)
        refuse(EP_UNSUPPORTED, "this memory of ", device.selector(),
               " is mapped by its library, in allocations that were made without a handle for "
               "other processes: ",
               mapped_memory_advice);
    const Range mapping = mapping_of(pointer, found);
    handle.size = mapping.size;
    handle.offset = pointer - mapping.base;
    if (form == EP_IPC_FABRIC || !has_file) {
        export_fabric(block.get(), handle);
        return true;
    }
    handle.form = EP_IPC_FILE;
    handle.file = file_of(block.get());
    handle.owns_file = 1;
    return true;
}

// Exports memory of a pool with a handle.
// Returns: false if the memory is not of a pool.
bool export_pooled(const Device &device, CUdeviceptr pointer, const PointerAttributes &found,
                   ep_ipc_handle &handle) {
    const CUmemoryPool pool = pool_of(pointer);
    if (pool == nullptr)
        return false;
    int file = -1;
    const CUresult code = driver().cuMemPoolExportToShareableHandle == nullptr
                              ? CUDA_ERROR_NOT_SUPPORTED
                              : driver().cuMemPoolExportToShareableHandle(
                                    &file, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    if (code != CUDA_SUCCESS)
        refuse(EP_UNSUPPORTED, "this memory of ", device.selector(),
               " is of a pool of the driver that gives other processes no handle, with ",
               text_of(code), ": ", pool_advice);
    handle.file = file;
    handle.owns_file = 1;
    CUmemPoolPtrExportData name{};
    const CUresult named = driver().cuMemPoolExportPointer(&name, found.base);
    if (named != CUDA_SUCCESS) {
        close(file);
        fail(named, "cuMemPoolExportPointer");
    }
    handle.form = EP_IPC_POOL;
    handle.size = found.size;
    handle.offset = pointer - found.base;
    put_name(name, handle);
    return true;
}

// Whatever the driver can share of it.
void export_foreign(const Device &device, CUdeviceptr pointer, ep_ipc_form form,
                    ep_ipc_handle &handle) {
    const PointerAttributes found = attributes_of(reinterpret_cast<const void *>(pointer));
    const bool may_be_driver = form == EP_IPC_ANY || form == EP_IPC_DRIVER,
               may_be_file = form == EP_IPC_ANY || form == EP_IPC_FILE || form == EP_IPC_FABRIC;
    if (found.is_of_device() &&
        ((may_be_driver && export_by_driver(pointer, found, handle)) ||
         (form == EP_IPC_ANY && export_pooled(device, pointer, found, handle)) ||
         (may_be_file && export_mapped(device, pointer, found, form, handle))))
        return;
    refuse(EP_UNSUPPORTED, "the driver gives other processes no way to this memory of ",
           device.selector(), ", which is pinned or managed, or has no handle of that form");
}

ep_status ipc_export(ep_context context, const void *pointer, std::size_t, ep_ipc_form form,
                     ep_ipc_handle *handle) {
    return guarded([&] {
        const RelaxedCaptureMode relaxed;
        const CUdeviceptr at = address(pointer);
        const Current current(object(context).native);
        const int ordinal = attributes_of(pointer).ordinal;
        const Device &device = ordinal >= 0 ? device_of(ordinal) : object(context).device;
        ep_ipc_handle made{};
        made.file = -1;
        name_device(device, made);
        const bool is_ours = Mappings::only().find(at, [&](CUdeviceptr start, Mapping &mapping) {
            export_mapping(device, mapping, at - start, form, made);
        });
        if (!is_ours)
            export_foreign(device, at, form, made);
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

void import_fabric(const Device &device, const ep_ipc_handle &handle, Part &part) {
    if (device.attribute(CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED) == 0)
        refuse(EP_UNSUPPORTED, device.selector(), " opens no fabric handles");
    auto name = name_in<CUmemFabricHandle>(handle);
    const CUresult code =
        driver().cuMemImportFromShareableHandle(&part.block, &name, CU_MEM_HANDLE_TYPE_FABRIC);
    if (code != CUDA_SUCCESS)
        refuse(status_of_opening(code),
               "the fabric handle stands for no device memory here: ", text_of(code));
    part.has_fabric = true;
}

// The driver takes a file as a pointer.
void *as_handle(int file) { return reinterpret_cast<void *>(static_cast<std::intptr_t>(file)); }

void import_file(const ep_ipc_handle &handle, Part &part) {
    part.file = fcntl(handle.file, F_DUPFD_CLOEXEC, 0);  // for further exports
    if (part.file < 0)
        refuse(EP_INVALID, "the handle's file is not open: ", std::strerror(errno));
    const CUresult code = driver().cuMemImportFromShareableHandle(
        &part.block, as_handle(part.file), CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    if (code == CUDA_SUCCESS)
        return;
    close(part.file);
    refuse(status_of_opening(code), "the handle's file is no device memory: ", text_of(code));
}

// Imports the memory of a file or a fabric handle. Refuses memory of another device.
Part import(const Device &device, const ep_ipc_handle &handle) {
    Part part{.bytes = handle.size};
    if (handle.form == EP_IPC_FABRIC)
        import_fabric(device, handle, part);
    else
        import_file(handle, part);
    CUmemAllocationProp found{};
    const CUresult code = driver().cuMemGetAllocationPropertiesFromHandle(&found, part.block);
    if (code != CUDA_SUCCESS || found.location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
        found.location.id != device.native) {
        Parts::release(part);
        refuse(EP_INVALID, "the handle says that its memory is on ", device.selector(),
               ", and it is not");
    }
    return part;
}

void *open_mapped(const Device &device, const ep_ipc_handle *handles, std::size_t count) {
    require_files(device);
    Parts parts;
    for (std::size_t i = 0; i < count; ++i) {
        if (handles[i].form != EP_IPC_FILE && handles[i].form != EP_IPC_FABRIC)
            refuse(EP_INVALID, "the handle has ", count, " allocations, and one of form ",
                   handles[i].form, " stands alone");
        parts.add(import(device, handles[i]));
    }
    return map(device, static_cast<ep_ipc_form>(handles[0].form), parts);
}

void *open_by_driver(const ep_ipc_handle &handle) {
    const auto name = name_in<CUipcMemHandle>(handle);
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
        Mappings::only().enter(start, {.form = EP_IPC_DRIVER, .bytes = found.size});
    } catch (...) {
        driver().cuIpcCloseMemHandle(start);
        throw;
    }
    return reinterpret_cast<void *>(start);
}

// The pool of another process, imported for one allocation.
class ImportedPool {
public:
    explicit ImportedPool(const ep_ipc_handle &handle) {
        const CUresult code =
            driver().cuMemPoolImportFromShareableHandle == nullptr
                ? CUDA_ERROR_NOT_SUPPORTED
                : driver().cuMemPoolImportFromShareableHandle(
                      &pool_, as_handle(handle.file), CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
        if (code != CUDA_SUCCESS)
            refuse(status_of_opening(code),
                   "the handle's file is no pool of device memory: ", text_of(code));
    }
    ImportedPool(const ImportedPool &) = delete;
    ImportedPool &operator=(const ImportedPool &) = delete;
    ~ImportedPool() {
        if (pool_ != nullptr)
            driver().cuMemPoolDestroy(pool_);
    }
    CUmemoryPool get() const noexcept { return pool_; }
    void detach() noexcept { pool_ = nullptr; }

private:
    CUmemoryPool pool_ = nullptr;
};

void *open_pooled(const Device &device, const ep_ipc_handle &handle) {
    ImportedPool pool(handle);
    // The device of a pool has access to it already.
    std::vector<CUmemAccessDesc> peers = readers_of(device);
    std::erase_if(
        peers, [&](const CUmemAccessDesc &reader) { return reader.location.id == device.native; });
    if (!peers.empty())
        check(driver().cuMemPoolSetAccess(pool.get(), peers.data(), peers.size()),
              "cuMemPoolSetAccess");
    auto name = name_in<CUmemPoolPtrExportData>(handle);
    CUdeviceptr start = 0;
    const CUresult code = driver().cuMemPoolImportPointer(&start, pool.get(), &name);
    if (code != CUDA_SUCCESS)
        refuse(status_of_opening(code), "the driver does not open the memory of the pool, with ",
               text_of(code),
               ": the process that shared it has ended, has released it, or is this process");
    try {
        const PointerAttributes found = attributes_of(reinterpret_cast<void *>(start));
        if (found.size < handle.size || found.ordinal != device.native)
            refuse(EP_INVALID, "the handle says ", handle.size, " bytes of ", device.selector(),
                   ", and the driver has ", found.size, " of device ", found.ordinal);
        Mappings::only().enter(
            start, {.form = EP_IPC_POOL, .bytes = found.size, .parts = {}, .pool = pool.get()});
    } catch (...) {
        driver().cuMemFree(start);
        throw;
    }
    pool.detach();
    return reinterpret_cast<void *>(start);
}

// Requires the sum of the sizes to be memory that the device may have.
void check_sizes(const Device &device, const ep_ipc_handle *handles, std::size_t count) {
    std::uint64_t left = device.info.max_allocation;
    for (std::size_t i = 0; i < count; ++i) {
        if (handles[i].size == 0 || handles[i].size > left)
            refuse(EP_INVALID, "the handle says ", handles[i].size, " bytes, and ",
                   device.selector(), " has ", device.info.max_allocation);
        left -= handles[i].size;
    }
}

ep_status ipc_open(ep_context context, const ep_ipc_handle *handles, std::size_t count,
                   std::int32_t, void **pointer) {
    return guarded([&] {
        const RelaxedCaptureMode relaxed;
        const Device &device = object(context).device;
        if (count == 0)
            refuse(EP_INVALID, "no handle was given");
        check_sizes(device, handles, count);
        const Current current(object(context).native);
        const std::uint32_t form = handles[0].form;
        if (form == EP_IPC_FILE || form == EP_IPC_FABRIC)
            *pointer = open_mapped(device, handles, count);
        else if (form == EP_IPC_DRIVER && count == 1)
            *pointer = open_by_driver(handles[0]);
        else if (form == EP_IPC_POOL && count == 1)
            *pointer = open_pooled(device, handles[0]);
        else
            refuse(EP_INVALID,
                   "device memory is opened by files, the driver, the fabric or a pool, and the "
                   "handle says form ",
                   form, " and ", count, " allocations");
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
        } else if (mapping.form == EP_IPC_POOL) {
            const CUresult code = driver().cuMemFree(address(pointer));
            driver().cuMemPoolDestroy(mapping.pool);
            check(code, "cuMemFree");
        } else {
            unmap(address(pointer), mapping.bytes);
            Parts::release(mapping.parts);
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
