// State of a pool: free lists that all threads share, and magazines, one for each thread and place.
#pragma once
#include <entrepot/memory/pool.hpp>
#include <memory/central_free_list.hpp>
#include <memory/deferred.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <vector>

namespace entrepot {

// Free blocks of one place that belong to one thread.
//
// States
//   In use by its thread; then either the thread ends and the pool absorbs it, or the pool ends and
//   the thread forgets it. If both end at once, `thread_is_gone` tells the pool to delete it.
struct Magazine {
    PoolResource *pool;          // guarded by magazine_mutex; nullptr once the pool has ended
    PoolResource::State *state;  // constant
    // constant; those of immortal contexts live as long as the pool
    CentralFreeList *free_list;
    std::uint64_t pool_number;  // constant
    // constant; of an immortal context, so the address is not reused
    const Context::Record *context;
    Device device;                       // constant
    UsmKind kind;                        // constant
    bool thread_is_gone = false;         // guarded by magazine_mutex
    std::atomic<std::size_t> cached{0};  // bytes; written by the thread alone, read by statistics
    // Used by the thread alone, without a lock. When the pool ends no block is in use, and it
    // empties the bins itself.
    std::array<Bin, size_class::count> bins;

    // Requires: the bins are empty. magazine_mutex is held, and a block may have the last reference
    // to
    //           a queue, whose end calls the driver.
    ~Magazine() {
        ENTREPOT_ASSERT(
            std::all_of(bins.begin(), bins.end(), [](const Bin &bin) { return bin.empty(); }));
    }

    static constexpr std::size_t bin_bytes = std::size_t{512} << 10;
    static constexpr std::size_t bin_blocks = 64;
    static constexpr std::size_t capacity(std::size_t index) noexcept {
        return std::clamp<std::size_t>(bin_bytes / size_class::bytes_of(index), 2, bin_blocks);
    }

    bool serves(std::uint64_t number, const Place &place) const noexcept {
        return pool_number == number && context == place.context.record() && kind == place.kind &&
               device == place.device;
    }

    FreeBlock pop(std::size_t index) noexcept {
        ENTREPOT_ASSERT(!bins[index].empty());
        ENTREPOT_ASSERT(cached.load(std::memory_order_relaxed) >= size_class::bytes_of(index));
        FreeBlock block = std::move(bins[index].back());
        bins[index].pop_back();
        count(-size_class::bytes_of(index));
        return block;
    }
    void push(std::size_t index, FreeBlock block) {
        ENTREPOT_ASSERT(block.data);
        bins[index].push_back(std::move(block));
        count(size_class::bytes_of(index));
    }
    // Passes all but the latest `kept` blocks to `put`. If `put` throws, which leaves its block
    // unchanged, that block and the later ones stay here.
    template <class Put> void drain(std::size_t index, std::size_t kept, Put &&put) {
        Bin &bin = bins[index];
        ENTREPOT_ASSERT(kept <= bin.size());
        const std::size_t surplus = bin.size() - kept;
        std::size_t taken = 0;
        const auto drop_taken = [&]() noexcept {
            bin.erase(bin.begin(), bin.begin() + static_cast<std::ptrdiff_t>(taken));
            count(-taken * size_class::bytes_of(index));
        };
        try {
            for (; taken < surplus; ++taken)
                put(std::move(bin[taken]));
        } catch (...) {
            drop_taken();
            throw;
        }
        drop_taken();
    }

private:
    // No atomic addition, because only one thread writes.
    void count(std::size_t added) noexcept {
        cached.store(cached.load(std::memory_order_relaxed) + added, std::memory_order_relaxed);
    }
};

// Guards Magazine::pool and Magazine::thread_is_gone of all magazines. Never destroyed.
ForkSafeMutex &magazine_mutex();

struct PoolResource::State {
    struct Waiting {
        CentralFreeList *free_list;
        std::size_t index;  // size_class::none: a large block
        void *data;
    };

    static constexpr std::size_t magazine_limit = std::size_t{4} << 20;

    State(PoolResource &self, std::size_t limit);

    PoolResource &pool;
    const std::size_t max_cached;
    const std::size_t magazine_bytes;  // of one thread for one place
    const std::uint64_t number;        // unique in the process

    mutable ForkSafeMutex mutex;
    // the lists as well as the vector
    std::vector<std::unique_ptr<CentralFreeList>> free_lists ENTREPOT_GUARDED_BY(mutex);
    std::vector<Magazine *> magazines ENTREPOT_GUARDED_BY(mutex);
    std::size_t cached_after_trim ENTREPOT_GUARDED_BY(mutex) = 0;
    Deferred<Waiting> waiting{mutex};       // locks mutex itself
    std::atomic<std::size_t> deferrals{0};  // atomic

    Resource &source() const noexcept { return *pool.upstream(); }

    // Returns: the calling thread's magazine for the place; nullptr if it can have none.
    Magazine *magazine_of(const Place &place);
    void empty_bin(Magazine &magazine, std::size_t index);
    void empty_magazine(Magazine &magazine);
    void empty_own_magazines();
    void absorb(Magazine &magazine) noexcept;  // of a thread that ends

    CentralFreeList &free_list_of(const Place &place) ENTREPOT_REQUIRES(mutex);
    CentralFreeList *find_free_list(const Place &place) const noexcept ENTREPOT_REQUIRES(mutex);
    CentralFreeList &existing_free_list(const Place &place);
    void drop_done_queues();
    void return_abandoned();

    Block allocate_small(const Place &place, std::size_t index, const Queue &queue,
                         Magazine *magazine);
    void add_chunk(const Place &place, std::size_t index, const Queue &queue);
    Block allocate_large(const Place &place, std::size_t bytes, std::size_t alignment,
                         const Queue &queue);
    Block large_from_upstream(const Place &place, std::size_t bytes, std::size_t alignment,
                              const Queue &queue);

    void push_free(const Place &place, std::size_t index, FreeBlock block);
    // Queues of bindings go to `dropped`. The caller drops them without the mutex.
    void put_on_free_list(CentralFreeList &free_list, std::size_t index, FreeBlock block,
                          std::vector<Queue> &dropped) ENTREPOT_REQUIRES(mutex);
    void defer_free(CentralFreeList &free_list, std::size_t index, void *data, Pending pending);
    // Defers a free block that another queue wants, until the queue of its binding is done with it.
    void defer_bound(CentralFreeList &free_list, std::size_t index, FreeBlock block);
    void put_finished(std::vector<Waiting> finished);

    void ask_about_bindings(bool (*of)(const CentralFreeList &free_list));
    std::size_t return_free();
    std::size_t return_upstream(const Place &place, std::vector<Returned> returned) noexcept;
    void keep_to_limit();
    // For the pool's end, when no other thread uses it.
    void end() noexcept;
    void return_everything() ENTREPOT_NO_THREAD_SAFETY_ANALYSIS;
    void drop_magazines() noexcept ENTREPOT_NO_THREAD_SAFETY_ANALYSIS;
};

}  // namespace entrepot
