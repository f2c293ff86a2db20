// Structs and short vectors: the layout of their fields. The front end splits an array of structs
// into one array for each number in them, and a struct into a value for each number.
#pragma once
#include <entrepot/core/dtype.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace entrepot::kernel {

namespace syntax {
struct Function;
}

struct StructType;
using StructTypePtr = std::shared_ptr<const StructType>;

struct StructType {
    struct Field {
        std::string name;
        std::vector<std::int64_t> shape;  // of a sub-array; empty: one value
        StructTypePtr type;               // of a nested struct; nullptr: numbers
        // For numbers:
        Dtype dtype{};
        std::int64_t offset = 0;  // in bytes, from the start of the outermost struct
        // of all sub-arrays that hold the numbers, the outermost first; strides in elements
        std::vector<std::int64_t> extents, strides;
    };

    std::vector<Field> fields;
    std::int64_t itemsize = 0;  // of the outermost struct, in bytes
    bool is_vector = false;     // a short vector: all fields are numbers of one type

    // Type of a vector's components. Requires: is_vector.
    Dtype lane() const { return fields.front().dtype; }
    // Place of the field; nullopt if there is no such field.
    std::optional<std::size_t> place_of(const std::string &name) const;
};

// Form in which an argument of a launch is a struct.
enum class StructForm : std::uint8_t {
    none,        // a number, or an array of numbers
    array,       // an array of structs with any strides
    contiguous,  // a row-major array of structs without gaps
    value,       // one struct, passed by its numbers
};
struct StructArgument {
    StructForm form = StructForm::none;
    StructTypePtr type;
};

// Layout of a vector. Requires: lanes_are_named(dtype.lanes).
StructTypePtr vector_type(Dtype dtype);
// True for the lengths of vectors that kernels have: 2, 3, 4, 8 and 16.
bool lanes_are_named(int lanes) noexcept;
// True if the layouts are equal. Either may be nullptr.
bool same(const StructTypePtr &a, const StructTypePtr &b);
bool same(const StructArgument &a, const StructArgument &b);
// "float32x4", "a struct of x, y and mass"
std::string name_of(const StructType &type);
// Names of the fields, for messages: "x, y and mass".
std::string fields_of(const StructType &type);
// Distinct for distinct layouts; part of the key of compiled code.
std::string text_of(const StructType &type);

// Calls `visit` for the numbers of the struct in order, with names such as "position.x".
void for_each_number(
    const StructType &type,
    const std::function<void(const std::string &name, const StructType::Field &)> &visit);
// Number of arguments by which the struct is passed.
std::size_t argument_count(const StructArgument &argument);

// The function with a parameter for each number of its structs.
//
// Requires: one entry of `arguments` for each parameter.
std::shared_ptr<const syntax::Function> with_structs(const syntax::Function &function,
                                                     const std::vector<StructArgument> &arguments);

}  // namespace entrepot::kernel
