// Backend: a loaded backend's table, and the one place where its statuses become exceptions.
#pragma once
#include <entrepot/core/checked_mutex.hpp>
#include <entrepot/core/error.hpp>
#include <entrepot/device/backend.h>
#include <entrepot/device/driver_call.hpp>
#include <entrepot/device/fork_guard.hpp>

#include <memory>
#include <string>
#include <type_traits>

#pragma GCC visibility push(default)
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
    // True for CUDA, HIP and backends that a program adds: a native queue is the number of a
    // stream.
    bool has_streams() const noexcept { return has_streams_; }
    // True if queue_wait_queue is cheaper than polling an event and waiting for it.
    bool has_fast_queue_wait() const noexcept { return !is_sycl_ && !is_host_; }

    // Throws: the error that the status names (DeviceError, KernelError, USMAllocationError,
    //         ValueError), with the backend's text.
    void check(ep_status status) const {
        if (status != EP_OK) [[unlikely]]
            raise(status);
    }

    // Calls a function of the table: `backend.call(&ep_backend::queue_wait, queue)`.
    // Requires: the caller holds no leaf mutex (core/checked_mutex.hpp), for any function of the
    //           table.
    // Throws: as check(); DeviceError in a marked child of fork().
    template <class... Parameters>
    void call(ep_status (*ep_backend::*function)(Parameters...),
              std::type_identity_t<Parameters>... arguments) const {
        fork_guard::require_usable(*this);
        check(status_of(function, arguments...));
    }

    // Returns the status instead of throwing.
    // Requires: the backend may be called in this process (fork_guard::require_usable).
    template <class... Parameters>
    ep_status status_of(ep_status (*ep_backend::*function)(Parameters...),
                        std::type_identity_t<Parameters>... arguments) const {
        ENTREPOT_ASSERT(!HeldMutexes::has_leaf());
        if (is_host_)
            return (api_->*function)(arguments...);
        ENTREPOT_ASSERT(!fork_guard::is_child());
        const DriverCall inside;
        return (api_->*function)(arguments...);
    }

    // Releases a handle: `backend.drop(&ep_backend::queue_release, queue)`. In a marked child of
    // fork() it leaks instead.
    template <class Handle>
    void drop(void (*ep_backend::*release)(Handle),
              std::type_identity_t<Handle> handle) const noexcept {
        ENTREPOT_ASSERT(!HeldMutexes::has_leaf());
        if (is_host_) {
            (api_->*release)(handle);
        } else if (!fork_guard::is_child()) {
            const DriverCall inside;
            (api_->*release)(handle);
        }
    }

    // The device of a handle of the backend; no device for nullptr.
    Device device(ep_device handle) const;
    // The sub-device of that number that the parent has created in this process; no device if it
    // has not.
    Device sub_device(const Device &parent, std::uint32_t number) const;

    // The sentence that the backend set last on this thread.
    static const std::string &last_error() noexcept;

private:
    [[noreturn]] void raise(ep_status status) const;

    struct DeviceTable;

    const ep_backend *api_;
    bool is_host_, is_sycl_, has_streams_;
    std::unique_ptr<DeviceTable> devices_;
};

inline bool fork_guard::is_usable(const Backend &backend) noexcept {
    return !is_child() || backend.is_host();
}

}  // namespace entrepot
#pragma GCC visibility pop
