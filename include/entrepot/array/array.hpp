// Array: memory seen through a type and a layout. A value: immutable, cheap to copy, and an owner
// of its memory.
#pragma once
#ifdef ENTREPOT_ARRAY_OF_EXTENSIONS
#error "entrepot::Array is defined already: include array/array.hpp or python/array.hpp"
#endif
#define ENTREPOT_ARRAY_OF_THE_LIBRARY

#include <entrepot/core/dtype.hpp>
#include <entrepot/core/layout.hpp>
#include <entrepot/device/registry.hpp>
#include <entrepot/memory/memory.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

#pragma GCC visibility push(default)
namespace entrepot {

class Array {
public:
    Array() noexcept = default;

    // Operations on the array run on `queue` unless they name another; none: the device's default
    // queue. A queue that may be destroyed counts as none.
    //
    // Requires: `data` is the first element (index 0 in every axis), and all elements lie inside
    //           `memory`.
    Array(Memory memory, void *data, Dtype dtype, Layout &&layout, bool read_only = false,
          Queue queue = {}) noexcept
        : memory_(std::move(memory)), data_(static_cast<std::byte *>(data)), dtype_(dtype),
          read_only_(read_only), layout_(std::move(layout)),
          queue_(unless_destroyed(std::move(queue))) {}
    Array(Memory memory, void *data, Dtype dtype, const Layout &layout, bool read_only = false,
          Queue queue = {})
        : Array(std::move(memory), data, dtype, Layout(layout), read_only, std::move(queue)) {}

    // New memory, C-contiguous and uninitialized.
    // Throws: as Memory::allocate does, and OverflowError for too many bytes.
    static Array empty(Extents shape, Dtype dtype, UsmKind kind, const Queue &queue,
                       std::size_t alignment = 0, Memory::Allocate allocate = Memory::allocate);

    const Memory &memory() const noexcept { return memory_; }
    // Leaves an array that may only be destroyed.
    Memory take_memory() && noexcept { return std::move(memory_); }
    // The element whose indices are 0. The access log does not see accesses through the pointer:
    // call `memory().wait_for_host()` before them.
    void *data() const noexcept { return data_; }
    const Dtype &dtype() const noexcept { return dtype_; }
    const Layout &layout() const noexcept { return layout_; }
    bool read_only() const noexcept { return read_only_; }
    // The most that an operation may do with the array.
    Access access() const noexcept { return read_only_ ? Access::read : Access::write; }

    std::size_t ndim() const noexcept { return layout_.ndim(); }
    Extents shape() const noexcept { return layout_.shape(); }
    Extents strides() const noexcept { return layout_.strides(); }  // elements
    std::int64_t size() const noexcept { return layout_.size(); }
    std::int64_t itemsize() const noexcept { return dtype_.itemsize(); }
    std::int64_t nbytes() const { return layout_.nbytes(itemsize()); }

    // Place of the array. A host view is on the host, wherever its memory is. A device view and a
    // pinned view are on the device of their queue, and their memory is the host's.
    UsmKind kind() const noexcept {
        return view_ == View::of_host ? UsmKind::host : memory_.kind();
    }
    const Device &device() const noexcept {
        if (view_ == View::none) [[likely]]
            return memory_.device();
        return view_ == View::of_host ? registry::host() : queue_.device();
    }
    const Context &context() const {
        if (view_ == View::none) [[likely]]
            return memory_.context();
        return is_device_view() ? queue_.context() : device().default_context();
    }
    // True for a view of on_device(). Exports give it as host memory, because the device's runtime
    // does not know the memory.
    bool is_device_view() const noexcept { return view_ == View::of_device; }
    // True for a view of pinned_for(). Exports give it as the device's host-accessible memory.
    bool is_pinned_view() const noexcept { return view_ == View::pinned; }
    // The queue on which operations run unless they name another: the array's own. Otherwise the
    // queue on which the owner of borrowed memory works now, such as PyTorch's current stream on
    // this thread. Otherwise one of Entrepot's.
    Queue queue() const { return queue_ ? queue_ : queue_of_memory(); }
    bool has_own_queue() const noexcept { return static_cast<bool>(queue_); }
    bool is_host_accessible() const noexcept { return entrepot::is_host_accessible(kind()); }

    // Views, which never copy.
    // Throws: ValueError or IndexError if a copy would be necessary.
    Array select(std::span<const IndexEntry> index) const;
    Array transposed(std::span<const std::int64_t> axes) const;
    Array reshaped(Extents shape) const;
    Array broadcast_to(Extents shape) const;
    Array viewed_as(Dtype dtype) const;
    Array as_read_only() const;
    Array on(Queue queue) const;  // the same memory with another queue, as for the constructor
    // Returns: an array of the same memory and place with other elements, the first one at `data`.
    // Requires: as the constructor.
    Array with(void *data, Dtype dtype, Layout layout) const;
    // A view of the memory for the host. Each use of it waits for pending work of devices.
    // Throws: ExchangeError for memory that the host cannot reach.
    Array host() const;
    // A view of host memory for a device that reads the memory of the process as it is. Operations
    // run on `device` unless they name a queue.
    // Throws: ExchangeError if the device does not read host memory, or for other memory.
    Array on_device(const Device &device) const;
    // A view of host memory that is pinned for the device (memory/pin.hpp). Operations run on
    // `device` unless they name a queue.
    // Requires: host memory, and the elements are pinned for `device`.
    Array pinned_for(const Device &device) const;

private:
    // The array may outlive the stream of a queue that may be destroyed.
    static Queue unless_destroyed(Queue queue) noexcept {
        return queue && queue.may_be_destroyed() ? Queue() : std::move(queue);
    }
    Queue queue_of_memory() const;

    Memory memory_;
    std::byte *data_ = nullptr;
    Dtype dtype_;
    bool read_only_ = false;
    enum class View : std::uint8_t { none, of_host, of_device, pinned };
    View view_ = View::none;  // of_device, pinned: queue_ is not empty
    Layout layout_;
    Queue queue_;
};

}  // namespace entrepot
#pragma GCC visibility pop
