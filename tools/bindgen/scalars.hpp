// Scalars: C's numbers by their names in entrepot.ffi, with their types in Python.
#pragma once
#include <cstdint>
#include <string>

namespace bindgen {

struct ScalarRow {
    const char *name;
    std::int64_t bytes;
    const char *list;  // the adapter for many, or Pointer
    const char *stub;  // the type of its values
};

inline constexpr ScalarRow scalar_table[] = {
    {"c_bool", 1, "Pointer", "bool"},
    {"c_char", 1, "CStr", "int"},
    {"c_raw", 1, "Pointer", "int"},
    {"c_byte", 1, "Pointer", "int"},
    {"c_ubyte", 1, "Pointer", "int"},
    {"c_int8", 1, "Pointer", "int"},
    {"c_uint8", 1, "Pointer", "int"},
    {"c_short", 2, "Pointer", "int"},
    {"c_ushort", 2, "Pointer", "int"},
    {"c_int16", 2, "Pointer", "int"},
    {"c_uint16", 2, "Pointer", "int"},
    {"c_int", 4, "ListOfInt", "int"},
    {"c_uint", 4, "ListOfUnsigned", "int"},
    {"c_int32", 4, "ListOfInt", "int"},
    {"c_uint32", 4, "ListOfUnsigned", "int"},
    {"c_long", 8, "ListOfLong", "int"},
    {"c_ulong", 8, "ListOfUnsignedLong", "int"},
    {"c_size_t", 8, "ListOfUnsignedLong", "int"},
    {"c_ssize_t", 8, "Pointer", "int"},
    {"c_longlong", 8, "ListOfInt64", "int"},
    {"c_ulonglong", 8, "ListOfUInt64", "int"},
    {"c_int64", 8, "ListOfInt64", "int"},
    {"c_uint64", 8, "ListOfUInt64", "int"},
    {"c_float", 4, "Pointer", "float"},
    {"c_double", 8, "Pointer", "float"},
};

// Returns: nullptr if there is no such scalar.
inline const ScalarRow *scalar_named(const std::string &name) {
    for (const ScalarRow &row : scalar_table)
        if (row.name == name)
            return &row;
    return nullptr;
}

}  // namespace bindgen
