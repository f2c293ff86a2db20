// Operation: one piece of our work, ordered with all other work on the memory that it uses.
//
// Overview
//   Two kinds of order meet here. The access log of each Memory orders operations of ours among themselves (Memory::before and
//   Memory::After). The peers of a Memory are other libraries that work on it without telling us; an operation is ordered with
//   the streams that they work on when it is submitted:
//
//       library's current stream:   work ──┐                        ┌── later work
//       queue of the operation:            └──► our operation ──────┘
//
//   So the operation runs after everything that the library has submitted to its current stream on this thread, and before
//   everything that it submits to that stream afterwards, as an operation of the library's own would. Where the operation is
//   submitted to that very stream, the stream itself is the order, and neither events nor log entries are needed.
//
// States
//   before(), for each use, then the submission to the queue, then submitted(). If the submission throws, nothing is left to be
//   undone: waiting too much is harmless.
//
// Lock order
//   The caller holds no mutex. Both calls may block inside the driver, which is called without the GIL and without the lock of
//   an access log. The library is asked for its stream before that, and may acquire the GIL.
//
// Graph capture
//   A stream that is being captured takes the queue of the operation into its capture and is joined by it afterwards. If the
//   queue is captured and the stream is not, the operation runs when the graph does, and the launch of the graph is ordered by
//   its stream. Then the host waits once for what the owner of borrowed memory has pending, as it does for pending accesses of
//   ours.
//
// Clause: DLPack, "Python Specification", and CUDA Array Interface version 3, "Synchronization", order one hand-over. The rule
// above extends that order to all operations on the memory afterwards.
#pragma once
#include <entrepot/memory/memory.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace entrepot {

// The streams that peers of some memory work on now, each once.
class PeerStreams {
public:
    struct Stream {
        Queue queue;
        bool outlives_call;  // as CurrentStream::outlives_call
        bool is_owners;      // the owner of borrowed memory works on it, and not only a consumer of an export
    };

    // Adds the streams of the memory's peers, or of its owner alone, that are not there yet.
    // Returns: how many of them were added. They are the last ones.
    // GIL: as StreamLibrary::current_stream.
    enum class Which { owner, all };
    std::size_t add(const Memory &memory, Which which = Which::all);

    // True if add() has nothing to add for memory of the device with these Memory::Record::peers: its one peer is a library that
    // has been asked already.
    bool covers(std::uint32_t peers, const Device &device) const noexcept {
        const std::uint32_t owner = (peers & Memory::PeerBits::owner_library) >> Memory::PeerBits::owner_shift;
        return (peers & ~Memory::PeerBits::of_owner_library) == 0 && (asked_ << 1 >> owner & 1) != 0 && asked_device_ == device;
    }
    bool empty() const noexcept { return !first_; }
    // Returns: the stream of that queue; nullptr if it is not among them.
    const Stream *find(const Queue &queue) const noexcept;
    std::size_t size() const noexcept { return first_ ? 1 + others_.size() : 0; }
    const Stream &operator[](std::size_t i) const noexcept { return i == 0 ? *first_ : others_[i - 1]; }

private:
    void insert(Stream stream);
    void insert_current(unsigned library, const Device &device, bool is_owners);

    std::optional<Stream> first_;
    std::vector<Stream> others_;
    Device asked_device_;
    std::uint32_t asked_ = 0;  // a bit for each library that has been asked for its stream for `asked_device_`
};

// For an export: makes the consumer's queue wait for what an access to the memory must see, which are the accesses of ours that
// it conflicts with, and the current stream of the memory's owner. Other consumers are not waited for beyond what they were given
// a queue of: what two of them do to the memory, they order between themselves, as with memory of any other library. Throws,
// blocks: as Operation::before.
void order_export(Access access, const Memory &memory, const Queue &consumer);

class Operation {
public:
    // Lifetime: the queue must outlive the operation.
    explicit Operation(const Queue &queue) noexcept : queue_(queue) {}
    Operation(const Operation &) = delete;
    Operation &operator=(const Operation &) = delete;

    // Makes the queue wait for what an access to the memory must see: the accesses of ours that it conflicts with, and the
    // current streams of the memory's peers.
    // Throws: DeviceError if the driver refuses; if the queue or a stream is captured in a way that no graph can express.
    // Blocks: on the host if the queue belongs to another backend than what it has to wait for, or is captured alone.
    void before(Access access, const Memory &memory) {
        const std::uint32_t peers = memory.record()->peers.load(std::memory_order_acquire);
        if (memory.is_free_for(queue_) && (peers == 0 || streams_.covers(peers, memory.device()))) [[likely]]
            return;
        wait_for_others(access, memory);
    }

    // Finds the streams of the memory's peers again, for submitted(), where another Operation has done what comes before.
    void resume(const Memory &memory) { streams_.add(memory); }

    // Records the accesses of the operation, which was submitted at `position` and captured into the graph `capture` (0: none),
    // and makes the peers' streams wait for it.
    // `for_each_use(record)` calls record(access, memory) for each use. It is called once, or twice if an access is recorded by
    // an event.
    template <class ForEachUse> void submitted(Queue::Position position, std::uint64_t capture, ForEachUse &&for_each_use) {
        // The stream of a peer in which the operation itself is, if it is in one.
        const PeerStreams::Stream *const own = capture == 0 && !streams_.empty() ? streams_.find(queue_) : nullptr;
        bool any_by_event = false;
        {
            Memory::After after(queue_, position, capture);
            for_each_use([&](Access access, const Memory &memory) {
                const Record how = own ? how_to_record(memory, *own) : Record::in_log;
                if (how == Record::in_log) [[likely]]
                    after.note(access, memory);
                any_by_event |= how == Record::by_event;
            });
        }
        if (any_by_event)
            record_by_event(
                [&](Access access, const Memory &memory, const Queue &event) {
                    if (how_to_record(memory, *own) == Record::by_event)
                        memory.after_event(access, event);
                },
                for_each_use);
        if (!streams_.empty())
            order_peers(capture);
    }

private:
    // How an access gets into the log of its memory.
    enum class Record {
        in_log,    // as a position of the queue
        by_event,  // as an event recorded now: the queue is a stream that its library may destroy after this call
        nowhere    // not at all: the stream that orders the access also orders the release of the memory
    };
    static Record how_to_record(const Memory &memory, const PeerStreams::Stream &own) noexcept;
    template <class Note, class ForEachUse> void record_by_event(Note &&note, ForEachUse &for_each_use) {
        const Queue event = Queue::past(queue_.context(), queue_.device(), queue_.record());
        for_each_use([&](Access access, const Memory &memory) { note(access, memory, event); });
    }
    void wait_for_others(Access access, const Memory &memory);
    bool is_queue_itself(const Queue &stream) const noexcept { return stream == queue_ && stream.is_in_order(); }
    void wait_for(const PeerStreams::Stream &stream) const;
    void order_peers(std::uint64_t capture) const;

    const Queue &queue_;
    PeerStreams streams_;
};

}  // namespace entrepot
