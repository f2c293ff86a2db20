// Mathematical functions that vector instructions compute for several work-items at once.
#pragma once
#include <string_view>

namespace entrepot::kernel {

// A function of C that glibc also has for vectors, in libmvec.
struct VectorMath {
    std::string_view name;  // of the function for doubles
    int operands;
    int since;  // minor version of glibc 2
};
// Returns: nullptr if libmvec has no such function.
const VectorMath *find_vector_math(std::string_view name);

}  // namespace entrepot::kernel
