// Types of C, as calls and records have them: numbers, pointers, and records by value.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace entrepot::ffi {

enum class Kind : std::uint8_t {
    none,  // void
    boolean,
    int8,
    uint8,
    int16,
    uint16,
    int32,
    uint32,
    int64,
    uint64,
    float32,
    float64,
    pointer,
    record,
};

struct KindRow {
    const char *name;  // as entrepot.ffi's forms have it
    std::uint8_t size;
    bool is_signed = false;  // an integer with a sign
    bool is_floating = false;
};

// In the order of Kind.
inline constexpr std::array<KindRow, 14> kind_table{{
    {"none", 0},
    {"bool", 1},
    {"int8", 1, true},
    {"uint8", 1},
    {"int16", 2, true},
    {"uint16", 2},
    {"int32", 4, true},
    {"uint32", 4},
    {"int64", 8, true},
    {"uint64", 8},
    {"float32", 4, false, true},
    {"float64", 8, false, true},
    {"pointer", sizeof(void *)},
    {"record", 0},
}};
static_assert(kind_table.size() == static_cast<std::size_t>(Kind::record) + 1);

constexpr const KindRow &row_of(Kind kind) noexcept { return kind_table[static_cast<std::size_t>(kind)]; }
constexpr std::size_t size_of(Kind kind) noexcept { return row_of(kind).size; }
constexpr bool is_floating(Kind kind) noexcept { return row_of(kind).is_floating; }

// A number or a pointer in a record, where nested records and arrays are taken apart.
struct Scalar {
    std::size_t offset;
    Kind kind;
};

struct RecordForm;

// A kind, and for records what a calling convention asks of them: cheap to copy.
class Type {
public:
    Type(Kind kind) noexcept : kind_(kind) {}

    // Scalars in the order of their declaration. Where they do not follow one another as a C struct's do, as in unions and
    // bit-fields, the record is passed by the classes of its eightbytes (System V ABI, 3.2.3).
    // Throws ValueError: no size, an alignment that is no power of two, a scalar outside, a small record that is packed.
    static Type record(std::size_t size, std::size_t alignment, std::span<const Scalar> scalars);

    Kind kind() const noexcept { return kind_; }
    std::size_t size() const noexcept;
    const std::shared_ptr<const RecordForm> &form() const noexcept { return form_; }

private:
    Kind kind_;
    std::shared_ptr<const RecordForm> form_;
};

}  // namespace entrepot::ffi
