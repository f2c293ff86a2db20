// PythonKernel: a Python function that is compiled for what it is launched with; the type behind entrepot.kernel.kernel.
#pragma once
#include <Python.h>

#include "arguments.hpp"
#include "walker.hpp"

#include <entrepot/kernel/runtime/specialisation.hpp>

#include <memory>
#include <vector>

namespace entrepot::python {

// The function as it was read with the objects that its names meant then, and the code that was made of that. Never changed.
struct Version {
    Guards guards;
    std::string captured;
    std::shared_ptr<kernel::Specialisations> code;
};
using VersionPtr = std::shared_ptr<const Version>;

struct PythonKernel {
    PyObject_HEAD PyObject *function;
    kernel::Options options;
    std::vector<Signature> signatures;
    std::vector<VersionPtr> versions;  // the current one is the last, the longest unused the first
};

extern PyTypeObject *python_kernel_type;

// The version for what the function's names mean now; read anew where they mean something else than at the last launch.
VersionPtr current_version(PythonKernel *kernel);

// The code for these arguments on that queue; compiled where there is none yet.
const kernel::Specialisation &specialisation_for(const Version &version, std::span<const kernel::Argument> arguments,
                                                 std::uint32_t dimensions, const Queue &queue);

// kernel[index]: an object to call with the kernel's arguments. A new reference.
PyObject *launcher_for(PyObject *kernel, PyObject *index);
bool init_launcher_type(PyObject *module);

}  // namespace entrepot::python
