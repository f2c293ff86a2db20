// The registry: which backends there are, which of them are absent and why, and the selector grammar that names devices.
#pragma once
#include <entrepot/device/device.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace entrepot {

// A loaded backend. Every call into its table goes through `check`, the one place where a status becomes an exception.
class Backend {
  public:
    const char *name() const noexcept { return api_->name; }
    const ep_backend &api() const noexcept { return *api_; }

    // Throws what the status says (DeviceError, KernelError, USMAllocationError, ValueError) with the backend's sentence.
    void check(ep_status status) const {
        if (status != EP_OK) [[unlikely]]
            raise(status);
    }

    // The device of a handle that the backend gave out.
    Device device(ep_device handle) const;

    explicit Backend(const ep_backend *api) noexcept : api_(api) {}

  private:
    [[noreturn]] void raise(ep_status status) const;

    const ep_backend *api_;
};

struct BackendReport {
    std::string name;
    bool present;
    std::string reason;  // why it is absent; or what was loaded (driver, library, version)
};

namespace registry {

// Loads backends on first use and lists them all; never throws for an absent one.
std::vector<BackendReport> report();

// Throws DeviceError with the reason where the backend is absent.
const Backend &backend(std::string_view name);

// All root devices of all present backends, the host last, in each backend's own order.
std::vector<Device> devices();

// Selector grammar: `backend:type:number`, each part optional and at least one present (SYCL's filter selector), plus
// `cuda:N`, `hip:N`, `host`, `default`, and `/N` for sub-devices. Case does not matter. Among several matches, the
// backend's default selector decides (highest score), then the lowest number.
// Throws ValueError for a malformed selector; DeviceError where nothing matches, listing what there is and, when the
// backend is absent, why.
Device select(std::string_view selector);

// No device named: the innermost device_context of this thread, then ENTREPOT_DEVICE, then `host`.
const Queue &current_queue();
Device current_device();

// SYCL's default device: what its default selector finds. Throws DeviceError where there is none.
Device default_sycl_device();

// Puts a backend of the caller's own in the list (tests use it); throws ValueError where the name is taken or the version differs.
const Backend &add(const ep_backend *api);
// What every backend is given when it is loaded.
const ep_loader *loader() noexcept;

// The innermost queue that this thread's device contexts have made current.
void push_current(const Queue &queue);
void pop_current() noexcept;

}  // namespace registry

// After fork the runtimes hang or corrupt memory: in the child every device entry is refused, the host backend excepted.
namespace fork_guard {
bool is_child() noexcept;  // of a process that had loaded a backend other than the host's
void require_usable(const Backend &backend);  // throws DeviceError in a child
}  // namespace fork_guard

}  // namespace entrepot
