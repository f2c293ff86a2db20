// Lending: what is out, by address, and what came back on the wrong thread.
#include <entrepot/memory/lend.hpp>

#include <core/thread_number.hpp>
#include <entrepot/device/backend.hpp>
#include <entrepot/device/registry.hpp>
#include <entrepot/memory/memory.hpp>
#include <entrepot/memory/release.hpp>
#include <memory/fork_safe_mutex.hpp>

#include <array>
#include <atomic>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

namespace entrepot {
namespace {

struct Loan {
    Memory memory;
    Queue queue;
    std::uint64_t thread = 0;  // whose stream it is; 0: of none in particular
};

// Several tables, so that threads seldom meet.
class Loans {
public:
    static Loans &only() {
        static Loans *const made = new Loans;  // never destroyed: blocks come back until the very end
        return *made;
    }

    void enter(void *pointer, Loan loan) {
        Part &part = part_of(pointer);
        const std::lock_guard lock(part.mutex);
        part.rows.insert_or_assign(pointer, std::move(loan));
    }

    std::optional<Loan> take(void *pointer) {
        Part &part = part_of(pointer);
        std::unordered_map<void *, Loan>::node_type found;
        {
            const std::lock_guard lock(part.mutex);
            found = part.rows.extract(pointer);
        }
        return found ? std::optional(std::move(found.mapped())) : std::nullopt;
    }

private:
    struct Part {
        ForkSafeMutex mutex;
        std::unordered_map<void *, Loan> rows;
    };

    Part &part_of(void *pointer) noexcept {
        return parts_[(reinterpret_cast<std::uintptr_t>(pointer) >> 9) % parts_.size()];  // the driver's alignment
    }

    std::array<Part, 16> parts_;
};

// Blocks of one thread's own stream that another thread let go of. Only the first can say how far its stream is, and does so at
// its next allocation; those of a thread that ended stay.
class LeftForOthers {
public:
    static LeftForOthers &only() {
        static LeftForOthers *const made = new LeftForOthers;
        return *made;
    }

    void leave(Loan loan) {
        const std::lock_guard lock(mutex_);
        loans_.push_back(std::move(loan));
        count_.store(loans_.size(), std::memory_order_release);
    }

    std::vector<Loan> take_mine() {
        std::vector<Loan> mine;
        if (count_.load(std::memory_order_acquire) == 0)
            return mine;
        const std::uint64_t thread = number_of_this_thread();
        const std::lock_guard lock(mutex_);
        for (std::size_t i = loans_.size(); i-- > 0;)
            if (loans_[i].thread == thread) {
                mine.push_back(std::move(loans_[i]));
                loans_.erase(loans_.begin() + static_cast<std::ptrdiff_t>(i));
            }
        count_.store(loans_.size(), std::memory_order_release);
        return mine;
    }

private:
    ForkSafeMutex mutex_;
    std::vector<Loan> loans_;
    std::atomic<std::size_t> count_{0};
};

// The block is free once the stream has come as far as it has been given work by now.
void end(Loan loan) noexcept {
    try {
        if (!may_call(loan.queue.backend())) {
            loan.memory.detach();
            return;
        }
        loan.queue.submitting();
        loan.memory.after(Access::write, loan.queue, loan.queue.submitted());
    } catch (...) {  // what cannot be ordered leaks, rather than being given to two
        loan.memory.detach();
    }
}

void end_mine() {
    for (Loan &loan : LeftForOthers::only().take_mine())
        end(std::move(loan));
}

Queue wrap(const Device &device, void *stream) {
    Queue queue = Queue::from_native(device.backend(), &stream);
    if (queue.device() != device)
        throw Error(ErrorKind::value, "memory of ", device, " was asked for, for a stream of ", queue.device(),
                    ": make the device current first (cudaSetDevice)");
    return queue;
}

// The legacy stream of each device, which is where most libraries work.
const Queue &legacy_stream(const Device &device) {
    thread_local std::vector<Queue> known;
    for (const Queue &queue : known)
        if (queue.device() == device)
            return queue;
    return known.emplace_back(wrap(device, nullptr));
}

}  // namespace

LentStream cuda_stream(int device, void *stream) {
    static const std::vector<Device> &devices = registry::devices(registry::backend("cuda"));
    if (device < 0 || static_cast<std::size_t>(device) >= devices.size())
        throw Error(ErrorKind::device, "memory of CUDA device ", device, " was asked for, and there are ", devices.size());
    const Device &on = devices[static_cast<std::size_t>(device)];
    const auto number = reinterpret_cast<std::uintptr_t>(stream);
    if (number <= 1)
        return {legacy_stream(on), false};
    return {wrap(on, stream), number == 2};
}

void *lend(std::size_t bytes, const LentStream &stream) {
    if (bytes == 0)
        return nullptr;
    end_mine();
    Memory memory = Memory::allocate(bytes, UsmKind::device, stream.queue);
    void *const pointer = memory.data();
    Loans::only().enter(pointer, {std::move(memory), stream.queue, stream.is_of_thread ? number_of_this_thread() : 0});
    return pointer;
}

void take_back(void *pointer) noexcept {
    try {
        std::optional<Loan> loan = Loans::only().take(pointer);
        if (!loan)
            return;
        if (loan->thread != 0 && loan->thread != number_of_this_thread())
            LeftForOthers::only().leave(std::move(*loan));
        else
            end(std::move(*loan));
    } catch (...) {  // no memory for the list: the block stays out
    }
}

}  // namespace entrepot
