// Segments: large blocks, cut from blocks of the upstream where they are needed, and joined again with their neighbours when they
// come back, so that what was freed in one size is given again in another.
//
// A plain container: its owner locks, and calls the upstream when nothing is locked.
#pragma once
#include <memory/free_block.hpp>

#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

namespace entrepot {

class Segments {
public:
    static constexpr std::size_t step = std::size_t{64}
                                        << 10;  // what lengths are multiples of, where the upstream could afford it

    std::size_t reserved() const noexcept { return reserved_; }  // bytes of the upstream
    std::size_t cached() const noexcept { return cached_; }      // of those, free here

    // A block of `bytes`, of the shortest piece that is long enough and free for the queue. `bound` says what those wait for that
    // are bound to another queue.
    std::optional<FreeBlock> take(std::size_t bytes, std::size_t alignment, const Queue &queue, std::vector<Use> &bound);
    // A block of the upstream: its first `bytes` are given out, the rest is free.
    void add(Block segment, std::size_t bytes);
    // A block that came back. Queues that bindings were to are left to the caller to drop.
    void put(FreeBlock block, std::vector<Queue> &dropped);
    std::size_t size_of(void *data) const { return pieces_.at(static_cast<char *>(data)).bytes; }

    // Joins what has come to be free for the same queue, or for all, since it came back.
    void join(std::vector<Queue> &dropped);
    // Removes segments that are wholly free, those of the fewest bytes first, until they have `bytes` together; with `idle`, only
    // such as no work is bound to.
    void collect(std::size_t bytes, bool idle, std::vector<Returned> &returned, std::vector<Queue> &dropped);
    // Removes everything. `pending` is what those blocks may still be used by that nobody has.
    void collect_all(const Pending &pending, std::vector<Returned> &returned) const;
    void add_bindings(std::vector<Use> &uses) const;
    // Unbinds what is known to be done. The queues are left to the caller to drop.
    void unbind_done(std::vector<Queue> &dropped);

private:
    struct Piece {
        std::size_t bytes;
        const Block *segment;
        bool is_free;
        FreeBlock free;  // of a free one
    };
    using Pieces = std::map<char *, Piece>;

    Pieces::iterator join_with_next(Pieces::iterator piece, std::vector<Queue> &dropped);
    // Adds what is bound, if all pieces of the segment are free.
    bool is_wholly_free(const Block &segment, std::vector<Use> &bindings) const;
    void remove(const Block &segment, std::vector<Queue> &dropped);

    Pieces pieces_;                                  // by address; those of a segment cover it
    std::set<std::pair<std::size_t, char *>> free_;  // by size
    std::map<char *, Block> segments_;
    std::size_t reserved_ = 0, cached_ = 0;
};

}  // namespace entrepot
