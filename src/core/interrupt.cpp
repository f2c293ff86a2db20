#include "core/interrupt.hpp"

#include <atomic>
#include <string>
#include <utility>

namespace entrepot {

namespace {

std::atomic<InterruptCheck> interrupt_check{nullptr};
thread_local bool interrupted = false;

std::atomic<WarningSink> warning_sink{nullptr};
thread_local std::string pending_warning;

}  // namespace

void set_interrupt_check(InterruptCheck check) noexcept {
    interrupt_check.store(check, std::memory_order_release);
}

bool is_interrupted() noexcept {
    const InterruptCheck check = interrupt_check.load(std::memory_order_acquire);
    interrupted = check && check();
    return interrupted;
}

bool take_interruption() noexcept { return std::exchange(interrupted, false); }

void set_warning_sink(WarningSink sink) noexcept {
    warning_sink.store(sink, std::memory_order_release);
}

void warn_later(const char *message) noexcept {
    try {
        pending_warning = message;
    } catch (...) {  // out of memory: the warning is dropped
    }
}

void deliver_warnings() {
    if (pending_warning.empty()) [[likely]]
        return;
    const std::string message = std::exchange(pending_warning, {});
    const WarningSink sink = warning_sink.load(std::memory_order_acquire);
    if (sink && sink(message.c_str()))
        throw Interrupted(ErrorKind::entrepot, message);
}

}  // namespace entrepot
