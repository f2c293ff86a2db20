// Threads by number: one is never given again, as the system's are.
#pragma once
#include <atomic>
#include <cstdint>

namespace entrepot {

// From 1 on.
inline std::uint64_t number_of_this_thread() noexcept {
    static std::atomic<std::uint64_t> given{0};
    thread_local const std::uint64_t number = ++given;
    return number;
}

}  // namespace entrepot
