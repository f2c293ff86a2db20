// The extension entrepot._core: each room shows itself through one init function.
#include "array/methods.hpp"
#include "errors.hpp"
#include "exchange/routes.hpp"
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
         "the memory must already be there, unless ``copy=True``. ``dtype`` is checked, never converted. ``queue`` becomes the "
         "array's\n"
         "default queue.\n\n"
         "Raises ExchangeError if the memory cannot be viewed: the message names the protocol and the reason; TypeError for "
         "objects\n"
         "that hold no memory; ValueError for another ``protocol`` than these."},
        {"from_dlpack", with_keywords(from_dlpack), METH_FASTCALL | METH_KEYWORDS,
         "from_dlpack($module, x, /, *, dtype=None, copy=False, device=None, kind=None, queue=None)\n--\n\n"
         "View the memory of ``x`` through its ``__dlpack__``, or a DLPack capsule itself, without a copy (array API, DLPack "
         "1.3).\n\n"
         "The keywords are those of ``asarray``.\n\n"
         "Raises ExchangeError (a BufferError) with the reason where that cannot be done."},
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
