// LiveTable: the records of contexts or queues that are alive, by the backend's handle, so that one handle has one record.
//
// A record may be handed out again between the moment its last holder let go and the moment it is destroyed. So a record
// is destroyed only while the table is locked, only if it is still in the table, and only if nobody holds it; whoever
// comes second to destroy it finds it gone or held, and leaves.
#pragma once
#include <entrepot/device/backend.hpp>

#include <atomic>
#include <mutex>
#include <unordered_map>
#include <unordered_set>

namespace entrepot {

template <class Record> class LiveTable {
public:
    using Handle = decltype(Record::handle);

    std::mutex mutex;

    // Adds a reference to what it finds. All that follow need `mutex`.
    Record *find(const Backend &backend, Handle handle) {
        for (auto [row, end] = records_.equal_range(handle); row != end; ++row)
            if (row->second->backend == &backend)
                return hold(row->second);
        return nullptr;
    }

    void insert(Record *record) {
        alive_.insert(record);
        records_.emplace(record->handle, record);
    }

    // Whether the caller now has to destroy it. `record` is not looked at unless it is in the table.
    bool remove_if_dead(Record *record) {
        if (!alive_.contains(record) || record->references.load(std::memory_order_acquire) != 0)
            return false;
        alive_.erase(record);
        auto [row, end] = records_.equal_range(record->handle);
        while (row->second != record)
            ++row;
        records_.erase(row);
        return true;
    }

    template <class Visit> void for_each(Visit &&visit) {
        for (Record *record : alive_)
            visit(*record);
    }

    static Record *hold(Record *record) noexcept {
        if (!record->immortal)
            record->references.fetch_add(1, std::memory_order_relaxed);
        return record;
    }

private:
    std::unordered_set<Record *> alive_;
    std::unordered_multimap<Handle, Record *> records_;  // two backends may use one number
};

}  // namespace entrepot
