// The functions that entrepot.allocators gives to other libraries: PyTorch's are C functions, CuPy's are called from Python.
#include "allocate.hpp"
#include "gil.hpp"
#include "init.hpp"
#include "owner.hpp"

#include <entrepot/device/stream.hpp>
#include <entrepot/memory/lend.hpp>

#include <nanobind/nanobind.h>

#include <sys/types.h>

namespace nb = nanobind;
using namespace nb::literals;

// In the forms of torch.cuda.memory.CUDAPluggableAllocator. An exception goes through to PyTorch, which raises it in Python as
// RuntimeError: it takes a null pointer for memory.
extern "C" __attribute__((visibility("default"))) void *entrepot_cuda_malloc(ssize_t size, int device, void *stream) {
    return entrepot::lend(static_cast<std::size_t>(size), entrepot::cuda_stream(device, stream));
}

extern "C" __attribute__((visibility("default"))) void entrepot_cuda_free(void *pointer, ssize_t, int, void *) {
    entrepot::take_back(pointer);
}

namespace entrepot::python {
namespace {

// `owner`, which destroys the stream when it goes, stays as long as we have anything to do with the stream.
std::uintptr_t lend_to_python(std::size_t nbytes, int device, std::uintptr_t stream, nb::handle owner) {
    const LentStream where = cuda_stream(device, reinterpret_cast<void *>(stream));
    if (stream > thread_stream)  // the default streams belong to nobody
        where.queue.keep_alive({Py_NewRef(owner.ptr()), release_with_gil<decref>});
    return reinterpret_cast<std::uintptr_t>(lend(nbytes, where, allocate));
}

}  // namespace

void init_lend(nb::module_ &m) {
    m.def("_lend", &lend_to_python, "nbytes"_a, "device"_a, "stream"_a, "owner"_a.none(),
          "The address of device memory, ready for work of the stream; 0 for no bytes.");
    m.def(
        "_take_back", [](std::uintptr_t address) { take_back(reinterpret_cast<void *>(address)); }, "address"_a,
        "Ends the loan once the stream has done what it was given so far.");
}

}  // namespace entrepot::python
