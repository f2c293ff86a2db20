// Functions of libmvec, with the versions of glibc that have them.
#include "kernel/passes/vector_math.hpp"

#include <algorithm>
#include <iterator>

namespace entrepot::kernel {

const VectorMath *find_vector_math(std::string_view name) {
    // clang-format off
    static constexpr VectorMath rows[] = {
        {"cos", 1, 22}, {"sin", 1, 22}, {"exp", 1, 22}, {"log", 1, 22}, {"pow", 2, 22},
        {"acos", 1, 35}, {"acosh", 1, 35}, {"asin", 1, 35}, {"asinh", 1, 35}, {"atan", 1, 35},
        {"atan2", 2, 35}, {"atanh", 1, 35}, {"cbrt", 1, 35}, {"cosh", 1, 35}, {"erf", 1, 35},
        {"erfc", 1, 35}, {"exp2", 1, 35}, {"expm1", 1, 35}, {"hypot", 2, 35}, {"log10", 1, 35},
        {"log1p", 1, 35}, {"log2", 1, 35}, {"sinh", 1, 35}, {"tan", 1, 35}, {"tanh", 1, 35},
    };
    // clang-format on
    const auto found = std::ranges::find(rows, name, &VectorMath::name);
    return found != std::end(rows) ? found : nullptr;
}

}  // namespace entrepot::kernel
