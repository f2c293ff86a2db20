// Exports of memory of devices, by memory: the driver's description of them, and the files that
// this process owns for others.
//
// Overview
//   A driver makes a file for each export of memory of another library. The file keeps the memory
//   allocated, so it is closed when the Memory that was shared ends. Other memory has an entry
//   without a file, because asking the driver takes longer than all the rest of share().
//
// Lock order
//   The table's mutex is held while the server's is locked (fd_server.hpp), and while files are
//   closed. No driver is called meanwhile.
//
// Lifetime
//   A forked child neither reads nor changes the table: memory of devices is unusable there, and
//   memory of the host has no entries.
#pragma once
#include <core/open_file.hpp>
#include <entrepot/memory/share.hpp>

#include <optional>

namespace entrepot::exported_files {

// Returns: the piece of an earlier export of the memory that contains `at`, with `at` as its
//          exported pointer.
std::optional<SharedPiece> find(const Memory &memory, const void *at);

// Keeps a piece that begins at `start` until the memory ends. Publishes its file, if `file` is one.
// Returns: the piece, with the sender of the file.
SharedPiece add(const Memory &memory, const void *start, SharedPiece piece, OpenFile file);

// Unpublishes and closes the files of a memory.
// Requires: the memory is exported, and nothing else refers to the record.
void withdraw(Memory::Record &record) noexcept;

}  // namespace entrepot::exported_files
