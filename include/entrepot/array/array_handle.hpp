// ArrayHandle: what another process opens an array by: its memory, type and layout as plain data, and as bytes to be sent.
#pragma once
#include <entrepot/array/array.hpp>
#include <entrepot/memory/share.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace entrepot {

struct ArrayHandle {
    SharedMemory memory;
    Dtype dtype;
    Layout layout;
    bool read_only = false;

    // Throws and blocks as entrepot::share does.
    static ArrayHandle of(const Array &array, ep_ipc_form form = EP_IPC_ANY);

    // The array in this process, read-only if that was. Throws as entrepot::open does, and Error(value) where elements would lie
    // outside the memory or misaligned in it.
    Array open() const;

    // For processes of the same build on one machine, or of several where the memory is of the fabric.
    std::string bytes() const;
    // Throws Error(value) for bytes that are none of a handle, or of another version's.
    static ArrayHandle from_bytes(std::string_view bytes);
};

}  // namespace entrepot
