// A class that is bound by nanobind.
#include <nanobind/nanobind.h>

namespace nb = nanobind;

namespace {

struct Point {
    int x = 1;
    int add(int y, int z) const { return x + y + z; }
};

}  // namespace

NB_MODULE(MODULE, m) {
    nb::class_<Point>(m, "Point")
        .def(nb::init<>())
        .def("add", &Point::add, nb::arg("y"), nb::arg("z") = 3)
        .def_prop_ro("x", [](const Point &point) { return point.x; });
    m.def("make", [] { return Point(); });
}
