// Library: a shared library that is opened when something of it is first asked for.
#pragma once
#include <entrepot/core/renewed_mutex.hpp>

#include <optional>
#include <string>
#include <vector>

namespace entrepot::ffi {

// Where a library may be found, in the order in which it is looked for: a path that the user names in an environment variable; a
// copy that the process has already, so that there is one runtime and not two; each name in each directory; each name as the
// system's own search finds it.
struct Search {
    std::string name;                      // as messages call it
    std::string variable;                  // the environment variable; empty: none
    std::vector<std::string> directories;  // `$NAME` at the beginning stands for an environment variable
    std::vector<std::string> sonames;      // newest first
    std::string advice;                    // what to do where there is none; ends messages
};

// Never closed: code of it may run, and memory of it may be held, for as long as the process lives.
class Library {
public:
    explicit Library(Search search) : search_(std::move(search)) {}

    // nullptr where the library has no such symbol. Throws LibraryError where there is no library:
    // the message lists what was tried, and why that did not do; or the process was forked while
    // another thread opened the library. A library that was missing is looked for again.
    void *find(const char *symbol);
    // Throws LibraryError also where the symbol is missing.
    void *require(const char *symbol);

    bool is_there() noexcept;
    // The path of what was opened; throws as find does.
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
