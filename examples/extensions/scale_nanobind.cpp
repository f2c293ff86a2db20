// Scales any array in place, with nanobind, and shows the type caster of entrepot::Array.
#include "scale.hpp"

#include <entrepot/python/nanobind.hpp>

namespace nb = nanobind;

using Writable = entrepot::ArrayWith<entrepot::writable | entrepot::on_host>;

NB_MODULE(scale_nanobind, m) {
    entrepot::register_errors();

    m.def(
        "scale", [](const Writable &array, double factor) { scale_elements(array, factor); },
        nb::arg("array"), nb::arg("factor"),
        "Multiplies every element of any library's array, in place.");

    // Any object with memory converts to an Array, and an Array converts back.
    m.def(
        "element_count", [](const entrepot::Array &array) { return array.size(); },
        nb::arg("array"), "Number of elements of any library's array.");
    m.def(
        "first_of",
        [](nb::list objects) {
            return objects.size() == 0 ? entrepot::Array()
                                       : entrepot::Array(nb::object(objects[0]).ptr());
        },
        nb::arg("objects"), "The first object as an entrepot.Array; None if the list is empty.");
    m.def(
        "as_array", [](entrepot::Array array) { return array; }, nb::arg("array"),
        "Any library's array as an entrepot.Array.");

    // Overloads: an object whose memory Entrepot refuses goes to the second.
    m.def("is_array", [](const entrepot::Array &) { return true; }, nb::arg("object"));
    m.def(
        "is_array", [](nb::handle) { return false; }, nb::arg("object"),
        "True for objects whose memory can be viewed.");
}
