// Threads of a cooperative launch: they start together or not at all.
#include "backends/host/resident.hpp"

#include "backends/boundary.hpp"
#include "backends/host/threads.hpp"
#include <entrepot/core/assert.hpp>

#include <utility>

namespace entrepot::backends::host {

void ResidentGroups::start() {
    ENTREPOT_ASSERT(count_ >= 1 && count_ <= max_resident_groups);
    for (std::uint64_t group = 0; group < count_; ++group) {
        if (start_thread([self = shared_from_this(), group] { self->run_thread(group); }))
            continue;
        {
            const std::lock_guard hold(lock_);
            ENTREPOT_ASSERT(decision_ == Decision::none);  // a thread is missing
            decision_ = Decision::abandoned;
        }
        decided_.notify_all();
        refuse(EP_DEVICE_ERROR, "a cooperative launch needs a thread for each of its ", count_,
               " work-groups, and the system started ", group,
               ": launch fewer groups, and let each do more work in a loop");
    }
}

void ResidentGroups::run_thread(std::uint64_t group) noexcept {
    std::vector<void *> arguments;
    std::exception_ptr error;
    try {
        arguments = prepare();
    } catch (...) {
        error = std::current_exception();
    }
    if (wait_for_others(std::move(error)))
        run(group, arguments.data());
    leave();
}

bool ResidentGroups::wait_for_others(std::exception_ptr error) noexcept {
    std::unique_lock hold(lock_);
    if (!error_)
        error_ = std::move(error);
    if (++ready_ == count_ && decision_ == Decision::none) {
        decision_ = error_ ? Decision::give_up : Decision::run;
        decided_.notify_all();
    }
    decided_.wait(hold, [&] { return decision_ != Decision::none; });
    return decision_ == Decision::run;
}

void ResidentGroups::leave() noexcept {
    std::exception_ptr error;
    {
        const std::lock_guard hold(lock_);
        // start() has reported the error of an abandoned launch.
        if (++left_ != count_ || decision_ == Decision::abandoned)
            return;
        error = std::move(error_);
    }
    finished(std::move(error));
}

}  // namespace entrepot::backends::host
