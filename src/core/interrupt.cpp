#include <entrepot/core/interrupt.hpp>

#include <atomic>

namespace entrepot {

namespace {

std::atomic<InterruptCheck> interrupt_check{nullptr};

}  // namespace

void set_interrupt_check(InterruptCheck check) noexcept { interrupt_check.store(check, std::memory_order_release); }

bool is_interrupted() noexcept {
    const InterruptCheck check = interrupt_check.load(std::memory_order_acquire);
    return check && check();
}

}  // namespace entrepot
