// Typed access to elements: entrepot::Array beside nanobind's ndarray. Loaded by
// benchmarks/access.py. Each function multiplies all elements of a float32 matrix by a factor.
#include <entrepot/python/array.hpp>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <cstdint>

namespace nb = nanobind;

namespace {

using Matrix = nb::ndarray<float, nb::ndim<2>, nb::device::cpu>;
using ContiguousMatrix = nb::ndarray<float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

entrepot::Array array_of(nb::handle object) {
    try {
        return entrepot::Array(object.ptr(), entrepot::writable | entrepot::on_host);
    } catch (const entrepot::python_error &) {
        nb::raise_python_error();
    }
}

template <class View> void scale_view(const View &view, float factor) {
    for (std::int64_t i = 0; i < view.extent(0); ++i)
        for (std::int64_t j = 0; j < view.extent(1); ++j)
            view(i, j) *= factor;
}

template <class Matrix> void scale_peer(const Matrix &matrix, float factor) {
    const auto view = matrix.view();
    for (std::size_t i = 0; i < view.shape(0); ++i)
        for (std::size_t j = 0; j < view.shape(1); ++j)
            view(i, j) *= factor;
}

}  // namespace

NB_MODULE(benchmark_access, m) {
    m.def("for_each", [](nb::handle object, float factor) {
        array_of(object).for_each<float>([=](float &value) { value *= factor; });
    });
    m.def("view", [](nb::handle object, float factor) {
        const entrepot::Array array = array_of(object);
        scale_view(array.view<float, 2>(), factor);
    });
    m.def("contiguous_view", [](nb::handle object, float factor) {
        const entrepot::Array array = array_of(object);
        scale_view(array.view<float, 2, entrepot::c_contiguous>(), factor);
    });
    m.def("span", [](nb::handle object, float factor) {
        const entrepot::Array array = array_of(object);
        for (float &value : array.span<float>())
            value *= factor;
    });
    m.def("peer", [](const Matrix &matrix, float factor) { scale_peer(matrix, factor); });
    m.def("contiguous_peer",
          [](const ContiguousMatrix &matrix, float factor) { scale_peer(matrix, factor); });
}
