// Type: what a value of a kernel is. Scalars are the core's dtypes; an array knows its space, its dimensions and whether its
// elements follow each other.
#pragma once
#include <entrepot/core/dtype.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace entrepot::kernel {

// Where an array's elements lie: memory that all work-items see, a work-group's, a work-item's, memory that nobody writes.
enum class Space : std::uint8_t { global, local, private_, constant };

struct Type {
    enum class Kind : std::uint8_t { nothing, scalar, array, tuple, text, dtype };
    Kind kind = Kind::nothing;
    Dtype dtype{};  // of a scalar, of an array's elements
    // Of arrays.
    Space space = Space::global;
    std::uint32_t ndim = 0;
    bool contiguous = false;          // row-major without gaps: strides follow from the extents
    bool read_only = false;           // may not be written: found when compiled
    std::vector<std::int64_t> shape;  // empty: the extents are known at run time
    std::vector<Type> items;          // of a tuple

    bool operator==(const Type &) const = default;
};

Type scalar_type(Dtype dtype);
std::string name_of(const Type &type);  // "float32", "float32[:, ::1] in local memory", "(int64, int64)"

}  // namespace entrepot::kernel
