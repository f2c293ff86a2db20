// Objects of the adapter types: their owners, the blocks that they allocate,
// and the functions for record types.
#include "object.hpp"

#include "../memory/owner.hpp"
#include "../support/errors.hpp"
#include "../support/gil.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

namespace entrepot::python {
namespace {

// Header in front of the memory that an adapter has allocated.
struct alignas(16) Block {
    PyObject *pinned;
};

void free_block(void *handle) {
    auto *const block = static_cast<Block *>(handle);
    Py_DECREF(block->pinned);
    std::free(block);
}

// Release functions of a block with a pin, and of one without, which does not need the GIL.
constexpr Owner::Release release_pinning = release_with_gil<free_block>, release_bare = std::free;

bool is_block(Owner::Release release) noexcept {
    return release == release_pinning || release == release_bare;
}

void release_dependent(void *handle) {
    auto *const adapter = static_cast<PyObject *>(handle);
    {
        const Exclusive exclusive(adapter);
        --pointer_of(adapter)->exports;
    }
    Py_DECREF(adapter);
}

constexpr std::size_t largest = PY_SSIZE_T_MAX / 2;

}  // namespace

void set(PyObject *self, Target &&target, Py_ssize_t length, unsigned flags) {
    Owner former;
    {
        const Exclusive exclusive(self);
        entrepot_pointer &pointer = *pointer_of(self);
        if (pointer.exports)
            throw Error(
                ErrorKind::exchange, pointer.exports, " others use the memory of this ",
                _PyType_Name(Py_TYPE(self)),
                ", so its address cannot change; release them first, or make a new adapter");
        former = Owner(pointer.handle, pointer.release);
        pointer.address = target.address;
        pointer.length = length;
        pointer.flags = flags | (target.is_read_only ? unsigned{ENTREPOT_ADAPTER_READ_ONLY} : 0u);
        pointer.release = target.owner.release_function();
        pointer.handle = target.owner.detach();
    }
}

OwnBlock new_block(std::size_t bytes, std::size_t alignment, Reference pinned) {
    const std::size_t offset = std::max(alignment, sizeof(Block));
    if (bytes > largest || offset > largest)
        throw std::bad_alloc();
    const std::size_t whole =
        (offset + std::max(bytes, std::size_t{1}) + offset - 1) & ~(offset - 1);
    void *const memory =
        offset == sizeof(Block) ? std::malloc(whole) : std::aligned_alloc(offset, whole);
    if (!memory)
        throw std::bad_alloc();
    std::memset(memory, 0, whole);
    const Owner::Release release = pinned ? release_pinning : release_bare;
    auto *const block = new (memory) Block{pinned.release()};
    return {static_cast<std::byte *>(memory) + offset, Owner(block, release)};
}

Owner depend_on(PyObject *adapter) {
    const Exclusive exclusive(adapter);
    ++pointer_of(adapter)->exports;
    return Owner(Py_NewRef(adapter), release_with_gil<release_dependent>);
}

bool is_owner(const entrepot_pointer &pointer) noexcept { return is_block(pointer.release); }

bool keeps_memory(PyObject *adapter) noexcept {
    return pointer_of(adapter)->release || is_device_array(adapter) ||
           !is_adapter_type(Py_TYPE(adapter));
}

PyObject *depended_on(const entrepot_pointer &pointer) noexcept {
    return pointer.release == release_with_gil<release_dependent>
               ? static_cast<PyObject *>(pointer.handle)
               : nullptr;
}

bool may_lose_memory(PyObject *adapter) noexcept {
    return pointer_of(adapter)->release || (is_device_array(adapter) && has_known_memory(adapter));
}

PyObject *kept_by(const entrepot_pointer &pointer) noexcept {
    if (is_block(pointer.release))
        return static_cast<const Block *>(pointer.handle)->pinned;
    if (PyObject *const adapter = depended_on(pointer))
        return adapter;
    return kept_object(pointer.release, pointer.handle);
}

// ---------------------------------------------------------------- for record types

void become(PyObject *self, PyObject *object) { set(self, target_of(object)); }

void become_function(PyObject *self, PyObject *object) { set(self, target_of_function(object)); }

void become_owner(PyObject *self, std::size_t bytes, std::size_t alignment) {
    OwnBlock block = new_block(bytes, alignment, {});
    set(self, {block.data, std::move(block.owner), static_cast<Py_ssize_t>(bytes), false});
}

void become_view(PyObject *self, void *address, Owner owner) {
    set(self, {address, std::move(owner), -1, false});
}

}  // namespace entrepot::python
