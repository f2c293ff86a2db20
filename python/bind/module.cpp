// The extension entrepot._core. Each part of the library has an init function.
#include "array/methods.hpp"
#include "build_info.hpp"
#include "exchange/fast_import.hpp"
#include "exchange/routes.hpp"
#include "init.hpp"
#include "support/call_errors.hpp"
#include "support/errors.hpp"
#include "support/gil.hpp"
#include "support/interned.hpp"
#include "support/parameters.hpp"

#include <nanobind/nanobind.h>

namespace nb = nanobind;

namespace entrepot::python {

void init_array(nb::module_ &m) {
    static PyMethodDef functions[] = {
        {"asarray", with_keywords(asarray), METH_FASTCALL | METH_KEYWORDS,
         "asarray($module, obj, /, *, dtype=None, copy=False, device=None, kind=None, "
         "queue=None, protocol=None)\n"
         "--\n\n"
         "View the memory of ``obj`` as an Array, without a copy, whichever library it belongs\n"
         "to.\n\n"
         "These protocols are tried in order, or only the one that ``protocol`` names:\n\n"
         "- 'entrepot.memory' and 'entrepot.adapters': objects of this package\n"
         "- 'numpy' and 'cupy': the fields of their array objects\n"
         "- 'c_exchange_api': DLPack's C exchange API\n"
         "- 'suai': ``__sycl_usm_array_interface__``\n"
         "- 'dlpack': ``__dlpack__``, any version\n"
         "- 'cai': ``__cuda_array_interface__``\n"
         "- 'buffer': the buffer protocol\n"
         "- 'array_struct' and 'array_interface': NumPy's array interface\n\n"
         "With ``device`` or ``kind``, the memory must already be there, unless ``copy=True``,\n"
         "which copies like ``Array.to``. Host memory that was copied may be changed when the\n"
         "call returns. The memory must have the type ``dtype``; elements are never converted.\n"
         "The array's default queue is ``queue``.\n\n"
         "Raises ExchangeError if the memory cannot be viewed; the message names the protocol\n"
         "and the reason. Raises TypeError for objects that hold no memory, ValueError for an\n"
         "unknown ``protocol``."},
        {"from_dlpack", with_keywords(from_dlpack), METH_FASTCALL | METH_KEYWORDS,
         "from_dlpack($module, x, /, *, dtype=None, copy=False, device=None, kind=None, "
         "queue=None)\n"
         "--\n\n"
         "View the memory of ``x`` without a copy (array API, DLPack 1.3).\n\n"
         "``x`` has a method ``__dlpack__`` or is a DLPack capsule. The keywords are those of\n"
         "``asarray``.\n\n"
         "Raises ExchangeError (a BufferError) with the reason if the memory cannot be viewed."},
        {"from_address", with_keywords(from_address), METH_FASTCALL | METH_KEYWORDS,
         "from_address($module, address, shape, dtype, *, strides=None, device=None, queue=None, "
         "read_only=False, owner=None,\n"
         "             deleter=None)\n"
         "--\n\n"
         "An Array of memory that another library allocated, given by its address, without a\n"
         "copy.\n\n"
         "``address`` is the address of the first element, an int. ``shape`` is an int or a\n"
         "sequence of ints. The ``strides`` have as many entries, in elements. No element may\n"
         "lie below the address.\n\n"
         "The drivers are asked for the device and the kind of the memory. Memory that no\n"
         "driver knows is ordinary host memory. With ``device`` or ``queue``, the memory must\n"
         "be on that device, in the queue's context. The device ``'host'`` accepts any memory\n"
         "that the host can access. Work that ``queue`` holds now counts as work on the\n"
         "memory. The array's default queue is ``queue``.\n\n"
         "The memory is released, on any thread, when its last array, view and export is gone\n"
         "and submitted work on it is done. Until then, ``owner``, any object, is kept alive.\n\n"
         "A ``deleter`` is called once with the address when the memory is released. It is one\n"
         "of these:\n\n"
         "- a Python callable. Exceptions go to ``sys.unraisablehook``.\n"
         "- a C function ``void (*)(void *)`` of ctypes, or its address, an int. It is called\n"
         "  without the GIL.\n"
         "- a PyCapsule, which is kept alive like an owner, because its destructor is the\n"
         "  deleter.\n\n"
         "Without ``owner`` and ``deleter``, the memory must outlive the array.\n\n"
         "Raises TypeError for an address that is not an int, and for other deleters. Raises\n"
         "ValueError for elements at a null or misaligned address, strides that lead below the\n"
         "address, a negative extent, or both ``owner`` and ``deleter``. Raises OverflowError\n"
         "for sizes and addresses beyond 64 bits. Raises ExchangeError if the driver knows the\n"
         "memory as another device's, as smaller than the elements need, or not at all. The\n"
         "deleter is not called if from_address raises: the caller still owns the memory."},
        {},
    };
    if (!init_routes() || !init_array_type(m.ptr()) ||
        PyModule_AddFunctions(m.ptr(), functions) < 0)
        nb::raise_python_error();
}

}  // namespace entrepot::python

NB_MODULE(_core, m) {
    using namespace entrepot::python;
    // the objects of the dtypes and the default devices live as long as the process
    nb::set_leak_warnings(false);
    m.doc() = "The C++ side of entrepot; import entrepot instead.";
    m.attr("__version__") = version;
    m.attr("__compiler__") = compiler;
    m.attr("_has_fast_import") = fast_import::is_on;
    if (!Interned::make_all())
        nb::raise_python_error();
    set_interpreter_lock();
    init_errors(m);
    init_dtype(m);
    init_device(m);
    init_scalar(m);
    init_array(m);
    init_create(m);
    init_array_handle(m);
    init_launch(m);
    init_kernel(m);
    init_code_cache(m);
    init_c_api(m);
    init_memory(m);
    init_foreign_allocator(m);
    init_usm_memory(m);
    init_adapters(m);
    init_ffi(m);
    if (!shorten_call_errors(m.ptr()))
        nb::raise_python_error();
}
