// Types of C, as calls and records have them: numbers, pointers, and records by value.
#pragma once
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

constexpr std::size_t size_of(Kind kind) noexcept {
    switch (kind) {
    case Kind::boolean:
    case Kind::int8:
    case Kind::uint8:
        return 1;
    case Kind::int16:
    case Kind::uint16:
        return 2;
    case Kind::int32:
    case Kind::uint32:
    case Kind::float32:
        return 4;
    case Kind::int64:
    case Kind::uint64:
    case Kind::float64:
    case Kind::pointer:
        return 8;
    default:
        return 0;
    }
}

constexpr bool is_floating(Kind kind) noexcept { return kind == Kind::float32 || kind == Kind::float64; }

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
