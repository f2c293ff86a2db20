// The function that the C++ examples share: scales an entrepot::Array.
#pragma once
#include <entrepot/python/array.hpp>

#include <stdexcept>

inline void scale_elements(const entrepot::Array &array, double factor) {
    if (array.is<float>())
        array.for_each<float>([=](float &value) { value = static_cast<float>(value * factor); });
    else if (array.is<double>())
        array.for_each<double>([=](double &value) { value *= factor; });
    else
        throw std::invalid_argument("scale takes arrays of float32 or float64");
}
