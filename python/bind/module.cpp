// The extension entrepot._core. Each part of the library has an init function.
#include "array/methods.hpp"
#include "errors.hpp"
#include "exchange/routes.hpp"
#include "gil.hpp"
#include "init.hpp"
#include "interned.hpp"
#include "parameters.hpp"

#include <nanobind/nanobind.h>

namespace nb = nanobind;

namespace entrepot::python {

void init_array(nb::module_ &m) {
    static PyMethodDef functions[] = {
        {"asarray", with_keywords(asarray), METH_FASTCALL | METH_KEYWORDS,
         "asarray($module, obj, /, *, dtype=None, copy=False, device=None, kind=None, queue=None, protocol=None)\n--\n\n"
         "View the memory of ``obj`` as an Array, whatever library it comes from, without a copy.\n\n"
         "It is asked for what it speaks in this order, or for the one that ``protocol`` names: 'entrepot.memory' and\n"
         "'entrepot.adapters', our own; 'numpy' and 'cupy', the fields of their arrays; 'c_exchange_api', DLPack's in C; "
         "'suai',\n"
         "``__sycl_usm_array_interface__``; 'dlpack', of any version; 'cai', ``__cuda_array_interface__``; 'buffer', the buffer\n"
         "protocol; 'array_struct' and 'array_interface', NumPy's. With ``device`` or ``kind``\n"
         "the memory must already be there, unless ``copy=True``, which copies as ``to`` does: memory of the host may be "
         "changed\n"
         "when the call returns. ``dtype`` is checked, never converted. ``queue`` becomes the array's default queue.\n\n"
         "Raises ExchangeError if the memory cannot be viewed: the message names the protocol and the reason; TypeError for "
         "objects\n"
         "that hold no memory; ValueError for another ``protocol`` than these."},
        {"from_dlpack", with_keywords(from_dlpack), METH_FASTCALL | METH_KEYWORDS,
         "from_dlpack($module, x, /, *, dtype=None, copy=False, device=None, kind=None, queue=None)\n--\n\n"
         "View the memory of ``x`` through its ``__dlpack__``, or a DLPack capsule itself, without a copy (array API, DLPack "
         "1.3).\n\n"
         "The keywords are those of ``asarray``.\n\n"
         "Raises ExchangeError (a BufferError) with the reason where that cannot be done."},
        {"from_address", with_keywords(from_address), METH_FASTCALL | METH_KEYWORDS,
         "from_address($module, address, shape, dtype, *, strides=None, device=None, queue=None, read_only=False, owner=None,\n"
         "             deleter=None)\n--\n\n"
         "An Array of memory that another library allocated, given by its address; nothing is copied.\n\n"
         "``address`` is the first element, an int; ``shape`` an int or a sequence of ints, ``strides`` as many, in elements, "
         "none\n"
         "of which leads below the address. The drivers are asked which device and kind of memory it is; what none of them "
         "knows\n"
         "is ordinary host memory. With ``device`` or ``queue`` it must be memory of that device, in the queue's context; "
         "``'host'``\n"
         "takes whatever the host reaches. What the queue holds now counts as work on the memory, and it becomes the array's "
         "default\n"
         "queue.\n\n"
         "``owner`` is any object: it is kept until the memory is released. ``deleter`` is called then, once, with the address:\n"
         "a callable; a C function ``void (*)(void *)``, of ctypes or as its address, an int, which is called without the GIL; "
         "or "
         "a\n"
         "PyCapsule, which is kept like an owner, as its destructor is the deleter. The memory is released when its last array,\n"
         "view and export is gone and the work that was submitted on it is done, on any thread. What a deleter raises goes to\n"
         "export of it is gone and the work that was submitted on it is done, on any thread. What a deleter raises goes to\n"
         "``sys.unraisablehook``. Without either, the memory must outlive the array.\n\n"
         "Raises TypeError for addresses that are no ints and deleters that are none of these; ValueError for a null or "
         "misaligned\n"
         "address of elements, strides that lead below it, a negative extent, owner and deleter together; OverflowError for "
         "sizes\n"
         "and addresses beyond 64 bits; ExchangeError where the driver knows the memory as another device's, as less than the\n"
         "elements need, or not at all. The deleter is not called then: the memory is still the caller's."},
        {},
    };
    if (!init_routes() || !init_array_type(m.ptr()) || PyModule_AddFunctions(m.ptr(), functions) < 0)
        nb::raise_python_error();
}

}  // namespace entrepot::python

NB_MODULE(_core, m) {
    using namespace entrepot::python;
    nb::set_leak_warnings(false);  // the objects of the dtypes and the default devices live as long as the process
    m.doc() = "The C++ side of entrepot; import entrepot instead.";
    m.attr("__version__") = ENTREPOT_VERSION;
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
    init_lend(m);
    init_usm_memory(m);
    init_adapters(m);
    init_ffi(m);
}
