// Groups of a cooperative launch, which run at once and may wait for each other.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <vector>

namespace entrepot::backends::host {

// Most groups of a cooperative launch. Each has a thread, and processes have a few thousand.
inline constexpr std::uint64_t max_resident_groups = 256;

// Runs each group on a thread of its own.
//
// Concurrency
//   A group that waits for others must not keep them from running. Therefore no group begins before
//   all threads exist and have what may be refused, which is memory. Once the groups run, nothing
//   fails any more, so each of them arrives where the others wait. The last thread to leave calls
//   finished().
class ResidentGroups : public std::enable_shared_from_this<ResidentGroups> {
public:
    explicit ResidentGroups(std::uint64_t count) : count_(count) {}
    virtual ~ResidentGroups() = default;
    ResidentGroups(const ResidentGroups &) = delete;
    ResidentGroups &operator=(const ResidentGroups &) = delete;

    // Throws: Refusal if a thread cannot be started. No group has run then, and none will.
    void start();

private:
    // Argument pointers for the group of the calling thread. May throw.
    virtual std::vector<void *> prepare() const = 0;
    virtual void run(std::uint64_t group, void **arguments) noexcept = 0;
    // Called once, with the first error of prepare(), if any. No group has run then.
    virtual void finished(std::exception_ptr error) noexcept = 0;

    void run_thread(std::uint64_t group) noexcept;
    // Waits until all threads are ready. Returns: true if the groups shall run.
    bool wait_for_others(std::exception_ptr error) noexcept;
    void leave() noexcept;

    const std::uint64_t count_;
    std::mutex lock_;  // guards what follows
    std::condition_variable decided_;
    enum class Decision { none, run, give_up, abandoned } decision_ = Decision::none;
    std::uint64_t ready_ = 0, left_ = 0;
    std::exception_ptr error_;
};

}  // namespace entrepot::backends::host
