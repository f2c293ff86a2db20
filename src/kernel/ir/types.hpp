// Type of a value in a kernel. Scalars use the core's dtypes. An array type has a memory space, a
// number of dimensions and a contiguity flag.
#pragma once
#include <entrepot/core/dtype.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace entrepot::kernel {

// Memory space of an array: shared by all work-items, by a work-group, private to a work-item, or
// read-only.
enum class Space : std::uint8_t { global, local, private_, constant };

struct Type {
    enum class Kind : std::uint8_t { nothing, scalar, array, tuple, text, dtype };
    Kind kind = Kind::nothing;
    Dtype dtype{};  // of a scalar or of an array's elements
    // For arrays:
    Space space = Space::global;
    std::uint32_t ndim = 0;
    bool contiguous = false;          // row-major without gaps: strides follow from the extents
    bool read_only = false;           // writes are refused at compile time
    std::vector<std::int64_t> shape;  // empty: the extents are known at run time
    std::vector<Type> items;          // of a tuple
    // For accumulators, which are private arrays of a block for each work-item: the extents of the
    // group's tile. Dialects with matrix units place the elements in another order.
    std::vector<std::int64_t> tile;

    bool operator==(const Type &) const = default;
};

// Type of one argument of a launch: a scalar, an array, or a value that is compiled in. Local
// memory sized at launch is an array in Space::local without a shape.
struct ArgumentType {
    Type type;
    bool restrict_ = false;  // no other argument overlaps this array

    bool operator==(const ArgumentType &) const = default;
};

Type scalar_type(Dtype dtype);
// Size of an array of fixed shape.
std::uint64_t elements_of(const Type &array);
std::uint64_t bytes_of(const Type &array);
// "float32", "float32[:, ::1] in local memory", "(int64, int64)"
std::string name_of(const Type &type);

}  // namespace entrepot::kernel
