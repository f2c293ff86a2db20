// C types of calls and records: numbers, pointers, and records by value.
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
    const char *name;  // in forms of entrepot.ffi
    std::uint8_t size;
    bool is_signed = false;  // signed integer
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

constexpr const KindRow &row_of(Kind kind) noexcept {
    return kind_table[static_cast<std::size_t>(kind)];
}
constexpr std::size_t size_of(Kind kind) noexcept { return row_of(kind).size; }
constexpr bool is_floating(Kind kind) noexcept { return row_of(kind).is_floating; }

// A number or a pointer in a record, with nested records and arrays flattened.
struct Scalar {
    std::size_t offset;
    Kind kind;
};

struct RecordForm;

// A kind, with the description of a record that its calling convention needs. Cheap to copy.
class Type {
public:
    Type(Kind kind) noexcept : kind_(kind) {}

    // Takes scalars in the order of declaration. If they do not follow each other as in a C struct
    // (unions, bit-fields), the record is passed by the classes of its eightbytes. See System V
    // ABI, 3.2.3.
    //
    // Throws: ValueError for a size of 0, an invalid alignment, a scalar outside the record, or a
    //         small packed record.
    static Type record(std::size_t size, std::size_t alignment, std::span<const Scalar> scalars);

    Kind kind() const noexcept { return kind_; }
    std::size_t size() const noexcept;
    const std::shared_ptr<const RecordForm> &form() const noexcept { return form_; }

private:
    Kind kind_;
    std::shared_ptr<const RecordForm> form_;
};

}  // namespace entrepot::ffi
