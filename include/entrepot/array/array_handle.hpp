// ArrayHandle: lets another process open an array. It has memory, type and layout as plain data,
// and converts to bytes.
#pragma once
#include <entrepot/array/array.hpp>
#include <entrepot/memory/share.hpp>

#include <cstdint>
#include <string>
#include <string_view>

#pragma GCC visibility push(default)
namespace entrepot {

struct ArrayHandle {
    SharedMemory memory;
    Dtype dtype;
    Layout layout;
    bool read_only = false;

    // Throws and blocks as entrepot::share does.
    static ArrayHandle of(const Array &array, ep_ipc_form form = EP_IPC_ANY);

    // The array in this process, read-only if the original was.
    // Throws: as entrepot::open does, and Error(value) if elements would be misaligned or outside
    //         the memory.
    Array open() const;

    // For processes of the same release on one machine, or on several with memory of the fabric.
    std::string bytes() const;
    // Throws: Error(value) for bytes that are not a handle, or of another version.
    static ArrayHandle from_bytes(std::string_view bytes);
};

}  // namespace entrepot
#pragma GCC visibility pop
