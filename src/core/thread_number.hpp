// Thread numbers that are never reused, unlike the system's.
#pragma once
#include <atomic>
#include <cstdint>

namespace entrepot {

// Begins at 1.
inline std::uint64_t number_of_this_thread() noexcept {
    static std::atomic<std::uint64_t> given{0};
    thread_local const std::uint64_t number = ++given;
    return number;
}

}  // namespace entrepot
