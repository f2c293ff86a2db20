// PoolResource: blocks come from the thread's magazine, else from the free list of the place, else
// from the upstream.
#include <memory/pool_state.hpp>

#include <entrepot/core/publish.hpp>
#include <entrepot/device/backend.hpp>
#include <memory/live_resources.hpp>
#include <memory/text.hpp>

namespace entrepot {
namespace {

constexpr std::size_t shortest_chunk = std::size_t{64} << 10;
constexpr std::size_t longest_chunk = std::size_t{2} << 20;
constexpr std::size_t blocks_of_a_chunk = 64;
constexpr std::size_t longest_shared_segment = std::size_t{32} << 20;
constexpr std::size_t deferrals_of_a_poll = 64;

constexpr std::size_t chunk_size(std::size_t index) noexcept {
    return std::clamp(size_class::bytes_of(index) * blocks_of_a_chunk, shortest_chunk,
                      longest_chunk);
}

// Room for one block and its alignment, if the upstream aligns to a granule only.
constexpr std::size_t shortest_chunk_size(std::size_t index) noexcept {
    return size_class::bytes_of(index) + size_class::alignment_of(index) - size_class::granule;
}

constexpr std::size_t rounded_up(std::size_t bytes, std::size_t step) noexcept {
    return (bytes + step - 1) / step * step;
}

std::size_t large_size(std::size_t bytes) {
    if (bytes > std::numeric_limits<std::ptrdiff_t>::max() / 2)
        throw Error(ErrorKind::allocation, bytes, " bytes are more than any device has");
    return rounded_up(bytes, Segments::step);
}

// Blocks that are not very long share segments of an eighth of the reserved memory, so that they
// can be joined.
std::size_t segment_size(std::size_t block, std::size_t reserved) {
    const std::size_t shared =
        block > longest_shared_segment / 4 ? 0 : std::min(reserved / 8, longest_shared_segment);
    return std::max(block, rounded_up(shared, Segments::step));
}

// Calls `allocate` with the preferred size, and with the needed one if that fails.
template <class Allocate>
Block allocate_either(std::size_t preferred, std::size_t needed, Allocate &&allocate) {
    try {
        return allocate(preferred);
    } catch (const Error &error) {
        if (error.kind() != ErrorKind::allocation || preferred == needed)
            throw;
    }
    return allocate(needed);
}

Block given(FreeBlock block, std::size_t bytes, std::size_t alignment) noexcept {
    if (block.is_bound())
        return {block.data, bytes, alignment, block.position, std::move(block.queue)};
    return {block.data, bytes, alignment};
}

// True if the block may be bound: the host cannot access the memory, and one queue has all its
// pending accesses.
bool may_be_bound(UsmKind kind, const Pending &pending) noexcept {
    return kind == UsmKind::device &&
           std::all_of(pending.uses.begin(), pending.uses.end(),
                       [&](const Use &use) { return use.queue == pending.uses.front().queue; });
}

FreeBlock bound_to(void *data, const std::vector<Use> &uses) {
    FreeBlock block{data, {}, 0};
    for (const Use &use : uses) {
        block.queue = use.queue;
        block.position = std::max(block.position, use.position);
    }
    return block;
}

// The host's queues are asked, because that is faster than listing the block.
bool is_over(const Queue &queue, Queue::Position position) noexcept {
    return queue.backend().is_host() ? is_done_for_sure(queue, position)
                                     : is_known_done(queue, position);
}

bool every_free_list(const CentralFreeList &) noexcept { return true; }
bool may_end(const CentralFreeList &free_list) noexcept {
    return !free_list.place.context.record()->is_immortal();
}

LiveResources<PoolResource> &pools() {
    static constinit FirstUse<LiveResources<PoolResource>> made;
    return made.get();
}

std::atomic<std::uint64_t> pools_made{0};

}  // namespace

PoolResource::State::State(PoolResource &self, std::size_t limit)
    : pool(self), max_cached(limit), magazine_bytes(std::min(magazine_limit, limit / 16)),
      number(++pools_made) {}

PoolResource::PoolResource(Resource *upstream, std::size_t max_cached)
    : Resource(upstream), state_(std::make_unique<State>(*this, max_cached)) {
    pools().add(this);
}

PoolResource::~PoolResource() {
    pools().remove(this);
    state_->end();
}

std::vector<ResourceRef> live_pools() {
    return pools().references_to([](const PoolResource &) { return true; });
}

std::vector<ResourceRef> waiting_pools() {
    return pools().references_to([](const PoolResource &pool) { return pool.has_waiting(); });
}

// ------------------------------------------------------------------- allocate

Block PoolResource::allocate(const Place &place, std::size_t bytes, std::size_t alignment,
                             const Queue &queue) {
    ENTREPOT_ASSERT(HeldMutexes::is_empty());  // the upstream may be called
    const std::size_t index = size_class::serving(bytes, alignment);
    if (index == size_class::none)
        return state_->allocate_large(place, bytes, alignment, queue);

    Magazine *const magazine = state_->magazine_of(place);
    while (magazine && !magazine->bins[index].empty()) {
        FreeBlock block = magazine->pop(index);
        if (block.can_access_without_wait(queue)) [[likely]]
            return given(std::move(block), bytes, alignment);
        state_->defer_bound(*magazine->free_list, index, std::move(block));
    }
    Block block = state_->allocate_small(place, index, queue, magazine);
    block.bytes = bytes;
    block.alignment = alignment;
    return block;
}

// Takes a block from the free list, and some more for the magazine.
Block PoolResource::State::allocate_small(const Place &place, std::size_t index, const Queue &queue,
                                          Magazine *magazine) {
    if (!waiting.is_empty())
        put_finished(waiting.take_finished());
    const std::size_t wanted = 1 + (magazine ? Magazine::capacity(index) / 2 : 0);
    for (;; add_chunk(place, index, queue)) {
        std::vector<FreeBlock> found, bound;
        CentralFreeList *free_list;
        {
            const MutexLock lock(mutex);
            free_list = &free_list_of(place);
            while (found.size() < wanted) {
                std::optional<FreeBlock> block = free_list->take(index);
                if (!block)
                    break;
                (block->can_access_without_wait(queue) ? found : bound)
                    .push_back(std::move(*block));
            }
        }
        for (FreeBlock &block : bound)
            defer_bound(*free_list, index, std::move(block));
        if (found.empty())
            continue;
        ENTREPOT_ASSERT(magazine || found.size() == 1);
        for (std::size_t i = found.size(); --i > 0;)
            magazine->push(index, std::move(found[i]));
        return given(std::move(found.front()), 0, 0);
    }
}

void PoolResource::State::add_chunk(const Place &place, std::size_t index, const Queue &queue) {
    ENTREPOT_ASSERT(HeldMutexes::is_empty());  // the upstream is called
    return_abandoned();
    const Block chunk =
        allocate_either(chunk_size(index), shortest_chunk_size(index), [&](std::size_t bytes) {
            return source().allocate(place, bytes, 0, queue);
        });
    ENTREPOT_ASSERT(chunk.data && chunk.bytes >= shortest_chunk_size(index));
    const MutexLock lock(mutex);
    free_list_of(place).add_chunk(index, chunk);
}

Block PoolResource::State::allocate_large(const Place &place, std::size_t bytes,
                                          std::size_t alignment, const Queue &queue) {
    const std::size_t size = large_size(bytes);
    if (!waiting.is_empty())
        put_finished(waiting.take_finished());
    for (bool asked = false;; asked = true) {
        std::vector<Use> bound;
        // destroyed after the mutex is unlocked: the last reference calls the driver
        std::vector<Queue> dropped;
        std::optional<FreeBlock> block;
        {
            const MutexLock lock(mutex);
            Segments &large = free_list_of(place).large;
            block = large.take(size, alignment, queue, bound);
            if (!block) {
                large.join(dropped);
                block = large.take(size, alignment, queue, bound);
            }
        }
        if (block)
            return given(std::move(*block), bytes, alignment);
        const auto is_done = [](const Use &use) {
            return is_done_for_sure(use.queue, use.position);
        };
        if (asked || std::none_of(bound.begin(), bound.end(), is_done))
            return large_from_upstream(place, bytes, alignment, queue);
    }
}

// Free segments that are too short are returned to the upstream first, as many bytes as are asked
// for. So a program that asks for growing or varying lengths does not accumulate memory that it no
// longer uses.
Block PoolResource::State::large_from_upstream(const Place &place, std::size_t bytes,
                                               std::size_t alignment, const Queue &queue) {
    return_abandoned();
    ask_about_bindings(every_free_list);
    const std::size_t size = large_size(bytes);
    std::vector<Returned> returned;
    std::vector<Queue> dropped;
    std::size_t reserved;
    {
        const MutexLock lock(mutex);
        CentralFreeList &free_list = free_list_of(place);
        free_list.large.collect(size, true, returned, dropped);
        reserved = free_list.large.reserved();
    }
    return_upstream(place, std::move(returned));
    const Block segment =
        allocate_either(segment_size(size, reserved), bytes, [&](std::size_t length) {
            return source().allocate(place, length, alignment, queue);
        });
    ENTREPOT_ASSERT(segment.data && segment.bytes >= bytes);
    const MutexLock lock(mutex);
    free_list_of(place).large.add(segment, std::min(size, segment.bytes));
    return {segment.data, bytes, alignment, segment.available, segment.queue};
}

// ----------------------------------------------------------------- deallocate

void PoolResource::deallocate(const Place &place, Block block, Pending pending) noexcept {
    ENTREPOT_ASSERT(HeldMutexes::is_empty());
    try {
        const std::size_t index = size_class::serving(block.bytes, block.alignment);
        // no access has been logged since the allocation
        if (block.queue && !is_over(block.queue, block.available)) {
            if (pending.uses.empty() && !pending.escaped && place.kind == UsmKind::device)
                [[likely]]
                return state_->push_free(place, index,
                                         {block.data, std::move(block.queue), block.available});
            keep_latest(pending.uses, {std::move(block.queue), block.available});
        }
        std::erase_if(pending.uses,
                      [](const Use &use) { return is_over(use.queue, use.position); });
        if (!pending.escaped && (pending.uses.empty() || may_be_bound(place.kind, pending)))
            [[likely]]
            state_->push_free(place, index, bound_to(block.data, pending.uses));
        else
            state_->defer_free(state_->existing_free_list(place), index, block.data,
                               std::move(pending));
    } catch (...) {  // no memory for the lists: the block leaks rather than being reused too early
    }
}

// The free list of a block in use. `place` holds a reference to its context, so no thread removes
// the free list.
CentralFreeList &PoolResource::State::existing_free_list(const Place &place) {
    const MutexLock lock(mutex);
    CentralFreeList *const free_list = find_free_list(place);
    ENTREPOT_ASSERT(free_list);
    return *free_list;
}

void PoolResource::State::push_free(const Place &place, std::size_t index, FreeBlock block) {
    if (Magazine *const magazine = index == size_class::none ? nullptr : magazine_of(place))
        [[likely]] {
        magazine->push(index, std::move(block));
        if (magazine->bins[index].size() <= Magazine::capacity(index) &&
            magazine->cached.load(std::memory_order_relaxed) <= magazine_bytes) [[likely]]
            return;
        empty_bin(*magazine, index);
    } else {
        std::vector<Queue> dropped;
        const MutexLock lock(mutex);
        ENTREPOT_ASSERT(find_free_list(place));
        put_on_free_list(*find_free_list(place), index, std::move(block), dropped);
    }
    keep_to_limit();
}

void PoolResource::State::put_on_free_list(CentralFreeList &free_list, std::size_t index,
                                           FreeBlock block, std::vector<Queue> &dropped) {
    ENTREPOT_ASSERT(mutex.held());
    if (index == size_class::none)
        free_list.large.put(std::move(block), dropped);
    else
        free_list.put(index, std::move(block));
}

void PoolResource::State::defer_free(CentralFreeList &free_list, std::size_t index, void *data,
                                     Pending pending) {
    {
        const MutexLock lock(mutex);
        free_list.waiting += free_list.bytes_of(index, data);
    }
    waiting.add(free_list.place.context, std::move(pending), Waiting{&free_list, index, data});
    if (deferrals.fetch_add(1, std::memory_order_relaxed) % deferrals_of_a_poll ==
        deferrals_of_a_poll - 1)
        put_finished(waiting.take_finished());
}

void PoolResource::State::defer_bound(CentralFreeList &free_list, std::size_t index,
                                      FreeBlock block) {
    ENTREPOT_ASSERT(block.queue);
    defer_free(free_list, index, block.data,
               {{Use{std::move(block.queue), block.position}}, false});
}

void PoolResource::State::put_finished(std::vector<Waiting> finished) {
    if (finished.empty())
        return;
    std::vector<Queue> dropped;
    {
        const MutexLock lock(mutex);
        for (const Waiting &each : finished) {
            const std::size_t bytes = each.free_list->bytes_of(each.index, each.data);
            ENTREPOT_ASSERT(each.free_list->waiting >= bytes);
            each.free_list->waiting -= bytes;
            put_on_free_list(*each.free_list, each.index, {each.data, {}, 0}, dropped);
        }
    }
    keep_to_limit();
}

bool PoolResource::has_waiting() const noexcept { return !state_->waiting.is_empty(); }

void PoolResource::take_finished() noexcept {
    try {
        if (has_waiting())
            state_->put_finished(state_->waiting.take_finished());
    } catch (...) {  // no memory for the lists: a later call tries again; blocks that were taken
                     // out of `waiting` leak
    }
}

void PoolResource::wait_for_all() noexcept {
    try {
        state_->put_finished(state_->waiting.wait_for_all());
    } catch (...) {
    }
}

// -------------------------------------------------------------------- free lists

CentralFreeList *PoolResource::State::find_free_list(const Place &place) const noexcept {
    ENTREPOT_ASSERT(mutex.held());
    const auto found =
        std::find_if(free_lists.begin(), free_lists.end(),
                     [&](const auto &free_list) { return free_list->place == place; });
    return found == free_lists.end() ? nullptr : found->get();
}

CentralFreeList &PoolResource::State::free_list_of(const Place &place) {
    if (CentralFreeList *const free_list = find_free_list(place))
        return *free_list;
    return *free_lists.emplace_back(std::make_unique<CentralFreeList>(place));
}

// A queue that only free blocks refer to keeps its context alive. It is dropped when its work is
// done.
void PoolResource::State::drop_done_queues() {
    ask_about_bindings(may_end);
    std::vector<Queue> dropped;  // after the mutex
    const MutexLock lock(mutex);
    for (const auto &free_list : free_lists)
        if (may_end(*free_list))
            free_list->unbind_done(dropped);
}

// Returns cached memory of a context that only its free lists refer to: no allocation can use it
// any more.
void PoolResource::State::return_abandoned() {
    drop_done_queues();
    std::vector<std::unique_ptr<CentralFreeList>> abandoned;
    {
        const MutexLock lock(mutex);
        const auto holders = [&](const Context &context) {
            mutex.assert_held();
            return std::count_if(free_lists.begin(), free_lists.end(), [&](const auto &free_list) {
                return free_list->place.context == context;
            });
        };
        for (auto free_list = free_lists.begin(); free_list != free_lists.end();) {
            const Context &context = (*free_list)->place.context;
            if (may_end(**free_list) && (*free_list)->waiting == 0 &&
                context.record()->count() == holders(context)) {
                abandoned.push_back(std::move(*free_list));
                free_list = free_lists.erase(free_list);
            } else {
                ++free_list;
            }
        }
    }
    for (const auto &free_list : abandoned) {
        std::vector<Returned> returned;
        free_list->collect_all({}, returned);
        return_upstream(free_list->place, std::move(returned));
    }
}

// ------------------------------------------------------------------------ trim

std::size_t PoolResource::trim() {
    take_finished();
    state_->empty_own_magazines();
    return state_->return_free() + upstream()->trim();
}

// Asks if the work is done that free blocks of such free lists are bound to. If the users of a
// queue have dropped it, no other code asks.
void PoolResource::State::ask_about_bindings(bool (*of)(const CentralFreeList &free_list)) {
    std::vector<Use> bindings;
    {
        const MutexLock lock(mutex);
        for (const auto &free_list : free_lists)
            if (of(*free_list))
                free_list->add_bindings(bindings);
    }
    for (const Use &use : bindings)
        is_done_for_sure(use.queue, use.position);
}

std::size_t PoolResource::State::return_free() {
    ask_about_bindings(every_free_list);
    struct Load {
        Place place;
        std::vector<Returned> returned;
    };
    std::vector<Load> loads;
    std::vector<Queue> dropped;
    {
        const MutexLock lock(mutex);
        cached_after_trim = 0;
        for (const auto &free_list : free_lists) {
            loads.push_back({free_list->place, {}});
            free_list->collect_free(loads.back().returned, dropped);
            cached_after_trim += free_list->cached();
        }
    }
    std::size_t bytes = 0;
    for (Load &load : loads)
        bytes += return_upstream(load.place, std::move(load.returned));
    return bytes;
}

std::size_t PoolResource::State::return_upstream(const Place &place,
                                                 std::vector<Returned> returned) noexcept {
    ENTREPOT_ASSERT(HeldMutexes::is_empty());  // the upstream is called
    std::size_t bytes = 0;
    for (Returned &each : returned) {
        bytes += each.block.bytes;
        source().deallocate(place, each.block, std::move(each.pending));
    }
    return bytes;
}

// Trims only if enough has been cached since the last time, because chunks that are partly in use
// stay.
void PoolResource::State::keep_to_limit() {
    if (max_cached == unlimited)
        return;
    {
        const MutexLock lock(mutex);
        std::size_t cached = 0;
        for (const auto &free_list : free_lists)
            cached += free_list->cached();
        if (cached <= max_cached || cached < cached_after_trim + max_cached / 8)
            return;
    }
    return_free();
}

// No block is in use. Waiting blocks go to the upstream with all pending accesses, and the upstream
// waits for them.
void PoolResource::State::return_everything() {
    for (Magazine *magazine : magazines)
        empty_magazine(*magazine);
    Pending pending = waiting.outstanding();
    for (const auto &free_list : free_lists)
        free_list->add_bindings(pending.uses);
    for (const auto &free_list : free_lists) {
        std::vector<Returned> returned;
        free_list->collect_all(pending, returned);
        return_upstream(free_list->place, std::move(returned));
    }
}

void PoolResource::State::end() noexcept {
    ENTREPOT_ASSERT(HeldMutexes::is_empty());
    try {
        return_everything();
    } catch (...) {  // no memory for the lists: what is not returned leaks
    }
    drop_magazines();
}

// ------------------------------------------------------------------ statistics

PoolResource::Statistics PoolResource::statistics() const {
    Statistics sum;
    std::size_t waste = 0;
    const MutexLock lock(state_->mutex);
    for (const auto &free_list : state_->free_lists) {
        sum.reserved += free_list->reserved();
        sum.cached += free_list->cached();
        sum.waiting += free_list->waiting;
        waste += free_list->waste;
    }
    for (const Magazine *magazine : state_->magazines)
        sum.cached += magazine->cached.load(std::memory_order_relaxed);
    // bytes that threads cache now may be counted late
    const std::size_t free = sum.cached + sum.waiting + waste;
    sum.used = sum.reserved > free ? sum.reserved - free : 0;
    return sum;
}

std::string PoolResource::report() const {
    const Statistics sum = statistics();
    return sentence_of("the pool holds ", sum.reserved, " bytes, of which ", sum.used,
                       " are in use, ", sum.cached, " free and ", sum.waiting,
                       " wait for work to end") +
           text::continued(Resource::report());
}

}  // namespace entrepot
