// Calls into drivers are known by thread, so that a process can end while threads still use devices: when it does, the runtimes'
// libraries take themselves down, and a thread that is inside one then crashes. From the end on nobody enters any more, and who
// is inside is given a moment to come out.
#pragma once
#include <atomic>
#include <cstdint>

namespace entrepot {

// Lasts as long as a call. Where the process is ending, it rests for ever instead of coming to be, unless on the thread that
// ends the process.
class DriverCall {
public:
    DriverCall() noexcept : slot_(own ? *own : take_slot()) {
        slot_.depth.store(slot_.depth.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        std::atomic_signal_fence(std::memory_order_seq_cst);  // the other thread's side is a barrier of the kernel's
        if (is_ending.load(std::memory_order_acquire)) [[unlikely]]
            rest();
    }
    ~DriverCall() { slot_.depth.store(slot_.depth.load(std::memory_order_relaxed) - 1, std::memory_order_release); }
    DriverCall(const DriverCall &) = delete;
    DriverCall &operator=(const DriverCall &) = delete;

    // On the thread that ends the process, before the libraries of the runtimes go.
    static void end_all() noexcept;

private:
    // A thread's: how many calls it is inside of. Only the thread writes it.
    struct Slot {
        std::atomic<std::uint32_t> depth{0};
        std::atomic<bool> is_taken{true};
        Slot *next = nullptr;
    };
    struct SlotEnd;

    static Slot &take_slot() noexcept;
    void rest() noexcept;

    static inline constinit thread_local Slot *own = nullptr;
    static inline std::atomic<bool> is_ending{false};
    static inline std::atomic<Slot *> all{nullptr};  // never freed; those of threads that have ended are taken again

    Slot &slot_;
};

}  // namespace entrepot
