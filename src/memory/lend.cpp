// Lending: what is out, by address, and what came back on the wrong thread.
#include <entrepot/memory/lend.hpp>

#include <core/thread_number.hpp>
#include <entrepot/device/backend.hpp>
#include <entrepot/device/registry.hpp>
#include <entrepot/device/stream.hpp>
#include <entrepot/memory/release.hpp>
#include <memory/fork_safe_mutex.hpp>

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace entrepot {
namespace {

class ThreadStream;

// Only `end` gives the block back: one whose loan is dropped, for nobody can say how far its stream is, leaks rather than being
// given to two.
struct Loan {
    Memory memory;
    Queue queue;
    std::shared_ptr<ThreadStream> of_thread;  // none: the stream is of no thread in particular

    Loan(Memory lent, Queue stream, std::shared_ptr<ThreadStream> thread_stream)
        : memory(std::move(lent)), queue(std::move(stream)), of_thread(std::move(thread_stream)) {}
    Loan(Loan &&) noexcept = default;
    Loan &operator=(Loan &&other) noexcept {
        std::swap(memory, other.memory);
        std::swap(queue, other.queue);
        std::swap(of_thread, other.of_thread);
        return *this;
    }
    ~Loan() {
        if (memory)
            memory.detach();
    }
};

// The block is free once the queue has come to `position(queue)`.
template <class TakePosition> void end(Loan loan, const Queue &queue, TakePosition &&position) noexcept {
    try {
        if (!may_call(queue.backend()))
            return;
        queue.submitting();
        loan.memory.after(Access::write, queue, position(queue));
        loan.memory = Memory();
    } catch (...) {  // what cannot be ordered
    }
}

// As far as the queue has been given work by now.
Queue::Position last(const Queue &queue) { return queue.submitted(); }

// A thread's own stream, and the blocks of it that another thread let go of. Only the first can say how far its stream is, and
// does so when it lets go of a block itself, at its next allocation, or for the last time when it ends; until the last block of
// it is back, that is remembered. What the stream is given by others is marked there and then, for no other thread can do it
// later; while it is captured nothing can be marked, and the block waits for the next time.
class ThreadStream {
public:
    ThreadStream(Queue queue, std::uint64_t thread) : queue_(std::move(queue)), thread_(thread) {}

    bool is_of(const Queue &queue) const noexcept { return queue_ == queue; }

    void take_back(Loan loan) {
        loan.of_thread = nullptr;  // which keeps this, and is kept by it next
        if (thread_ == number_of_this_thread() && queue_.capture() == 0)
            return end(std::move(loan), queue_, marked);
        Queue past;
        {
            const std::lock_guard lock(mutex_);
            if (!past_) {
                left_.push_back(std::move(loan));
                return;
            }
            past = past_;
        }
        end(std::move(loan), past, last);
    }

    // On the thread itself. What cannot be marked now is left for the next time.
    void end_left() noexcept {
        try {
            if (!has_left() || queue_.capture() != 0)
                return;
            const Queue::Position reached = marked(queue_);
            std::vector<Loan> left;
            {
                const std::lock_guard lock(mutex_);
                left.swap(left_);
            }
            for (Loan &loan : left)
                end(std::move(loan), queue_, [&](const Queue &) { return reached; });
        } catch (...) {
        }
    }

    // The same, for the last time. What cannot be marked any more stays.
    void end_thread() noexcept {
        try {
            if (!may_call(queue_.backend()))
                return;
            const Event last_work = queue_.record();
            if (last_work.capture() != 0)
                return;
            Queue past = Queue::past(queue_.context(), queue_.device(), last_work);
            {
                const std::lock_guard lock(mutex_);
                past_ = std::move(past);
            }
            end_left();
        } catch (...) {
        }
    }

private:
    static Queue::Position marked(const Queue &queue) { return queue.submitted_and_marked(); }

    bool has_left() {
        const std::lock_guard lock(mutex_);
        return !left_.empty();
    }

    const Queue queue_;
    const std::uint64_t thread_;
    ForkSafeMutex mutex_;
    std::vector<Loan> left_;
    Queue past_;  // none: the thread lives
};

// Those of this thread, one for each device.
class ThreadStreams {
public:
    std::shared_ptr<ThreadStream> of(const Queue &queue) {
        for (const auto &each : all_)
            if (each->is_of(queue))
                return each;
        return all_.emplace_back(std::make_shared<ThreadStream>(queue, number_of_this_thread()));
    }

    void end_left() {
        for (const auto &each : all_)
            each->end_left();
    }

    ~ThreadStreams();

private:
    std::vector<std::shared_ptr<ThreadStream>> all_;
};

// Whoever ends on this thread after us may still allocate: nobody marks the stream for such a block later, and it comes back if
// its own thread lets go of it.
constinit thread_local bool thread_has_ended = false;
thread_local ThreadStreams own_streams;

ThreadStreams::~ThreadStreams() {
    thread_has_ended = true;
    for (const auto &each : all_)
        each->end_thread();
}

std::shared_ptr<ThreadStream> own_stream(const Queue &queue) {
    if (thread_has_ended)
        return std::make_shared<ThreadStream>(queue, number_of_this_thread());
    return own_streams.of(queue);
}

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

Queue wrap(const Device &device, std::uintptr_t stream) {
    Queue queue = wrap_stream(device, stream);
    if (queue.device() != device)
        throw Error(ErrorKind::value, "memory of ", device, " was asked for, for a stream of ", queue.device());
    return queue;
}

// No static initialisation: a thread that loads the backend at a fork would leave it unfinished in
// the child, which would hang.
const std::vector<Device> &cuda_devices() {
    static std::atomic<const std::vector<Device> *> known{nullptr};
    if (const std::vector<Device> *const devices = known.load(std::memory_order_acquire))
        return *devices;
    const std::vector<Device> &devices = registry::devices(registry::backend("cuda"));
    known.store(&devices, std::memory_order_release);
    return devices;
}

}  // namespace

LentStream cuda_stream(int device, void *stream) {
    const std::vector<Device> &devices = cuda_devices();
    if (device < 0 || static_cast<std::size_t>(device) >= devices.size())
        throw Error(ErrorKind::device, "memory of CUDA device ", device, " was asked for, and there are ", devices.size());
    const Device &on = devices[static_cast<std::size_t>(device)];
    const auto number = reinterpret_cast<std::uintptr_t>(stream);
    if (number <= legacy_stream)
        return {legacy_stream_of(on), false};
    return {wrap(on, number), number == thread_stream};
}

void *lend(std::size_t bytes, const LentStream &stream, Memory::Allocate allocate) {
    if (bytes == 0)
        return nullptr;
    if (stream.is_of_thread && !thread_has_ended)
        own_streams.end_left();
    Memory memory = allocate(bytes, UsmKind::device, stream.queue, 0);
    void *const pointer = memory.data();
    Loans::only().enter(pointer, {std::move(memory), stream.queue, stream.is_of_thread ? own_stream(stream.queue) : nullptr});
    return pointer;
}

void take_back(void *pointer) noexcept {
    try {
        std::optional<Loan> loan = Loans::only().take(pointer);
        if (!loan)
            return;
        if (const std::shared_ptr<ThreadStream> of_thread = loan->of_thread)
            of_thread->take_back(std::move(*loan));
        else {
            const Queue queue = loan->queue;
            end(std::move(*loan), queue, last);
        }
    } catch (...) {  // no memory for the list: the block stays out
    }
}

}  // namespace entrepot
