// DriverCall: counts the driver calls that each thread is inside of, so that a process can exit
// while threads use devices.
//
// At process exit the runtimes' libraries run their destructors, and a thread inside one of them
// would crash. From then on no thread enters a driver, and threads inside one get a moment to leave
// it.
#pragma once

#include <atomic>
#include <cstdint>

#pragma GCC visibility push(default)
namespace entrepot {

// Lives as long as a call. At process exit its constructor never returns, except on the thread that
// runs the exit handlers. The thread that rests in it keeps every mutex that it holds.
class DriverCall {
public:
    DriverCall() noexcept : slot_(own ? *own : take_slot()) {
        slot_.depth.store(slot_.depth.load(std::memory_order_relaxed) + 1,
                          std::memory_order_relaxed);
        // the other thread's side is a barrier of the kernel's
        std::atomic_signal_fence(std::memory_order_seq_cst);
        if (is_ending.load(std::memory_order_acquire)) [[unlikely]]
            rest();
    }
    ~DriverCall() {
        slot_.depth.store(slot_.depth.load(std::memory_order_relaxed) - 1,
                          std::memory_order_release);
    }
    DriverCall(const DriverCall &) = delete;
    DriverCall &operator=(const DriverCall &) = delete;

    // Called by the exit handler, before the destructors of the runtimes' libraries run.
    static void end_all() noexcept;

private:
    // The number of calls that a thread is inside of. Only that thread writes `depth`.
    struct Slot {
        std::atomic<std::uint32_t> depth{0};
        std::atomic<bool> is_taken{true};
        Slot *next = nullptr;
    };
    struct SlotEnd;

    static Slot &take_slot() noexcept;
    static Slot &find_or_make_slot() noexcept;
    void rest() noexcept;

    static constinit thread_local Slot *own;
    static std::atomic<bool> is_ending;
    // never freed; a new thread reuses the slot of one that has ended
    static std::atomic<Slot *> all;

    Slot &slot_;
};

}  // namespace entrepot
#pragma GCC visibility pop
