// The ffi room in Python: entrepot.ffi is written with what stands here.
#include "declared.hpp"
#include "form.hpp"
#include "library.hpp"

#include "../init.hpp"

namespace nb = nanobind;

namespace entrepot::python {

void init_ffi(nb::module_ &m) {
    if (!init_form(m.ptr()) || !init_declared(m.ptr()) || !init_record(m.ptr()) || !init_handle(m.ptr()) ||
        !init_callback(m.ptr()) || !init_library(m.ptr()) || !init_function(m.ptr()))
        nb::raise_python_error();
}

}  // namespace entrepot::python
