#include "backends/gpu/staging.hpp"

#include <algorithm>
#include <cstring>

namespace entrepot::backends::gpu {
namespace {

// Work of one host callback (cuLaunchHostFunc), which must not call the driver.
struct HostCopy {
    void *to;
    const void *from;
    std::size_t bytes;
    std::shared_ptr<Chunks> chunks;  // receives `done_with`; outlives the context
    void *done_with;                 // a chunk to return, or NULL
};

void enqueue(CUstream stream, HostCopy copy) {
    auto kept = std::make_unique<HostCopy>(std::move(copy));
    const auto take = [](void *user) {
        const std::unique_ptr<HostCopy> mine(static_cast<HostCopy *>(user));
        if (mine->bytes != 0)
            std::memcpy(mine->to, mine->from, mine->bytes);
        if (mine->done_with != nullptr)
            mine->chunks->recycle(mine->done_with);
    };
    check(driver().cuLaunchHostFunc(stream, take, kept.get()), "cuLaunchHostFunc");
    kept.release();
}

void upload(const std::shared_ptr<Chunks> &chunks, CUstream stream, std::byte *to,
            const std::byte *from, std::size_t bytes) {
    void *const chunk = chunks->take();
    for (std::size_t done = 0; done < bytes; done += Chunks::bytes) {
        const std::size_t part = std::min(Chunks::bytes, bytes - done);
        enqueue(stream, {chunk, from + done, part, nullptr, nullptr});
        check(driver().cuMemcpyAsync(address(to + done), address(chunk), part, stream),
              "cuMemcpyAsync");
    }
    enqueue(stream, {nullptr, nullptr, 0, chunks, chunk});
}

void download(const std::shared_ptr<Chunks> &chunks, CUstream stream, std::byte *to,
              const std::byte *from, std::size_t bytes) {
    void *const chunk = chunks->take();
    for (std::size_t done = 0; done < bytes; done += Chunks::bytes) {
        const std::size_t part = std::min(Chunks::bytes, bytes - done);
        check(driver().cuMemcpyAsync(address(chunk), address(from + done), part, stream),
              "cuMemcpyAsync");
        enqueue(stream, {to + done, chunk, part, chunks, done + part == bytes ? chunk : nullptr});
    }
}

}  // namespace

void *Chunks::take_free() noexcept {
    const MutexLock lock(mutex_);
    if (free_.empty())
        return nullptr;
    void *const chunk = free_.back();
    free_.pop_back();
    return chunk;
}

void *Chunks::take() {
    if (void *const chunk = take_free())
        return chunk;
    void *chunk = nullptr;
    check(driver().cuMemHostAlloc(&chunk, bytes, CU_MEMHOSTALLOC_PORTABLE), "cuMemHostAlloc");
    const MutexLock lock(mutex_);
    free_.reserve(++made_);  // recycle, called in a host callback, cannot fail
    return chunk;
}

void Chunks::recycle(void *chunk) noexcept {
    const MutexLock lock(mutex_);
    free_.push_back(chunk);
}

void Chunks::free_all() noexcept {
    // Without the lock: freeing waits for host callbacks that need it.
    while (void *const chunk = take_free())
        driver().cuMemFreeHost(chunk);
}

void copy_in_order(Queue &queue, void *to, const PointerAttributes &of_to, const void *from,
                   const PointerAttributes &of_from, std::size_t bytes) {
    queue.submit([&](CUstream stream) {
        if (of_to.is_of_host() && of_from.is_of_host())
            enqueue(stream, {to, from, bytes, nullptr, nullptr});
        else if (of_from.is_of_host())
            upload(queue.context->chunks, stream, static_cast<std::byte *>(to),
                   static_cast<const std::byte *>(from), bytes);
        else
            download(queue.context->chunks, stream, static_cast<std::byte *>(to),
                     static_cast<const std::byte *>(from), bytes);
    });
}

}  // namespace entrepot::backends::gpu
