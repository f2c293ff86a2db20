// Hash of a handle, for runtimes without their own hash function.
#pragma once
#include <cstdint>
#include <functional>

namespace entrepot::backends {

template <class Handle> std::uint64_t hash_of(Handle handle) noexcept {
    return std::hash<Handle>{}(handle);
}

}  // namespace entrepot::backends
