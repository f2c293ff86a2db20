#include "memory/recorded_uses.hpp"

#include <entrepot/core/assert.hpp>
#include <entrepot/device/recorded_queue.hpp>

namespace entrepot {
namespace {

thread_local const RecordedUses *uses_of_this_thread = nullptr;

}  // namespace

void RecordedUses::add(Access access, const Memory &memory) {
    const auto [found, is_new] = index_.try_emplace(memory.record(), all_.size());
    if (is_new)
        all_.push_back({access, memory});
    else if (access == Access::write)
        all_[found->second].access = access;
}

const RecordedUses::Use *RecordedUses::find(const Memory &memory) const noexcept {
    const auto found = index_.find(memory.record());
    return found == index_.end() ? nullptr : &all_[found->second];
}

bool Memory::find_recorded(Access access) const noexcept {
    const RecordedUses::Use *const use =
        uses_of_this_thread ? uses_of_this_thread->find(*this) : nullptr;
    return use && (access == Access::write || use->access == Access::write);
}

void RecordedUses::require_unused(Access access, const Memory &memory, const char *what) {
    if (memory.is_recorded(access)) [[unlikely]]
        throw Error(ErrorKind::device, what,
                    " was asked for while this thread records work on the array's memory into a "
                    "graph: that work has not run. Ask before the recording, or after a replay");
}

RecordedUses::Scope::Scope(const RecordedUses &uses) noexcept {
    ENTREPOT_ASSERT(RecordedQueue::of_this_thread() && !uses_of_this_thread);
    uses_of_this_thread = &uses;
}

RecordedUses::Scope::~Scope() {
    ENTREPOT_ASSERT(uses_of_this_thread);
    uses_of_this_thread = nullptr;
}

}  // namespace entrepot
