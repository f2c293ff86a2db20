// The cache: files in a folder that is opened, checked and then used only by its descriptor. So it
// cannot be replaced after the check, even by users with write access to a parent folder.
#include "backends/cache.hpp"

#include "backends/boundary.hpp"
#include "core/open_file.hpp"
#include "core/uninterrupted.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>

namespace entrepot::backends {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view mark = "entrepot code 1\n";

std::string variable(const char *name) {
    const char *const value = std::getenv(name);
    return value == nullptr ? "" : value;
}

fs::path directory(std::string_view kind) {
    const fs::path place = cache_directory();
    return place.empty() ? place : place / kind;
}

// FNV-1a. The key itself is in the file, so two keys of one hash share a name but never content.
std::uint64_t hash(std::string_view text) noexcept {
    std::uint64_t state = 0xcbf29ce484222325;
    for (const unsigned char byte : text)
        state = (state ^ byte) * 0x100000001b3;
    return state;
}

// The last `count` digits of the number.
std::string digits_of(std::uint64_t number, std::size_t count) {
    static constexpr char digits[] = "0123456789abcdef";
    std::string text(count, '0');
    for (auto digit = text.rbegin(); digit != text.rend(); ++digit, number >>= 4)
        *digit = digits[number & 15];
    return text;
}

std::string name_of(std::string_view key) { return digits_of(hash(key), 16); }

// Lengths and a hash precede key and content, which reveals truncated or damaged files.
std::string header(std::string_view key, std::string_view content) {
    return std::string(mark) + std::to_string(key.size()) + ' ' + std::to_string(content.size()) +
           ' ' + std::to_string(hash(content)) + '\n';
}

// Cached code is executed, so folder and file must belong to this user and be writable by no other.
bool is_own(const struct stat &status) noexcept {
    return status.st_uid == geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

// The reason why the cache cannot be used.
struct Obstacle {
    std::string reason;
};
[[noreturn]] void throw_errno() { throw Obstacle{std::strerror(errno)}; }

// Throws Obstacle.
OpenFile open_folder(const fs::path &place) {
    OpenFile folder(open(place.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    struct stat status{};
    if (folder.number() < 0 || fstat(folder.number(), &status) != 0)
        throw_errno();
    if (!is_own(status))
        throw Obstacle{
            "it belongs to another user, or others may write there (`chmod go-w` ends that)"};
    return folder;
}

std::string contents(int file, std::size_t size) {
    std::string all(size, '\0');
    std::size_t done = 0;
    while (done < size) {
        const ssize_t count =
            uninterrupted([&] { return read(file, all.data() + done, size - done); });
        if (count <= 0)
            break;
        done += static_cast<std::size_t>(count);
    }
    all.resize(done);
    return all;
}

std::optional<std::string> find(const OpenFile &folder, std::string_view key) {
    const OpenFile file(openat(folder.number(), name_of(key).c_str(),
                               O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    struct stat status{};
    if (file.number() < 0 || fstat(file.number(), &status) != 0 || !S_ISREG(status.st_mode) ||
        !is_own(status))
        return std::nullopt;
    const std::string all = contents(file.number(), static_cast<std::size_t>(status.st_size));
    const std::size_t end_of_mark = mark.size(), end_of_header = all.find('\n', end_of_mark);
    if (!all.starts_with(mark) || end_of_header == all.npos)
        return std::nullopt;
    const std::string_view rest = std::string_view(all).substr(end_of_header + 1);
    if (!rest.starts_with(key))
        return std::nullopt;
    const std::string_view content = rest.substr(key.size());
    if (header(key, content) != std::string_view(all).substr(0, end_of_header + 1))
        return std::nullopt;
    return std::string(content);
}

// A new file in a folder. The destructor removes it unless it has been renamed to its final name.
// Throws Obstacle.
class NewFile {
public:
    NewFile(const OpenFile &folder, std::string_view name) : folder_(folder.number()), file_(-1) {
        static std::atomic<std::uint64_t> made{0};
        constexpr int most_attempts = 100;
        for (int attempt = 0; file_.number() < 0; ++attempt) {
            const std::string varying = cache_key(std::to_string(getpid()), std::to_string(++made),
                                                  std::to_string(time(nullptr)));
            own_name_ = std::string(name) + '.' + digits_of(hash(varying), 6);
            file_ = OpenFile(openat(folder_, own_name_.c_str(),
                                    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
            if (file_.number() < 0 && (errno != EEXIST || attempt == most_attempts))
                throw_errno();
        }
    }
    NewFile(const NewFile &) = delete;
    NewFile &operator=(const NewFile &) = delete;
    ~NewFile() {
        if (!own_name_.empty())
            unlinkat(folder_, own_name_.c_str(), 0);
    }

    void write(std::string_view text) {
        while (!text.empty()) {
            const ssize_t count =
                uninterrupted([&] { return ::write(file_.number(), text.data(), text.size()); });
            if (count < 0)
                throw_errno();
            text.remove_prefix(static_cast<std::size_t>(count));
        }
    }
    void rename_to(const std::string &name) {
        if (close(file_.detach()) != 0 ||
            renameat(folder_, own_name_.c_str(), folder_, name.c_str()) != 0)
            throw_errno();
        own_name_.clear();
    }

private:
    int folder_;
    OpenFile file_;
    std::string own_name_;
};

// Variables with further header folders of GCC and Clang.
constexpr const char *folder_variables[] = {"CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH"};

// Options of GCC, Clang and compilers based on them that name no file. Each is a prefix; one that
// ends in a blank must match as a whole.
constexpr std::string_view harmless_options[] = {"-D",
                                                 "-U",
                                                 "-O",
                                                 "-std=",
                                                 "--std=",
                                                 "-w ",
                                                 "-pedantic",
                                                 "-pthread ",
                                                 "-pipe ",
                                                 "-ansi ",
                                                 "-g ",
                                                 "-g0 ",
                                                 "-g1 ",
                                                 "-g2 ",
                                                 "-g3 ",
                                                 "-ggdb",
                                                 "-gdwarf",
                                                 "-gline",
                                                 "--param=",
                                                 "-ffp-contract=",
                                                 "-fvisibility=",
                                                 "-fsanitize=",
                                                 "-fno-sanitize=",
                                                 "-fmax-errors=",
                                                 "-ferror-limit=",
                                                 "-ffp-model=",
                                                 "-fdenormal-fp-math=",
                                                 "-fveclib=",
                                                 "-fvect-cost-model=",
                                                 "-fexcess-precision=",
                                                 "-ftemplate-depth=",
                                                 "-fconstexpr-"};

// Parts of switches (-fNAME) that read files without naming them.
constexpr std::string_view words_of_files[] = {"plugin", "profile", "module",
                                               "branch-probabilities", "pch"};

bool is_harmless(std::string_view option) {
    if (option.starts_with("-W"))  // -Wa, -Wl and -Wp pass their operands on
        return option.size() < 4 || option[3] != ',';
    if (option.starts_with("-m"))
        return !option.starts_with("-mllvm") && !option.starts_with("-mlink") &&
               option.find('/') == option.npos;
    if (option.starts_with("-f") && option.find('=') == option.npos)
        return std::ranges::none_of(words_of_files, [&](std::string_view word) {
            return option.find(word) != option.npos;
        });
    const std::string whole = std::string(option) + ' ';
    return std::ranges::any_of(harmless_options,
                               [&](std::string_view known) { return whole.starts_with(known); });
}

// Joins lines that end in a backslash, like the preprocessor.
std::string joined(std::string_view source) {
    std::string lines;
    lines.reserve(source.size());
    for (std::size_t at = 0; at < source.size(); ++at) {
        if (source.substr(at).starts_with("\\\n"))
            ++at;
        else if (source.substr(at).starts_with("\\\r\n"))
            at += 2;
        else
            lines += source[at];
    }
    return lines;
}

// Skips leading blanks and comments of `rest`.
std::string_view past_blanks(std::string_view rest) {
    while (true) {
        rest.remove_prefix(std::min(rest.find_first_not_of(" \t\v\f"), rest.size()));
        if (!rest.starts_with("/*"))
            return rest;
        const std::size_t end = rest.find("*/", 2);
        rest.remove_prefix(end == rest.npos ? rest.size() : end + 2);
    }
}

// True if the operand of #include is <name> and stays within the compiler's own folders.
bool is_own_header(std::string_view operand) {
    const std::string_view name = operand.substr(0, operand.find('>'));
    return operand.starts_with('<') && name.size() != operand.size() &&
           name.find("..") == name.npos && !past_blanks(name.substr(1)).starts_with('/');
}

}  // namespace

std::string stamp_of(const std::string &path) {
    struct stat found{};
    if (stat(path.c_str(), &found) != 0)
        return {};
    return cache_key(path, std::to_string(found.st_ino), std::to_string(found.st_size),
                     std::to_string(found.st_mtim.tv_sec), std::to_string(found.st_mtim.tv_nsec));
}

bool names_files(std::string_view source, Angled angled) {
    const std::string lines = joined(source);
    const bool has_own =
        angled == Angled::its_own && std::ranges::all_of(folder_variables, [](const char *name) {
            return variable(name).empty();
        });
    for (const char *const word : {".incbin", ".include", "__has_include", "__has_embed"})
        if (lines.find(word) != lines.npos)
            return true;
    for (const std::string_view hash : {"#", "%:", "?\?="})
        for (std::size_t at = lines.find(hash); at != lines.npos; at = lines.find(hash, at + 1)) {
            const std::string_view directive =
                past_blanks(std::string_view(lines).substr(at + hash.size()));
            const auto letter = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
            const std::string_view word(directive.begin(),
                                        std::ranges::find_if_not(directive, letter));
            if (word == "include_next" || word == "import" || word == "embed" ||
                (word == "include" &&
                 !(has_own && is_own_header(past_blanks(directive.substr(word.size()))))))
                return true;
        }
    return false;
}

bool options_name_files(std::span<const std::string> options,
                        std::span<const std::string_view> also) {
    for (std::size_t at = 0; at < options.size(); ++at) {
        const std::string_view option = options[at];
        const bool has_operand = (option == "-D" || option == "-U") && at + 1 < options.size();
        // A macro may expand to __has_include.
        if (names_files(options[has_operand ? ++at : at], Angled::anywhere))
            return true;
        const auto begins = [&](std::string_view known) { return option.starts_with(known); };
        if (!is_harmless(option) && std::ranges::none_of(also, begins))
            return true;
    }
    return false;
}

std::string cache_directory() {
    if (const char *const chosen = std::getenv("ENTREPOT_CACHE_DIR"))
        return chosen;
    const fs::path base = variable("XDG_CACHE_HOME");
    if (base.is_absolute())  // the specification ignores relative paths
        return (base / "entrepot").string();
    const fs::path home = variable("HOME");
    return home.empty() ? std::string() : (home / ".cache" / "entrepot").string();
}

std::optional<std::string> cached(std::string_view kind, std::string_view key) {
    try {
        const fs::path place = directory(kind);
        return place.empty() ? std::nullopt : find(open_folder(place), cache_key(kind, key));
    } catch (...) {  // unreadable: treated as absent
        return std::nullopt;
    }
}

void keep_cached(std::string_view kind, std::string_view key, std::string_view content) noexcept {
    try {
        const fs::path place = directory(kind);
        if (place.empty()) {
            if (loader && loader->cache_unwritable && !std::getenv("ENTREPOT_CACHE_DIR"))
                loader->cache_unwritable("compiled code cannot be kept: ENTREPOT_CACHE_DIR, "
                                         "XDG_CACHE_HOME and HOME are not set. "
                                         "Each process compiles it again; set ENTREPOT_CACHE_DIR "
                                         "to a folder, or to nothing to "
                                         "keep none");
            return;
        }
        try {
            std::error_code failed;
            fs::create_directories(place.parent_path(), failed);
            if (failed)
                throw Obstacle{failed.message()};
            if (mkdir(place.c_str(), S_IRWXU) != 0 && errno != EEXIST)
                throw_errno();
            const OpenFile folder = open_folder(place);
            const std::string whole = cache_key(kind, key), name = name_of(whole);
            NewFile file(folder, name);
            file.write(header(whole, content));
            file.write(whole);
            file.write(content);
            file.rename_to(name);
        } catch (const Obstacle &obstacle) {
            if (loader && loader->cache_unwritable)
                loader->cache_unwritable(
                    sentence_of(
                        "compiled code cannot be kept in ", place.string(), ": ", obstacle.reason,
                        ". Each process compiles it again; set ENTREPOT_CACHE_DIR to another "
                        "folder, or to nothing to keep none")
                        .c_str());
        }
    } catch (...) {  // out of memory: the next build compiles again
    }
}

std::string cache_obstacle(std::string_view kind) {
    fs::path place = directory(kind);
    if (place.empty())
        return {};
    try {
        struct stat status{};
        const bool is_there = lstat(place.c_str(), &status) == 0;
        while (lstat(place.c_str(), &status) != 0 && place.has_relative_path())
            place = place.has_parent_path() ? place.parent_path() : fs::path(".");
        const OpenFile folder =
            is_there ? open_folder(place)
                     : OpenFile(open(place.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        if (folder.number() < 0)
            throw_errno();
        const NewFile tried(folder, "entrepot");
    } catch (const Obstacle &obstacle) {
        return place.string() + ": " + obstacle.reason;
    }
    return {};
}

}  // namespace entrepot::backends
