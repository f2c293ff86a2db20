// The Python calls of the launches that the calling thread records into a graph, so that a node
// knows its kernel and its arguments.
#pragma once
#include <Python.h>

#include <entrepot/array/graph.hpp>

#include <cstddef>
#include <span>

namespace entrepot::python {

// The list of calls of this thread's recording, until the scope ends.
//
// GIL: required.
class RecordedCalls {
public:
    // Requires: the list outlives the scope, which ends on this thread.
    explicit RecordedCalls(PyObject *list) noexcept;
    RecordedCalls(const RecordedCalls &) = delete;
    RecordedCalls &operator=(const RecordedCalls &) = delete;
    ~RecordedCalls();

    // Adds the call of the node that the recording got last, if it has more than `nodes_before`.
    // A launch without work-items is no node. The entry is (node, launcher, kernel, arguments,
    // keywords). Keywords with a value of NULL or None are left out.
    //
    // Throws: PythonError
    struct Keyword {
        const char *name;
        PyObject *value;
    };
    static void add(const Recording &recording, std::size_t nodes_before, PyObject *launcher,
                    std::span<PyObject *const> arguments, std::span<const Keyword> keywords = {});
};

// The end of the sentence that refuses an argument whose memory the host may access at any time.
inline constexpr const char *watched_in_a_recording =
    ": an argument is not an Array, and the host can access its memory: such a launch waits for "
    "the "
    "kernel, and a recorded kernel does not run. Give entrepot.asarray(object), and wait for the "
    "replay before the host reads it";

// For depends_on, while the thread records: recorded work is in order already.
//
// Throws: DeviceError if an event is not of recorded work. TypeError if an object is no event.
void require_recorded_events(PyObject *events);

}  // namespace entrepot::python
