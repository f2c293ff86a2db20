// Scales any array in place, with pybind11.
#include "scale.hpp"

#include <pybind11/pybind11.h>

namespace py = pybind11;

static void scale(const py::object &object, double factor) {
    try {
        scale_elements(entrepot::Array(object.ptr(), entrepot::writable | entrepot::on_host),
                       factor);
    } catch (const entrepot::python_error &) {
        throw py::error_already_set();
    }
}

PYBIND11_MODULE(scale_pybind11, m) {
    m.def("scale", &scale, py::arg("array"), py::arg("factor"),
          "Multiplies every element of any library's array, in place.");
}
