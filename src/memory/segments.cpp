// Segments: cuts and joins pieces, and finds segments that are wholly free.
#include <memory/segments.hpp>

#include <algorithm>
#include <cstdint>

namespace entrepot {
namespace {

bool is_aligned(const void *data, std::size_t alignment) noexcept {
    return alignment == 0 || reinterpret_cast<std::uintptr_t>(data) % alignment == 0;
}

// True if the two can be one piece: at most one is bound, or both are bound to one queue.
bool may_join(const FreeBlock &a, const FreeBlock &b) noexcept {
    return !a.is_bound() || !b.is_bound() || a.queue == b.queue;
}

// Binds `a` to what both were bound to.
void join_bindings(FreeBlock &a, FreeBlock &b, std::vector<Queue> &dropped) {
    if (b.is_bound() && (!a.is_bound() || a.position < b.position)) {
        std::swap(a.queue, b.queue);
        a.position = b.position;
    }
    dropped.push_back(std::move(b.queue));
}

}  // namespace

std::optional<FreeBlock> Segments::take(std::size_t bytes, std::size_t alignment,
                                        const Queue &queue, std::vector<Use> &bound) {
    for (auto row = free_.lower_bound({bytes, 0, nullptr}); row != free_.end(); ++row) {
        const auto piece = pieces_.find(row->data);
        if (!is_aligned(piece->first, alignment))
            continue;
        if (!piece->second.free.can_access_without_wait(queue)) {
            bound.push_back({piece->second.free.queue, piece->second.free.position});
            continue;
        }
        ENTREPOT_ASSERT(piece->second.is_free && piece->second.bytes >= bytes);
        const std::size_t rest = piece->second.bytes - bytes;
        auto node = free_.extract(row);
        if (rest != 0) {
            char *const behind = piece->first + bytes;
            // if the queue is done, only the piece that is taken keeps it
            FreeBlock remaining{behind, {}, 0};
            if (piece->second.free.is_bound())
                remaining = {behind, piece->second.free.queue, piece->second.free.position};
            pieces_.emplace_hint(std::next(piece), behind,
                                 Piece{rest, piece->second.segment, true, std::move(remaining)});
            node.value() = {rest, piece->second.segment->number, behind};
            free_.insert(std::move(node));
        }
        piece->second.bytes = bytes;
        piece->second.is_free = false;
        cached_ -= bytes;
        return std::move(piece->second.free);
    }
    return std::nullopt;
}

void Segments::add(Block segment, std::size_t bytes) {
    ENTREPOT_ASSERT(bytes != 0 && bytes <= segment.bytes);
    Queue bound = std::move(segment.queue);
    char *const start = static_cast<char *>(segment.data);
    const auto [row, is_new] = segments_.emplace(start, Segment{segment, next_number_++});
    ENTREPOT_ASSERT(is_new);  // else: the upstream made the same block twice
    const std::size_t rest = segment.bytes - bytes;
    pieces_.emplace(start, Piece{bytes, &row->second, false, {}});
    if (rest != 0) {
        FreeBlock remaining{start + bytes, std::move(bound), segment.available};
        pieces_.emplace(start + bytes, Piece{rest, &row->second, true, std::move(remaining)});
        free_.insert({rest, row->second.number, start + bytes});
    }
    reserved_ += segment.bytes;
    cached_ += rest;
}

void Segments::put(FreeBlock block, std::vector<Queue> &dropped) {
    auto piece = pieces_.find(static_cast<char *>(block.data));
    ENTREPOT_ASSERT(piece != pieces_.end() && !piece->second.is_free);  // else: freed twice
    cached_ += piece->second.bytes;
    piece->second.is_free = true;
    piece->second.free = std::move(block);
    free_.insert(key_of(*piece));
    join_with_next(piece, dropped);
    if (piece != pieces_.begin())
        join_with_next(std::prev(piece), dropped);
}

// Joins a piece with its next neighbor if possible. Returns the piece to continue with.
Segments::Pieces::iterator Segments::join_with_next(Pieces::iterator piece,
                                                    std::vector<Queue> &dropped) {
    const auto next = std::next(piece);
    if (next == pieces_.end() || next->second.segment != piece->second.segment ||
        !piece->second.is_free || !next->second.is_free ||
        !may_join(piece->second.free, next->second.free))
        return next;
    join_bindings(piece->second.free, next->second.free, dropped);
    // the pieces of a segment cover it
    ENTREPOT_ASSERT(piece->first + piece->second.bytes == next->first);
    free_.erase(key_of(*next));
    auto node = free_.extract(key_of(*piece));
    piece->second.bytes += next->second.bytes;
    node.value().bytes = piece->second.bytes;
    free_.insert(std::move(node));
    pieces_.erase(next);
    return piece;
}

void Segments::join(std::vector<Queue> &dropped) {
    for (auto piece = pieces_.begin(); piece != pieces_.end();)
        piece = join_with_next(piece, dropped);
}

bool Segments::is_wholly_free(const Segment &segment, std::vector<Use> &bindings) const {
    for (auto piece = pieces_.find(static_cast<char *>(segment.block.data));
         piece != pieces_.end() && piece->second.segment == &segment; ++piece) {
        if (!piece->second.is_free)
            return false;
        if (piece->second.free.is_bound())
            keep_latest(bindings, {piece->second.free.queue, piece->second.free.position});
    }
    return true;
}

void Segments::remove(const Segment &segment, std::vector<Queue> &dropped) {
    auto piece = pieces_.find(static_cast<char *>(segment.block.data));
    while (piece != pieces_.end() && piece->second.segment == &segment) {
        free_.erase(key_of(*piece));
        dropped.push_back(std::move(piece->second.free.queue));
        piece = pieces_.erase(piece);
    }
    ENTREPOT_ASSERT(cached_ >= segment.block.bytes && reserved_ >= cached_);
    reserved_ -= segment.block.bytes;
    cached_ -= segment.block.bytes;
}

void Segments::collect(std::size_t bytes, bool idle, std::vector<Returned> &returned,
                       std::vector<Queue> &dropped) {
    std::vector<FreeKey> candidates;
    for (const auto &[start, segment] : segments_)
        candidates.push_back({segment.block.bytes, segment.number, start});
    std::sort(candidates.begin(), candidates.end());
    std::size_t collected = 0;
    for (const FreeKey &candidate : candidates) {
        if (collected >= bytes)
            return;
        const Segment &segment = segments_.at(candidate.data);
        Pending pending;
        if (!is_wholly_free(segment, pending.uses) || (idle && !pending.uses.empty()))
            continue;
        remove(segment, dropped);
        returned.push_back({segment.block, std::move(pending)});
        collected += candidate.bytes;
        segments_.erase(candidate.data);
    }
}

void Segments::collect_all(const Pending &pending, std::vector<Returned> &returned) const {
    for (const auto &[start, segment] : segments_)
        returned.push_back({segment.block, pending});
}

void Segments::add_bindings(std::vector<Use> &uses) const {
    for (const auto &[data, piece] : pieces_)
        if (piece.is_free && piece.free.is_bound())
            keep_latest(uses, {piece.free.queue, piece.free.position});
}

void Segments::unbind_done(std::vector<Queue> &dropped) {
    for (auto &[data, piece] : pieces_)
        if (piece.is_free)
            piece.free.unbind_if_done(dropped);
}

}  // namespace entrepot
