// The registry: which backends there are, which of them are absent and why, and the selector
// grammar that names devices.
#pragma once
#include <entrepot/core/publish.hpp>
#include <entrepot/device/context.hpp>
#include <entrepot/device/device.hpp>

#include <string>
#include <string_view>
#include <vector>

#pragma GCC visibility push(default)
namespace entrepot {

struct BackendReport {
    std::string name;
    bool present;
    std::string reason;  // why it is absent, or what was loaded (driver, library, version)
};

namespace registry {

// Adds a directory with libraries of runtimes (for Python `<prefix>/lib`). Directories are searched
// in the order of the calls, before those of the system, by backends that are not loaded yet.
void add_library_directory(std::string directory);

// Loads backends on first use and lists them all; never throws for an absent one.
std::vector<BackendReport> report();

// Throws: DeviceError with the reason where the backend is absent.
const Backend &backend(std::string_view name);

// All root devices of all present backends, the host last, in each backend's own order. Loads every
// backend.
std::vector<Device> devices();
// The root devices of a backend of the list, in its own order: what the runtime's numbers count.
const std::vector<Device> &devices(const Backend &backend);

// Selector grammar: `backend:type:number`, each part optional and at least one present (SYCL's
// filter selector), plus `cuda:N`, `hip:N`, `host`, `default`, and `/N` for sub-devices. Case does
// not matter. Among several matches, the backend's default selector decides (highest score), then
// the lowest number.
// Throws: ValueError for a malformed selector; DeviceError where nothing matches, listing what
//         there is and, when the backend is absent, why.
Device select(std::string_view selector);

// No device named: the innermost device_context of this thread, then ENTREPOT_DEVICE, then `host`.
const Queue &current_queue();
Device current_device();
// True inside a device_context of this thread.
bool is_in_device_context() noexcept;

// The host; always there.
// Throws: bad_alloc at the first call.
const Device &host();
// The host with its default context, where ordinary host memory is. Neither is ever destroyed,
// because memory is released until the process exits.
struct HostPlace {
    Device device = host();
    Context context = device.default_context();
};
extern FirstUse<HostPlace> made_host_place;  // of host_place() alone
inline const HostPlace &host_place() { return made_host_place.get(); }

// SYCL's default device: what its default selector finds. Throws: DeviceError if no device
// qualifies.
Device default_sycl_device();

// Adds a backend of the caller. It replaces a known one of that name that has not been asked for
// yet. Tests do both.
// Throws: ValueError if the name is taken or the version differs.
const Backend &add(const ep_backend *api);
// The functions that every backend gets when it is loaded.
const ep_loader *loader() noexcept;

// Returns: the stream that another library works with on this thread, for device `device` of the
//          backend ("cuda", "hip"); nullptr if none is known. Backends ask before calls that would
//          invalidate a graph that is captured in it.
// GIL: callable with or without it. The first query of a library may need it: see CaptureRelease.
using ForeignQueue = void *(*)(const char *backend, std::uint32_t device);
void set_foreign_queue(ForeignQueue of) noexcept;
void *foreign_queue(const char *backend, std::uint32_t device);

// The innermost queue that this thread's device contexts have made current.
void push_current(const Queue &queue);
// Throws: ValueError unless it is the innermost of this thread.
void pop_current(const Queue &queue);

}  // namespace registry

}  // namespace entrepot
#pragma GCC visibility pop
