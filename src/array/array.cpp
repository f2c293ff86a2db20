#include <entrepot/array/array.hpp>

#include <entrepot/memory/pin.hpp>

#include <cstdint>

namespace entrepot {

Array Array::empty(Extents shape, Dtype dtype, UsmKind kind, const Queue &queue,
                   std::size_t alignment, Memory::Allocate allocate) {
    Layout layout(shape);
    const auto bytes = static_cast<std::size_t>(layout.nbytes(dtype.itemsize()));
    Memory memory = allocate(bytes, kind, queue, alignment);
    void *data = memory.data();
    return Array(std::move(memory), data, dtype, std::move(layout), false, queue);
}

Queue Array::queue_of_memory() const {
    if (memory_.has_peers() && view_ != View::of_host)
        if (Queue of_owner = memory_.owner_queue())
            return of_owner;
    return Queue::for_context(context(), device());
}

Array Array::with(void *data, Dtype dtype, Layout layout) const {
    Array result(memory_, data, dtype, std::move(layout), read_only_, queue_);
    result.view_ = view_;
    return result;
}

Array Array::select(std::span<const IndexEntry> index) const {
    Layout::View view = layout_.select(index);
    return with(data_ + view.offset * itemsize(), dtype_, std::move(view.layout));
}

Array Array::transposed(std::span<const std::int64_t> axes) const {
    return with(data_, dtype_, layout_.transposed(axes));
}

Array Array::broadcast_to(Extents shape) const {
    return with(data_, dtype_, layout_.broadcast_to(shape));
}

Array Array::reshaped(Extents shape) const {
    std::optional<Layout> layout = layout_.reshaped(shape);
    if (!layout)
        throw Error(ErrorKind::value, "reshape: ", layout_, " cannot become shape ",
                    tuple_text(shape),
                    " without a copy; copy it first: array.to(array.device).reshape(…)");
    return with(data_, dtype_, *std::move(layout));
}

Array Array::viewed_as(Dtype dtype) const {
    Layout layout = layout_.viewed_as(itemsize(), dtype.itemsize());
    if (layout.size() != 0 &&
        reinterpret_cast<std::uintptr_t>(data_) % static_cast<std::uintptr_t>(dtype.alignment()) !=
            0)
        throw Error(ErrorKind::value, "view: the first element, at ", Hex(data_),
                    ", is not aligned to the ", dtype.alignment(), " bytes of ", dtype);
    return with(data_, dtype, std::move(layout));
}

Array Array::as_read_only() const {
    Array result = *this;
    result.read_only_ = true;
    return result;
}

Array Array::on(Queue queue) const {
    Array result = *this;
    result.queue_ = unless_destroyed(std::move(queue));
    if (!is_device_view() && !is_pinned_view())
        return result;
    if (!result.queue_)
        result.queue_ = device().default_queue();
    else if (is_device_view() ? result.queue_.device() != device()
                              : !shares_pins(result.queue_.device(), device()))
        result.view_ = View::none;
    return result;
}

Array Array::host() const {
    if (!is_host_accessible())
        throw Error(ErrorKind::exchange, "host: ", kind(), " memory of ", device(),
                    " cannot be reached by the host; copy it with copy_to_host()");
    Array result = *this;
    result.view_ = View::of_host;
    result.queue_ = {};
    return result;
}

Array Array::on_device(const Device &device) const {
    if (!memory_.device().backend().is_host() || !device.has(EP_READS_HOST_MEMORY))
        throw Error(ErrorKind::exchange, "on_device: ", device, " cannot use this ", kind(),
                    " memory of ", this->device(),
                    " in place: pin it, as ep.pin(x, device) does, or copy it with .to(device)");
    if (device.backend().is_host())
        return *this;
    Array result = *this;
    result.queue_ = device.default_queue();
    result.view_ = View::of_device;
    return result;
}

Array Array::pinned_for(const Device &device) const {
    ENTREPOT_ASSERT(memory_.device().backend().is_host() && !device.backend().is_host());
    Array result = *this;
    result.queue_ = device.default_queue();
    result.view_ = View::pinned;
    return result;
}

}  // namespace entrepot
