// Device: one device or sub-device of a backend. A value that is one pointer wide; devices live as
// long as the process.
#pragma once
#include <entrepot/core/error.hpp>
#include <entrepot/device/backend.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <span>
#include <string>
#include <vector>

#pragma GCC visibility push(default)
namespace entrepot {

class Context;
class Queue;

class Device {
public:
    Device() noexcept = default;  // none; every question but == and bool is undefined

    // The selector that finds this device again: `opencl:cpu:0`, `cuda:1`, `host`. A sub-device is
    // `opencl:cpu:0/1`, numbered among the sub-devices that its parent has created in this process.
    const std::string &selector() const noexcept;
    const ep_device_info &info() const noexcept;
    const Backend &backend() const noexcept;
    ep_device handle() const noexcept;

    bool has(ep_aspect aspect) const noexcept;
    Device parent() const noexcept;  // none for a root device
    Device root() const noexcept;    // itself for a root device

    // Throws: DeviceError if the device cannot be divided that way; ValueError for counts that it
    //         does not have.
    std::vector<Device> partition_equally(std::uint32_t compute_units_each) const;
    std::vector<Device> partition_by_counts(std::span<const std::uint32_t> compute_units) const;
    std::vector<Device> partition_by_affinity(ep_affinity domain) const;

    // The platform's default context, made once. A sub-device has that of its root, if the runtime
    // supports it there, else one of its own.
    const Context &default_context() const;
    // In order, in the default context; made once.
    const Queue &default_queue() const;

    // True if kernels of this device can use memory of `peer`, once access is enabled.
    bool can_access(const Device &peer) const;

    void *native() const;  // sycl::device *, CUdevice * …; lives as long as the process

    explicit operator bool() const noexcept { return record_ != nullptr; }
    bool operator==(const Device &) const noexcept = default;

    struct Record;
    explicit Device(const Record *record) noexcept : record_(record) {}
    const Record *record() const noexcept { return record_; }

private:
    std::vector<Device> partition(ep_partition how, std::span<const std::uint32_t> counts) const;
    const Context &make_default_context() const;
    const Queue &make_default_queue() const;

    const Record *record_ = nullptr;
};

// Facts about a device. Made when its handle is first seen, and never freed. Constant but for the
// atomics, each set once.
struct Device::Record {
    const Backend *backend = nullptr;
    ep_device handle = nullptr;
    ep_device_info info{};
    std::string selector;
    Device parent;
    mutable std::atomic<const Context *> default_context{nullptr};
    mutable std::atomic<const Queue *> default_queue{nullptr};
    mutable std::atomic<const Queue *> legacy_stream{nullptr};  // stream.hpp
};

inline const std::string &Device::selector() const noexcept { return record_->selector; }
inline const ep_device_info &Device::info() const noexcept { return record_->info; }
inline const Backend &Device::backend() const noexcept { return *record_->backend; }
inline ep_device Device::handle() const noexcept { return record_->handle; }
inline bool Device::has(ep_aspect aspect) const noexcept {
    return (record_->info.aspects & aspect) != 0;
}
inline Device Device::parent() const noexcept { return record_->parent; }
inline const Context &Device::default_context() const {
    const Context *made = record_->default_context.load(std::memory_order_acquire);
    return made ? *made : make_default_context();
}
inline const Queue &Device::default_queue() const {
    const Queue *made = record_->default_queue.load(std::memory_order_acquire);
    return made ? *made : make_default_queue();
}

std::ostream &operator<<(std::ostream &out, const Device &device);

}  // namespace entrepot
#pragma GCC visibility pop

template <> struct std::hash<entrepot::Device> {
    std::size_t operator()(const entrepot::Device &device) const noexcept {
        return device ? device.backend().api().device_hash(device.handle()) : 0;
    }
};
