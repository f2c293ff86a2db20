// Foreign allocator: the table of its blocks by address, and blocks returned on another thread
// than their stream's.
#include <entrepot/core/publish.hpp>
#include <entrepot/memory/foreign_allocator.hpp>

#include "memory/release.hpp"
#include <core/thread_number.hpp>
#include <device/fork_safe_mutex.hpp>
#include <entrepot/device/backend.hpp>
#include <entrepot/device/registry.hpp>
#include <entrepot/device/stream.hpp>

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace entrepot {
namespace {

class ThreadStream;

// A block that another library uses. Only `end` returns it. If a ForeignBlock is dropped because
// the progress of its stream is unknown, the block leaks rather than being reused too early.
struct ForeignBlock {
    Memory memory;
    Queue queue;
    std::shared_ptr<ThreadStream> of_thread;  // set if the stream is a per-thread one

    ForeignBlock(Memory allocated, Queue stream, std::shared_ptr<ThreadStream> thread_stream)
        : memory(std::move(allocated)), queue(std::move(stream)),
          of_thread(std::move(thread_stream)) {}
    ForeignBlock(ForeignBlock &&) noexcept = default;
    ForeignBlock &operator=(ForeignBlock &&other) noexcept {
        std::swap(memory, other.memory);
        std::swap(queue, other.queue);
        std::swap(of_thread, other.of_thread);
        return *this;
    }
    ~ForeignBlock() {
        if (memory)
            memory.detach();
    }
};

// Returns the block to its resource. It is free once the queue has completed `position(queue)`.
template <class TakePosition>
void end(ForeignBlock block, const Queue &queue, TakePosition &&position) noexcept {
    ENTREPOT_ASSERT(HeldMutexes::is_empty());
    ENTREPOT_ASSERT(block.memory);  // which a captured graph may share
    try {
        if (!may_call(queue.backend()))
            return;
        queue.submitting();
        block.memory.record_access(Access::write, queue, position(queue));
        block.memory = Memory();
    } catch (...) {  // the block cannot be ordered, and leaks
    }
}

// A position after everything in the queue. An event queue has only one.
Queue::Position last(const Queue &queue) {
    return queue.is_event_queue() ? 1 : queue.take_position();
}

// A per-thread default stream, and blocks of it that were freed on other threads. Only the owning
// thread can record an event in it, so such blocks are parked until that thread next frees,
// allocates or exits. At its exit it records a last event, which serves all blocks that return
// later. A capturing stream records nothing, and the blocks wait for the next opportunity.
//
// Lock order: `mutex_`, a leaf, guards `left_` and `past_`. Blocks are returned without it.
class ThreadStream {
public:
    ThreadStream(Queue queue, std::uint64_t thread) : queue_(std::move(queue)), thread_(thread) {}

    bool is_of(const Queue &queue) const noexcept { return queue_ == queue; }

    void deallocate_on_stream(ForeignBlock block) {
        block.of_thread = nullptr;  // else a parked block and this object would own each other
        if (thread_ == number_of_this_thread() && queue_.capture() == 0)
            return end(std::move(block), queue_, marked);
        Queue past;
        {
            const MutexLock lock(mutex_);
            if (!past_) {
                left_.push_back(std::move(block));
                return;
            }
            past = past_;
        }
        end(std::move(block), past, last);
    }

    // Returns the parked blocks. If no event can be recorded now, they stay for the next time.
    // Requires: this is the stream's own thread.
    void flush_remote_frees() noexcept {
        ENTREPOT_ASSERT(thread_ == number_of_this_thread());
        try {
            if (!has_left() || queue_.capture() != 0)
                return;
            const Queue::Position reached = marked(queue_);
            std::vector<ForeignBlock> left;
            {
                const MutexLock lock(mutex_);
                left.swap(left_);
            }
            for (ForeignBlock &block : left)
                end(std::move(block), queue_, [&](const Queue &) { return reached; });
        } catch (...) {
        }
    }

    // Called when the stream's thread ends. Records the last event.
    void end_thread() noexcept {
        ENTREPOT_ASSERT(thread_ == number_of_this_thread());
        try {
            if (!may_call(queue_.backend()))
                return;
            const Event last_work = queue_.record();
            if (last_work.capture() != 0)
                return;
            Queue past = Queue::of_event(queue_.context(), queue_.device(), last_work);
            {
                const MutexLock lock(mutex_);
                past_ = std::move(past);
            }
            flush_remote_frees();
        } catch (...) {
        }
    }

private:
    static Queue::Position marked(const Queue &queue) { return queue.take_position_and_record(); }

    bool has_left() {
        const MutexLock lock(mutex_);
        return !left_.empty();
    }

    const Queue queue_;
    const std::uint64_t thread_;
    ForkSafeMutex mutex_;
    std::vector<ForeignBlock> left_ ENTREPOT_GUARDED_BY(mutex_);
    Queue past_ ENTREPOT_GUARDED_BY(mutex_);  // empty while the thread lives
};

// The streams of this thread, one for each device.
class ThreadStreams {
public:
    std::shared_ptr<ThreadStream> of(const Queue &queue) {
        for (const auto &each : all_)
            if (each->is_of(queue))
                return each;
        return all_.emplace_back(std::make_shared<ThreadStream>(queue, number_of_this_thread()));
    }

    void flush_remote_frees() {
        for (const auto &each : all_)
            each->flush_remote_frees();
    }

    ~ThreadStreams();

private:
    std::vector<std::shared_ptr<ThreadStream>> all_;
};

// Destructors that run later on this thread may still allocate. Such a block returns only if its
// own thread frees it, because no event of the stream is recorded any more.
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

// Blocks in use by address, in several tables to reduce contention.
class ForeignBlocks {
public:
    static ForeignBlocks &only() {
        static constinit FirstUse<ForeignBlocks> made;
        return made.get();
    }

    void enter(void *pointer, ForeignBlock block) {
        Part &part = part_of(pointer);
        const MutexLock lock(part.mutex);
        ENTREPOT_ASSERT(!part.rows.contains(pointer));  // an address is in use once at a time
        part.rows.insert_or_assign(pointer, std::move(block));
    }

    std::optional<ForeignBlock> take(void *pointer) {
        Part &part = part_of(pointer);
        std::unordered_map<void *, ForeignBlock>::node_type found;
        {
            const MutexLock lock(part.mutex);
            found = part.rows.extract(pointer);
        }
        return found ? std::optional(std::move(found.mapped())) : std::nullopt;
    }

private:
    struct Part {
        ForkSafeMutex mutex;
        std::unordered_map<void *, ForeignBlock> rows ENTREPOT_GUARDED_BY(mutex);
    };

    Part &part_of(void *pointer) noexcept {
        // the driver's alignment
        return parts_[(reinterpret_cast<std::uintptr_t>(pointer) >> 9) % parts_.size()];
    }

    std::array<Part, 16> parts_;
};

Queue wrap(const Device &device, std::uintptr_t stream) {
    Queue queue = wrap_stream(device, stream);
    if (queue.device() != device)
        throw Error(ErrorKind::value, "memory of ", device, " was asked for, for a stream of ",
                    queue.device());
    return queue;
}

// Not a static local: if another thread initialized it during a fork, it would stay unfinished in
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

AllocatorStream cuda_stream(int device, void *stream) {
    const std::vector<Device> &devices = cuda_devices();
    if (device < 0 || static_cast<std::size_t>(device) >= devices.size())
        throw Error(ErrorKind::device, "memory of CUDA device ", device,
                    " was asked for, and there are ", devices.size());
    const Device &on = devices[static_cast<std::size_t>(device)];
    const auto number = reinterpret_cast<std::uintptr_t>(stream);
    if (number <= legacy_stream)
        return {legacy_stream_of(on), false};
    AllocatorStream wrapped{wrap(on, number), number == thread_stream};
    wrapped.queue.declare_never_destroyed();
    return wrapped;
}

void *allocate_on_stream(std::size_t bytes, const AllocatorStream &stream,
                         Memory::Allocate allocate) {
    if (bytes == 0)
        return nullptr;
    if (stream.is_of_thread && !thread_has_ended)
        own_streams.flush_remote_frees();
    Memory memory = allocate(bytes, UsmKind::device, stream.queue, 0);
    void *const pointer = memory.data();
    ForeignBlocks::only().enter(pointer,
                                {std::move(memory), stream.queue,
                                 stream.is_of_thread ? own_stream(stream.queue) : nullptr});
    return pointer;
}

void deallocate_on_stream(void *pointer) noexcept {
    try {
        std::optional<ForeignBlock> block = ForeignBlocks::only().take(pointer);
        if (!block)
            return;
        if (const std::shared_ptr<ThreadStream> of_thread = block->of_thread)
            of_thread->deallocate_on_stream(std::move(*block));
        else {
            const Queue queue = block->queue;
            end(std::move(*block), queue, last);
        }
    } catch (...) {  // no memory for the list: the block leaks
    }
}

}  // namespace entrepot
