// Memory: one allocation, owned or borrowed, and the log of pending accesses that all its views
// share.
//
// Overview
//   The access log (Ordering) holds the accesses that later work may have to wait for. These are
//   unordered writes, and the reads since. Memory::wait_for_conflicts makes a queue wait for the
//   conflicting ones. Memory::record_access adds an access. A host access waits for them itself.
//   Peers are other libraries that work on the memory in streams of their own (operation.hpp).
//
// States
//   - Empty: nothing is logged.
//   - Prior: Record::prior_queue tells one pending write that is not in the log yet. It is the
//     earlier use of an allocated block, or the producer's work on borrowed memory. The first
//     access or the first wait moves it into the log (Ordering::begin).
//   - Logged: Ordering::entries has the pending accesses.
//   Record::pending_queue summarizes the state and is read without a lock.
//   After an export, the consumer may submit work on the memory at any time while it holds its
//   reference or object, without telling Entrepot. Later operations wait for its work in these
//   streams (Consumer, peers):
//   - the queue that it named, or a default stream that it named by a number;
//   - the current streams of the libraries in consumer_libraries(), on the thread of the later
//     operation. The legacy default stream of CUDA and HIP is among them only if the consumer named
//     it, or holds an object.
//   For each memory, at most 16 queues that consumers named are tracked. Older ones are ordered
//   only with their export. A stream of CUDA or HIP that is named by its handle alone may be
//   destroyed after the export. Such a stream waits for the pending work, but later operations do
//   not wait for it. A consumer that works in such a stream, or in one that is not listed, orders
//   it with a listed one itself.
//
// Lock order
//   Ordering::mutex guards the log of a Memory. All logs share 16 such mutexes. They are leaves
//   (core/checked_mutex.hpp): while it is held, no driver is called, and neither the GIL nor
//   another mutex is acquired. Queues taken out of the log are dropped after it is unlocked
//   (LeftQueues), because dropping the last reference calls the driver.
//
// Fast paths
//   Operation skips wait_for_conflicts() for a memory if can_access_without_wait(queue): every
//   pending access is on the queue or ordered before it.
//
//   Logging is skipped for some memory that was imported for one operation: see
//   Operation::is_ordered_until_release.
//
// Lifetime
//   The last reference returns the block to its resource, or releases the owner. That never waits
//   for work of a device: it is deferred until the logged accesses are done. So the last reference
//   may be dropped while a kernel runs. The call may block inside the driver, and release and
//   reacquire the GIL. In a marked child of fork() and at process exit, memory of devices leaks
//   instead (may_call, release.hpp). If host memory for the list of pending work is missing, the
//   block or the owner leaks, rather than being released too early.
#pragma once
#include <entrepot/core/assert.hpp>
#include <entrepot/core/checked_mutex.hpp>
#include <entrepot/core/counted.hpp>
#include <entrepot/device/queue.hpp>
#include <entrepot/device/recorded_queue.hpp>
#include <entrepot/device/stream_library.hpp>
#include <entrepot/memory/usm_kind.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <new>
#include <span>
#include <utility>
#include <vector>

#pragma GCC visibility push(default)
namespace entrepot {

class Resource;
struct Place;
struct Block;

// Keeps borrowed memory alive. `release` is called at most once, on any thread, without a mutex
// held. It is not called if the owner leaks (Memory, Lifetime). It must not throw. The thread need
// not hold the GIL, so a function that needs it queues the release if it cannot acquire it.
class Owner {
public:
    using Release = void (*)(void *handle);

    Owner() noexcept = default;
    Owner(void *handle, Release release) noexcept : handle_(handle), release_(release) {}
    Owner(Owner &&other) noexcept
        : handle_(other.handle_), release_(std::exchange(other.release_, nullptr)) {}
    Owner &operator=(Owner &&other) noexcept {
        std::swap(handle_, other.handle_);
        std::swap(release_, other.release_);
        return *this;
    }
    ~Owner() {
        ENTREPOT_ASSERT(!release_ || HeldMutexes::is_empty());
        if (release_)
            release_(handle_);
    }

    void *handle() const noexcept { return handle_; }
    Release release_function() const noexcept { return release_; }  // identifies the kind of handle
    // Ownership: the caller has to release the returned handle.
    void *detach() noexcept {
        release_ = nullptr;
        return handle_;
    }

private:
    void *handle_ = nullptr;
    Release release_ = nullptr;
};

enum class Access : std::uint8_t { read, write };

class PeerStreams;

class Memory {
public:
    Memory() noexcept = default;

    // Allocates from `resource` (nullptr: the current one of the device). Work of `queue` may use
    // the block at once. Other queues and the host wait for the block's earlier use as for any
    // access. If `queue` is capturing, the graph holds a reference to the memory (keep_for_graph).
    //
    // A `queue` that may be destroyed waits for the block and is not kept.
    //
    // Throws: USMAllocationError, after cached memory was released and the allocation was tried
    //         again. ValueError if the alignment is not a power of two, or `queue` is empty.
    //         DeviceError if the device lacks that kind of memory.
    // Blocks: for the second try, if `queue` is capturing, and inside the driver.
    static Memory allocate(std::size_t bytes, UsmKind kind, const Queue &queue,
                           std::size_t alignment, Resource *resource);
    static Memory allocate(std::size_t bytes, UsmKind kind, const Queue &queue,
                           std::size_t alignment = 0);
    // Type of the function above. Python passes one that releases the GIL.
    using Allocate = Memory (*)(std::size_t bytes, UsmKind kind, const Queue &queue,
                                std::size_t alignment);
    // Like allocate() from the current resource, without the second try unless `queue` is
    // capturing.
    //
    // Returns: an empty Memory if the resource is exhausted.
    // Throws: as allocate(), except for USMAllocationError.
    // Blocks: inside the driver; as allocate() if `queue` is capturing.
    static Memory try_allocate(std::size_t bytes, UsmKind kind, const Queue &queue,
                               std::size_t alignment = 0);

    // Owns a block that the resource has allocated already, and returns it there.
    static Memory of_block(Resource *resource, const Place &place, const Block &block);

    // Borrows memory of another library. `owner` is released after the last reference, once the
    // logged accesses are done.
    // Throws: bad_alloc; the owner is released then.
    static Memory borrow(void *data, std::size_t bytes, UsmKind kind, const Device &device,
                         const Context &context, Owner owner);

    // Borrows ordinary host memory.
    static Memory borrow_host(void *data, std::size_t bytes, Owner owner);

    void *data() const noexcept { return record_->data; }
    std::size_t nbytes() const noexcept { return record_->bytes; }
    // Returns: the kind. For borrowed memory the first call asks the driver; `unknown` if it cannot
    //          be asked any more.
    UsmKind kind() const noexcept {
        const UsmKind known = record_->kind.load(std::memory_order_relaxed);
        return known != kind_unasked ? known : ask_kind();
    }
    // an argument of `borrow` only
    static constexpr auto kind_unasked = static_cast<UsmKind>(EP_USM_UNASKED);
    const Device &device() const noexcept { return record_->device; }
    const Context &context() const noexcept { return record_->context; }
    bool is_borrowed() const noexcept { return record_->resource == nullptr; }
    Resource *resource() const noexcept { return record_->resource; }  // nullptr of borrowed memory
    // empty unless the memory is borrowed
    const Owner &owner() const noexcept { return record_->owner; }

    // Makes the queue wait for the logged accesses that conflict: a read waits for the last write,
    // a write also for the reads since. The peers below are not part of this (operation.hpp). The
    // queue waits already for the streams of `waited_for` that are marked (is_waited_for).
    //
    // Throws: DeviceError if the driver refuses.
    // Thread safety: thread-safe. No lock is held between wait_for_conflicts() and
    //                record_access(). Accesses that two threads submit at the same time are not
    //                ordered with each other. Later ones are ordered after both.
    // Blocks: on the host for work of another backend. If the queue is capturing, also for work
    //         of other queues outside of the capture. Its own earlier work runs before the graph
    //         only if the program launches the graph in it, or orders the launch after it.
    void wait_for_conflicts(Access access, const Queue &queue,
                            const PeerStreams *waited_for = nullptr) const;
    // One access of an operation.
    struct Operand {
        Access access;
        const Memory *memory;
    };
    // Overload for all operands of an operation: the queue waits for each other queue once.
    // Operands for which can_access_without_wait() is true only make the call slower.
    static void wait_for_conflicts(std::span<const Operand> operands, const Queue &queue,
                                   const PeerStreams *waited_for = nullptr);
    // Logs an access that was submitted at `position`. It was captured into the graph `capture` (0:
    // none).
    //
    // An operation may skip this call: see Operation::is_ordered_until_release.
    //
    // Requires: the queue may not be destroyed (record_submitted).
    // Thread safety: thread-safe.
    void record_access(Access access, const Queue &queue, Queue::Position position) const {
        record_access(access, queue, position, queue.capture_of_work());
    }
    void record_access(Access access, const Queue &queue, Queue::Position position,
                       std::uint64_t capture) const;
    // Logs an access of everything that `queue` holds now. The queue may be destroyed afterwards.
    void record_submitted(Access access, const Queue &queue) const;
    // Logs the access by an event (Queue::of_event), for a stream that may be destroyed before the
    // access is waited for. An event entry replaces no earlier entry. So in a log of more than a
    // few entries, the driver is asked about the two oldest.
    void record_event_access(Access access, const Queue &event) const;
    // Reference of a consumer of an export, in ascending order of strength. With holds_memory
    // (DLPack) it holds a counted reference to the memory. With holds_object it holds a Python
    // object, so the end of its use is not seen.
    enum class Consumer : std::uint8_t { none, holds_memory, holds_object };
    // Logs that a consumer may submit work to `queue` without telling Entrepot. Conflicting
    // accesses wait for everything in `queue` at the time of the access, not for a fixed position.
    //
    // The entry leaves the log like any other, when a later access is ordered after it. With
    // holds_memory it also leaves once the host has waited for `queue`, if the consumer had dropped
    // its reference before that wait began. In a long log it leaves once its work at the export is
    // known to be done. Work that the consumer submits after the entry has left is found by
    // add_consumer_queue() and add_consumers().
    // Requires: the caller holds a reference until the consumer has its own. The queue may not be
    //           destroyed.
    void record_consumer(Access access, const Queue &queue,
                         Consumer consumer = Consumer::holds_object) const;
    class AccessRecorder;
    class LeftQueues;
    // Treats all work that the producer has submitted to `queue` as one pending write. The release
    // of borrowed memory does not wait for it: the producer keeps its own allocation alive.
    // Requires: nothing else refers to the memory. The queue may not be destroyed.
    void record_producer(const Queue &queue) const {
        if (!is_borrowed() || !has_no_pending_access()) [[unlikely]]
            return add_producer(queue);
        Record &record = *record_;
        ENTREPOT_ASSERT(!is_shared() && !queue.may_be_destroyed());
        // Memory without a pending access has no prior queue, so nothing is overwritten.
        ENTREPOT_ASSERT(!record.prior_queue);
        new (&record.prior_queue) Queue(queue);
        record.prior_position = queue.next_position();
        record.pending_queue.store(queue.identity()->number, std::memory_order_release);
    }
    // Treats an event of another process as a pending write. The release of the memory does not
    // wait for it: the mapping here is of no use to that process. Requires: `event` is an event
    // queue, and the memory was opened (memory/share.hpp).
    void record_other_process(const Queue &event) const;
    // True if there is another reference to the memory.
    bool is_shared() const noexcept { return record_->count() != 1; }
    // True if no access is pending, logged or prior. Costs one load.
    bool has_no_pending_access() const noexcept {
        return record_->pending_queue.load(std::memory_order_acquire) == 0;
    }
    // Waits until the host may read or write the memory. Costs a load if nothing is logged and the
    // memory has no peers.
    // Blocks: until the conflicting accesses are done, without the GIL.
    void wait_for_host(Access access) const { wait_on_host(access, true); }
    // True if the host may access the memory now, without waiting. It may be false although the
    // work has just finished. May call the driver, and acquire the GIL.
    bool is_ready_for_host(Access access) const {
        return !is_recorded(access) &&
               ((has_no_pending_access() && !has_peers()) || is_done_for_host(access, true));
    }
    // True if a consumer of an export may access the memory without waiting, as order_export()
    // would make it wait (operation.hpp). Other consumers count if they named a queue.
    bool is_ready_for_export(Access access) const {
        return !is_recorded(access) && ((has_no_pending_access() && !has_owner_stream()) ||
                                        is_done_for_host(access, false));
    }
    // Makes the host wait until is_ready_for_export(), for a consumer that names no stream.
    // Blocks: like wait_for_host().
    void wait_for_export(Access access) const { wait_on_host(access, false); }

    // The work that an access has to wait for, with that of all peers. One event is to stand for
    // it.
    struct PendingWork {
        // The one queue that has all of it, up to the position. Empty if several have, or a queue
        // of a peer or an event queue does.
        Queue queue;
        Queue::Position position = 0;
        // Why an event of the memory's backend cannot stand for it; nullptr if one can.
        const char *obstacle = nullptr;
    };
    // GIL: as StreamLibrary::current_stream.
    PendingWork pending_work(Access access) const;

    // True if the calling thread records work into a graph (array/graph.hpp) that conflicts with
    // the access. Then the functions above that wait throw DeviceError: that work does not run yet.
    bool is_recorded(Access access) const noexcept {
        return RecordedQueue::is_any() && find_recorded(access);
    }

    // Peers: other libraries that work on the memory in streams of their own, without telling
    // Entrepot. They are the owner of borrowed memory, by its library or by the queue that it
    // names, and the consumers of exports. Each operation is ordered with the streams that they use
    // when it is submitted: see operation.hpp.
    //
    // Requires (set_…): borrowed memory that nothing else refers to yet. Its library and its queue
    //                   are set once.
    // Thread safety: the others are thread-safe.
    void set_owner_library(unsigned library) const noexcept;
    void set_owner_queue(const Queue &queue) const noexcept;
    // Like set_owner_queue(), for a stream of CUDA or HIP that the owner may destroy. The handle is
    // wrapped for each operation, while the owner's object is alive. No wrapper is kept, and the
    // release does not use the stream. Python's garbage collector may find the memory and the
    // stream in one cycle, and destroy the stream first.
    void set_owner_stream(std::uintptr_t stream) const noexcept;
    // The memory was imported for one operation, and is released when that has been submitted. The
    // access need not be logged then: see Operation::is_ordered_until_release.
    void set_for_one_operation() const noexcept;
    // Reverts set_for_one_operation(): a graph uses the memory at each replay.
    void set_for_many_operations() const noexcept {
        record_->peers.fetch_and(~PeerBits::for_one_operation, std::memory_order_acq_rel);
    }
    // Consumers of an export. Every operation waits for their streams. Those that hold memory
    // (Consumer::holds_memory) are dropped once a single reference to the memory is left and all of
    // their streams have been waited for. An access of the host or a write outside of captures does
    // that. None is dropped while a consumer holds an object.
    //
    // Requires (add_consumer_queue): the queue may not be destroyed.
    void add_consumers(LibrarySet libraries, Consumer holder) const noexcept;  // of libraries
    void add_consumer_queue(const Queue &queue, Consumer holder) const;
    bool has_peers() const noexcept {
        return (record_->peers.load(std::memory_order_relaxed) & PeerBits::any_peer) != 0;
    }
    // Returns: Record::peers for drop_consumers(), if the memory has had consumers and none of them
    // has a reference left; else 0.
    // Requires: the caller holds a reference, and asks the consumers for their streams afterwards,
    //           so that these hold all of the consumers' work.
    std::uint32_t released_consumers() const noexcept {
        const std::uint32_t peers = record_->peers.load(std::memory_order_acquire);
        const bool had_some = (peers & PeerBits::consumers) != 0;
        return had_some && !(peers & PeerBits::lasting_consumer) && !is_shared() ? peers : 0;
    }
    // Drops the consumers, unless there has been an export since `released` was read.
    // Requires: `released` comes from released_consumers(), and all streams of the consumers have
    //           been waited for since then.
    void drop_consumers(std::uint32_t released) const noexcept;
    bool has_owner_stream() const noexcept {
        return (record_->peers.load(std::memory_order_relaxed) &
                (PeerBits::owner_library | PeerBits::owner_queue)) != 0;
    }
    // True if the owner names a stream that it may destroy (set_owner_stream).
    bool has_destroyable_owner_stream() const noexcept {
        // The field alone does not say so: a recycled record keeps the stream of an earlier owner.
        return (record_->peers.load(std::memory_order_acquire) & PeerBits::owner_queue) != 0 &&
               !record_->owner_queue;
    }
    // True if the memory belongs to a library that uses and frees it in stream order, as PyTorch
    // and CuPy do. The program waits for that library's stream before the host reads managed memory
    // of it.
    bool is_used_in_stream_order() const noexcept;
    // Returns: the queue that the owner of borrowed memory works on now: its library's current
    //          stream on this thread, or the queue that it names. No queue if it has neither.
    // GIL: as StreamLibrary::current_stream.
    Queue owner_queue() const;

    // True if wait_for_conflicts() has nothing to do for the queue: every logged access belongs to
    // it or is ordered before it.
    bool can_access_without_wait(const Queue &queue) const noexcept {
        const std::uint64_t pending = record_->pending_queue.load(std::memory_order_acquire);
        return pending == 0 || pending == queue.identity()->number;
    }

    // Gives a reference to the graph that the queue is captured into. The memory lives as long as
    // the graph, or what was made from it, may run.
    // Requires: the queue is capturing.
    void keep_for_graph(const Queue &queue) const;

    // Foreign code has seen the pointer and may use it without telling Entrepot. Freeing then goes
    // through quarantine (Deferred).
    void mark_escaped() const noexcept { record_->escaped.store(true, std::memory_order_relaxed); }
    bool has_escaped() const noexcept { return record_->escaped.load(std::memory_order_relaxed); }

    explicit operator bool() const noexcept { return static_cast<bool>(record_); }
    bool operator==(const Memory &) const noexcept = default;  // the same allocation, by identity

    struct Ordering;

    // Bits of Record::peers, which changes as a whole.
    struct PeerBits {
        static constexpr std::uint32_t consumer_libraries = 0xff;  // a LibrarySet
        static_assert(consumer_libraries == std::numeric_limits<LibrarySet>::max() &&
                      consumer_libraries >> max_consumer_libraries == 0);
        static constexpr unsigned owner_shift = 8;  // 1 + the owner's library, in 4 bits; 0: none
        static constexpr std::uint32_t owner_library = 0xfu << owner_shift;
        // Record::owner_queue is set, or else Record::owner_stream
        static constexpr std::uint32_t owner_queue = 1u << 12;
        static constexpr std::uint32_t consumer_queues = 1u << 13;  // Ordering::consumers has some;
                                                                    // written with its mutex
        static constexpr std::uint32_t any_peer =
            consumer_libraries | owner_library | owner_queue | consumer_queues;
        static constexpr std::uint32_t for_one_operation = 1u << 14;  // see set_for_one_operation
        static constexpr std::uint32_t consumers = consumer_libraries | consumer_queues;
        // Returns: 1 + the number of the owner's library; 0 if the word has none.
        static constexpr unsigned owner_of(std::uint32_t peers) noexcept {
            return (peers & owner_library) >> owner_shift;
        }
        static constexpr std::uint32_t of_owner_library = owner_library | for_one_operation;
        // a consumer holds an object, so its end is not seen
        static constexpr std::uint32_t lasting_consumer = 1u << 15;
        // Exports are counted, so that one that comes while consumers are being dropped is seen:
        // the word has changed. The count wraps: 65,536 exports in that moment would go unseen.
        static constexpr std::uint32_t one_export = 1u << 16;
    };
    // The comment of each field names its guard. Constant: written before a second reference
    // exists, and not again until the record is reused. The end of the memory clears prior_queue,
    // owner_queue, context and owner, and leaves the others as they are.
    struct Record : Counted<Record> {
        // Hides Counted::release: records are in no table.
        void release() noexcept {
            if (drop_unlisted())
                end(this);
        }
        static void end(Record *record) noexcept;

        std::atomic<bool> escaped{false};  // atomic, never reset while in use
        // atomic; true if Ordering::pins has some, which are released when the memory ends
        std::atomic<bool> pinned{false};
        // atomic; true if exported_files has entries of the memory, which end with it
        std::atomic<bool> exported{false};
        // atomic; every thread that asks the driver gets the same answer
        mutable std::atomic<UsmKind> kind{UsmKind::unknown};
        std::atomic<std::uint32_t> peers{0};  // atomic; bits of PeerBits
        std::uint8_t alignment = 0;  // constant; as asked for: 0, or 1 + its binary logarithm
        // Summary of `prior_queue` and of the log. 0: no pending access. The number of a queue:
        // every logged access is on that queue or ordered before it. `multiple_queues`: neither of
        // these. Written with Ordering::mutex held or by the only reference, read without a lock.
        std::atomic<std::uint64_t> pending_queue{0};
        static constexpr std::uint64_t multiple_queues = ~std::uint64_t{0};
        void *data = nullptr;          // constant
        std::size_t bytes = 0;         // constant
        Device device;                 // constant
        Context context;               // constant
        Resource *resource = nullptr;  // constant, owns a reference; nullptr for borrowed memory
        Owner owner;                   // constant
        // A pending write before the first logged access: Block::queue and Block::available of an
        // allocation, or the producer's queue and next position. Written by the only reference,
        // then guarded by Ordering::mutex; the log takes it over.
        Queue prior_queue;
        std::uint64_t prior_position = 0;  // guarded like `prior_queue`
        Queue owner_queue;                 // constant; see set_owner_queue()
        // constant; used with PeerBits::owner_queue if `owner_queue` is empty, else of an earlier
        // use of the record
        std::uintptr_t owner_stream = 0;
        // atomic; set once, stays with a recycled record
        std::atomic<Ordering *> ordering{nullptr};

        // A recycled record passes through reuse(), set_borrowed() or an allocation, and
        // take_contents(). Then it is in a free list again.
        //
        // Requires: the record is empty.
        void reuse() noexcept;
        // True if the record has no owner, context, queue or logged access.
        bool is_empty() const noexcept {
            return pending_queue.load(std::memory_order_relaxed) == 0 && !prior_queue &&
                   !owner_queue && !context && !owner.release_function();
        }
        // Requires: the record is new or reused.
        void set_borrowed(void *memory, std::size_t size, UsmKind of_kind, const Device &of_device,
                          const Context &of_context, Owner &&of_owner) noexcept;
        // True if the release has to look at the log. There are accesses since the memory was
        // allocated or borrowed, or the memory has had consumers.
        // Requires: nothing else refers to the record.
        bool has_uses() const noexcept;
        // The references that a record of borrowed memory holds. They are dropped after the record
        // is in a free list, because releasing the owner may reenter.
        struct Contents {
            Queue prior_queue, owner_queue;
            Context context;
            Owner owner;  // empty, and leaks, if the backend may not be called any more
        };
        // Requires: the memory is borrowed, and nothing else refers to the record.
        inline Contents take_contents() noexcept;
    };
    Record *record() const noexcept { return record_.get(); }

    // Keeps the record for a later Memory of this thread, or deletes it.
    // Requires: it is empty, and nothing refers to it.
    static void recycle(Record *record) noexcept;

    // A reference as a plain pointer, for C tables and Python objects.
    // Ownership: detach() passes the reference to the caller, and attach() takes it over.
    void *detach() noexcept { return record_.detach(); }
    static Memory attach(void *record) noexcept { return Memory(static_cast<Record *>(record)); }

private:
    UsmKind ask_kind() const noexcept;
    bool find_recorded(Access access) const noexcept;  // in memory/recorded_uses.cpp
    void add_producer(const Queue &queue) const;
    void wait_on_host(Access access, bool with_consumers) const;
    bool is_done_for_host(Access access, bool with_consumers) const;
    friend class PeerStreams;
    // Ownership: takes over the caller's reference.
    explicit Memory(Record *record) noexcept : record_(IntrusivePtr<Record>::adopt(record)) {}

    IntrusivePtr<Record> record_;
};

// Queues that were taken out of a log. They are dropped after Ordering::mutex is unlocked: the last
// reference calls the driver. Most of them are the same queue.
class Memory::LeftQueues {
public:
    ~LeftQueues() { ENTREPOT_ASSERT(!HeldMutexes::has_leaf()); }
    // Adds a reference to the queue, which the caller then takes out of the log.
    void keep(const Queue &queue) {
        if (!first_)
            first_ = queue;
        else if (queue != first_)
            others_.push_back(queue);
    }

private:
    Queue first_;
    std::vector<Queue> others_;
};

// Logs the accesses of one operation to several memories.
//
// Between the calls of record() it keeps the mutex of the memory logged last locked, because
// memories often share one (Ordering::mutex). A call of record() may unlock it for a moment, to ask
// a driver (Ordering::begin).
// Requires: the thread locks no other mutex while this object lives, and has one of these at a
//           time.
class Memory::AccessRecorder {
public:
    AccessRecorder(const Queue &queue, Queue::Position position, std::uint64_t capture,
                   Consumer consumer = Consumer::none) noexcept
        : queue_(queue), position_(position), capture_(capture), consumer_(consumer) {
        ENTREPOT_ASSERT(HeldMutexes::is_empty());
    }
    AccessRecorder(const AccessRecorder &) = delete;
    AccessRecorder &operator=(const AccessRecorder &) = delete;

    void record(Access access, const Memory &memory);

private:
    void lock(Ordering &ordering);
    void record_slow(Access access, Record &record, Ordering &ordering);

    const Queue &queue_;
    const Queue::Position position_;
    const std::uint64_t capture_;
    const Consumer consumer_;
    LeftQueues left_;  // before lock_, so that the queues are dropped after it is unlocked
    std::unique_lock<LeafMutex> lock_;
};

inline void Memory::Record::reuse() noexcept {
    ENTREPOT_ASSERT(is_empty());
    revive();
    escaped.store(false, std::memory_order_relaxed);
    ENTREPOT_ASSERT(!pinned.load(std::memory_order_relaxed));
    ENTREPOT_ASSERT(!exported.load(std::memory_order_relaxed));
    peers.store(0, std::memory_order_relaxed);
}

inline void Memory::Record::set_borrowed(void *memory, std::size_t size, UsmKind of_kind,
                                         const Device &of_device, const Context &of_context,
                                         Owner &&of_owner) noexcept {
    ENTREPOT_ASSERT(is_empty() && count() == 1);
    kind.store(of_kind, std::memory_order_relaxed);
    data = memory;
    bytes = size;
    device = of_device;
    new (&context) Context(of_context);  // both are empty, so nothing has to be released
    resource = nullptr;
    new (&owner) Owner(std::move(of_owner));
}

inline bool Memory::Record::has_uses() const noexcept {
    ENTREPOT_ASSERT(count() <= 1);
    return (pending_queue.load(std::memory_order_acquire) != 0 && !prior_queue) ||
           (peers.load(std::memory_order_relaxed) & PeerBits::consumers) != 0;
}

}  // namespace entrepot
#pragma GCC visibility pop
