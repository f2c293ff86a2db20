// Compiled code on disk, with all that it depends on as the key. Each key has a file. Each kind
// ("host", "opencl", "cuda", "hip") has a folder in the user's cache directory.
//
// The directory is ENTREPOT_CACHE_DIR (set and empty: no cache), else `entrepot` in XDG_CACHE_HOME,
// else in ~/.cache. A folder that other users may write is ignored.
//
// Thread safety: thread-safe, also between processes: writers create separate files and rename
//                them. Unreadable or truncated files are ignored. If a file cannot be written, the
//                loader is told why.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#pragma GCC visibility push(default)
namespace entrepot::backends {

// A key of several parts, unambiguously separated.
template <class... Parts> std::string cache_key(const Parts &...parts) {
    std::string key;
    const auto add = [&](std::string_view part) {
        (key += std::to_string(part.size()) += ':') += part;
    };
    (add(parts), ...);
    return key;
}

// Identifies a compiler's file in keys: its path, inode, size and modification time. An update in
// place changes neither the path nor, often, the version. Empty if there is no such file.
std::string stamp_of(const std::string &path);

// Folders in which a compiler looks for <name> headers: its own, which its stamp covers, or others
// too. Intel's OpenCL C compiler looks in the working directory, NVRTC in other packages.
enum class Angled { its_own, anywhere };

// True if the compiled code may depend on files that no key covers. These are headers and data that
// the source names, or all headers if the environment adds folders. Such code is compiled each
// time.
bool names_files(std::string_view source, Angled angled = Angled::its_own);

// True if an option may name a file whose content no key covers: a header, a library, a profile, a
// plugin, a file of options. Unknown options are assumed to do so. `also` has prefixes of further
// options that name no file.
bool options_name_files(std::span<const std::string> options,
                        std::span<const std::string_view> also = {});

// The directory according to the current environment; empty: no cache.
std::string cache_directory();

// The reason why a kind's folder cannot be written, and the folder; empty if it can. Tries it with
// an empty file.
std::string cache_obstacle(std::string_view kind);

std::optional<std::string> cached(std::string_view kind, std::string_view key);
void keep_cached(std::string_view kind, std::string_view key, std::string_view content) noexcept;

}  // namespace entrepot::backends
#pragma GCC visibility pop
