// Sums of a matrix's rows, with nanobind: typed access to elements, and a new array as the result.
#include <entrepot/python/nanobind.hpp>

#include <cstdint>
#include <span>
#include <type_traits>

namespace nb = nanobind;

namespace {

template <class T> entrepot::Array row_sums(const entrepot::Array &matrix) {
    const auto elements = matrix.view<const T, 2>();  // with any strides
    const std::int64_t rows = elements.extent(0);
    const auto result = entrepot::Array::empty<T>({&rows, 1}, "host");
    const std::span<T> sums = result.template span<T>();
    for (std::int64_t i = 0; i < rows; ++i) {
        T sum = 0;
        for (std::int64_t j = 0; j < elements.extent(1); ++j)
            sum += elements(i, j);
        sums[static_cast<std::size_t>(i)] = sum;
    }
    return result;
}

}  // namespace

NB_MODULE(rows_nanobind, m) {
    entrepot::register_errors();

    m.def(
        "row_sums",
        [](const entrepot::ArrayWith<entrepot::on_host> &matrix) {
            return entrepot::visit<float, double>(
                matrix, [&]<class T>(std::type_identity<T>) { return row_sums<T>(matrix); });
        },
        nb::arg("matrix"), "The sums of the rows of any library's matrix, as an entrepot.Array.");
}
