// The functions that entrepot.allocators passes to other libraries: C functions for PyTorch, Python
// functions for CuPy.
#include "../init.hpp"
#include "../support/gil.hpp"
#include "../support/release.hpp"
#include "allocate.hpp"

#include <entrepot/device/stream.hpp>
#include <entrepot/memory/foreign_allocator.hpp>

#include <nanobind/nanobind.h>

#include <sys/types.h>

namespace nb = nanobind;
using namespace nb::literals;

// Signatures of torch.cuda.memory.CUDAPluggableAllocator. PyTorch treats a null pointer as memory,
// so errors are thrown: PyTorch turns the C++ exception into a RuntimeError.
extern "C" __attribute__((visibility("default"))) void *
entrepot_cuda_malloc(ssize_t size, int device, void *stream) {
    return entrepot::allocate_on_stream(static_cast<std::size_t>(size),
                                        entrepot::cuda_stream(device, stream));
}

extern "C" __attribute__((visibility("default"))) void entrepot_cuda_free(void *pointer, ssize_t,
                                                                          int, void *) {
    entrepot::deallocate_on_stream(pointer);
}

namespace entrepot::python {
namespace {

// `owner` destroys the stream when it is released, so the queue keeps it alive.
std::uintptr_t allocate_for_python(std::size_t nbytes, int device, std::uintptr_t stream,
                                   nb::handle owner) {
    const AllocatorStream where = cuda_stream(device, reinterpret_cast<void *>(stream));
    if (stream > thread_stream)  // the default streams have no owner
        where.queue.keep_alive({Py_NewRef(owner.ptr()), release_with_gil<decref>});
    return reinterpret_cast<std::uintptr_t>(allocate_on_stream(nbytes, where, allocate));
}

}  // namespace

void init_foreign_allocator(nb::module_ &m) {
    m.def("_allocate_on_stream", &allocate_for_python, "nbytes"_a, "device"_a, "stream"_a,
          "owner"_a.none(),
          "The address of new device memory, ready for work on the stream; 0 if ``nbytes`` is 0.");
    m.def(
        "_deallocate_on_stream",
        [](std::uintptr_t address) { deallocate_on_stream(reinterpret_cast<void *>(address)); },
        "address"_a, "Frees the memory once the stream has finished the work submitted so far.");
}

}  // namespace entrepot::python
