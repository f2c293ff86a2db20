#include <entrepot/array/array.hpp>

#include <cstdint>

namespace entrepot {

Array Array::empty(Extents shape, Dtype dtype, UsmKind kind, const Queue &queue, std::size_t alignment) {
    Layout layout(shape);
    const auto bytes = static_cast<std::size_t>(layout.nbytes(dtype.itemsize()));
    Memory memory = Memory::allocate(bytes, kind, queue, alignment);
    void *data = memory.data();
    return Array(std::move(memory), data, dtype, std::move(layout), false, queue);
}

Array Array::select(std::span<const IndexEntry> index) const {
    Layout::View view = layout_.select(index);
    return Array(memory_, data_ + view.offset * itemsize(), dtype_, std::move(view.layout), read_only_, queue_);
}

Array Array::transposed(std::span<const std::int64_t> axes) const {
    return Array(memory_, data_, dtype_, layout_.transposed(axes), read_only_, queue_);
}

Array Array::reshaped(Extents shape) const {
    std::optional<Layout> layout = layout_.reshaped(shape);
    if (!layout)
        throw Error(ErrorKind::value, "reshape: ", layout_, " cannot become shape ", tuple_text(shape),
                    " without a copy; copy it first: array.to(array.device).reshape(…)");
    return Array(memory_, data_, dtype_, *std::move(layout), read_only_, queue_);
}

Array Array::viewed_as(Dtype dtype) const {
    const std::int64_t new_itemsize = dtype.itemsize();
    Layout layout = layout_.viewed_as(itemsize(), new_itemsize);
    if (layout.size() != 0 && reinterpret_cast<std::uintptr_t>(data_) % static_cast<std::uintptr_t>(dtype.alignment()) != 0)
        throw Error(ErrorKind::value, "view: the first element, at ", Hex(data_), ", is not aligned to the ", dtype.alignment(), " bytes of ",
                    dtype);
    return Array(memory_, data_, dtype, std::move(layout), read_only_, queue_);
}

Array Array::as_read_only() const { return Array(memory_, data_, dtype_, layout_, true, queue_); }

Array Array::on(Queue queue) const { return Array(memory_, data_, dtype_, layout_, read_only_, std::move(queue)); }

}  // namespace entrepot
