// Graph: launches, copies and fills of one thread on one queue, recorded once and replayed many
// times.
//
// Overview
//   A Recording makes launch(), relaunch(), copy() and fill() of its thread write their work down
//   instead of submitting it. Work of other threads is not affected. The recorded queue is the
//   thread's current one meanwhile. Recording::end() hands the
//   nodes to the backend, which prepares them (ep_backend::graph_create).
//
//   A replay is one operation (memory/operation.hpp) on all memory of the nodes. It waits for
//   conflicting accesses of other queues and libraries, is submitted, and logs its own accesses.
//   So the waits happen at each replay, and none at the recording. The nodes run in the order of
//   the recording.
//
// States
//   A Recording is recording until end() or its destruction, which discards the nodes. A Graph has
//   its nodes prepared, or not any more: replace() drops what the backend cannot change. The next
//   replay prepares the nodes again.
//
// Lock order
//   Graph::Record::mutex is locked without the GIL, and held while the backend prepares, changes or
//   submits the graph. No other mutex is locked meanwhile, and no memory is released. The waits of
//   a replay are made without it. If another thread has replaced a node since, the replay waits
//   again, for the new memory.
//
// Lifetime
//   A graph owns references to the kernels and the memory of its nodes. Memory that is allocated
//   and released during the recording lives as long as the graph. A graph may be dropped while a
//   replay runs: the access log delays the release of its memory, as for a launch.
#pragma once
#include <entrepot/array/copy.hpp>
#include <entrepot/array/launch.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#pragma GCC visibility push(default)
namespace entrepot {

enum class NodeKind : std::uint8_t { launch, copy, fill };

// One piece of recorded work. Constant once it is in a graph.
struct GraphNode {
    NodeKind kind = NodeKind::launch;
    // of a launch
    Kernel kernel;
    ep_range range{};
    std::optional<ep_cooperation> cooperation;
    std::vector<ep_argument> arguments;  // values of EP_ARG_BYTES point into `bytes`
    std::vector<std::max_align_t> bytes;
    // the destination and the source of a copy, the destination of a fill, the arrays of a launch
    std::vector<Array> arrays;
    std::vector<Access> accesses;  // one for each of `arrays`
    std::vector<std::byte> item;   // of a fill
};

class Graph {
public:
    Graph() noexcept = default;

    std::size_t size() const;  // nodes
    std::shared_ptr<const GraphNode> node(std::size_t index) const;
    // The queue of the recording. Empty if that may be destroyed (Queue::may_be_destroyed).
    const Queue &queue() const noexcept;

    // Submits the nodes to the queue (none: that of the recording), ordered with all other work on
    // their memory. An earlier replay may still run.
    //
    // Returns: the queue and the position of the replay. Nothing if the graph has no nodes.
    // Throws: ValueError if the queue is of another device or context. DeviceError if the calling
    //         thread records, the queue is being captured, or the driver refuses.
    // Thread safety: thread-safe.
    // Blocks: as a launch. The first replay after a replace() may prepare the nodes again.
    Submitted replay(const Queue &queue = {}) const;

    // Replaces a launch by the one launch of `recording`, for later replays.
    //
    // Throws: IndexError if the graph has no such node. ValueError if the node is not a launch, or
    //         the recording has not exactly one, or is of another device or context.
    // Thread safety: thread-safe.
    void replace(std::size_t index, class Recording &&recording) const;

    explicit operator bool() const noexcept { return record_ != nullptr; }

private:
    friend class Recording;
    struct State;
    struct Record;
    std::shared_ptr<Record> record_;
};

// Thread safety: not thread-safe, and destroyed on the thread that made it.
class Recording {
public:
    // Throws: DeviceError if the calling thread records already, another library captures the
    //         queue, or its device has no graphs.
    explicit Recording(const Queue &queue);
    // Records a launch for Graph::replace(), on the queue of the graph or another one like it.
    // Throws: DeviceError if the calling thread records already.
    explicit Recording(const Graph &replaced);
    Recording(const Recording &) = delete;
    Recording &operator=(const Recording &) = delete;
    ~Recording();

    // Returns: nullptr if the calling thread does not record.
    static Recording *of_this_thread() noexcept;

    const Queue &queue() const noexcept;
    std::size_t size() const noexcept;  // nodes so far
    // Stops recording and prepares the nodes. The recording is over, also after an error.
    // Throws: DeviceError or ValueError if the backend refuses a node.
    // Blocks: while the driver prepares the graph, without the GIL.
    Graph end();

    // Throws: DeviceError if `what`, some work, is for another queue than the recorded one. It
    // would
    //   run now, while recorded work on the same memory does not.
    void require_queue(const Queue &queue, const char *what) const;
    void add_launch(const Kernel &kernel, const Queue &queue, const ep_range &range,
                    const ep_cooperation *cooperation, std::span<const ep_argument> arguments,
                    std::span<const ArrayUse> uses);
    void add_copy(const Queue &queue, const Array &to, const Array &from);
    void add_fill(const Queue &queue, const Array &to, std::span<const std::byte> item);

private:
    friend class Graph;
    struct Record;
    void begin(const Queue &queue);
    std::shared_ptr<const GraphNode> take_launch();
    std::unique_ptr<Record> record_;
};

}  // namespace entrepot
#pragma GCC visibility pop
