// Adds to the module the types that entrepot.ffi is built from.
#include "ctype.hpp"
#include "declared.hpp"
#include "library.hpp"

#include "../init.hpp"

namespace nb = nanobind;

namespace entrepot::python {

void init_ffi(nb::module_ &m) {
    if (!init_ctype(m.ptr()) || !init_declared(m.ptr()) || !init_record(m.ptr()) ||
        !init_handle(m.ptr()) || !init_callback(m.ptr()) || !init_library(m.ptr()) ||
        !init_function(m.ptr()))
        nb::raise_python_error();
}

}  // namespace entrepot::python
