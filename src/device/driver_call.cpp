#include <entrepot/device/driver_call.hpp>

#include <chrono>
#include <new>
#include <thread>

#ifdef __linux__
#include <linux/membarrier.h>
#include <sys/syscall.h>
#endif
#include <unistd.h>

namespace entrepot {
namespace {

constinit thread_local bool ends_the_process = false;

// Makes what every thread has written visible here, and what was written here to them: they need no
// barriers of their own.
void pass_barrier_on_all_threads() noexcept {
#ifdef __linux__
    if (syscall(__NR_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) == 0)
        return;
#endif
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

// A call may be the wait for a kernel of any length; then the process ends with the thread inside.
constexpr auto patience = std::chrono::milliseconds(200);

}  // namespace

constinit thread_local DriverCall::Slot *DriverCall::own = nullptr;
constinit std::atomic<bool> DriverCall::is_ending{false};
constinit std::atomic<DriverCall::Slot *> DriverCall::all{nullptr};

// Releases the slot when its thread ends.
struct DriverCall::SlotEnd {
    ~SlotEnd() {
        if (own)
            own->is_taken.store(false, std::memory_order_release);
        own = nullptr;
    }
    void arm() noexcept {}
};

// The fence pairs with the one of end_all(): either end_all() finds the slot, or this thread's next
// load of `is_ending` is true.
DriverCall::Slot &DriverCall::take_slot() noexcept {
    Slot &slot = find_or_make_slot();
    std::atomic_thread_fence(std::memory_order_seq_cst);
    return slot;
}

DriverCall::Slot &DriverCall::find_or_make_slot() noexcept {
    static thread_local SlotEnd end;
    end.arm();
    for (Slot *slot = all.load(std::memory_order_acquire); slot; slot = slot->next)
        if (bool taken = false;
            slot->is_taken.compare_exchange_strong(taken, true, std::memory_order_acq_rel))
            return *(own = slot);
    // where there is no memory for one more; a race there only miscounts
    static constinit Slot shared_by_the_rest;
    Slot *const made = new (std::nothrow) Slot;
    if (!made)
        return *(own = &shared_by_the_rest);
    made->next = all.load(std::memory_order_relaxed);
    while (!all.compare_exchange_weak(made->next, made, std::memory_order_acq_rel)) {
    }
    return *(own = made);
}

void DriverCall::rest() noexcept {
    if (ends_the_process)
        return;
    slot_.depth.store(0, std::memory_order_release);
    for (;;)
        pause();
}

void DriverCall::end_all() noexcept {
    if (is_ending.exchange(true, std::memory_order_seq_cst))
        return;
    ends_the_process = true;
    std::atomic_thread_fence(std::memory_order_seq_cst);  // see take_slot()
    const auto others_are_inside = [](auto &&is_inside) {
        for (const Slot *slot = all.load(std::memory_order_acquire); slot; slot = slot->next)
            if (slot != own && is_inside(*slot))
                return true;
        return false;
    };
    if (!others_are_inside(
            [](const Slot &slot) { return slot.is_taken.load(std::memory_order_acquire); }))
        return;
    pass_barrier_on_all_threads();
    const auto end = std::chrono::steady_clock::now() + patience;
    while (others_are_inside(
               [](const Slot &slot) { return slot.depth.load(std::memory_order_acquire) != 0; }) &&
           std::chrono::steady_clock::now() < end)
        std::this_thread::sleep_for(std::chrono::microseconds(100));
}

}  // namespace entrepot
