// PythonKernel: a Python function that is compiled for what it is launched with; the type behind entrepot.kernel.kernel.
#pragma once
#include <Python.h>

#include "../gil.hpp"
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

// The function as it was read with the objects that its names meant then, and the code that was made of that. Never changed.
struct Version {
    Guards guards;
    std::string captured;
    std::shared_ptr<kernel::Specialisations> code;
};

// A version that several have. The GIL guards their number, for each launch is one of them.
class VersionPtr {
public:
    VersionPtr() noexcept = default;
    explicit VersionPtr(Version &&made) : shared_(new Shared{std::move(made)}) {}
    VersionPtr(const VersionPtr &other) noexcept : shared_(other.shared_) {
        if (shared_)
            ++shared_->holders;
    }
    VersionPtr(VersionPtr &&other) noexcept : shared_(std::exchange(other.shared_, nullptr)) {}
    VersionPtr &operator=(VersionPtr other) noexcept {
        std::swap(shared_, other.shared_);
        return *this;
    }
    ~VersionPtr() {
        if (shared_ && --shared_->holders == 0) [[unlikely]]
            delete shared_;
    }

    const Version &operator*() const noexcept { return shared_->version; }
    const Version *operator->() const noexcept { return &shared_->version; }

private:
    struct Shared {
        const Version version;
        std::conditional_t<has_gil, std::size_t, std::atomic<std::size_t>> holders{1};
    };

    Shared *shared_ = nullptr;
};

struct PythonKernel {
    PyObject_HEAD PyObject *function;
    kernel::Options options;
    std::vector<Signature> signatures;
    std::vector<VersionPtr> versions;  // the current one is the last, the longest unused the first
};

extern PyTypeObject *python_kernel_type;

// The version for what the function's names mean now; read anew where they mean something else than at the last launch.
VersionPtr current_version(PythonKernel *kernel);

// The code for a launch with these arguments on that queue; compiled where there is none yet.
const kernel::Specialisation &specialisation_for(const Version &version, std::span<const kernel::Argument> arguments,
                                                 const ep_range &range, const Queue &queue);

// kernel[index]: an object to call with the kernel's arguments. A new reference.
PyObject *launcher_for(PyObject *kernel, PyObject *index);
bool init_launcher_type(PyObject *module);

}  // namespace entrepot::python
