// LiveTable: the live records of contexts or queues, by the backend's handle, so that one handle
// has one record.
//
// Overview
//   find() may hand out a record between the drop of its last reference and its destruction. So a
//   record is removed only with the table locked, and only if it is still in the table and has no
//   reference. A second thread that wants to destroy it finds it gone or referenced, and does
//   nothing.
//
// Lock order
//   Everything is guarded by `mutex`. While it is held, no driver is called and no other
//   CheckedMutex is locked. A fork is the exception (device/queue.hpp).
//
//   The table of contexts may be locked while a Queue::Record::mutex is held.
#pragma once
#include <entrepot/core/checked_mutex.hpp>
#include <entrepot/device/backend.hpp>

#include <unordered_map>
#include <unordered_set>

namespace entrepot {

template <class Record> class LiveTable {
public:
    using Handle = decltype(Record::handle);

    CheckedMutex mutex;

    // Returns: the record of the handle with one more reference, or nullptr.
    Record *find(const Backend &backend, Handle handle) ENTREPOT_REQUIRES(mutex) {
        mutex.assert_held();
        for (auto [row, end] = records_.equal_range(handle); row != end; ++row)
            if (row->second->backend == &backend)
                return hold(row->second);
        return nullptr;
    }

    // If it throws, the record is not in the table.
    void insert(Record *record) ENTREPOT_REQUIRES(mutex) {
        mutex.assert_held();
        ENTREPOT_ASSERT(record->backend && (record->count() == 1 || record->is_immortal()));
        ENTREPOT_ASSERT(!alive_.contains(record));
        alive_.insert(record);
        if (!record->handle)  // it is not looked up
            return;
        try {
            records_.emplace(record->handle, record);
        } catch (...) {
            alive_.erase(record);
            throw;
        }
    }

    // Returns: true if the record was removed, and the caller has to destroy it. It is not
    //          dereferenced unless it is in the table.
    bool remove_if_dead(Record *record) ENTREPOT_REQUIRES(mutex) {
        mutex.assert_held();
        if (!alive_.contains(record) || record->count() != 0)
            return false;
        alive_.erase(record);
        ENTREPOT_ASSERT(!record->is_immortal());
        if (record->handle) {
            [[maybe_unused]] auto [row, end] = records_.equal_range(record->handle);
            while (row->second != record) {
                ++row;
                ENTREPOT_ASSERT(row != end);
            }
            records_.erase(row);
        }
        return true;
    }

    template <class Visit> void for_each(Visit &&visit) ENTREPOT_REQUIRES(mutex) {
        mutex.assert_held();
        for (Record *record : alive_)
            visit(*record);
    }

    // Adds a reference. It may be the first one again.
    static Record *hold(Record *record) noexcept {
        record->retain();
        return record;
    }

private:
    std::unordered_set<Record *> alive_ ENTREPOT_GUARDED_BY(mutex);
    // those with a handle; two backends may use one number
    std::unordered_multimap<Handle, Record *> records_ ENTREPOT_GUARDED_BY(mutex);
};

}  // namespace entrepot
