#include "backends/cuda/staging.hpp"

#include <algorithm>
#include <cstring>

namespace entrepot::backends::cuda {
namespace {

constexpr std::size_t chunk_bytes = std::size_t{4} << 20;

// Pinned chunks, kept for the next copy. A chunk serves one copy at a time, all parts of it: they follow each other in the stream.
class Chunks {
public:
    static Chunks &only() {
        static Chunks &all = *new Chunks;
        return all;
    }

    void *take() {
        {
            const std::lock_guard hold(mutex_);
            if (!free_.empty()) {
                void *const chunk = free_.back();
                free_.pop_back();
                return chunk;
            }
        }
        void *chunk = nullptr;
        check(driver().cuMemHostAlloc(&chunk, chunk_bytes, CU_MEMHOSTALLOC_PORTABLE), "cuMemHostAlloc");
        const std::lock_guard hold(mutex_);
        free_.reserve(++made_);  // so that giving it back, on a thread of the driver, cannot fail
        return chunk;
    }

    void give_back(void *chunk) noexcept {
        const std::lock_guard hold(mutex_);
        free_.push_back(chunk);
    }

private:
    std::mutex mutex_;
    std::vector<void *> free_;
    std::size_t made_ = 0;
};

// What the driver's thread does in its turn. It may call nothing of CUDA.
struct Turn {
    void *to;
    const void *from;
    std::size_t bytes;
    void *done_with;  // a chunk that goes back then; NULL: none
};

void enqueue(CUstream stream, const Turn &turn) {
    auto kept = std::make_unique<Turn>(turn);
    const auto take = [](void *user) {
        const std::unique_ptr<Turn> mine(static_cast<Turn *>(user));
        if (mine->bytes != 0)
            std::memcpy(mine->to, mine->from, mine->bytes);
        if (mine->done_with != nullptr)
            Chunks::only().give_back(mine->done_with);
    };
    check(driver().cuLaunchHostFunc(stream, take, kept.get()), "cuLaunchHostFunc");
    kept.release();
}

void upload(CUstream stream, std::byte *to, const std::byte *from, std::size_t bytes) {
    void *const chunk = Chunks::only().take();
    for (std::size_t done = 0; done < bytes; done += chunk_bytes) {
        const std::size_t part = std::min(chunk_bytes, bytes - done);
        enqueue(stream, {chunk, from + done, part, nullptr});
        check(driver().cuMemcpyAsync(address(to + done), address(chunk), part, stream), "cuMemcpyAsync");
    }
    enqueue(stream, {nullptr, nullptr, 0, chunk});
}

void download(CUstream stream, std::byte *to, const std::byte *from, std::size_t bytes) {
    void *const chunk = Chunks::only().take();
    for (std::size_t done = 0; done < bytes; done += chunk_bytes) {
        const std::size_t part = std::min(chunk_bytes, bytes - done);
        check(driver().cuMemcpyAsync(address(chunk), address(from + done), part, stream), "cuMemcpyAsync");
        enqueue(stream, {to + done, chunk, part, done + part == bytes ? chunk : nullptr});
    }
}

}  // namespace

void copy_in_turn(Queue &queue, void *to, bool to_is_pageable, const void *from, bool from_is_pageable, std::size_t bytes) {
    queue.submit([&](CUstream stream) {
        if (to_is_pageable && from_is_pageable)
            enqueue(stream, {to, from, bytes, nullptr});
        else if (from_is_pageable)
            upload(stream, static_cast<std::byte *>(to), static_cast<const std::byte *>(from), bytes);
        else
            download(stream, static_cast<std::byte *>(to), static_cast<const std::byte *>(from), bytes);
    });
}

}  // namespace entrepot::backends::cuda
