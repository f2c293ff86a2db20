// nanobind's own arrays for the matrix of pairs: imported, held, described, and exported again.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace nb = nanobind;

namespace {

struct Held {
    nb::ndarray<> array;
    bool read_only;
};

template <class Number>
std::vector<std::int64_t> numbers(const nb::ndarray<> &array, Number &&number) {
    std::vector<std::int64_t> result;
    for (std::size_t axis = 0; axis < array.ndim(); ++axis)
        result.push_back(number(axis));
    return result;
}

}  // namespace

NB_MODULE(nanobind_arrays, m) {
    nb::class_<Held>(m, "Held", nb::is_weak_referenceable())
        .def_prop_ro(
            "address",
            [](const Held &self) { return reinterpret_cast<std::uintptr_t>(self.array.data()); })
        .def_prop_ro("shape",
                     [](const Held &self) {
                         return numbers(self.array, [&](auto i) { return self.array.shape(i); });
                     })
        .def_prop_ro("strides",
                     [](const Held &self) {
                         return numbers(self.array, [&](auto i) { return self.array.stride(i); });
                     })
        .def_prop_ro("dtype",
                     [](const Held &self) {
                         return std::pair(int{self.array.dtype().code},
                                          int{self.array.dtype().bits});
                     })
        .def_prop_ro("device_type", [](const Held &self) { return self.array.device_type(); })
        .def_prop_ro("lanes", [](const Held &self) { return int{self.array.dtype().lanes}; })
        .def_ro("read_only", &Held::read_only)
        .def("give", [](const Held &self) { return self.array; });
    m.def("take", [](nb::ndarray<> array) { return Held{std::move(array), false}; });
    m.def("make", [] {
        float *const numbers = new float[12]();
        return nb::ndarray<nb::array_api, float>(
            numbers, {3, 4},
            nb::capsule(numbers, [](void *at) noexcept { delete[] static_cast<float *>(at); }));
    });
    m.def("take_read_only",
          [](nb::ndarray<nb::ro> array) { return Held{nb::ndarray<>(array.handle()), true}; });
}
