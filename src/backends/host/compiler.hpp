// The system's C++ compiler, found and run when a program is built. It is not needed to build or
// load Entrepot.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace entrepot::backends::host {

using Words = std::vector<std::string>;

// Splits a command or a list of options at blanks outside of single or double quotes. No shell is
// involved. Refuses an unclosed quote.
Words split_words(std::string_view line);

// The compiler's path and its leading options: $CXX if it names a program, else the first of c++,
// g++ and clang++ in the PATH. Looked up each time, since CXX may change.
std::optional<Words> find_compiler();

// Identifies the compiler for cache keys: its file, the file's date, and environment variables
// about libraries.
std::string compiler_identity(const Words &command);
// True if the environment names programs or options of the compiler that its identity does not
// cover.
bool environment_names_files();

// Each of these starts the compiler once more, and caches the last answer.
// True if libstdc++.a is installed for the compiler.
bool has_library_archive(const Words &compiler);
bool is_clang(const Words &compiler);

// An error message for machines without a compiler: what was looked for, and what to do.
std::string no_compiler();

// Runs a command without a shell and passes its output, on either stream, to `say` as it arrives.
//
// Returns: true if the command ended with status 0.
// Throws: Refusal if the command cannot be started, or this thread is interrupted (the command is
//         ended first). Also in a child that this thread forked meanwhile.
bool run_command(const Words &command, const std::function<void(std::string_view)> &say);

// A directory readable by this user alone. The destructor removes it with its content.
class TemporaryDirectory {
public:
    TemporaryDirectory();
    TemporaryDirectory(const TemporaryDirectory &) = delete;
    TemporaryDirectory &operator=(const TemporaryDirectory &) = delete;
    ~TemporaryDirectory();
    std::string file(const char *name) const { return path_ + "/" + name; }
    const std::string &path() const noexcept { return path_; }

private:
    std::string path_;
    const unsigned generation_;  // of the process that created it; only that one removes it
};

}  // namespace entrepot::backends::host
