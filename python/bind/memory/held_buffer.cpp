// Held buffers. Each Py_buffer is a block of a small free list, because allocating it would take as
// long as getting the buffer.
#include "held_buffer.hpp"

#include "../support/errors.hpp"
#include "../support/foreign_error.hpp"
#include "../support/gil.hpp"
#include "owner.hpp"

#include <array>
#include <cstddef>
#include <new>

namespace entrepot::python {
namespace {

class Blocks {
public:
    ~Blocks() {
        while (count_)
            delete blocks_[--count_];
    }
    Py_buffer *take() { return count_ ? blocks_[--count_] : new Py_buffer; }
    void put(Py_buffer *block) noexcept {
        if (count_ < blocks_.size())
            blocks_[count_++] = block;
        else
            delete block;
    }

private:
    std::array<Py_buffer *, 32> blocks_;
    std::size_t count_ = 0;
};

ENTREPOT_GIL_GUARDED Blocks blocks;

void release(void *handle) {
    auto *view = static_cast<Py_buffer *>(handle);
    const SetErrorAside aside;  // the exporter may run Python code
    PyBuffer_Release(view);
    blocks.put(view);
}

}  // namespace

HeldBuffer hold_buffer(const exchange::Speaker &speaker, PyObject *object, int flags) {
    Py_buffer *const view = blocks.take();
    if (PyObject_GetBuffer(object, view, flags) != 0) [[unlikely]] {
        blocks.put(view);
        throw speaker.refusal("a ", Py_TYPE(object)->tp_name,
                              " does not give its buffer: ", take_words_about_value());
    }
    return {Owner(view, release_with_gil<release>), view};
}

const Py_buffer *held_view(Owner::Release release_function, void *handle) noexcept {
    return release_function == release_with_gil<release> ? static_cast<const Py_buffer *>(handle)
                                                         : nullptr;
}

}  // namespace entrepot::python
