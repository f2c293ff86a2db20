#include "ffi/library.hpp"

#include <entrepot/core/error.hpp>

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstdlib>

namespace entrepot::ffi {
namespace {

constexpr int mode = RTLD_NOW | RTLD_LOCAL;

// Attempts so far, for the message.
class Attempts {
public:
    void *open(const std::string &file) {
        if (void *handle = dlopen(file.c_str(), mode))
            return handle;
        const char *said = dlerror();
        tried_ += "\n  " + (said ? std::string(said) : file + ": no reason given");
        return nullptr;
    }

    const std::string &tried() const noexcept { return tried_; }

private:
    std::string tried_;
};

// Expands the variable in `$NAME/lib`; empty if it is not set.
std::string expanded(const std::string &directory) {
    if (directory.empty() || directory.front() != '$')
        return directory;
    const std::size_t end = std::min(directory.find('/'), directory.size());
    const char *value = std::getenv(directory.substr(1, end - 1).c_str());
    return value && *value ? value + directory.substr(end) : std::string();
}

void *mapped(const std::vector<std::string> &sonames) {
    for (const std::string &soname : sonames)
        if (void *handle = dlopen(soname.c_str(), mode | RTLD_NOLOAD))
            return handle;
    return nullptr;
}

void *open(const Search &search) {
    Attempts attempts;
    const char *named = search.variable.empty() ? nullptr : std::getenv(search.variable.c_str());
    if (named && *named) {
        if (void *handle = attempts.open(named))
            return handle;
        throw Error(ErrorKind::library, search.name, ": ", search.variable,
                    " names a library that does not load:", attempts.tried());
    }
    if (void *handle = mapped(search.sonames))
        return handle;
    for (const std::string &each : search.directories)
        if (const std::string directory = expanded(each); !directory.empty())
            for (const std::string &soname : search.sonames)
                if (void *handle = attempts.open(directory + "/" + soname))
                    return handle;
    for (const std::string &soname : search.sonames)
        if (void *handle = attempts.open(soname))
            return handle;
    throw Error(ErrorKind::library, search.name, ": the library was not found; tried",
                attempts.tried(), search.advice.empty() ? "" : "\n", search.advice);
}

}  // namespace

void *Library::handle() {
    const std::unique_lock lock = mutex_.lock();
    if (handle_)
        return handle_;
    if (opening_ && *opening_ != fork_generation())
        throw Error(ErrorKind::library, search_.name,
                    ": this process was forked while another thread was loading the library, which "
                    "is half loaded here: load it "
                    "before the fork, or use the 'spawn' start method");
    opening_ = fork_generation();
    try {
        handle_ = open(search_);
    } catch (...) {
        opening_.reset();
        throw;
    }
    opening_.reset();
    return handle_;
}

void *Library::find(const char *symbol) { return dlsym(handle(), symbol); }

void *Library::require(const char *symbol) {
    if (void *found = find(symbol))
        return found;
    throw Error(ErrorKind::library, search_.name, ": ", path(), " has no ", symbol,
                ": it is older or newer than what this function belongs to");
}

bool Library::is_there() noexcept {
    try {
        return handle() != nullptr;
    } catch (...) {
        return false;
    }
}

std::string Library::path() {
    const link_map *map = nullptr;
    if (dlinfo(handle(), RTLD_DI_LINKMAP, &map) != 0 || !map)
        return search_.name;
    return map->l_name;
}

}  // namespace entrepot::ffi
