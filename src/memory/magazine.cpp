// Magazines: made at a thread's first allocation, absorbed by the pool when the thread ends.
#include <entrepot/core/publish.hpp>
#include <memory/pool_state.hpp>

namespace entrepot {
namespace {

struct ThreadMagazines {
    std::vector<Magazine *> all;
    ~ThreadMagazines();
};

constinit thread_local Magazine *latest = nullptr;
constinit thread_local bool thread_has_ended = false;
thread_local ThreadMagazines own;

ThreadMagazines::~ThreadMagazines() {
    latest = nullptr;
    thread_has_ended = true;
    for (Magazine *magazine : all) {
        ResourceRef pool;
        {
            const MutexLock lock(magazine_mutex());
            if (!magazine->pool)
                delete magazine;
            else if (magazine->pool->retain_if_alive())
                pool = ResourceRef::adopt(magazine->pool);
            else
                // the pool is ending on another thread, which will find it
                magazine->thread_is_gone = true;
        }
        if (pool)
            magazine->state->absorb(*magazine);
    }
}

// Deletes this thread's magazines of pools that have ended.
void forget_ended_pools() {
    latest = nullptr;
    const MutexLock lock(magazine_mutex());
    std::erase_if(own.all, [](Magazine *magazine) {
        const bool ended = magazine->pool == nullptr;
        if (ended)
            delete magazine;
        return ended;
    });
}

}  // namespace

ForkSafeMutex &magazine_mutex() {
    static constinit FirstUse<ForkSafeMutex> made;
    return made.get();
}

Magazine *PoolResource::State::magazine_of(const Place &place) {
    if (latest && latest->serves(number, place)) [[likely]]
        return latest;
    if (thread_has_ended || magazine_bytes == 0 || !place.context.record()->is_immortal())
        return nullptr;
    for (Magazine *magazine : own.all)
        if (magazine->serves(number, place))
            return latest = magazine;

    forget_ended_pools();
    auto made = std::make_unique<Magazine>();
    made->pool = &pool;
    made->state = this;
    made->pool_number = number;
    made->context = place.context.record();
    made->device = place.device;
    made->kind = place.kind;
    own.all.reserve(own.all.size() + 1);
    {
        const MutexLock lock(mutex);
        made->free_list = &free_list_of(place);
        magazines.push_back(made.get());
    }
    own.all.push_back(made.get());
    return latest = made.release();
}

// Moves the older half to the free list, so that neither a burst of allocations nor one of frees
// locks each time.
void PoolResource::State::empty_bin(Magazine &magazine, std::size_t index) {
    const MutexLock lock(mutex);
    magazine.drain(index, magazine.bins[index].size() / 2,
                   [&](FreeBlock &&block) { magazine.free_list->put(index, std::move(block)); });
}

void PoolResource::State::empty_magazine(Magazine &magazine) {
    const MutexLock lock(mutex);
    for (std::size_t index = 0; index < size_class::count; ++index)
        magazine.drain(
            index, 0, [&](FreeBlock &&block) { magazine.free_list->put(index, std::move(block)); });
}

void PoolResource::State::empty_own_magazines() {
    if (thread_has_ended)
        return;
    for (Magazine *magazine : own.all)
        if (magazine->pool_number == number)
            empty_magazine(*magazine);
}

void PoolResource::State::absorb(Magazine &magazine) noexcept {
    ENTREPOT_ASSERT(magazine.state == this);
    try {
        empty_magazine(magazine);
    } catch (...) {  // no memory for the free lists: the pool empties it when it ends
        const MutexLock lock(magazine_mutex());
        magazine.thread_is_gone = true;
        return;
    }
    {
        const MutexLock lock(mutex);
        std::erase(magazines, &magazine);
    }
    delete &magazine;
}

void PoolResource::State::drop_magazines() noexcept {
    // Blocks are left if memory was missing. Their queues are dropped without the mutex.
    for (Magazine *magazine : magazines)
        for (Bin &bin : magazine->bins)
            bin.clear();
    const MutexLock lock(magazine_mutex());
    for (Magazine *magazine : std::exchange(magazines, {})) {
        magazine->pool = nullptr;
        if (magazine->thread_is_gone)
            delete magazine;
    }
}

}  // namespace entrepot
