// Operation: one kernel launch, copy or fill, ordered with all other work on the memory that it
// uses.
//
// Overview
//   Two kinds of order meet here. The access log of each Memory orders Entrepot's operations among
//   themselves (Memory::wait_for_conflicts and Memory::AccessRecorder). The peers of a Memory are
//   other libraries that work on it without telling Entrepot. An operation is ordered with the
//   streams that they work on at its submission:
//
//       library's current stream:   work ──┐                        ┌── later work
//       queue of the operation:            └──► the operation ──────┘
//
//   The operation runs after everything that the library has submitted to its current stream on
//   this thread. It runs before everything that the library submits to that stream afterwards. If
//   the operation is submitted to that very stream, no events are needed. Some accesses are not
//   logged: see is_ordered_until_release.
//
// States
//   wait_for_conflicts() with all uses, then the submission to the queue, then submitted() with the
//   same uses. If the submission throws, nothing has to be undone, because waiting too much is
//   harmless.
//
// Lock order
//   The caller holds no mutex. Both calls may block inside the driver, which is called without the
//   mutex of an access log. Calls that may block release the GIL; queries may keep it. Before that,
//   the library is asked for its stream, which may acquire the GIL.
//
// Fast paths
//   Memory without peers asks no library. A library is asked once for its stream in each operation
//   (PeerStreams::covers). A single peer needs no allocation.
//
// Lifetime
//   Streams are wrapped for the length of the operation. The release of borrowed memory uses no
//   stream that its owner may have destroyed: the garbage collector may free the stream first.
//
// Graph capture
//   A stream that is being captured takes the queue of the operation into its capture and is joined
//   by it afterwards. If only the queue is captured, the operation runs when the graph does, and
//   the stream of the graph's launch orders it. Then the host waits once for the pending work of
//   the memory's owner, as for pending accesses of Entrepot.
//
// Clause: DLPack, "Python Specification", and CUDA Array Interface version 3, "Synchronization",
// order one exchange. The rule above extends that order to all later operations on the memory.
#pragma once
#include <entrepot/core/small_vector.hpp>
#include <entrepot/memory/memory.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#pragma GCC visibility push(default)
namespace entrepot {

// The current streams of the peers of some memory, each once.
//
// Thread safety: not thread-safe.
class PeerStreams {
public:
    struct Stream {
        Queue queue;
        bool is_owners;  // the owner of borrowed memory works on it, and not only a consumer of an
                         // export
        std::uint32_t libraries = 0;  // a bit for each library whose current stream it is
        bool is_waited_for = false;   // the queue of the operation waits for all that it holds now
    };

    // Adds the streams of the memory's peers that are not there yet: of its owner, its consumers or
    // all. A stream that is there and turns out to be an owner's becomes one.
    // GIL: as StreamLibrary::current_stream.
    enum class Which { owner, consumers, all };
    void add(const Memory &memory, Which which = Which::all);

    // True if add() has nothing to add for memory of the device with these Memory::Record::peers.
    // Its one peer is then a library that has been asked for its stream as an owner already.
    bool covers(std::uint32_t peers, const Device &device) const noexcept {
        const unsigned owner = Memory::PeerBits::owner_of(peers);
        return (peers & ~Memory::PeerBits::of_owner_library) == 0 &&
               (asked_owners_ << 1 >> owner & 1) != 0 && asked_device_ == device;
    }
    bool empty() const noexcept { return !first_; }
    // Returns: the stream of that queue; nullptr if it is not among them.
    const Stream *find(const Queue &queue) const noexcept;
    bool is_waited_for(const Queue &queue) const noexcept {
        const Stream *const found = find(queue);
        return found && found->is_waited_for;
    }
    // True if the library's stream is among them.
    bool has_stream_of(unsigned library) const noexcept;
    std::size_t size() const noexcept { return first_ ? 1 + others_.size() : 0; }
    Stream &operator[](std::size_t i) noexcept { return i == 0 ? *first_ : others_[i - 1]; }
    const Stream &operator[](std::size_t i) const noexcept {
        return i == 0 ? *first_ : others_[i - 1];
    }

private:
    void insert(Stream stream);
    void insert_current(unsigned library, const Device &device, bool is_owners);
    void insert_current_of_all(std::uint32_t libraries, const Device &device);  // of consumers

    std::optional<Stream> first_;
    std::vector<Stream> others_;
    Device asked_device_;
    // A bit for each library that has been asked for its stream for `asked_device_`, and for those
    // asked as an owner.
    std::uint32_t asked_ = 0, asked_owners_ = 0;
};

// Makes `consumer` wait for Entrepot's conflicting accesses and for the owner's current stream.
// Other consumers are not waited for, unless they named a queue: two consumers order their work
// between themselves.
//
// Throws: as Operation::wait_for_conflicts.
// Blocks: as Operation::wait_for_conflicts.
void order_export(Access access, const Memory &memory, const Queue &consumer);

class Operation {
public:
    // Lifetime: the queue must outlive the operation.
    explicit Operation(const Queue &queue) noexcept : queue_(queue) {}
    explicit Operation(Queue &&) = delete;
    Operation(const Operation &) = delete;
    Operation &operator=(const Operation &) = delete;

    // Makes the queue wait for Entrepot's accesses that the uses conflict with, and for the current
    // streams of the memories' peers.
    //
    // `for_each_use(add)` calls add(access, memory) for each use. It may be called twice.
    // Throws: DeviceError if the driver refuses; if the queue or a stream is captured in a way that
    //         no graph can express.
    // Blocks: on the host if the queue belongs to another backend than what it has to wait for, or
    //         is captured alone.
    template <class ForEachUse> void wait_for_conflicts(ForEachUse &&for_each_use) {
        ENTREPOT_ASSERT(HeldMutexes::is_empty());
        ENTREPOT_ASSERT(streams_.empty());  // wait_for_conflicts() is called once
        bool is_any_pending = false;
        for_each_use([&](Access, const Memory &memory) {
            is_any_pending |= !memory.can_access_without_wait(queue_);
            const std::uint32_t peers = memory.record()->peers.load(std::memory_order_acquire);
            if ((peers & Memory::PeerBits::any_peer) != 0 &&
                !streams_.covers(peers, memory.device())) [[unlikely]]
                add_peers(memory);
        });
        if (!streams_.empty()) [[unlikely]]
            wait_for_peers();
        if (is_any_pending) [[unlikely]] {
            SmallVector<Memory::Operand, 4> pending;
            for_each_use([&](Access access, const Memory &memory) {
                if (!memory.can_access_without_wait(queue_))
                    pending.emplace_back(access, &memory);
            });
            Memory::wait_for_conflicts({pending.data(), pending.size()}, queue_, &streams_);
        }
    }
    void wait_for_conflicts(Access access, const Memory &memory) {
        wait_for_conflicts([&](auto &&add) { add(access, memory); });
    }

    // Adds the streams of the memory's peers for submitted(), if another Operation ran
    // wait_for_conflicts().
    void resume(const Memory &memory) { streams_.add(memory); }

    // Records the accesses of the operation and makes the peers' streams wait for it. It was
    // submitted at `position` and captured into the graph `capture` (0: none).
    // `for_each_use(record)` calls record(access, memory) for each use. It may be called twice.
    // Throws: DeviceError if the driver refuses, bad_alloc. Then the host has waited for the
    //         operation, or the peers are joined with its graph. If the driver refuses that too,
    //         later work is not ordered after the operation.
    template <class ForEachUse>
    void submitted(Queue::Position position, std::uint64_t capture, ForEachUse &&for_each_use) {
        ENTREPOT_ASSERT(HeldMutexes::is_empty());
        // The stream of a peer in which the operation itself is, if it is in one.
        const PeerStreams::Stream *const own = streams_.empty() ? nullptr : streams_.find(queue_);
        // Read once: another thread may call declare_never_destroyed() meanwhile.
        const Logged usual = queue_.may_be_destroyed() ? Logged::by_event : Logged::by_position;
        const auto how_to_log = [&](const Memory &memory) {
            return own && is_ordered_until_release(memory) ? Logged::nowhere : usual;
        };
        try {
            if (usual == Logged::by_position) [[likely]] {
                Memory::AccessRecorder recorder(queue_, position, capture);
                for_each_use([&](Access access, const Memory &memory) {
                    if (how_to_log(memory) == usual) [[likely]]
                        recorder.record(access, memory);
                });
            } else {
                Queue event;
                for_each_use([&](Access access, const Memory &memory) {
                    if (how_to_log(memory) != usual)
                        return;
                    if (!event)
                        event = queue_.as_event_queue();
                    memory.record_event_access(access, event);
                });
            }
            if (streams_.empty()) [[likely]]
                return;
            order_peers(capture);
        } catch (...) {
            wait_on_host(capture);
            throw;
        }
        if (!exported_.empty() && capture == 0)
            for_each_use([&](Access access, const Memory &memory) {
                if (access == Access::write)
                    drop_released_consumers(memory);
            });
    }

private:
    // How an access gets into the log of its memory.
    enum class Logged {
        by_position,  // as a position of the queue
        by_event,     // as an event recorded now: the queue may be destroyed after this call
        nowhere       // not at all: see is_ordered_until_release
    };
    // True if the access need not be logged (Logged::nowhere), because all of these hold:
    // - The memory was imported for one operation (set_for_one_operation), so no later operation
    //   of Entrepot uses it.
    // - The memory's owner is a library that frees in stream order
    //   (StreamLibrary::frees_in_stream_order).
    // - The operation's queue is the stream of a peer of any of its memories.
    // - The owner's library was asked for its current stream and has one.
    // Then the owner's stream is the queue of the operation, or waits for it (order_peers), before
    // the owner can free the memory. That stream does not wait for a captured operation, unless it
    // is in the same capture: nothing runs before the graph is launched. Capture is no
    // condition, because the program keeps the memory of a graph alive.
    //
    // Requires: the operation's queue is the stream of a peer.
    bool is_ordered_until_release(const Memory &memory) const noexcept;
    bool is_queue_itself(const Queue &stream) const noexcept {
        return stream == queue_ && stream.is_in_order();
    }
    void add_peers(const Memory &memory);
    void wait_for_peers();
    void order_peers(std::uint64_t capture) const;
    void wait_on_host(std::uint64_t capture) const noexcept;
    void drop_released_consumers(const Memory &memory) const noexcept;

    const Queue &queue_;
    PeerStreams streams_;
    struct Exported {
        const Memory::Record *record;
        std::uint32_t released;  // Memory::released_consumers()
    };
    std::vector<Exported> exported_;
};

}  // namespace entrepot
#pragma GCC visibility pop
