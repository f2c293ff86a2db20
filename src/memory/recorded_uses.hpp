// RecordedUses: the memory that a recording of the calling thread uses so far, each once, with the
// strongest access.
//
// Overview
//   The accesses of recorded work are logged when the graph is replayed. Until then a host access
//   or an export would not wait for them, so it is refused.
#pragma once
#include <entrepot/memory/memory.hpp>

#include <cstddef>
#include <unordered_map>
#include <vector>

#pragma GCC visibility push(default)
namespace entrepot {

// Thread safety: not thread-safe. The functions of one recording are called on its thread.
class RecordedUses {
public:
    struct Use {
        Access access;
        Memory memory;
    };

    void add(Access access, const Memory &memory);
    const std::vector<Use> &all() const noexcept { return all_; }
    // Returns: nullptr if the memory is not used.
    const Use *find(const Memory &memory) const noexcept;

    // Throws: DeviceError if Memory::is_recorded(). `what` is the call.
    static void require_unused(Access access, const Memory &memory, const char *what);

    // The uses of the recording of this thread, until the scope ends.
    //
    // Requires: there is a RecordedQueue::Scope.
    class Scope {
    public:
        explicit Scope(const RecordedUses &uses) noexcept;
        Scope(const Scope &) = delete;
        Scope &operator=(const Scope &) = delete;
        ~Scope();
    };

private:
    std::vector<Use> all_;
    std::unordered_map<const Memory::Record *, std::size_t> index_;  // into all_
};

}  // namespace entrepot
#pragma GCC visibility pop
