// Shelf: the free blocks of one place that every thread may take, and the blocks of the upstream that they are parts of.
//
// A plain container: its owner locks, and calls the upstream when nothing is locked.
#pragma once
#include <entrepot/memory/resource.hpp>
#include <memory/deferred.hpp>
#include <memory/size_class.hpp>

#include <array>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

namespace entrepot {

// A block that work of `queue` may use at once, and anything else once the queue has reached `position`.
struct FreeBlock {
    void *data = nullptr;
    Queue queue;  // none: free for all
    Queue::Position position = 0;

    bool is_bound() const noexcept { return queue && !is_known_done(queue, position); }
    bool is_free_for(const Queue &other) const noexcept { return !is_bound() || queue == other; }
};

// The last one in is the first one out: it is the likeliest to be in a cache.
using Bin = std::vector<FreeBlock>;

// What goes back to the upstream.
struct Returned {
    Block block;
    Pending pending;
};

class Shelf {
public:
    explicit Shelf(const Place &of) : place(of) {}

    const Place place;
    std::size_t reserved = 0;  // bytes of the upstream
    std::size_t cached = 0;    // of those, free here
    std::size_t waiting = 0;   // given back, but perhaps in use; counted by the owner
    std::size_t waste = 0;     // left over where chunks were cut

    // Small blocks, by size class. The one that is taken may be bound to another queue.
    std::optional<FreeBlock> take(std::size_t index);
    void put(std::size_t index, FreeBlock block);
    // Cuts a block of the upstream, ready for work of `queue`, into blocks of the class.
    void add_chunk(std::size_t index, const Block &chunk, const Queue &queue);

    // Large blocks: the shortest one that is long enough, free for the queue, and not more than a quarter too long. Where
    // there is only one bound to another queue, `bound` says to what.
    std::optional<FreeBlock> take_large(std::size_t bytes, std::size_t alignment, const Queue &queue, std::vector<Use> &bound);
    void put_large(FreeBlock block);
    void add_large(const Block &block);
    std::size_t size_of_large(void *data) const { return large_given_.at(data).bytes; }

    // Removes what is wholly free. Queues that free blocks were bound to are left to the caller to drop.
    void collect_free(std::vector<Returned> &returned, std::vector<Queue> &dropped);
    // Removes everything. `pending` is what those blocks may still be used by that nobody has.
    void collect_all(const Pending &pending, std::vector<Returned> &returned);
    // Adds what the free blocks are bound to.
    void add_bindings(std::vector<Use> &uses) const;

private:
    struct Chunk {
        Block block;
        char *first;
        std::size_t count;
    };
    struct LargeFree {
        FreeBlock free;
        Block block;
    };

    void collect_chunks(std::size_t index, std::vector<Returned> &returned);

    std::array<Bin, size_class::count> bins_;
    std::array<std::vector<Chunk>, size_class::count> chunks_;
    std::multimap<std::size_t, LargeFree> large_;    // by size
    std::unordered_map<void *, Block> large_given_;  // out, or waiting
};

}  // namespace entrepot
