// Shelf: taking, putting back, and finding what is wholly free.
#include <memory/shelf.hpp>

#include <algorithm>
#include <cstdint>

namespace entrepot {
namespace {

bool is_aligned(const void *data, std::size_t alignment) noexcept {
    return alignment == 0 || reinterpret_cast<std::uintptr_t>(data) % alignment == 0;
}

void unbind_if_done(FreeBlock &block, std::vector<Queue> &dropped) {
    if (block.queue && !block.is_bound())
        dropped.push_back(std::move(block.queue));
}

}  // namespace

std::optional<FreeBlock> Shelf::take(std::size_t index) {
    Bin &bin = bins_[index];
    if (bin.empty())
        return std::nullopt;
    FreeBlock block = std::move(bin.back());
    bin.pop_back();
    cached -= size_class::bytes_of(index);
    return block;
}

void Shelf::put(std::size_t index, FreeBlock block) {
    bins_[index].push_back(std::move(block));
    cached += size_class::bytes_of(index);
}

void Shelf::add_chunk(std::size_t index, const Block &chunk, const Queue &queue) {
    const std::size_t size = size_class::bytes_of(index), alignment = size_class::alignment_of(index);
    char *const begin = static_cast<char *>(chunk.data);
    const std::size_t skipped = -reinterpret_cast<std::uintptr_t>(begin) & (alignment - 1);
    const std::size_t count = (chunk.bytes - skipped) / size;
    const Queue bound = chunk.available != 0 ? queue : Queue();

    Bin &bin = bins_[index];
    bin.reserve(bin.size() + count);
    chunks_[index].push_back({chunk, begin + skipped, count});
    for (std::size_t i = count; i-- > 0;)  // so that they are taken in the order of their addresses
        bin.push_back({begin + skipped + i * size, bound, chunk.available});
    reserved += chunk.bytes;
    cached += count * size;
    waste += chunk.bytes - count * size;
}

std::optional<FreeBlock> Shelf::take_large(std::size_t bytes, std::size_t alignment, const Queue &queue,
                                           std::vector<Use> &bound) {
    const auto last = large_.upper_bound(bytes + bytes / 4);
    for (auto row = large_.lower_bound(bytes); row != last; ++row) {
        FreeBlock &free = row->second.free;
        if (!is_aligned(free.data, alignment))
            continue;
        if (!free.is_free_for(queue)) {
            bound.push_back({free.queue, free.position});
            continue;
        }
        FreeBlock taken = std::move(free);
        large_given_.emplace(taken.data, row->second.block);
        cached -= row->first;
        large_.erase(row);
        return taken;
    }
    return std::nullopt;
}

void Shelf::put_large(FreeBlock block) {
    const auto given = large_given_.find(block.data);
    const std::size_t size = given->second.bytes;
    large_.emplace(size, LargeFree{std::move(block), given->second});
    large_given_.erase(given);
    cached += size;
}

void Shelf::add_large(const Block &block) {
    large_given_.emplace(block.data, block);
    reserved += block.bytes;
}

void Shelf::collect_free(std::vector<Returned> &returned, std::vector<Queue> &dropped) {
    for (Bin &bin : bins_)
        for (FreeBlock &block : bin)
            unbind_if_done(block, dropped);
    for (std::size_t index = 0; index < size_class::count; ++index)
        collect_chunks(index, returned);

    for (auto &[size, large] : large_) {
        unbind_if_done(large.free, dropped);
        Pending pending;
        if (large.free.queue)
            pending.uses.push_back({large.free.queue, large.free.position});
        returned.push_back({large.block, std::move(pending)});
        dropped.push_back(std::move(large.free.queue));
        reserved -= size;
        cached -= size;
    }
    large_.clear();
}

// Sorted by address, the free blocks of a chunk follow each other: a chunk is wholly free where it has as many as were cut.
void Shelf::collect_chunks(std::size_t index, std::vector<Returned> &returned) {
    if (chunks_[index].empty())
        return;
    const std::size_t size = size_class::bytes_of(index);
    Bin &bin = bins_[index];
    std::sort(bin.begin(), bin.end(), [](const FreeBlock &a, const FreeBlock &b) { return a.data > b.data; });
    const auto from = [&](const void *address) {
        return std::lower_bound(bin.begin(), bin.end(), address, [](const FreeBlock &a, const void *b) { return a.data > b; });
    };
    std::erase_if(chunks_[index], [&](const Chunk &chunk) {
        const auto first = from(chunk.first + (chunk.count - 1) * size);  // descending: the chunk's last block comes first
        const auto last =
            std::find_if(first, bin.end(), [&](const FreeBlock &free) { return free.data < chunk.first || free.queue; });
        if (static_cast<std::size_t>(last - first) != chunk.count)
            return false;
        bin.erase(first, last);
        reserved -= chunk.block.bytes;
        cached -= chunk.count * size;
        waste -= chunk.block.bytes - chunk.count * size;
        returned.push_back({chunk.block, {}});
        return true;
    });
}

void Shelf::collect_all(const Pending &pending, std::vector<Returned> &returned) {
    for (const auto &chunks : chunks_)
        for (const Chunk &chunk : chunks)
            returned.push_back({chunk.block, pending});
    for (const auto &[size, large] : large_)
        returned.push_back({large.block, pending});
    for (const auto &[data, block] : large_given_)
        returned.push_back({block, pending});
}

void Shelf::add_bindings(std::vector<Use> &uses) const {
    const auto add = [&](const FreeBlock &free) {
        if (free.is_bound())
            keep_latest(uses, {free.queue, free.position});
    };
    for (const Bin &bin : bins_)
        for (const FreeBlock &free : bin)
            add(free);
    for (const auto &[size, large] : large_)
        add(large.free);
}

}  // namespace entrepot
