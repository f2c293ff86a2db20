// Backend: a loaded backend's table, and the one place where its statuses become exceptions.
#pragma once
#include <entrepot/core/error.hpp>
#include <entrepot/device/backend.h>
#include <entrepot/device/driver_call.hpp>
#include <entrepot/device/fork_guard.hpp>

#include <memory>
#include <string>
#include <type_traits>

namespace entrepot {

class Device;

// Lives as long as the process.
class Backend {
public:
    explicit Backend(const ep_backend *api);
    ~Backend();
    Backend(const Backend &) = delete;
    Backend &operator=(const Backend &) = delete;

    const char *name() const noexcept { return api_->name; }
    const ep_backend &api() const noexcept { return *api_; }
    bool is_host() const noexcept { return is_host_; }
    bool is_sycl() const noexcept { return is_sycl_; }
    // Whether event_hand_over takes less than to ask an event whether it is done, and to wait for it.
    bool hands_over_quickly() const noexcept { return !is_sycl_ && !is_host_; }

    // Throws what the status says (DeviceError, KernelError, USMAllocationError, ValueError) with the backend's sentence.
    void check(ep_status status) const {
        if (status != EP_OK) [[unlikely]]
            raise(status);
    }

    // Calls a function of the table: `backend.call(&ep_backend::queue_wait, queue)`. Refused in a forked child.
    template <class... Parameters>
    void call(ep_status (*ep_backend::*function)(Parameters...), std::type_identity_t<Parameters>... arguments) const {
        fork_guard::require_usable(*this);
        check(status_of(function, arguments...));
    }

    // The same for those who know better what to make of a status than an exception; fit for use only where `call` is.
    template <class... Parameters>
    ep_status status_of(ep_status (*ep_backend::*function)(Parameters...), std::type_identity_t<Parameters>... arguments) const {
        if (is_host_)
            return (api_->*function)(arguments...);
        const DriverCall inside;
        return (api_->*function)(arguments...);
    }

    // Lets go of a handle: `backend.drop(&ep_backend::queue_release, queue)`. In a forked child it leaks instead.
    template <class Handle> void drop(void (*ep_backend::*release)(Handle), std::type_identity_t<Handle> handle) const noexcept {
        if (is_host_) {
            (api_->*release)(handle);
        } else if (!fork_guard::is_child()) {
            const DriverCall inside;
            (api_->*release)(handle);
        }
    }

    // The device of a handle that the backend gave out; none for nullptr.
    Device device(ep_device handle) const;
    // The sub-device of that number that the parent has handed out in this process; none if it has not.
    Device sub_device(const Device &parent, std::uint32_t number) const;

    // The sentence that the backend set last on this thread.
    static const std::string &last_error() noexcept;

private:
    [[noreturn]] void raise(ep_status status) const;

    struct DeviceTable;

    const ep_backend *api_;
    bool is_host_, is_sycl_;
    std::unique_ptr<DeviceTable> devices_;
};

inline bool fork_guard::is_usable(const Backend &backend) noexcept { return !is_child() || backend.is_host(); }

}  // namespace entrepot
