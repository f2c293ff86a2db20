// Library: a shared library that is loaded on first use.
#pragma once
#include "core/renewed_mutex.hpp"

#include <optional>
#include <string>
#include <vector>

namespace entrepot::ffi {

// Places to look for a library, in this order:
// - the path in an environment variable,
// - a copy that is already in the process, so that there are not two runtimes,
// - each name in each directory,
// - each name in the system's search path.
struct Search {
    std::string name;                      // in messages
    std::string variable;                  // environment variable, or empty
    std::vector<std::string> directories;  // may begin with an environment variable: `$NAME`
    std::vector<std::string> sonames;      // newest first
    std::string advice;                    // what to do if it is missing; ends messages
};

// Never closed: its code may run, and its memory may be in use, until process exit.
class Library {
public:
    explicit Library(Search search) : search_(std::move(search)) {}

    // Returns: the symbol, or nullptr if the library lacks it.
    // Throws: LibraryError if there is no library; the message lists what was tried and why that
    //         failed. Also if the process was forked while another thread loaded the library. A
    //         missing library is looked for again.
    void *find(const char *symbol);
    // Throws LibraryError also if the symbol is missing.
    void *require(const char *symbol);

    bool is_there() noexcept;
    // The path of the loaded library; throws as find does.
    std::string path();

    const Search &search() const noexcept { return search_; }

private:
    void *handle();

    Search search_;
    RenewedMutex mutex_;               // guards what follows
    std::optional<unsigned> opening_;  // the fork generation in which a thread is inside dlopen
    void *handle_ = nullptr;
};

}  // namespace entrepot::ffi
