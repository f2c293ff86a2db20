// LogResource: the lines, and where they go without a sink.
#include <entrepot/memory/log.hpp>

#include <entrepot/core/text.hpp>

#include <cstdio>

namespace entrepot {
namespace {

// One call a line, so that lines of several threads do not mix.
void write_to_stderr(std::string_view line) {
    const std::string whole = std::string(line) + '\n';
    std::fwrite(whole.data(), 1, whole.size(), stderr);
}

// The sinks that this thread is running, innermost first.
struct Running {
    const LogResource *log;
    const Running *outer;
};
constinit thread_local const Running *innermost_run = nullptr;

bool is_running(const LogResource *log) noexcept {
    const Running *each = innermost_run;
    while (each && each->log != log)
        each = each->outer;
    return each;
}

// Marks this thread as running the sink.
class Run {
public:
    explicit Run(const LogResource *log) noexcept : running_{log, innermost_run} {
        innermost_run = &running_;
    }
    ~Run() { innermost_run = running_.outer; }
    Run(const Run &) = delete;
    Run &operator=(const Run &) = delete;

private:
    const Running running_;
};

}  // namespace

LogResource::LogResource(Resource *upstream, Sink sink)
    : Resource(upstream), sink_(sink ? std::move(sink) : write_to_stderr) {}

template <class... Parts> void LogResource::write(const Parts &...parts) const noexcept {
    if (is_running(this))  // else a sink that allocates would recurse
        return;
    const Run run(this);
    try {
        sink_(sentence_of(parts...));
    } catch (...) {  // a log that fails must not fail the allocation
    }
}

Block LogResource::allocate(const Place &place, std::size_t bytes, std::size_t alignment,
                            const Queue &queue) {
    try {
        Block block = upstream()->allocate(place, bytes, alignment, queue);
        write("allocate ", place.device, ' ', place.kind, ' ', bytes, " bytes at ",
              Hex(block.data));
        return block;
    } catch (const std::exception &error) {
        write("allocate ", place.device, ' ', place.kind, ' ', bytes,
              " bytes failed: ", error.what());
        throw;
    }
}

void LogResource::deallocate(const Place &place, Block block, Pending pending) noexcept {
    write("deallocate ", place.device, ' ', place.kind, ' ', block.bytes, " bytes at ",
          Hex(block.data));
    upstream()->deallocate(place, std::move(block), std::move(pending));
}

}  // namespace entrepot
