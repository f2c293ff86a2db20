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
         "View the memory of any library's object as an Array, without a copy.\n\n"
         "These protocols are tried in order, or only the one that ``protocol`` names:\n\n"
         "- 'entrepot.memory' and 'entrepot.adapters': objects of this package\n"
         "- 'numpy' and 'cupy': the fields of their array objects\n"
         "- 'c_exchange_api': DLPack's C exchange API\n"
         "- 'suai': ``__sycl_usm_array_interface__``\n"
         "- 'dlpack': ``__dlpack__``, any version\n"
         "- 'cai': ``__cuda_array_interface__``\n"
         "- 'buffer': the buffer protocol\n"
         "- 'array_struct' and 'array_interface': NumPy's array interface\n\n"
         "Parameters\n"
         "----------\n"
         "obj : array_like\n"
         "    An Array, or an object of any library that supports one of the protocols.\n"
         "dtype : dtype_like, optional\n"
         "    The type that the memory must have. Elements are never converted. The default\n"
         "    accepts any type.\n"
         "copy : bool, optional\n"
         "    If True, the elements are copied to new memory, as by ``Array.to``. Host memory\n"
         "    that was copied may be changed when the call returns. The default is False.\n"
         "device : Device or str, optional\n"
         "    The device that the memory must already be on, unless ``copy=True``. Without\n"
         "    ``kind``, or with ``kind='host'``, the device ``'host'`` accepts any memory that\n"
         "    the host can access. A device with ``has_aspect_usm_system_allocations`` accepts\n"
         "    host memory, and ``pin`` makes it usable for others. The default accepts any\n"
         "    device. A copy is then on the device of ``queue``, else on the same device.\n"
         "kind : str, optional\n"
         "    The kind that the memory must already have, unless ``copy=True``: 'host',\n"
         "    'device' or 'shared'. The default accepts any kind. With ``device`` or\n"
         "    ``queue``, a copy is then 'host' memory on the host and 'device' memory\n"
         "    elsewhere. Without, it has the kind of the memory.\n"
         "queue : Queue, optional\n"
         "    The array's default queue, which must be able to use the memory. A copy is\n"
         "    allocated on its device. The default is described at ``Array.queue``.\n"
         "protocol : str, optional\n"
         "    The name of the only protocol that is tried.\n\n"
         "Returns\n"
         "-------\n"
         "Array\n"
         "    A view that keeps the owner of the memory alive, or the copy. If ``obj`` is an\n"
         "    Array and no other argument is given, it is returned itself.\n\n"
         "Raises\n"
         "------\n"
         "ExchangeError\n"
         "    If the memory cannot be viewed. The message names the protocol and the reason.\n"
         "TypeError\n"
         "    If the object holds no memory, or the dtype is unknown.\n"
         "ValueError\n"
         "    If ``protocol`` or the kind is unknown, the selector is malformed, or a copy is\n"
         "    for a queue of another device.\n"
         "DeviceError\n"
         "    If no device matches.\n"
         "USMAllocationError\n"
         "    If the copy cannot be allocated.\n\n"
         "Examples\n"
         "--------\n"
         ">>> x = np.arange(6, dtype=\"float32\")\n"
         ">>> array = ep.asarray(x)\n"
         ">>> array.data_ptr == x.ctypes.data\n"
         "True\n"
         ">>> array.owner is x\n"
         "True"},
        {"from_dlpack", with_keywords(from_dlpack), METH_FASTCALL | METH_KEYWORDS,
         "from_dlpack($module, x, /, *, dtype=None, copy=False, device=None, kind=None, "
         "queue=None)\n"
         "--\n\n"
         "View the memory of ``x`` without a copy (array API, DLPack 1.3).\n\n"
         "Parameters\n"
         "----------\n"
         "x : object\n"
         "    An object with a method ``__dlpack__``, or a DLPack capsule.\n"
         "dtype : dtype_like, optional\n"
         "    The type that the memory must have, as for ``asarray``.\n"
         "copy : bool, optional\n"
         "    If True, the elements are copied to new memory. The default is False.\n"
         "device : Device or str, optional\n"
         "    The device that the memory must be on, or is copied to, as for ``asarray``.\n"
         "kind : str, optional\n"
         "    The kind that the memory must have, or is copied to, as for ``asarray``.\n"
         "queue : Queue, optional\n"
         "    The array's default queue, as for ``asarray``.\n\n"
         "Returns\n"
         "-------\n"
         "Array\n"
         "    A view that keeps the owner of the memory alive, or the copy.\n\n"
         "Raises\n"
         "------\n"
         "ExchangeError\n"
         "    If the memory cannot be viewed. The error is a BufferError, and its message has\n"
         "    the reason.\n"
         "ValueError\n"
         "    If the kind is unknown, the selector is malformed, or a copy is for a queue of\n"
         "    another device.\n"
         "TypeError\n"
         "    If the dtype is unknown.\n"
         "DeviceError\n"
         "    If no device matches.\n"
         "USMAllocationError\n"
         "    If the copy cannot be allocated.\n\n"
         "Examples\n"
         "--------\n"
         ">>> x = np.arange(3, dtype=\"int32\")\n"
         ">>> array = ep.from_dlpack(x)\n"
         ">>> x[0] = 7\n"
         ">>> array.numpy()\n"
         "array([7, 1, 2], dtype=int32)"},
        {"from_address", with_keywords(from_address), METH_FASTCALL | METH_KEYWORDS,
         "from_address($module, address, shape, dtype, *, strides=None, device=None, queue=None, "
         "read_only=False, owner=None,\n"
         "             deleter=None)\n"
         "--\n\n"
         "An Array of memory that another library allocated, given by its address.\n\n"
         "The memory is not copied. The drivers are asked for its device and kind. Memory\n"
         "that no driver knows is ordinary host memory.\n\n"
         "The memory is released, on any thread, when its last array, view and export is gone\n"
         "and submitted work on it is done. A ``deleter`` is called once with the address\n"
         "when the memory is released. It is one of these:\n\n"
         "- a Python callable. Exceptions go to ``sys.unraisablehook``.\n"
         "- a C function ``void (*)(void *)`` of ctypes, or its address, an int. It is called\n"
         "  without the GIL. Functions of ``ctypes.pythonapi`` and ``ctypes.PYFUNCTYPE`` are\n"
         "  called with it.\n"
         "- a PyCapsule, which is kept alive like an owner, because its destructor is the\n"
         "  deleter.\n\n"
         "Without ``owner`` and ``deleter``, the memory must outlive the array. The deleter\n"
         "is not called if from_address raises: the caller still owns the memory.\n\n"
         "Parameters\n"
         "----------\n"
         "address : int\n"
         "    Address of the first element.\n"
         "shape : int or sequence of int\n"
         "    Extent of each axis, in elements.\n"
         "dtype : dtype_like\n"
         "    The type of an element.\n"
         "strides : int or sequence of int, optional\n"
         "    Distance between neighbors along each axis, in elements, with as many entries\n"
         "    as ``shape``. No element may lie below the address. The default is\n"
         "    C-contiguous.\n"
         "device : Device or str, optional\n"
         "    The device that the memory must be on. The device ``'host'`` accepts any memory\n"
         "    that the host can access. The default is the device that the drivers name.\n"
         "queue : Queue, optional\n"
         "    The array's default queue. The memory must be on its device, in its context.\n"
         "    Work that it holds now counts as work on the memory.\n"
         "read_only : bool, optional\n"
         "    True if the elements cannot be changed through the array. The default is False.\n"
         "owner : object, optional\n"
         "    Any object. It is kept alive until the memory is released.\n"
         "deleter : object, optional\n"
         "    A callable, a C function or a PyCapsule that releases the memory, as described\n"
         "    above. It excludes ``owner``.\n\n"
         "Returns\n"
         "-------\n"
         "Array\n"
         "    A view of the memory.\n\n"
         "Raises\n"
         "------\n"
         "TypeError\n"
         "    If the address is not an int, or the deleter is another object.\n"
         "ValueError\n"
         "    If elements are at a null or misaligned address, or strides lead below the\n"
         "    address. Also for a negative extent, for both ``owner`` and ``deleter``, and\n"
         "    for a C function at the address 0.\n"
         "OverflowError\n"
         "    If sizes or addresses are beyond 64 bits.\n"
         "ExchangeError\n"
         "    If the driver knows the memory as another device's, as smaller than the\n"
         "    elements need, or not at all.\n\n"
         "Examples\n"
         "--------\n"
         ">>> import ctypes\n"
         ">>> values = (ctypes.c_float * 3)(1, 2, 3)\n"
         ">>> address = ctypes.addressof(values)\n"
         ">>> array = ep.from_address(address, 3, \"float32\", owner=values)\n"
         ">>> array.numpy()\n"
         "array([1., 2., 3.], dtype=float32)"},
        {"pin", with_keywords(pin), METH_FASTCALL | METH_KEYWORDS,
         "pin($module, x, *, device=None)\n"
         "--\n\n"
         "An Array of the same host memory, which a device uses in place.\n\n"
         "The driver of CUDA, HIP or SYCL registers the memory, so that kernels reach it and\n"
         "copies move it directly. It is unpinned once the last Array over the memory is gone,\n"
         "x included, and the work on it is done. Pinning a part of pinned memory shares the\n"
         "registration. A SYCL device that reads all memory of the process, as OpenCL's CPU\n"
         "device does, needs none.\n\n"
         "Parameters\n"
         "----------\n"
         "x : object\n"
         "    Any object over host memory that asarray accepts, such as a NumPy array, an mmap,\n"
         "    a memoryview or a CPU tensor. The result is read-only if it is.\n"
         "device : Device or str, optional\n"
         "    The device that uses the memory. The default is that of the current queue.\n\n"
         "Returns\n"
         "-------\n"
         "Array\n"
         "    A view of kind ``'host'`` on the device, with the same shape, strides and address.\n"
         "    It keeps the owner of the memory alive. If x is an Array, work on both is in order.\n"
         "    Memory that the device shares with the host already is returned as it is.\n\n"
         "Raises\n"
         "------\n"
         "ExchangeError\n"
         "    If the object is not over host memory, or the device cannot pin it. Also if a part\n"
         "    of it is pinned already, by another library or by pin itself.\n"
         "TypeError\n"
         "    If the object has no memory that can be viewed.\n"
         "USMAllocationError\n"
         "    If the system locks no more pages.\n"
         "DeviceError\n"
         "    If no device matches.\n\n"
         "Examples\n"
         "--------\n"
         ">>> x = np.arange(4, dtype=\"float32\")\n"
         ">>> array = ep.pin(x, device=\"host\")\n"
         ">>> array.data_ptr == x.ctypes.data\n"
         "True"},
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
    init_graph(m);
    init_kernel(m);
    init_struct_layout(m);
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
