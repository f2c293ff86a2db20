// PythonKernel: a Python function that is compiled for the arguments of its launches; the type of
// entrepot.kernel.kernel.
#pragma once
#include <Python.h>

#include "../support/gil.hpp"
#include "arguments.hpp"
#include "walker.hpp"

#include <entrepot/kernel/runtime/specialisation.hpp>

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace entrepot::python {

// The function as read with the current values of its names, and the code compiled from it.
// Immutable.
struct Version {
    Guards guards;
    std::string captured;
    std::shared_ptr<kernel::Specialisations> code;
};

// Shared pointer to a version. The GIL guards its reference count, because every launch holds a
// reference.
class VersionPtr {
public:
    VersionPtr() noexcept = default;
    explicit VersionPtr(Version &&made) : shared_(new Shared{std::move(made)}) {}
    VersionPtr(const VersionPtr &other) noexcept : shared_(other.shared_) {
        if (shared_)
            ++shared_->references;
    }
    VersionPtr(VersionPtr &&other) noexcept : shared_(std::exchange(other.shared_, nullptr)) {}
    VersionPtr &operator=(VersionPtr other) noexcept {
        std::swap(shared_, other.shared_);
        return *this;
    }
    ~VersionPtr() {
        if (shared_ && --shared_->references == 0) [[unlikely]]
            delete shared_;
    }

    const Version &operator*() const noexcept { return shared_->version; }
    const Version *operator->() const noexcept { return &shared_->version; }

private:
    struct Shared {
        const Version version;
        std::conditional_t<has_gil, std::size_t, std::atomic<std::size_t>> references{1};
    };

    Shared *shared_ = nullptr;
};

struct PythonKernel {
    PyObject_HEAD PyObject *function;
    kernel::Options options;
    std::vector<Signature> signatures;
    std::vector<VersionPtr> versions;  // the last one is current, the first one least recently used
};

extern PyTypeObject *python_kernel_type;

// The version for the current values of the function's names. Reads the function again if a value
// has changed since the last launch.
VersionPtr current_version(PythonKernel *kernel);

// Code for a launch with these arguments on that queue. Compiles it if necessary.
const kernel::Specialisation &specialisation_for(const Version &version,
                                                 std::span<const kernel::Argument> arguments,
                                                 const ep_range &range, const Queue &queue);

// kernel[index]: a callable that takes the kernel's arguments. Returns a new reference.
PyObject *launcher_for(PyObject *kernel, PyObject *index);
bool init_launcher_type(PyObject *module);

}  // namespace entrepot::python
