#include "memory/exported_files.hpp"

#include "core/no_destructor.hpp"
#include <entrepot/core/checked_mutex.hpp>
#include <entrepot/device/backend.hpp>
#include <entrepot/device/fork_guard.hpp>
#include <memory/fd_server.hpp>

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

namespace entrepot::exported_files {

namespace {

// Its address is the name of the file for the server.
struct ExportedFile {
    std::uintptr_t start;
    SharedPiece piece;
    OpenFile file;

    ExportedFile(std::uintptr_t begin, const SharedPiece &given, OpenFile of)
        : start(begin), piece(given), file(std::move(of)) {
        if (file.number() >= 0)
            piece.sender = senders::publish_file(this, file.number());
    }
    ExportedFile(const ExportedFile &) = delete;
    ExportedFile &operator=(const ExportedFile &) = delete;
    ~ExportedFile() {
        if (file.number() >= 0)
            senders::unpublish_file(this);
    }
};

struct ExportTable {
    CheckedMutex mutex;
    std::unordered_map<const Memory::Record *, std::vector<std::unique_ptr<ExportedFile>>>
        rows ENTREPOT_GUARDED_BY(mutex);
};

ExportTable &export_table() {
    static NoDestructor<ExportTable> made;
    return *made;
}

}  // namespace

std::optional<SharedPiece> find(const Memory &memory, const void *at) {
    if (!memory.record()->exported.load(std::memory_order_acquire))
        return std::nullopt;
    ENTREPOT_ASSERT(!fork_guard::is_child());
    ExportTable &table = export_table();
    const MutexLock lock(table.mutex);
    const auto row = table.rows.find(memory.record());
    if (row == table.rows.end())
        return std::nullopt;
    const auto address = reinterpret_cast<std::uintptr_t>(at);
    for (const std::unique_ptr<ExportedFile> &known : row->second) {
        if (address < known->start || address - known->start >= known->piece.ipc.size)
            continue;
        SharedPiece piece = known->piece;
        piece.ipc.offset = address - known->start;
        return piece;
    }
    return std::nullopt;
}

SharedPiece add(const Memory &memory, const void *start, SharedPiece piece, OpenFile file) {
    ENTREPOT_ASSERT(!fork_guard::is_child() && !memory.context().backend().is_host());
    auto made = std::make_unique<ExportedFile>(reinterpret_cast<std::uintptr_t>(start), piece,
                                               std::move(file));
    const SharedPiece published = made->piece;
    ExportTable &table = export_table();
    const MutexLock lock(table.mutex);
    table.rows[memory.record()].push_back(std::move(made));
    memory.record()->exported.store(true, std::memory_order_release);
    return published;
}

void withdraw(Memory::Record &record) noexcept {
    ENTREPOT_ASSERT(record.count() <= 1);
    record.exported.store(false, std::memory_order_relaxed);
    if (fork_guard::is_child())
        return;
    ExportTable &table = export_table();
    const MutexLock lock(table.mutex);
    table.rows.erase(&record);
}

}  // namespace entrepot::exported_files
