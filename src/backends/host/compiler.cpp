// The system's C++ compiler: found in the environment, run by posix_spawn.
#include "backends/host/compiler.hpp"

#include "backends/cache.hpp"
#include "backends/host/native.hpp"
#include "core/open_file.hpp"

#include "core/interrupt.hpp"
#include "core/renewed_mutex.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>

extern char **environ;

namespace entrepot::backends::host {

Words split_words(std::string_view line) {
    Words words;
    char quote = 0;
    bool inside = false;
    for (const char c : line) {
        const bool blank = c == ' ' || c == '\t' || c == '\n';
        if (quote == 0 && blank) {
            inside = false;
            continue;
        }
        if (!inside)
            words.emplace_back();
        inside = true;
        if (c == quote)
            quote = 0;
        else if (quote == 0 && (c == '"' || c == '\''))
            quote = c;
        else
            words.back() += c;
    }
    if (quote != 0)
        refuse(EP_INVALID, "the options ", line, " open a quote and do not close it");
    return words;
}

namespace {

std::string environment(const char *name, const char *otherwise) {
    const char *value = std::getenv(name);
    return value != nullptr && *value != '\0' ? value : otherwise;
}

bool is_program(const std::string &path) {
    std::error_code ignored;
    return std::filesystem::is_regular_file(path, ignored) && access(path.c_str(), X_OK) == 0;
}

std::optional<std::string> find_program(const std::string &name) {
    if (name.find('/') != std::string::npos)
        return is_program(name) ? std::optional(name) : std::nullopt;
    const std::string path = environment("PATH", "/usr/local/bin:/usr/bin:/bin");
    for (std::size_t start = 0; start <= path.size();) {
        const std::size_t end = std::min(path.find(':', start), path.size());
        if (std::string candidate = path.substr(start, end - start) + "/" + name;
            end > start && is_program(candidate))
            return candidate;
        start = end + 1;
    }
    return std::nullopt;
}

// In order of preference, or the only one that CXX names. It may carry options ("ccache g++").
std::vector<std::string> candidates() {
    if (const std::string chosen = environment("CXX", ""); !chosen.empty())
        return {chosen};
    return {"c++", "g++", "clang++"};
}

// Starts the command with its output and errors on `output`, no input, and no signal blocked or
// ignored. It gets its own process group, because a compiler is several processes that must end
// together.
pid_t spawn(const Words &command, int output) {
    std::vector<char *> words;
    for (const std::string &word : command)
        // posix_spawn's signature is older than const
        words.push_back(const_cast<char *>(word.c_str()));
    words.push_back(nullptr);

    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
    sigset_t none, usual;
    sigemptyset(&none);
    sigemptyset(&usual);
    sigaddset(&usual, SIGPIPE);  // Python ignores it
    sigaddset(&usual, SIGCHLD);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &usual);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                              POSIX_SPAWN_SETPGROUP);
    pid_t child = 0;
    const int error = posix_spawn(&child, words[0], &actions, &attributes, words.data(), environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    if (error != 0)
        refuse(EP_UNAVAILABLE, "the compiler ", command[0],
               " could not be started: ", std::strerror(error));
    return child;
}

// Sends SIGTERM first, so that the compiler removes its temporary files; then SIGKILL.
void end(pid_t child) {
    constexpr int patience_ms = 1000;
    kill(-child, SIGTERM);
    for (int waited = 0; waited < patience_ms; waited += 10) {
        const pid_t found = waitpid(child, nullptr, WNOHANG);
        if (found == child || (found < 0 && errno != EINTR))
            return;
        poll(nullptr, 0, 10);
    }
    kill(-child, SIGKILL);
    while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
    }
}

bool ended_well(pid_t child) {
    int status = 0;
    pid_t found = 0;
    do
        found = waitpid(child, &status, 0);
    while (found < 0 && errno == EINTR);
    // A program that ignores SIGCHLD never gets the status: then the caller looks for the result.
    return found < 0 || (WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

}  // namespace

std::optional<Words> find_compiler() {
    for (const std::string &candidate : candidates()) {
        Words words = split_words(candidate);
        if (words.empty())
            continue;
        if (std::optional<std::string> path = find_program(words[0])) {
            words[0] = std::move(*path);
            return words;
        }
    }
    return std::nullopt;
}

std::string compiler_identity(const Words &command) {
    std::string identity;
    for (const std::string &word : command) {  // "ccache g++": each program counts
        const std::optional<std::string> program =
            word.starts_with("-") ? std::nullopt : find_program(word);
        if (program)
            identity += stamp_of(*program) + '\n';
    }
    for (const char *const name : {"LIBRARY_PATH", "LD_RUN_PATH", "LDEMULATION"})
        identity += environment(name, "") + '\n';
    return identity;
}

namespace {

// The answer to a question about a compiler, which has to be started for it. That for the last
// compiler is kept.
class LastAnswer {
public:
    // `ask`: bool(const Words &compiler).
    template <class Ask> bool of(const Words &compiler, Ask ask) {
        constexpr std::size_t answer = 1;
        const std::size_t asked = std::hash<std::string>{}(compiler_identity(compiler)) | answer;
        const std::size_t known = last_.load(std::memory_order_relaxed);
        if ((known | answer) == asked && known != 0)
            return (known & answer) != 0;
        const bool found = ask(compiler);
        last_.store(found ? asked : asked & ~answer, std::memory_order_relaxed);
        return found;
    }

private:
    // Hash of the compiler's identity; the last bit is the answer. Atomic, and no mutex, because
    // another thread may fork.
    std::atomic<std::size_t> last_{0};
};

// Returns: the compiler's output for an option; empty if it fails.
std::string printed(Words compiler, const char *option) {
    compiler.emplace_back(option);
    std::string output;
    const bool succeeded = run_command(compiler, [&](std::string_view text) { output += text; });
    return succeeded ? output : "";
}

}  // namespace

bool has_library_archive(const Words &compiler) {
    static LastAnswer last;
    return last.of(compiler, [](const Words &command) {
        // Prints the name as it is if there is no such file.
        return printed(command, "-print-file-name=libstdc++.a").starts_with('/');
    });
}

bool is_clang(const Words &compiler) {
    static LastAnswer last;
    return last.of(compiler, [](const Words &command) {
        return printed(command, "--version").find("clang") != std::string::npos;
    });
}

bool environment_names_files() {
    const char *const names[] = {"COMPILER_PATH", "GCC_EXEC_PREFIX", "CCC_OVERRIDE_OPTIONS"};
    return std::ranges::any_of(names,
                               [](const char *name) { return !environment(name, "").empty(); });
}

std::string no_compiler() {
    if (const std::string chosen = environment("CXX", ""); !chosen.empty())
        return "kernels on the host are compiled by the program that CXX names, and '" + chosen +
               "' was not found in the PATH; install it, or unset CXX";
    std::string tried;
    for (const std::string &candidate : candidates())
        tried += (tried.empty() ? "" : ", ") + candidate;
    return "kernels on the host are compiled by the system's C++ compiler, and none was found: "
           "tried " +
           tried + " in the PATH; install one (g++ or clang), or set CXX to its path";
}

bool run_command(const Words &command, const std::function<void(std::string_view)> &say) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        refuse(EP_DEVICE_ERROR, "no pipe to the compiler could be opened: ", std::strerror(errno));
    OpenFile reading(ends[0]), writing(ends[1]);
    const unsigned started_by = fork_generation();
    const pid_t child = spawn(command, writing.number());
    writing = OpenFile(-1);  // else reading never sees the end of the output

    constexpr int between_questions_ms = 50;
    char buffer[4096];
    while (true) {
        pollfd said{reading.number(), POLLIN, 0};
        if (const int ready = poll(&said, 1, between_questions_ms);
            ready == 0 || (ready < 0 && errno == EINTR)) {
            const bool interrupted = is_interrupted();
            if (fork_generation() != started_by)  // a signal's handler forked, and returned
                refuse(EP_DEVICE_ERROR, "this process was forked while the compiler ", command[0],
                       " ran for its parent, which gets the result: compile again here");
            if (interrupted) {
                end(child);
                refuse(EP_DEVICE_ERROR, "the compiler ", command[0],
                       " was interrupted, and has been ended");
            }
            continue;
        }
        const ssize_t count = read(reading.number(), buffer, sizeof buffer);
        if (count > 0)
            say({buffer, static_cast<std::size_t>(count)});
        else if (count == 0 || errno != EINTR)
            break;
    }
    return ended_well(child);
}

TemporaryDirectory::TemporaryDirectory()
    : path_(environment("TMPDIR", "/tmp") + "/entrepot-XXXXXX"), generation_(fork_generation()) {
    if (mkdtemp(path_.data()) == nullptr)
        refuse(EP_DEVICE_ERROR, "no temporary directory like ", path_, " could be made (",
               std::strerror(errno), "): set TMPDIR to a place that can be written");
}

TemporaryDirectory::~TemporaryDirectory() {
    if (fork_generation() != generation_)
        return;
    std::error_code ignored;  // a leftover temporary file is harmless
    std::filesystem::remove_all(path_, ignored);
}

}  // namespace entrepot::backends::host
