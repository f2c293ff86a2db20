// CentralFreeList: takes and returns blocks, and finds chunks that are wholly free.
#include <memory/central_free_list.hpp>

#include <algorithm>
#include <cstdint>

namespace entrepot {

std::optional<FreeBlock> CentralFreeList::take(std::size_t index) {
    Bin &bin = bins_[index];
    if (bin.empty())
        return std::nullopt;
    FreeBlock block = std::move(bin.back());
    bin.pop_back();
    ENTREPOT_ASSERT(cached_ >= size_class::bytes_of(index));
    cached_ -= size_class::bytes_of(index);
    return block;
}

void CentralFreeList::put(std::size_t index, FreeBlock &&block) {
    ENTREPOT_ASSERT(block.data && index < size_class::count);
    bins_[index].push_back(std::move(block));
    cached_ += size_class::bytes_of(index);
}

void CentralFreeList::add_chunk(std::size_t index, Block chunk) {
    const std::size_t size = size_class::bytes_of(index),
                      alignment = size_class::alignment_of(index);
    char *const begin = static_cast<char *>(chunk.data);
    const std::size_t skipped = -reinterpret_cast<std::uintptr_t>(begin) & (alignment - 1);
    const std::size_t count = (chunk.bytes - skipped) / size;
    ENTREPOT_ASSERT(count != 0);  // else the pool would ask for chunks without end
    const Queue bound = std::move(chunk.queue);

    Bin &bin = bins_[index];
    bin.reserve(bin.size() + count);
    chunks_[index].push_back({chunk, begin + skipped, count});
    for (std::size_t i = count; i-- > 0;)  // so that blocks are taken by ascending address
        bin.push_back({begin + skipped + i * size, bound, chunk.available});
    reserved_ += chunk.bytes;
    cached_ += count * size;
    waste += chunk.bytes - count * size;
}

void CentralFreeList::collect_free(std::vector<Returned> &returned, std::vector<Queue> &dropped) {
    unbind_done(dropped);
    for (std::size_t index = 0; index < size_class::count; ++index)
        collect_chunks(index, returned);

    large.join(dropped);
    large.collect(large.reserved(), false, returned, dropped);
}

// Sorted by address, the free blocks of a chunk are adjacent. The chunk is wholly free if there are
// as many as were cut.
void CentralFreeList::collect_chunks(std::size_t index, std::vector<Returned> &returned) {
    if (chunks_[index].empty())
        return;
    const std::size_t size = size_class::bytes_of(index);
    Bin &bin = bins_[index];
    std::sort(bin.begin(), bin.end(),
              [](const FreeBlock &a, const FreeBlock &b) { return a.data > b.data; });
    const auto from = [&](const void *address) {
        return std::lower_bound(bin.begin(), bin.end(), address,
                                [](const FreeBlock &a, const void *b) { return a.data > b; });
    };
    std::erase_if(chunks_[index], [&](const Chunk &chunk) {
        // descending: the chunk's last block comes first
        const auto first = from(chunk.first + (chunk.count - 1) * size);
        const auto last = std::find_if(first, bin.end(), [&](const FreeBlock &free) {
            return free.data < chunk.first || free.queue;
        });
        if (static_cast<std::size_t>(last - first) != chunk.count)
            return false;
        bin.erase(first, last);
        reserved_ -= chunk.block.bytes;
        cached_ -= chunk.count * size;
        waste -= chunk.block.bytes - chunk.count * size;
        returned.push_back({chunk.block, {}});
        return true;
    });
}

void CentralFreeList::collect_all(const Pending &pending, std::vector<Returned> &returned) {
    for (const auto &chunks : chunks_)
        for (const Chunk &chunk : chunks)
            returned.push_back({chunk.block, pending});
    large.collect_all(pending, returned);
}

void CentralFreeList::add_bindings(std::vector<Use> &uses) const {
    const auto add = [&](const FreeBlock &free) {
        if (free.is_bound())
            keep_latest(uses, {free.queue, free.position});
    };
    for (const Bin &bin : bins_)
        for (const FreeBlock &free : bin)
            add(free);
    large.add_bindings(uses);
}

void CentralFreeList::unbind_done(std::vector<Queue> &dropped) {
    for (Bin &bin : bins_)
        for (FreeBlock &block : bin)
            block.unbind_if_done(dropped);
    large.unbind_done(dropped);
}

}  // namespace entrepot
