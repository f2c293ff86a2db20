// CentralFreeList: the cached blocks of one place that all threads share, and the chunks of the
// upstream that they are parts of.
//
// Lock order: a plain container, guarded by the pool's State::mutex. The pool calls the upstream
// without the mutex.
#pragma once
#include <memory/segments.hpp>
#include <memory/size_class.hpp>

#include <array>
#include <optional>
#include <vector>

namespace entrepot {

// The last one in is the first one out: it is the likeliest to be in a cache.
using Bin = std::vector<FreeBlock>;

class CentralFreeList {
public:
    explicit CentralFreeList(const Place &of) : place(of) {}

    const Place place;
    Segments large;
    std::size_t waiting = 0;  // bytes of waiting blocks; counted by the pool
    std::size_t waste = 0;    // bytes left over where chunks were cut

    // bytes of the upstream
    std::size_t reserved() const noexcept { return reserved_ + large.reserved(); }
    std::size_t cached() const noexcept { return cached_ + large.cached(); }  // of those, free here

    // Returns: the size of a block of the class; of a large one if that is size_class::none.
    std::size_t bytes_of(std::size_t index, void *data) const {
        return index == size_class::none ? large.size_of(data) : size_class::bytes_of(index);
    }

    // Small blocks, by size class. The one that is taken may be bound to another queue.
    std::optional<FreeBlock> take(std::size_t index);
    // If it throws, `block` is unchanged.
    void put(std::size_t index, FreeBlock &&block);
    // Cuts a block of the upstream into blocks of the class.
    void add_chunk(std::size_t index, Block chunk);

    // Removes chunks and segments that are wholly free. Queues of bindings go to `dropped`, and the
    // caller drops them.
    void collect_free(std::vector<Returned> &returned, std::vector<Queue> &dropped);
    // Removes everything. `pending` are the accesses that may still use blocks that are free or
    // waiting.
    void collect_all(const Pending &pending, std::vector<Returned> &returned);
    // Adds the queues and positions that free blocks are bound to.
    void add_bindings(std::vector<Use> &uses) const;
    // Unbinds free blocks whose work is known to be done. Their queues go to `dropped`.
    void unbind_done(std::vector<Queue> &dropped);

private:
    struct Chunk {
        Block block;
        char *first;
        std::size_t count;
    };

    void collect_chunks(std::size_t index, std::vector<Returned> &returned);

    std::array<Bin, size_class::count> bins_;
    std::array<std::vector<Chunk>, size_class::count> chunks_;
    std::size_t reserved_ = 0, cached_ = 0;  // of chunks
};

}  // namespace entrepot
