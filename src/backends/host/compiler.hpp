// The system's C++ compiler, found and run when a program is built: nothing of it is needed to build or load Entrepot.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace entrepot::backends::host {

using Words = std::vector<std::string>;

// Splits a command or a list of options at blanks; quotes, single and double, keep blanks together. No shell sees it.
// Refuses a quote that is not closed.
Words split_words(std::string_view line);

// The compiler's path and the options that go before all others: $CXX if it is set and there is such a program, else the
// first of c++, g++ and clang++ in the PATH. Looked up each time, because people set CXX and try again.
std::optional<Words> find_compiler();

// What of the compiler its code depends on: which file it is, and of what day, and what the
// environment says of libraries.
std::string compiler_identity(const Words &command);
// True if the environment names programs or options of the compiler that its identity does not
// stand for.
bool environment_names_files();

// A sentence for people without a compiler: what was looked for, and what to do.
std::string no_compiler();

// Runs a command without a shell and hands what it says, on either stream, to `say` as it comes.
// Returns whether it ended with status 0. Refuses where it cannot be started, where this thread is
// interrupted (after the command has been ended), and in a process that this thread forked
// meanwhile (the command is the parent's). Blocks.
bool run_command(const Words &command, const std::function<void(std::string_view)> &say);

// A directory that only this user can read, removed with its content at the end of its scope.
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
    const unsigned generation_;  // of the process that made it, which also removes it
};

}  // namespace entrepot::backends::host
