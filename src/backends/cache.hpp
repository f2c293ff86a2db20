// Compiled code on disk, by all that it depends on: a file for each key, in a folder for each kind ("host", "opencl", "cuda",
// "hip") of the user's cache directory.
//
// The directory is ENTREPOT_CACHE_DIR (set and empty: nothing is kept), else `entrepot` in XDG_CACHE_HOME, else in ~/.cache.
// The folders are this user's alone: one that others may write is as if there were none.
// Writers never meet: each writes a file of its own and then gives it the name. What cannot be read, or was cut short, is as if
// it were not there; what cannot be written is not kept, and the loader is told why.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace entrepot::backends {

// A key of several parts, which runs none of them into the next.
template <class... Parts> std::string cache_key(const Parts &...parts) {
    std::string key;
    const auto add = [&](std::string_view part) { (key += std::to_string(part.size()) += ':') += part; };
    (add(parts), ...);
    return key;
}

// For the key of code that a compiler made: its file, by its path, number, size and when it was written, since an update in its
// place changes neither the path nor, often, the version. Empty: there is no such file.
std::string stamp_of(const std::string &path);

// Where a compiler looks for what source includes as <name>: among its own files alone, which its stamp stands for, or elsewhere
// too: Intel's of OpenCL C in the working directory, NVRTC in what other packages bring.
enum class Angled { its_own, anywhere };

// Whether what is made of the source depends on files that no key stands for: headers and data that it names, and all headers
// where the environment adds folders to the compilers' own. In doubt it does: such code is compiled each time.
bool names_files(std::string_view source, Angled angled = Angled::its_own);

// True if one of the compiler's options may name a file, of whose content no key has a word: a
// header, a library, a profile, a plugin, a file of options. Options that are not known to name
// none do. `also` are beginnings of further options that name none.
bool options_name_files(std::span<const std::string> options, std::span<const std::string_view> also = {});

// The directory, by the environment as it is now; empty: nothing is kept.
std::string cache_directory();

// What keeps the folder of a kind from being written, and which folder; empty: nothing does. Tries
// it with an empty file.
std::string cache_obstacle(std::string_view kind);

std::optional<std::string> cached(std::string_view kind, std::string_view key);
void keep_cached(std::string_view kind, std::string_view key, std::string_view content) noexcept;

}  // namespace entrepot::backends
