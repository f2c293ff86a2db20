#include "owner.hpp"

#include "held_buffer.hpp"

namespace entrepot::python {

PyObject *kept_object(Owner::Release release, void *handle) noexcept {
    if (release == release_with_gil<decref>)
        return static_cast<PyObject *>(handle);
    const Py_buffer *const view = held_view(release, handle);
    return view ? view->obj : nullptr;
}

PyObject *owner_of(const Memory &memory) noexcept {
    if (!memory.is_borrowed())
        return nullptr;
    return kept_object(memory.owner());
}

}  // namespace entrepot::python
