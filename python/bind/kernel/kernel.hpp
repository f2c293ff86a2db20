// PythonKernel: a Python function that is compiled for the arguments of its launches; the type of
// entrepot.kernel.kernel.
#pragma once
#include <Python.h>

#include "../support/gil.hpp"
#include "arguments.hpp"
#include "walker.hpp"

#include <kernel/runtime/specialization.hpp>

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace entrepot::python {

// Code of a function: for launches without structs, and for each layout of struct arguments.
// Thread safety: thread-safe.
class Codes {
public:
    Codes(std::shared_ptr<const kernel::syntax::Function> function, kernel::Options options)
        : plain_(std::move(function), options) {}

    // The function as it was written.
    const std::shared_ptr<const kernel::syntax::Function> &function() const noexcept {
        return plain_.function();
    }
    // Code for launches with these structs; `structs` has an entry for each parameter, or none.
    // Lifetime: the result lives as long as this object.
    kernel::Specializations &of(const std::vector<kernel::StructArgument> &structs) {
        return structs.empty() ? plain_ : of_structs(structs);
    }
    // The code that was compiled last, and its function; nullptr before the first.
    struct Newest {
        const kernel::Specialization *made = nullptr;
        std::shared_ptr<const kernel::syntax::Function> function;
    };
    Newest newest() const noexcept;
    void set_newest(const kernel::Specializations &code) noexcept {
        newest_.store(&code, std::memory_order_release);
    }
    std::size_t size() const;
    // A variable of the function for such arguments: its name, and what its type depends on.
    struct Variable {
        std::string name;
        std::vector<kernel::ArgumentType> arguments;
        Device device;

        bool operator==(const Variable &) const = default;
    };
    // Type that has been found before, or nullopt.
    std::optional<kernel::ir::InferredType> known_type(const Variable &variable) const;
    void remember_type(Variable variable, kernel::ir::InferredType type);

private:
    struct Split {
        Split(std::vector<kernel::StructArgument> given,
              std::shared_ptr<const kernel::syntax::Function> function, kernel::Options options)
            : structs(std::move(given)), code(std::move(function), options) {}

        const std::vector<kernel::StructArgument> structs;
        kernel::Specializations code;
    };

    kernel::Specializations &of_structs(const std::vector<kernel::StructArgument> &structs);

    kernel::Specializations plain_;
    std::atomic<const kernel::Specializations *> newest_{nullptr};
    mutable std::mutex mutex_;  // guards what follows; no Python code runs under it
    std::vector<std::unique_ptr<Split>> split_;                         // only added to
    std::vector<std::pair<Variable, kernel::ir::InferredType>> types_;  // few
};

// The function as read with the current values of its names, and the code compiled from it.
// Immutable.
struct Version {
    Guards guards;
    std::string captured;
    std::shared_ptr<Codes> code;
};

// Shared pointer to a version. Its reference count needs no atomic operations, because the GIL
// guards it; without a GIL it is atomic.
//
// GIL: required to copy, assign or destroy one that is not empty.
class VersionPtr {
public:
    VersionPtr() noexcept = default;
    explicit VersionPtr(Version &&made) : shared_(new Shared{std::move(made)}) {}
    VersionPtr(const VersionPtr &other) noexcept : shared_(other.shared_) {
        if (shared_) {
            ENTREPOT_ASSERT(holds_gil());
            ++shared_->references;
        }
    }
    VersionPtr(VersionPtr &&other) noexcept : shared_(std::exchange(other.shared_, nullptr)) {}
    VersionPtr &operator=(VersionPtr other) noexcept {
        std::swap(shared_, other.shared_);
        return *this;
    }
    ~VersionPtr() {
        ENTREPOT_ASSERT(!shared_ || holds_gil() || is_finalizing());
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
    // The last one is current, the first one least recently used. Guarded by Exclusive of this
    // object.
    std::vector<VersionPtr> versions;
};

extern PyTypeObject *python_kernel_type;

// The version for the current values of the function's names. Reads the function again if a value
// has changed since the last launch. May run Python code.
//
// Throws: CompileError or KernelError if the function cannot be a kernel, PythonError
// GIL: required.
VersionPtr current_version(PythonKernel *kernel);

// Code for a launch with these arguments on that queue. Compiles it if necessary.
//
// Requires: `code` is of the version.
// Throws: CompileError, KernelError, DeviceError
// Lifetime: the result lives as long as the version.
// Blocks: for the compiler.
// GIL: required; released while compiling.
const kernel::Specialization &specialization_for(const Version &version,
                                                 kernel::Specializations &code,
                                                 std::span<const kernel::Argument> arguments,
                                                 const ep_range &range, const Queue &queue);

// kernel[index]: a callable that takes the kernel's arguments.
//
// Requires: `kernel` is an instance of python_kernel_type or of a subclass.
// Ownership: returns a new reference.
// Throws: PythonError, TypeError or ValueError for the index.
// GIL: required.
PyObject *launcher_for(PyObject *kernel, PyObject *index);
bool init_launcher_type(PyObject *module);

}  // namespace entrepot::python
