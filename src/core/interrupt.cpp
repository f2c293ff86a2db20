#include <entrepot/core/interrupt.hpp>

#include <atomic>
#include <utility>

namespace entrepot {

namespace {

std::atomic<InterruptCheck> interrupt_check{nullptr};
thread_local bool interrupted = false;

}  // namespace

void set_interrupt_check(InterruptCheck check) noexcept { interrupt_check.store(check, std::memory_order_release); }

bool is_interrupted() noexcept {
    const InterruptCheck check = interrupt_check.load(std::memory_order_acquire);
    return check && (interrupted = check());
}

bool take_interruption() noexcept { return std::exchange(interrupted, false); }

}  // namespace entrepot
