// Segments: large blocks, cut from blocks of the upstream on demand, and joined with their free
// neighbors when they return. So memory that was freed in one size can be reused in another.
//
// A plain container, guarded by the pool's State::mutex. The pool calls the upstream without the
// mutex.
#pragma once
#include <memory/free_block.hpp>

#include <compare>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace entrepot {

class Segments {
public:
    // Lengths are multiples of this, unless the upstream had too little memory.
    static constexpr std::size_t step = std::size_t{64} << 10;

    std::size_t reserved() const noexcept { return reserved_; }  // bytes of the upstream
    std::size_t cached() const noexcept { return cached_; }      // of those, free here

    // Takes a block of `bytes` from the shortest piece that is long enough and free for the queue.
    // Among pieces of equal length, the oldest segment's is taken, so the choice does not depend on
    // the addresses of the upstream. Adds to `bound` what pieces that are bound to another queue
    // wait for.
    std::optional<FreeBlock> take(std::size_t bytes, std::size_t alignment, const Queue &queue,
                                  std::vector<Use> &bound);
    // Adds a block of the upstream. Its first `bytes` are in use, the rest is free.
    void add(Block segment, std::size_t bytes);
    // Returns a block in use. Queues of bindings go to `dropped`, and the caller drops them.
    void put(FreeBlock block, std::vector<Queue> &dropped);
    std::size_t size_of(void *data) const { return pieces_.at(static_cast<char *>(data)).bytes; }

    // Joins neighbors that have become free for the same queue, or for all, since they returned.
    void join(std::vector<Queue> &dropped);
    // Removes segments that are wholly free, the shortest first, until they have `bytes` together.
    // With `idle`, only segments that are not bound.
    void collect(std::size_t bytes, bool idle, std::vector<Returned> &returned,
                 std::vector<Queue> &dropped);
    // Removes everything. `pending` are the accesses that may still use blocks that are free or
    // waiting.
    void collect_all(const Pending &pending, std::vector<Returned> &returned) const;
    void add_bindings(std::vector<Use> &uses) const;
    // Unbinds pieces whose work is known to be done. Their queues go to `dropped`.
    void unbind_done(std::vector<Queue> &dropped);

private:
    struct Segment {
        Block block;
        std::size_t number;  // those added earlier have lower numbers
    };
    struct Piece {
        std::size_t bytes;
        const Segment *segment;
        bool is_free;
        FreeBlock free;  // valid if is_free
    };
    using Pieces = std::map<char *, Piece>;
    // Orders free pieces: by size, then by age of the segment, then by address within it.
    struct FreeKey {
        std::size_t bytes;
        std::size_t segment;
        char *data;

        auto operator<=>(const FreeKey &) const = default;
    };

    static FreeKey key_of(const Pieces::value_type &piece) noexcept {
        return {piece.second.bytes, piece.second.segment->number, piece.first};
    }

    Pieces::iterator join_with_next(Pieces::iterator piece, std::vector<Queue> &dropped);
    // Returns: true if all pieces of the segment are free. Adds what they are bound to.
    bool is_wholly_free(const Segment &segment, std::vector<Use> &bindings) const;
    void remove(const Segment &segment, std::vector<Queue> &dropped);

    Pieces pieces_;  // by address; those of a segment cover it
    std::set<FreeKey> free_;
    std::map<char *, Segment> segments_;
    std::size_t next_number_ = 0;  // of a segment
    std::size_t reserved_ = 0, cached_ = 0;
};

}  // namespace entrepot
