// Programs: host C++ (the dialect EP_CPP), compiled by the system's compiler to a shared object and
// loaded.
//
// The form of a kernel
// --------------------
// Source includes no header of Entrepot. Each kernel is a function that runs some work-groups of a
// launch. It starts no threads: this file decides which threads call it, and for which groups.
//
//     extern "C" void NAME(const long long *range, void *const *arguments)
//
// Sizes are by dimension as in ep_range: the last one of the launch is the fastest. Dimensions
// beyond those of the launch are 1. Groups are numbered in row-major order (dimension 0 slowest).
//
//     range[0]        number of dimensions of the launch, 1 … 3
//
//     range[1 … 3]    work-items in all
//
//     range[4 … 6]    work-items of a group
//
//     range[7 … 9]    groups
//
//     range[10, 11]   groups to run: [first, last)
//
//     arguments[i]    the i-th argument:
//     - EP_ARG_POINTER: the pointer itself
//     - EP_ARG_BYTES: the address of the bytes, aligned to 16
//     - EP_ARG_LOCAL: a block of that size, aligned to 64, used by one call at a time. The groups
//       of a call share it one after the other, so a group sees what the one before has left.
//
// If the launch leaves the group size to the backend (ep_range::local all 0), groups have one
// work-item. First and last then number work-items, and the kernel is best a single loop over them.
// Otherwise it runs, for each group, a loop over the group's work-items. A barrier ends one such
// loop and begins the next. Variables that live across a barrier are stored per work-item.
//
// A program may also export constants for each kernel:
//
//     extern "C" const int NAME_arguments          number of arguments, checked at launch
//
//     extern "C" const long long NAME_local        bytes of local memory of its own
//
//     extern "C" const long long NAME_private      bytes of private memory per work-item
//
//     extern "C" const long long NAME_max_group    the largest group that it can run
//
//     extern "C" const long long NAME_chunk        work-items that one call should at least run
//
// In a cooperative launch of several groups, all groups run at once, each in a call and on a thread
// of its own. Then last is first + 1, and a group may wait for others.
//
// Private memory lives across barriers. It is passed as arguments[count], one past the last: a
// block for all work-items of a group.
//
// When a launch runs on the caller's thread
// -----------------------------------------
// A kernel measures the cost of its launches per work-item. A launch that is expected to take less
// than `quick_ns` runs at once if its queue is empty: waking another thread would cost more. Longer
// launches, and the first one of a kernel, are spread over the executor's threads without blocking
// the caller.
#include "backends/cache.hpp"
#include "backends/host/compiler.hpp"
#include "backends/host/native.hpp"
#include "backends/host/resident.hpp"
#include "backends/processor.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cfenv>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iterator>
#include <new>
#include <optional>
#include <span>

namespace entrepot::backends::host {

// A loaded shared object, unloaded after its last kernel is destroyed.
class Program : public Counted<Program> {
public:
    Program(void *library, std::string path) : library_(library), path_(std::move(path)) {}
    ~Program() { dlclose(library_); }

    // NULL if the program itself has no such symbol: those of its libraries are not kernels.
    void *symbol(const std::string &name) const {
        void *found = dlsym(library_, name.c_str());
        Dl_info info{};
        return found != nullptr && dladdr(found, &info) != 0 && path_ == info.dli_fname ? found
                                                                                        : nullptr;
    }

private:
    void *library_;
    std::string path_;  // at load time; the file is gone
};

class Kernel : public Counted<Kernel> {
public:
    using Function = void (*)(const long long *range, void *const *arguments);

    Kernel(Program &program, std::string exported_as, Function loaded);

    const std::string name;
    const Function function;
    ep_kernel_info info;
    std::uint64_t wanted_chunk;  // work-items

    // Expected time of `items` work-items; none before the first launch has run.
    std::optional<double> predict_ns(std::uint64_t items) const noexcept;
    void learn_ns(double taken, std::uint64_t items) noexcept;

private:
    template <class Number> Number exported(const char *suffix, Number otherwise) const;

    IntrusivePtr<Program> program_;
    std::atomic<double> item_ns_{-1};
};

template <class Number> Number Kernel::exported(const char *suffix, Number otherwise) const {
    const void *found = program_->symbol(name + suffix);
    return found != nullptr ? *static_cast<const Number *>(found) : otherwise;
}

Kernel::Kernel(Program &program, std::string exported_as, Function loaded)
    : name(std::move(exported_as)), function(loaded), info{}, program_(&program) {
    info.max_work_group =
        std::min(static_cast<std::uint64_t>(exported<long long>("_max_group", max_work_group)),
                 max_work_group);
    info.local_memory = static_cast<std::uint64_t>(exported<long long>("_local", 0));
    info.private_memory = static_cast<std::uint64_t>(exported<long long>("_private", 0));
    info.argument_count = exported<int>("_arguments", -1);
    wanted_chunk = static_cast<std::uint64_t>(exported<long long>("_chunk", 1));
}

std::optional<double> Kernel::predict_ns(std::uint64_t items) const noexcept {
    const double each = item_ns_.load(std::memory_order_relaxed);
    return each < 0 ? std::nullopt : std::optional(each * static_cast<double>(items));
}

// Rises at once and falls slowly: blocking a caller is worse than waking a thread in vain.
void Kernel::learn_ns(double taken, std::uint64_t items) noexcept {
    const double known = item_ns_.load(std::memory_order_relaxed);
    item_ns_.store(std::max(taken / static_cast<double>(items), known * 0.75),
                   std::memory_order_relaxed);
}

namespace {

// About the cost of waking a parked thread and being notified by it.
constexpr double quick_ns = 20'000;
// A chunk of this time is long compared with the cost of taking it.
constexpr double chunk_ns = 8'000;

// ---------------------------------------------------------------- building

// Options of every build, with reasons:
// - Code for this processor, since the binary never leaves the machine.
// - No interposition, so that a kernel may have the name of a function in the process.
// - No errno, so that square roots become instructions.
// - No strict aliasing, since arrays of two types may share memory; kernels declare which do not.
const Words &fixed_options() {
    static const Words options{"-x",
                               "c++",
                               "-std=c++17",
                               "-O3",
                               "-march=native",
                               "-fPIC",
                               "-shared",
                               "-fno-exceptions",
                               "-fno-rtti",
                               "-fno-math-errno",
                               "-fno-strict-aliasing",
                               "-fno-semantic-interposition",
                               "-Wl,-Bsymbolic"};
    return options;
}

void write_file(const std::string &path, std::string_view content) {
    std::ofstream file(path, std::ios::binary);
    file << content;
    if (!file.flush())
        refuse(EP_DEVICE_ERROR, "the program could not be written to ", path,
               ": is the disk full? TMPDIR names another place");
}

// The cache key: everything that the code depends on, with the processor for -march=native. Empty
// if source or options name files that no key covers.
std::string key_of(const Words &compiler, const Words &options, std::string_view source) {
    const auto first_option = std::ranges::find_if(
        compiler, [](const std::string &word) { return word.starts_with('-'); });
    if (names_files(source) || options_name_files(options) ||
        options_name_files({first_option, compiler.end()}) || environment_names_files())
        return {};
    std::string key = cache_key(compiler_identity(compiler), processor_identity(), source);
    for (const Words *const words : {&compiler, &fixed_options(), &options})
        for (const std::string &word : *words)
            key += cache_key(word);
    return key;
}

// True if the source includes no header but <climits>, which declares nothing.
bool includes_only_macros(std::string_view source) {
    constexpr std::string_view word = "include";
    for (std::size_t at = source.find(word); at != source.npos; at = source.find(word, at + 1))
        if (!source.substr(at).starts_with("include <climits>\n"))
            return false;
    return true;
}

// True if the program can be linked with the archive of the C++ library. A source without headers
// uses next to nothing of it, and reading the shared library takes half of the time of a link.
bool can_link_archive(const Words &compiler, const Words &options, std::string_view source) {
    const auto chooses_libraries = [](const std::string &word) {
        return word.starts_with("-stdlib") || word.starts_with("-nostdlib") ||
               word.starts_with("-nodefaultlibs") || word.starts_with("-static");
    };
    return includes_only_macros(source) && std::ranges::none_of(compiler, chooses_libraries) &&
           std::ranges::none_of(options, chooses_libraries) && has_library_archive(compiler);
}

// Has Clang call functions of libmvec in vectorized loops, for programs whose options allow other
// results. GCC does so for functions that are declared with `simd`. The cache key need not have the
// option, since it depends on the compiler and the other options alone.
void add_vector_math(Words &command, const Words &compiler, const Words &own) {
#if defined(__x86_64__) && defined(__GLIBC__)
    const bool allowed = std::ranges::any_of(own, [](const std::string &word) {
        return word == "-freciprocal-math" || word == "-ffast-math";
    });
    const bool chooses = std::ranges::any_of(
        own, [](const std::string &word) { return word.starts_with("-fveclib"); });
    if (allowed && !chooses && is_clang(compiler))
        command.emplace_back("-fveclib=libmvec");
#else
    static_cast<void>(command), static_cast<void>(compiler), static_cast<void>(own);
#endif
}

std::string read_library(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

// With -ffast-math, GCC and Clang link code that sets flush-to-zero in the loading thread, so the
// floating-point mode is restored.
void *load_library(const std::string &path) {
    std::fenv_t mode;
    std::fegetenv(&mode);
    void *const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    std::fesetenv(&mode);
    return library;
}

Program *load(const std::string &path) {
    void *library = load_library(path);
    if (library == nullptr) {
        const std::string reason = dlerror();
        refuse(EP_BUILD_FAILED, "the program was compiled but cannot be loaded: ", reason,
               " (a function that is declared and not defined? a temporary directory that allows "
               "no programs? TMPDIR names "
               "another)");
    }
    try {
        return new Program(library, path);
    } catch (...) {
        dlclose(library);
        throw;
    }
}

struct Run {
    bool succeeded;
    std::string output;
};

Run run(const Words &command) {
    Run run{};
    run.succeeded = run_command(command, [&](std::string_view text) { run.output.append(text); });
    return run;
}

// Returns: true if the compiler printed nothing.
bool compile(Words command, const TemporaryDirectory &directory, std::string_view source,
             bool with_archive, const ep_sink *log) {
    const std::string library = directory.file("kernel.so");
    write_file(directory.file("kernel.cpp"),
               "#line 1 \"kernel.cpp\"\n" + std::string(source) + '\n');
    command.insert(command.end(), {"-o", library, directory.file("kernel.cpp")});
    Run compiled{};
    if (with_archive) {
        Words words = command;
        words.emplace_back("-static-libstdc++");
        compiled = run(words);
    }
    // Some archives are not position-independent, so the linker refuses what it takes from them.
    if (!with_archive ||
        (!compiled.succeeded && compiled.output.find("libstdc++.a") != std::string::npos))
        compiled = run(command);
    if (log != nullptr && log->write != nullptr && !compiled.output.empty())
        log->write(log->user, compiled.output.data(), compiled.output.size());
    if (!compiled.succeeded || access(library.c_str(), R_OK) != 0)
        refuse(EP_BUILD_FAILED, command[0],
               " refused the program in C++, the dialect of the host: its build log says why");
    return compiled.output.empty();
}

ep_status program_dialects(ep_device device, std::uint32_t *mask) {
    return guarded([&] {
        check_device(device);
        *mask = find_compiler() ? 1u << EP_CPP : 0u;
    });
}

ep_status program_build(ep_context context, ep_device device, ep_dialect dialect,
                        const char *source, std::size_t length, const char *options,
                        const ep_sink *log, ep_program *program) {
    return guarded([&] {
        check_context(context);
        check_device(device);
        if (dialect != EP_CPP)
            refuse(EP_UNSUPPORTED,
                   "the host builds programs from C++ (EP_CPP) only, and was given dialect ",
                   static_cast<int>(dialect));
        const std::optional<Words> compiler = find_compiler();
        if (!compiler)
            refuse(EP_UNAVAILABLE, no_compiler());
        const Words own = split_words(options == nullptr ? "" : options);
        Words command = *compiler;
        command.insert(command.end(), fixed_options().begin(), fixed_options().end());
        command.insert(command.end(), own.begin(), own.end());

        const TemporaryDirectory directory;
        const std::string library = directory.file("kernel.so"),
                          key = key_of(*compiler, own, {source, length});
        if (const std::optional<std::string> known =
                key.empty() ? std::nullopt : cached("host", key)) {
            write_file(library, *known);
        } else {
            add_vector_math(command, *compiler, own);
            const bool with_archive = can_link_archive(*compiler, own, {source, length});
            // Source with warnings is compiled each time, because the cache keeps no logs.
            if (compile(std::move(command), directory, {source, length}, with_archive, log) &&
                !key.empty())
                keep_cached("host", key, read_library(library));
        }
        *program = handle(load(library));
    });
}

void program_release(ep_program program) { object(program).release(); }

ep_status program_kernel(ep_program program, const char *name, ep_kernel *kernel) {
    return guarded([&] {
        void *function = object(program).symbol(name);
        if (function == nullptr)
            refuse(EP_INVALID, "the program exports no function \"", name,
                   "\": declare it extern \"C\" void ", name,
                   "(const long long *range, void *const *arguments)");
        *kernel =
            handle(new Kernel(object(program), name, reinterpret_cast<Kernel::Function>(function)));
    });
}

ep_status kernel_info(ep_kernel kernel, ep_device device, ep_kernel_info *info) {
    return guarded([&] {
        check_device(device);
        *info = object(kernel).info;
    });
}

void kernel_release(ep_kernel kernel) { object(kernel).release(); }

// ---------------------------------------------------------------- launching

constexpr std::size_t block_alignment = 64;
// Most private memory of a group. A thread that needs it has no alternative to allocating it.
constexpr std::uint64_t max_private_memory = std::uint64_t{64} << 20;

std::size_t aligned(std::size_t bytes, std::size_t alignment) {
    return (bytes + alignment - 1) / alignment * alignment;
}

// The range of a launch in the form that kernels read; see the top of this file.
class Geometry {
public:
    Geometry(const ep_range &range, const Kernel &kernel);

    std::uint64_t items() const noexcept { return items_; }
    std::uint64_t group() const noexcept { return group_; }
    std::uint64_t groups() const noexcept { return items_ / group_; }
    std::array<long long, 12> part(std::uint64_t first, std::uint64_t last) const noexcept {
        std::array<long long, 12> words = words_;
        words[10] = static_cast<long long>(first);
        words[11] = static_cast<long long>(last);
        return words;
    }

private:
    std::array<long long, 12> words_;
    std::uint64_t items_ = 1, group_ = 1;
};

Geometry::Geometry(const ep_range &range, const Kernel &kernel) : words_{} {
    if (range.ndim < 1 || range.ndim > 3)
        refuse(EP_INVALID, "a launch of ", kernel.name, " in ", range.ndim,
               " dimensions was asked for: it has 1, 2 or 3");
    const bool grouped = std::any_of(range.local, range.local + range.ndim,
                                     [](std::uint64_t extent) { return extent != 0; });
    words_.fill(1);
    words_[0] = range.ndim;
    for (std::uint32_t i = 0; i < range.ndim; ++i) {
        const std::uint64_t global = range.global[i], local = grouped ? range.local[i] : 1;
        if (local == 0 || global % local != 0)
            refuse(EP_INVALID, "dimension ", i, " of a launch of ", kernel.name, " has ", global,
                   " work-items in groups of ", local,
                   ": the group must divide it (all groups 0: the backend chooses)");
        if (__builtin_mul_overflow(items_, global, &items_) || items_ > INT64_MAX)
            refuse(EP_INVALID, "a launch of ", kernel.name, " has more than 2^63 work-items");
        group_ *= local;  // cannot overflow: it divides the work-items
        words_[1 + i] = static_cast<long long>(global);
        words_[4 + i] = static_cast<long long>(local);
        words_[7 + i] = static_cast<long long>(global / local);
    }
    if (group_ > kernel.info.max_work_group)
        refuse(EP_INVALID, "a launch of ", kernel.name, " has groups of ", group_,
               " work-items: ", kernel.info.max_work_group, " is the most on the host");
}

// Local and private blocks of the thread that runs a chunk. Kept for the next chunk.
std::byte *thread_block(std::size_t bytes) {
    struct Block {
        std::byte *memory = nullptr;
        std::size_t size = 0;
        ~Block() { ::operator delete(memory, std::align_val_t{block_alignment}); }
    };
    static thread_local Block block;
    if (block.size < bytes) {
        ::operator delete(std::exchange(block.memory, nullptr), std::align_val_t{block_alignment});
        block.size = 0;
        block.memory = static_cast<std::byte *>(
            ::operator new(bytes, std::align_val_t{block_alignment}, std::nothrow));
        if (block.memory == nullptr)
            refuse(EP_OUT_OF_MEMORY, "a group of the kernel keeps ", bytes,
                   " bytes of local and private memory, and the host has no such block left");
        block.size = bytes;
    }
    return block.memory;
}

// The arguments of a launch, copied, in the form that kernels read.
class Arguments {
public:
    Arguments(const ep_argument *given, std::size_t count, const Kernel &kernel,
              std::uint64_t group);

    std::size_t count() const noexcept { return slots_.size(); }
    // Writes count() pointers; those to blocks point into this thread's block.
    void bind(void **pointers) const;

private:
    enum class In { caller, values, block };
    struct Slot {
        In in;
        std::size_t offset;  // in the values or the block
        void *pointer;       // of the caller
    };
    static std::size_t room_for_values(std::span<const ep_argument> given) noexcept;
    void add_value(const ep_argument &argument, const char *kernel);
    void add_block(std::size_t bytes);

    std::vector<Slot> slots_;
    std::vector<std::byte> values_;
    std::size_t block_bytes_ = 0;
};

Arguments::Arguments(const ep_argument *given, std::size_t count, const Kernel &kernel,
                     std::uint64_t group) {
    if (kernel.info.argument_count >= 0 &&
        count != static_cast<std::size_t>(kernel.info.argument_count))
        refuse(EP_INVALID, kernel.name, " takes ", kernel.info.argument_count, " arguments, and ",
               count, " were given");
    slots_.reserve(count + 1);
    values_.reserve(room_for_values({given, count}));
    for (const ep_argument &argument : std::span(given, count)) {
        switch (argument.kind) {
        case EP_ARG_POINTER:
            slots_.push_back({In::caller, 0, const_cast<void *>(argument.value)});
            break;
        case EP_ARG_BYTES:
            add_value(argument, kernel.name.c_str());
            break;
        case EP_ARG_LOCAL:
            if (argument.size >
                max_local_memory - std::min<std::size_t>(block_bytes_, max_local_memory))
                refuse(EP_INVALID, kernel.name, " was given ", argument.size,
                       " bytes of local memory", block_bytes_ != 0 ? ", on top of others" : "",
                       ": the host has ", max_local_memory, " for each group");
            add_block(argument.size);
            break;
        default:
            refuse(EP_INVALID, "argument ", slots_.size(), " of ", kernel.name,
                   " is of no kind that ep_argument_kind has");
        }
    }
    if (kernel.info.private_memory != 0) {
        if (kernel.info.private_memory > max_private_memory / group)
            refuse(EP_INVALID, kernel.name, " keeps ", kernel.info.private_memory,
                   " bytes for each work-item, and the group has ", group, ": the host has ",
                   max_private_memory, " for each group");
        add_block(kernel.info.private_memory * group);
    }
}

std::size_t Arguments::room_for_values(std::span<const ep_argument> given) noexcept {
    std::size_t bytes = 0;
    for (const ep_argument &argument : given)
        bytes +=
            argument.kind == EP_ARG_BYTES ? aligned(argument.size, alignof(std::max_align_t)) : 0;
    return bytes;
}

void Arguments::add_value(const ep_argument &argument, const char *kernel) {
    if (argument.value == nullptr || argument.size == 0)
        refuse(EP_INVALID, "argument ", slots_.size(), " of ", kernel,
               " is passed by value, but its value is NULL or empty");
    const std::size_t offset = aligned(values_.size(), alignof(std::max_align_t));
    values_.resize(offset + argument.size);
    std::memcpy(values_.data() + offset, argument.value, argument.size);
    slots_.push_back({In::values, offset, nullptr});
}

void Arguments::add_block(std::size_t bytes) {
    slots_.push_back({In::block, block_bytes_, nullptr});
    block_bytes_ += aligned(bytes, block_alignment);
}

void Arguments::bind(void **pointers) const {
    std::byte *block = block_bytes_ != 0 ? thread_block(block_bytes_) : nullptr;
    for (const Slot &slot : slots_) {
        switch (slot.in) {
        case In::caller:
            *pointers++ = slot.pointer;
            break;
        case In::values:
            *pointers++ = const_cast<std::byte *>(values_.data()) + slot.offset;
            break;
        case In::block:
            *pointers++ = block + slot.offset;
            break;
        }
    }
}

class Launch {
public:
    Launch(Kernel &kernel, const ep_range &range, const ep_argument *arguments, std::size_t count)
        : kernel_(&kernel), geometry_(range, kernel),
          arguments_(arguments, count, kernel, geometry_.group()) {}

    std::uint64_t groups() const noexcept { return geometry_.groups(); }
    bool is_quick() const noexcept {
        return kernel_->predict_ns(geometry_.items()).value_or(quick_ns) < quick_ns;
    }
    // Groups in a chunk. Several chunks per thread balance uneven ones: 8, and up to 32 of at least
    // `chunk_ns`. Chunks are multiples of 64 (whole cache lines of work-items) or of 4 (which the
    // compiler may interleave) if possible. A kernel may want larger ones, which it gets as long as
    // each thread has one.
    std::uint64_t share() const noexcept {
        const std::uint64_t each = groups() / thread_limit(),
                            wanted = kernel_->wanted_chunk / geometry_.group();
        const std::uint64_t even =
            std::max({std::min(each / 8, groups_in_chunk_ns()), each / 32, std::min(wanted, each)});
        return even >= 64  ? even / 64 * 64
               : even >= 4 ? even / 4 * 4
                           : std::max<std::uint64_t>(even, 1);
    }

    void operator()(std::uint64_t first, std::uint64_t last) const {
        constexpr std::size_t usual = 32;
        std::array<void *, usual> few;
        std::vector<void *> many(arguments_.count() > usual ? arguments_.count() : 0);
        void **pointers = many.empty() ? few.data() : many.data();
        arguments_.bind(pointers);
        run(first, last, pointers);
    }

    // The arguments for calls of run() on this thread.
    std::vector<void *> bound() const {
        std::vector<void *> pointers(arguments_.count());
        arguments_.bind(pointers.data());
        return pointers;
    }

    void run(std::uint64_t first, std::uint64_t last, void **pointers) const {
        using Clock = std::chrono::steady_clock;
        const std::array<long long, 12> range = geometry_.part(first, last);
        const Clock::time_point start = Clock::now();
        kernel_->function(range.data(), pointers);
        const std::chrono::duration<double, std::nano> taken = Clock::now() - start;
        kernel_->learn_ns(taken.count(), (last - first) * geometry_.group());
    }

private:
    // Groups that run for about `chunk_ns`; as many as there are if the time is unknown.
    std::uint64_t groups_in_chunk_ns() const noexcept {
        const double ns = kernel_->predict_ns(geometry_.items()).value_or(0);
        return ns <= chunk_ns
                   ? groups()
                   : static_cast<std::uint64_t>(static_cast<double>(groups()) * (chunk_ns / ns));
    }

    IntrusivePtr<Kernel> kernel_;
    Geometry geometry_;
    Arguments arguments_;
};

class LaunchWork final : public Work {
public:
    explicit LaunchWork(Launch launch) : launch_(std::move(launch)) {}

    bool run(Queue &queue) override {
        const std::uint64_t groups = launch_.groups(), share = launch_.share();
        if (!launch_.is_quick())
            return spread(queue, groups, share, std::move(launch_));
        launch_(0, groups);
        return true;
    }

private:
    Launch launch_;
};

// Work of a launch whose groups may wait for each other.
class CooperativeWork final : public Work {
public:
    explicit CooperativeWork(Launch launch) : launch_(std::move(launch)) {}

    bool run(Queue &queue) override {
        class Groups final : public ResidentGroups {
        public:
            Groups(Queue &queue, Launch launch)
                : ResidentGroups(launch.groups()), queue_(queue), launch_(std::move(launch)) {}

        private:
            std::vector<void *> prepare() const override { return launch_.bound(); }
            void run(std::uint64_t group, void **arguments) noexcept override {
                launch_.run(group, group + 1, arguments);
            }
            void finished(std::exception_ptr error) noexcept override {
                queue_.end_work(std::move(error));
            }

            Queue &queue_;  // busy, so alive, until end_work
            Launch launch_;
        };
        std::make_shared<Groups>(queue, std::move(launch_))->start();
        return false;
    }

private:
    Launch launch_;
};

void require_no_clusters(const Kernel &kernel, const ep_cooperation &cooperation) {
    if (std::any_of(cooperation.cluster, cooperation.cluster + 3,
                    [](std::uint64_t extent) { return extent != 0; }))
        refuse(EP_UNSUPPORTED, "the host has no clusters of groups for ", kernel.name,
               ", which share local memory: leave the cluster out");
}

void require_resident(const Kernel &kernel, std::uint64_t groups) {
    if (groups > max_resident_groups)
        refuse(EP_INVALID, "a cooperative launch of kernel \"", kernel.name, "\" has ", groups,
               " work-groups, and host runs ", max_resident_groups,
               " of them at once: launch no more, and let each do more work in a loop");
}

ep_status kernel_resident_groups(ep_kernel, ep_device device, std::uint64_t,
                                 std::uint64_t local_memory, std::uint64_t *groups) {
    return guarded([&] {
        check_device(device);
        *groups = local_memory <= max_local_memory ? max_resident_groups : 0;
    });
}

// A single group has no other to wait for.
void require_independent_groups(const Kernel &kernel, const ep_cooperation *cooperation,
                                std::uint64_t groups) {
    if (cooperation == nullptr)
        return;
    require_no_clusters(kernel, *cooperation);
    if (groups > 1)
        refuse(EP_UNSUPPORTED, "a graph on the host runs the ", groups, " groups of ", kernel.name,
               " one after the other, and they must wait for each other: launch it without a "
               "graph, or as one group");
}

ep_status kernel_launch(ep_queue queue, ep_kernel kernel, const ep_range *range,
                        const ep_cooperation *cooperation, const ep_argument *arguments,
                        std::size_t count) {
    return guarded([&] {
        if (cooperation != nullptr)
            require_no_clusters(object(kernel), *cooperation);
        Launch launch(object(kernel), *range, arguments, count);
        const bool waits = cooperation != nullptr && cooperation->all_resident != 0;
        if (waits)
            require_resident(object(kernel), launch.groups());
        if (waits && launch.groups() > 1)  // a single group has no other to wait for
            object(queue).submit(CooperativeWork(std::move(launch)));
        else if (launch.groups() != 0)
            object(queue).submit(LaunchWork(std::move(launch)));
    });
}

class LaunchStep final : public Step {
public:
    explicit LaunchStep(Launch launch)
        : launch_(std::make_shared<const Launch>(std::move(launch))) {}

    bool is_quick() const noexcept override { return launch_->is_quick(); }
    void run() const override { (*launch_)(0, launch_->groups()); }
    bool spread_over(Queue &queue) const override {
        return spread(queue, launch_->groups(), launch_->share(),
                      [launch = launch_](std::uint64_t first, std::uint64_t last) {
                          (*launch)(first, last);
                      });
    }

private:
    std::shared_ptr<const Launch> launch_;
};

}  // namespace

StepPtr launch_step(const ep_node &node) {
    ENTREPOT_ASSERT(node.kind == EP_NODE_LAUNCH);
    const auto &of = node.of.launch;
    Launch launch(object(of.kernel), *of.range, of.arguments, of.count);
    require_independent_groups(object(of.kernel), of.cooperation, launch.groups());
    return launch.groups() == 0 ? nullptr : std::make_shared<const LaunchStep>(std::move(launch));
}

void fill_program_functions(ep_backend &table) {
    table.program_dialects = program_dialects;
    table.program_build = program_build;
    table.program_release = program_release;
    table.program_kernel = program_kernel;
    table.kernel_info = kernel_info;
    table.kernel_release = kernel_release;
    table.kernel_launch = kernel_launch;
    table.kernel_resident_groups = kernel_resident_groups;
}

}  // namespace entrepot::backends::host
