#include "backends/cache.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

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

// FNV-1a. The key itself stands in the file, so two keys of one hash share a name and never a content.
std::uint64_t hash(std::string_view text) noexcept {
    std::uint64_t state = 0xcbf29ce484222325;
    for (const unsigned char byte : text)
        state = (state ^ byte) * 0x100000001b3;
    return state;
}

fs::path path_of(const fs::path &directory, std::string_view key) {
    static constexpr char digits[] = "0123456789abcdef";
    std::string name(16, '0');
    std::uint64_t rest = hash(key);
    for (auto digit = name.rbegin(); digit != name.rend(); ++digit, rest >>= 4)
        *digit = digits[rest & 15];
    return directory / name;
}

// Lengths and a hash stand before key and content: a file that was cut short, or damaged, shows.
std::string header(std::string_view key, std::string_view content) {
    return std::string(mark) + std::to_string(key.size()) + ' ' + std::to_string(content.size()) + ' ' +
           std::to_string(hash(content)) + '\n';
}

// Code is run as it is found, so the folder has to be this user's, and nobody else may write there.
bool is_own(const fs::path &place) noexcept {
    struct stat status{};
    return stat(place.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid() &&
           (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

std::optional<std::string> read(const fs::path &path, std::string_view key) {
    std::ifstream file(path, std::ios::binary);
    const std::string all{std::istreambuf_iterator<char>(file), {}};
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

// Where GCC and Clang look besides their own folders.
constexpr const char *folder_variables[] = {"CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH"};

// The preprocessor joins lines that end in a backslash before it reads them.
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

// `rest` without the blanks and comments that it begins with.
std::string_view past_blanks(std::string_view rest) {
    while (true) {
        rest.remove_prefix(std::min(rest.find_first_not_of(" \t\v\f"), rest.size()));
        if (!rest.starts_with("/*"))
            return rest;
        const std::size_t end = rest.find("*/", 2);
        rest.remove_prefix(end == rest.npos ? rest.size() : end + 2);
    }
}

// Whether what follows `include` is the name of a compiler's own header: <name>, which leaves none of its folders.
bool is_own_header(std::string_view operand) {
    const std::string_view name = operand.substr(0, operand.find('>'));
    return operand.starts_with('<') && name.size() != operand.size() && name.find("..") == name.npos &&
           !past_blanks(name.substr(1)).starts_with('/');
}

}  // namespace

std::string stamp_of(const std::string &path) {
    struct stat found{};
    if (stat(path.c_str(), &found) != 0)
        return {};
    return cache_key(path, std::to_string(found.st_ino), std::to_string(found.st_size), std::to_string(found.st_mtim.tv_sec),
                     std::to_string(found.st_mtim.tv_nsec));
}

bool names_files(std::string_view source, Angled angled) {
    const std::string lines = joined(source);
    const bool has_own = angled == Angled::its_own &&
                         std::ranges::all_of(folder_variables, [](const char *name) { return variable(name).empty(); });
    for (const char *const word : {".incbin", ".include", "__has_include", "__has_embed"})
        if (lines.find(word) != lines.npos)
            return true;
    for (const std::string_view hash : {"#", "%:", "?\?="})
        for (std::size_t at = lines.find(hash); at != lines.npos; at = lines.find(hash, at + 1)) {
            const std::string_view directive = past_blanks(std::string_view(lines).substr(at + hash.size()));
            const auto letter = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
            const std::string_view word(directive.begin(), std::ranges::find_if_not(directive, letter));
            if (word == "include_next" || word == "import" || word == "embed" ||
                (word == "include" && !(has_own && is_own_header(past_blanks(directive.substr(word.size()))))))
                return true;
        }
    return false;
}

std::string cache_directory() {
    if (const char *const chosen = std::getenv("ENTREPOT_CACHE_DIR"))
        return chosen;
    const fs::path base = variable("XDG_CACHE_HOME");
    if (base.is_absolute())  // the specification ignores any other
        return (base / "entrepot").string();
    const fs::path home = variable("HOME");
    return home.empty() ? std::string() : (home / ".cache" / "entrepot").string();
}

std::optional<std::string> cached(std::string_view kind, std::string_view key) {
    try {
        const fs::path place = directory(kind);
        return place.empty() || !is_own(place) ? std::nullopt : read(path_of(place, key), key);
    } catch (...) {  // what cannot be read is as if it were not there
        return std::nullopt;
    }
}

void keep_cached(std::string_view kind, std::string_view key, std::string_view content) noexcept {
    try {
        const fs::path place = directory(kind);
        if (place.empty())
            return;
        fs::create_directories(place.parent_path());
        mkdir(place.c_str(), S_IRWXU);
        if (!is_own(place))
            return;
        const fs::path path = path_of(place, key);
        std::string own = path.string() + ".XXXXXX";
        const int descriptor = mkstemp(own.data());
        if (descriptor < 0)
            return;
        close(descriptor);
        std::ofstream file(own, std::ios::binary);
        file << header(key, content) << key << content;
        file.close();
        if (file)
            fs::rename(own, path);
        else
            fs::remove(own);
    } catch (...) {  // a full disk, no right to write there: the next build compiles again
    }
}

}  // namespace entrepot::backends
