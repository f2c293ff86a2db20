// Memory: one allocation, owned or borrowed, and the state of ordering that all views of it share.
//
// There is exactly one way to let go: a block goes back to its resource, or an owner is released. Letting go never blocks and is
// deferred until the recorded uses are done, so dropping the last reference while a kernel runs is safe.
#pragma once
#include <entrepot/core/assert.hpp>
#include <entrepot/device/queue.hpp>
#include <entrepot/device/stream_library.hpp>
#include <entrepot/memory/usm_kind.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

namespace entrepot {

class Resource;
struct Place;
struct Block;

// What keeps borrowed memory alive. `release` may be called on any thread, once; it must not throw.
class Owner {
public:
    using Release = void (*)(void *handle);

    Owner() noexcept = default;
    Owner(void *handle, Release release) noexcept : handle_(handle), release_(release) {}
    Owner(Owner &&other) noexcept : handle_(other.handle_), release_(std::exchange(other.release_, nullptr)) {}
    Owner &operator=(Owner &&other) noexcept {
        std::swap(handle_, other.handle_);
        std::swap(release_, other.release_);
        return *this;
    }
    ~Owner() {
        if (release_)
            release_(handle_);
    }

    void *handle() const noexcept { return handle_; }
    Release release_function() const noexcept { return release_; }  // tells what kind of handle it is
    // Gives the duty to release to the caller.
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

    // From `resource` (nullptr: the one that is current for the device). The block is ready for work of `queue`; other
    // queues and the host are ordered behind it like behind any use. What is allocated for a queue that is being captured belongs
    // to the graph too, as keep_for_graph says; it may wait on the host.
    // Throws USMAllocationError (after the pools were trimmed and it was tried once more) with the bytes asked for and what
    // there was; ValueError for an alignment that is no power of two; DeviceError where the device lacks that kind.
    static Memory allocate(std::size_t bytes, UsmKind kind, const Queue &queue, std::size_t alignment, Resource *resource);
    static Memory allocate(std::size_t bytes, UsmKind kind, const Queue &queue, std::size_t alignment = 0);
    // The latter, or what stands for it: callers from Python wait without the GIL.
    using Allocate = Memory (*)(std::size_t bytes, UsmKind kind, const Queue &queue, std::size_t alignment);
    // The same from the current resource, tried once: none where there is no such memory left, without waiting for any.
    static Memory try_allocate(std::size_t bytes, UsmKind kind, const Queue &queue, std::size_t alignment = 0);

    // A block that the resource has given out already: goes back to it as one that `allocate` took.
    static Memory of_block(Resource *resource, const Place &place, const Block &block);

    // Memory that somebody else allocated; `owner` is released when the last view is gone and the recorded uses are done.
    static Memory borrow(void *data, std::size_t bytes, UsmKind kind, const Device &device, const Context &context, Owner owner);

    // Ordinary host memory of somebody else's: the shortest way in, for the buffers and arrays of the host.
    static Memory borrow_host(void *data, std::size_t bytes, Owner owner);

    Memory(const Memory &other) noexcept : record_(other.record_) {
        if (record_)
            record_->references.fetch_add(1, std::memory_order_relaxed);
    }
    Memory(Memory &&other) noexcept : record_(std::exchange(other.record_, nullptr)) {}
    Memory &operator=(Memory other) noexcept {
        std::swap(record_, other.record_);
        return *this;
    }
    ~Memory() {
        if (record_ && drop(record_))
            destroy(record_);
    }

    void *data() const noexcept { return record_->data; }
    std::size_t nbytes() const noexcept { return record_->bytes; }
    // Of borrowed memory the driver is asked here, the first time; `unknown` where it cannot be asked any more.
    UsmKind kind() const noexcept {
        const UsmKind known = record_->kind.load(std::memory_order_relaxed);
        return known != kind_unasked ? known : ask_kind();
    }
    static constexpr auto kind_unasked = static_cast<UsmKind>(EP_USM_UNASKED);  // for `borrow`; nobody else sees it
    const Device &device() const noexcept { return record_->device; }
    const Context &context() const noexcept { return record_->context; }
    bool is_borrowed() const noexcept { return record_->resource == nullptr; }
    Resource *resource() const noexcept { return record_->resource; }  // nullptr of borrowed memory
    const Owner &owner() const noexcept { return record_->owner; }     // of borrowed memory

    // Ordering. `before` makes the queue wait for what its access must see: a read for the last write, a write for the
    // uses since as well. `after` notes the access once it has been submitted at `position`. Between the two, the caller
    // holds nothing: two threads that race on one memory get one of the two orders, as with any library.
    // `before` blocks for what no queue of this backend can be made to wait for, or no graph that the queue is captured into.
    // The peers below are not part of this: an operation orders itself with them as well (operation.hpp). `waited_for` are
    // streams that the queue has been made to wait for already, whole as they are now.
    void before(Access access, const Queue &queue, const PeerStreams *waited_for = nullptr) const;
    void after(Access access, const Queue &queue, Queue::Position position) const {
        after(access, queue, position, queue.capture_of_work());
    }
    // The same where the caller has asked already whether the access was captured into a graph: into which, 0 for none.
    void after(Access access, const Queue &queue, Queue::Position position, std::uint64_t capture) const;
    // Records the access by an event (Queue::past), for a stream that may be destroyed before the access is waited for. No such
    // event stands for an earlier one, so the driver is asked about the oldest ones when there are more than a few. Blocks: as
    // Queue::is_done.
    void after_event(Access access, const Queue &event) const;
    // The same where a consumer has the memory, who submits to the queue when he likes: what comes behind him, the first work of
    // each other queue and the host each time, comes behind all that his queue holds then.
    // Where he holds a Memory of it, as exports by DLPack do, that ends with the last of those: what he has submitted then is
    // all. Whoever hands it to him holds one from before this until he does.
    enum class Consumer : std::uint8_t { none, holds_memory, holds_object };
    void after_consumer(Access access, const Queue &queue, Consumer consumer = Consumer::holds_object) const;
    class After;
    class LeftQueues;
    // Of memory that is being borrowed, and that nobody else has yet: all that its producer has submitted to `queue` counts as a
    // write that accesses come behind. Letting go does not: what its own work needs, the producer keeps, with or without us.
    void after_producer(const Queue &queue) const {
        if (!is_borrowed() || !is_quiet()) [[unlikely]]
            return after_producer_too(queue);
        Record &record = *record_;
        ENTREPOT_ASSERT(!is_shared() && !record.home);
        new (&record.home) Queue(queue);  // over none: memory that is quiet has been asked for its own
        record.available = queue.next_position();
        record.noted.store(queue.identity()->number, std::memory_order_release);
    }
    // Whether somebody else has the memory too.
    bool is_shared() const noexcept { return record_->references.load(std::memory_order_acquire) != 1; }
    // Whether nothing is noted that anybody could have to wait for; costs a load.
    bool is_quiet() const noexcept { return record_->noted.load(std::memory_order_acquire) == 0; }
    // The host's turn: blocks until it may read or write; nothing to wait for costs a load.
    void wait_for_host(Access access) const;
    // True if the host may access the memory now, without waiting; false may be late. May call the driver, and acquire the GIL.
    bool is_ready_for_host(Access access) const { return (is_quiet() && !has_peers()) || has_done_for_host(access, true); }
    // True if a consumer of an export may read without waiting. Other consumers are ignored: see order_export (operation.hpp).
    bool is_ready_for_export(Access access) const {
        return (is_quiet() && !has_owner_stream()) || has_done_for_host(access, false);
    }

    // Peers: other libraries that work on the memory in streams of their own, without telling us. They are the owner of borrowed
    // memory, by its library or by the queue that it names, and the consumers of exports. Each operation of ours is ordered with
    // their streams as they are when it is submitted: see operation.hpp.
    //
    // Requires (set_…): borrowed memory that nothing else refers to yet. Its library and its queue are set once.
    // Thread safety: the others are thread-safe.
    void set_owner_library(unsigned library) const noexcept;
    void set_owner_queue(const Queue &queue) const noexcept;
    // The memory was imported for one operation, and is released when that has been submitted.
    void set_for_one_operation() const noexcept;
    // Consumers of an export. With Consumer::holds_memory they are dropped once nothing but one view of ours refers to the
    // memory, after the next operation has waited for them.
    void add_consumers(LibrarySet libraries, Consumer holder) const noexcept;  // of libraries
    void add_consumer_queue(const Queue &queue, Consumer holder) const;
    bool has_peers() const noexcept { return (record_->peers.load(std::memory_order_relaxed) & PeerBits::any_peer) != 0; }
    bool has_owner_stream() const noexcept {
        return (record_->peers.load(std::memory_order_relaxed) & (PeerBits::owner_library | PeerBits::owner_queue)) != 0;
    }
    // True if the memory belongs to a library that uses and frees it in stream order, as PyTorch and CuPy do. The program waits
    // for that library's stream before the host reads managed memory of it.
    bool is_used_in_stream_order() const noexcept;
    // Returns: the queue that the owner of borrowed memory works on now: its library's current stream on this thread, or the
    //          queue that it names. No queue if it has neither.
    // GIL: as StreamLibrary::current_stream.
    Queue owner_queue() const;

    // Whether `before` has nothing to do for the queue: nothing is noted, or nothing but the queue's own work.
    bool is_free_for(const Queue &queue) const noexcept {
        const std::uint64_t noted = record_->noted.load(std::memory_order_acquire);
        return noted == 0 || noted == queue.identity()->number;
    }

    // The queue is captured into a graph, which has the memory from now on too: the block is nobody else's, and borrowed memory
    // keeps its owner, for as long as the graph, or what was made of it, may run.
    void keep_for_graph(const Queue &queue) const;

    // Foreign code has seen the pointer: uses that we do not know of may follow. Freeing goes through quarantine.
    void mark_escaped() const noexcept { record_->escaped.store(true, std::memory_order_relaxed); }
    bool has_escaped() const noexcept { return record_->escaped.load(std::memory_order_relaxed); }

    explicit operator bool() const noexcept { return record_ != nullptr; }
    bool operator==(const Memory &) const noexcept = default;  // the same allocation, by identity

    struct Ordering;

    // Record::peers, a word that changes as a whole.
    struct PeerBits {
        static constexpr std::uint32_t consumer_libraries = 0xff;  // a LibrarySet
        static constexpr unsigned owner_shift = 8;                 // 1 + the owner's library, in 4 bits; 0: none
        static constexpr std::uint32_t owner_library = 0xfu << owner_shift;
        static constexpr std::uint32_t owner_queue = 1u << 12;      // Record::owner_queue is set
        static constexpr std::uint32_t consumer_queues = 1u << 13;  // Ordering::consumers has some
        static constexpr std::uint32_t any_peer = consumer_libraries | owner_library | owner_queue | consumer_queues;
        static constexpr std::uint32_t for_one_operation = 1u << 14;  // see set_for_one_operation
        static constexpr std::uint32_t consumers = consumer_libraries | consumer_queues;
        // Returns: 1 + the number of the owner's library; 0 if the word has none.
        static constexpr unsigned owner_of(std::uint32_t peers) noexcept { return (peers & owner_library) >> owner_shift; }
        static constexpr std::uint32_t of_owner_library = owner_library | for_one_operation;
        static constexpr std::uint32_t lasting_consumer = 1u << 15;  // a consumer holds an object, so its end is not seen
        // Exports are counted, so that one that comes while consumers are being dropped is seen: the word has changed.
        static constexpr std::uint32_t one_export = 1u << 16;
    };
    struct Record {
        std::atomic<std::uint32_t> references{1};
        std::atomic<bool> escaped{false};
        mutable std::atomic<UsmKind> kind{UsmKind::unknown};
        std::atomic<std::uint32_t> peers{0};  // bits of PeerBits
        std::uint8_t alignment = 0;           // as asked for: 0, or 1 + its binary logarithm
        // Of which queue everything is that is noted in `ordering`, or in `home`, or which has waited for it: its number,
        // `by_several` where that is no one queue, or 0 where nothing is noted. To be read without the lock.
        std::atomic<std::uint64_t> noted{0};
        static constexpr std::uint64_t by_several = ~std::uint64_t{0};
        void *data = nullptr;
        std::size_t bytes = 0;
        Device device;
        Context context;
        Resource *resource = nullptr;  // counted
        Owner owner;
        // As Block has them: of memory that nothing has been noted of since it was allocated. Of memory that was borrowed, its
        // producer's queue and the next position there. Later they are part of the ordering.
        Queue home;
        std::uint64_t available = 0;
        Queue owner_queue;                          // set before the memory is shared, and never changed: read without a lock
        std::atomic<Ordering *> ordering{nullptr};  // made at the first use that a queue makes of it; kept by recycled records
        Record *next = nullptr;                     // in a list of recycled records
    };
    Record *record() const noexcept { return record_; }

    // A reference as a plain pointer, for C tables and Python objects.
    void *detach() noexcept { return std::exchange(record_, nullptr); }
    static Memory attach(void *record) noexcept { return Memory(static_cast<Record *>(record)); }

private:
    UsmKind ask_kind() const noexcept;
    void after_producer_too(const Queue &queue) const;
    bool has_done_for_host(Access access, bool with_consumers) const;
    friend class PeerStreams;
    explicit Memory(Record *record) noexcept : record_(record) {}
    // Whether that was the last reference. Who holds the only one shares it with nobody, and needs no atomic subtraction.
    static bool drop(Record *record) noexcept {
        return record->references.load(std::memory_order_acquire) == 1 ||
               record->references.fetch_sub(1, std::memory_order_acq_rel) == 1;
    }
    static void destroy(Record *record) noexcept;

    Record *record_ = nullptr;
};

// Keeps queues that are dropped with a lock held from going before it is free: the last reference may be among them. Most of them
// are one and the same.
class Memory::LeftQueues {
public:
    // Takes it; where that throws, the queue is still there.
    void keep(Queue &queue) {
        if (!first_)
            first_ = std::move(queue);
        else if (queue != first_)
            others_.push_back(queue);
        queue = {};
    }

private:
    Queue first_;
    std::vector<Queue> others_;
};

// `after` of all the memory that one piece of work has used. A lock that several pieces have in common is taken once, and held
// until this ends: meanwhile the caller does nothing else.
class Memory::After {
public:
    After(const Queue &queue, Queue::Position position, std::uint64_t capture, Consumer consumer = Consumer::none) noexcept
        : queue_(queue), position_(position), capture_(capture), consumer_(consumer) {}
    After(const After &) = delete;
    After &operator=(const After &) = delete;

    void note(Access access, const Memory &memory);

private:
    void lock(Ordering &ordering);
    void note_anew(Access access, Record &record, Ordering &ordering);

    const Queue &queue_;
    const Queue::Position position_;
    const std::uint64_t capture_;
    const Consumer consumer_;
    LeftQueues left_;
    std::unique_lock<std::mutex> lock_;
};

}  // namespace entrepot
