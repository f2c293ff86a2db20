// IPC: memory in a sealed, unnamed file (memfd). The kernel counts its users and frees it when the
// last process releases it or dies.
#include "backends/host/native.hpp"

#include "core/no_destructor.hpp"
#include "core/open_file.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>

namespace entrepot::backends::host {
namespace {

// The seals prevent shrinking, after which an access by another process would raise SIGBUS.
constexpr int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

std::string system_error() { return std::strerror(errno); }

struct Mapping {
    std::size_t bytes;
    int file;
};

// Shared memory that this process has mapped, by start address.
class Mappings {
public:
    static Mappings &only() {
        static NoDestructor<Mappings> all;
        return *all;
    }

    void enter(std::byte *start, const Mapping &mapping) {
        const std::lock_guard hold(mutex_);
        rows_.emplace(start, mapping);
    }

    // The start of the mapping that contains the pointer, with the mapping in `found`; nullptr if
    // no mapping does.
    const std::byte *find(const std::byte *pointer, Mapping &found) {
        const std::lock_guard hold(mutex_);
        auto row = rows_.upper_bound(pointer);
        if (row == rows_.begin())
            return nullptr;
        --row;
        found = row->second;
        return pointer < row->first + found.bytes ? row->first : nullptr;
    }

    Mapping take(const std::byte *start) {
        const std::lock_guard hold(mutex_);
        const auto row = rows_.find(start);
        if (row == rows_.end())
            refuse(EP_INVALID, "no shared memory is open at this address");
        const Mapping taken = row->second;
        rows_.erase(row);
        return taken;
    }

    void lock() noexcept { mutex_.lock(); }
    void unlock() noexcept { mutex_.unlock(); }

private:
    std::mutex mutex_;
    std::map<const std::byte *, Mapping> rows_;  // guarded by mutex_
};

// A forked child has the same memory mapped, so it keeps the table.
[[maybe_unused]] const int watching_mappings = pthread_atfork(
    []() noexcept { Mappings::only().lock(); }, []() noexcept { Mappings::only().unlock(); },
    []() noexcept { Mappings::only().unlock(); });

std::size_t whole_pages(std::size_t bytes) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    return (std::max<std::size_t>(bytes, 1) + page - 1) / page * page;
}

int make_file(std::size_t bytes) {
    OpenFile file(memfd_create("entrepot", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (file.number() < 0)
        refuse(EP_OUT_OF_MEMORY,
               "shared memory needs an open file, and the system gives none: ", system_error(),
               " (`ulimit -n` is how many a process may have)");
    if (ftruncate(file.number(), static_cast<off_t>(bytes)) != 0 ||
        fcntl(file.number(), F_ADD_SEALS, seals) != 0)
        refuse(EP_OUT_OF_MEMORY, bytes,
               " bytes of shared memory were asked for, and the system refuses: ", system_error());
    return file.detach();
}

std::byte *map(int file, std::size_t bytes, int protection) {
    void *const start = mmap(nullptr, bytes, protection, MAP_SHARED, file, 0);
    if (start == MAP_FAILED)
        refuse(EP_OUT_OF_MEMORY, bytes,
               " bytes of shared memory cannot be mapped: ", system_error());
    return static_cast<std::byte *>(start);
}

// Ownership: takes the file on success.
void *enter(OpenFile &file, std::size_t bytes, int protection) {
    std::byte *const start = map(file.number(), bytes, protection);
    try {
        Mappings::only().enter(start, {bytes, file.number()});
    } catch (...) {
        munmap(start, bytes);
        throw;
    }
    file.detach();
    return start;
}

ep_status ipc_allocate(ep_context context, ep_device device, ep_usm_kind kind, std::size_t bytes,
                       void **pointer) {
    return guarded([&] {
        check_context(context);
        check_device(device);
        if (kind != EP_USM_HOST && kind != EP_USM_DEVICE && kind != EP_USM_SHARED)
            refuse(EP_INVALID, "memory of kind ", static_cast<int>(kind),
                   " was asked for: a kind is host, device or shared");
        if (bytes > total_memory())
            refuse(EP_OUT_OF_MEMORY, bytes, " bytes were asked for, and this machine has ",
                   total_memory(), " of memory and swap");
        const std::size_t whole = whole_pages(bytes);
        OpenFile file(make_file(whole));
        *pointer = enter(file, whole, PROT_READ | PROT_WRITE);
    });
}

ep_status ipc_export(ep_context context, const void *pointer, std::size_t, ep_ipc_form form,
                     ep_ipc_handle *handle) {
    return guarded([&] {
        check_context(context);
        if (form != EP_IPC_ANY && form != EP_IPC_FILE)
            refuse(EP_UNSUPPORTED, "memory of the host is shared as an open file, on one machine");
        Mapping found{};
        const auto *const at = static_cast<const std::byte *>(pointer);
        const std::byte *const start = Mappings::only().find(at, found);
        if (start == nullptr)
            refuse(EP_UNSUPPORTED, "this memory of the host is private to the process");
        *handle = {};
        handle->form = EP_IPC_FILE;
        handle->file = found.file;
        handle->size = found.bytes;
        handle->offset = static_cast<std::uint64_t>(at - start);
    });
}

ep_status ipc_device(const ep_ipc_handle *handle, ep_device *device) {
    return guarded([&] {
        if (std::any_of(std::begin(handle->device), std::end(handle->device),
                        [](std::uint8_t byte) { return byte != 0; }))
            refuse(EP_INVALID, "the handle names a device, but host memory has no device");
        *device = the_device();
    });
}

// The file may come from any process. Refuses a file whose mapping could fail at an access.
void check_file(int file, std::uint64_t bytes) {
    struct stat about{};
    if (fstat(file, &about) != 0)
        refuse(EP_INVALID, "the handle's file cannot be asked about: ", system_error());
    const int sealed = fcntl(file, F_GET_SEALS);
    if (sealed < 0 || (sealed & F_SEAL_SHRINK) == 0)
        refuse(EP_INVALID, "the handle's file is no shared memory of Entrepot: it is not sealed "
                           "against being made shorter");
    if (bytes == 0 || bytes > static_cast<std::uint64_t>(about.st_size))
        refuse(EP_INVALID, "the handle says ", bytes, " bytes, and its file has ", about.st_size);
}

ep_status ipc_open(ep_context context, const ep_ipc_handle *handle, std::size_t count,
                   std::int32_t read_only, void **pointer) {
    return guarded([&] {
        check_context(context);
        if (count != 1)
            refuse(EP_INVALID, "memory of the host is one allocation, and the handle says ", count);
        if (handle->form != EP_IPC_FILE)
            refuse(EP_INVALID, "memory of the host is opened by a file, and the handle has none");
        check_file(handle->file, handle->size);
        OpenFile file(fcntl(handle->file, F_DUPFD_CLOEXEC, 0));
        if (file.number() < 0)
            refuse(EP_OUT_OF_MEMORY,
                   "shared memory needs an open file, and the system gives none: ", system_error());
        *pointer = enter(file, handle->size, read_only != 0 ? PROT_READ : PROT_READ | PROT_WRITE);
    });
}

ep_status ipc_close(ep_context context, void *pointer) {
    return guarded([&] {
        check_context(context);
        const Mapping mapping = Mappings::only().take(static_cast<std::byte *>(pointer));
        munmap(pointer, mapping.bytes);
        close(mapping.file);
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

}  // namespace entrepot::backends::host
